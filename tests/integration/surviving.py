"""Build a random release, use all its outputs, and search for the records that make a step fail.

The search removes corpora, then files, then records, as long as the same step fails for the rest.
"""

from __future__ import annotations

import functools
import io
import itertools
import re
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from rich.console import Console
from starlette.testclient import TestClient

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.scores import load_scoring, scored_corpora
from dialogue_warehouse.errors import CheckError, InputError, first_line
from dialogue_warehouse.lineage import tracing, verifying
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection, dialogue_parts, dialogues
from dialogue_warehouse.reading.findings import KEYED_TABLES
from dialogue_warehouse.releases import finding
from dialogue_warehouse.scoring.running import Request, score_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import rendering
from dialogue_warehouse.site.application import MENU, application
from dialogue_warehouse.terminal.dialogue_text import print_dialogue
from pipelines.building import dbt, failures
from pipelines.ingestion import raw_layer
from pipelines.ingestion.lander import Lander
from tests import exported
from tests.conftest import run_command
from tests.integration.random_releases import Drawn, is_taken, write
from tests.integration.test_score import gold_of
from tests.integration.test_score import write as write_records

SHOWN, PRINTED, TRACED = 120, 5, 2
"""Number of dialogues per corpus shown as pages, number printed, and number of keys traced per table."""
SECONDS_OF_SEARCH = 900
SHOWN_CHARACTERS = 3000
NODE = re.compile(r"^(?:error: )?(?:model|test) (\w+): ", re.MULTILINE)
GATHERED = "comes from several records"
"""End of the message about a key that has no single place."""
T = TypeVar("T")


class Failure(NamedTuple):
    """Step that failed, and its message."""

    step: str
    said: str


@dataclass(frozen=True)
class Place:
    """Folders of a trial."""

    root: Path

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def warehouse(self) -> Path:
        return self.root / "warehouse"


def build(place: Place) -> str | None:
    """Build and publish with the command, each file verified."""
    options = ("--verify", "--replace", "--force", "--quiet")
    completed = run_command("build", "--source", place.source, "--warehouse", place.warehouse, *options)
    return completed.stderr.strip() if completed.returncode else None


def report(place: Place) -> str | None:
    """Write the report."""
    completed = run_command("report", "--warehouse", place.warehouse)
    return completed.stderr.strip() if completed.returncode else None


def show(place: Place) -> str | None:
    """Show dialogues of each corpus as pages and as JSON, and print some."""
    paths, console = WarehousePaths(place.warehouse), Console(file=io.StringIO(), force_terminal=True)
    with connection.open_published(paths, settings=Settings(warehouse=place.warehouse)) as con:
        keys = [
            key
            for (key,) in con.execute(
                "select dialogue_key from core.dim_dialogues "
                f"qualify row_number() over (partition by corpus_id order by hash(dialogue_key)) <= {SHOWN}"
            ).fetchall()
        ]
        for number, dialogue in enumerate(dialogues.read_dialogues(con, keys)):
            try:
                rendering.render_page(dialogue)
                dialogue_parts.as_json(dialogue)
                if number % (SHOWN // PRINTED) == 0:
                    print_dialogue(dialogue, console)
            except Exception as error:
                return f"{dialogue.source.source_file_id}, record {dialogue.source.record_index}: {error!r}"
    return None


def trace(place: Place) -> str | None:
    """Trace keys of each table and corpus."""
    paths, settings = WarehousePaths(place.warehouse), Settings(warehouse=place.warehouse)
    with connection.open_published(paths, settings=settings) as con:
        keys = [
            key
            for table, column in KEYED_TABLES.items()
            for (key,) in con.execute(
                f"select {column} from core.{table} "
                f"qualify row_number() over (partition by corpus_id order by hash({column})) <= {TRACED}"
            ).fetchall()
        ]
    for key in keys:
        try:
            found = tracing.trace(paths, settings, key)
        except Exception as error:
            if GATHERED in str(error):
                continue
            return f"{key}: {error!r}"
        if found.changed or found.missing:
            return f"{key}: {found.changed or found.missing}"
    return None


def browse(place: Place) -> str | None:
    """Open each page of the dashboard, and the list of the dialogues of each corpus."""
    pages = [address for address, _ in MENU] + [f"dialogues?corpus={corpus_id}" for corpus_id in registry.corpus_ids()]
    with TestClient(application(WarehousePaths(place.warehouse), Settings()), "http://127.0.0.1") as client:
        for page in pages:
            answer = client.get(f"/{page}")
            if answer.status_code != 200:
                return f"page {page}: {answer.text}"
    return None


def export(place: Place) -> str | None:
    """Write the training data in each form, and read the messages back."""
    options = {"chat": ("--profile", "alternating", "--instructions"), "huggingface": (), "preference": ()}
    for form in options:
        to = place.root / form
        command = ("export", "--form", form, "--to", to, "--force", "--quiet", "--warehouse", place.warehouse)
        completed = run_command(*command, *options[form])
        if completed.returncode:
            return completed.stderr.strip()
        if form == "preference":
            continue
        for example in itertools.chain.from_iterable(exported.read(to).values()):
            problems = exported.problems(example, is_alternating=form == "chat")
            if others := [problem for problem in problems if not exported.CAUSED_BY_DATA.search(problem)]:
                return f"{form}, {example['id']}: {others}"
    return None


def score(place: Place) -> str | None:
    """Score gold as predictions, without the records that no prediction can be, for each split and form."""
    paths, settings = WarehousePaths(place.warehouse), Settings(warehouse=place.warehouse)
    with connection.open_published(paths, settings=settings) as con:
        splits = con.execute("select distinct corpus_id, coalesce(split, 'none') from core.dim_dialogues").fetchall()
    for scoring in map(load_scoring, scored_corpora()):
        corpus_id, has_split = scoring.corpus.corpus_id, scoring.declaration.has_split
        found = sorted(split for of, split in splits if of == corpus_id)
        for split, form in itertools.product(found if has_split else [None], scoring.forms):
            records = [
                one for one in gold_of(place.warehouse, corpus_id, form.name, split=split) if is_taken(form, one)
            ]
            request = Request(corpus_id, write_records(place.root / f"gold{form.suffix}", records), split)
            try:
                with score_published(paths, settings, request):
                    pass
            except InputError:  # the official script refuses such predictions
                continue
            except Exception as error:
                return f"{corpus_id}, {split}, {form.name}: {error!r}"
    return None


STEPS: dict[str, Callable[[Place], str | None]] = {
    "build": build,
    "report": report,
    "show": show,
    "trace": trace,
    "dashboard": browse,
    "export": export,
    "score": score,
}


def first_failure(place: Place, until: str | None = None) -> Failure | None:
    """Run one step after the other, up to the given one, and return the first that fails."""
    for name, step in STEPS.items():
        if said := step(place):
            return Failure(name, said)
        if name == until:
            return None
    return None


CORE = "+path:models/marts/core"
"""Models that the files are rebuilt from."""


def failure_of_models(place: Place, select: str | None = None) -> str | None:
    """Return the failure of models built in this process, which takes a fraction of a whole build.

    Without a selection, the models of core are built, and each file is rebuilt from them and compared.
    """
    paths, settings = WarehousePaths(place.warehouse), Settings()
    paths.scratch_database.unlink(missing_ok=True)
    paths.scratch_staging.unlink(missing_ok=True)
    corpora, landed, lander = registry.load_corpora(), [], Lander(paths.raw, settings)
    try:
        for corpus in corpora:
            own = lander.land(finding.find_release(corpus, place.source))
            raw_layer.link_raw(corpus, own, paths)
            landed += own
        raw_layer.write_catalog(corpora, landed, paths, settings)
        command = "build" if select else "run"
        results = dbt.build(
            dbt.parse(paths),
            paths,
            select=select or CORE,
            exclude=dbt.AUDIT_TAG,
            command=command,
            built={file.corpus_id for file in landed},
        )
        if (error := failures.failure(results, paths)) is not None:
            return str(error)
        if select is None:
            files = verifying.verify_database(paths.scratch_database, place.source, registry.corpus_ids(), settings)
            verifying.refuse_differences(list(files))
    except (CheckError, InputError) as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {first_line(error)}"
    return None


Narrowing = Generator[list[Drawn], bool, list[Drawn]]
"""Generator that yields records to try, receives whether they fail, and returns the smallest set that fails."""


def narrow(release: Sequence[Drawn], said: str) -> Narrowing:
    """Narrow a release that fails to one corpus if possible, to one file, and to the fewest records."""
    left = list(release)
    for part in (lambda record: record.corpus.corpus_id, lambda record: record.file, id):
        groups: dict[str | int, list[Drawn]] = {}
        for record in left:
            groups.setdefault(part(record), []).append(record)
        named = sorted(groups.values(), key=lambda group: str(part(group[0])) not in said)
        search = reduce(named)
        try:
            tried = next(search)
            while True:
                tried = search.send((yield list(itertools.chain.from_iterable(tried))))
        except StopIteration as found:
            left = list(itertools.chain.from_iterable(found.value))
    return left


def reduce(items: Sequence[T]) -> Generator[list[T], bool, list[T]]:
    """Reduce items that fail to a set in which every item is necessary: ddmin of Zeller and Hildebrandt (2002).

    Yields items to try, receives a bool for whether they fail, and returns the remaining items.
    """
    left, pieces = list(items), 2
    while len(left) > 1:
        size = -(-len(left) // pieces)
        chunks = [left[start : start + size] for start in range(0, len(left), size)]
        rests = [
            [item for other in chunks if other is not chunk for item in other] for chunk in chunks if len(chunks) > 2
        ]
        for tried in itertools.chain(chunks, rests):
            if (yield tried):
                pieces = 2 if len(tried) <= size else max(pieces - 1, 2)
                left = tried
                break
        else:
            if size == 1:
                break
            pieces = min(2 * pieces, len(left))
    return left


def answer(search: Generator[list[T], bool, list[T]], fails: Callable[[list[T]], bool]) -> list[T]:
    """Return the result of a search whose trials a function answers."""
    try:
        tried = next(search)
        while True:
            tried = search.send(fails(tried))
    except StopIteration as found:
        return found.value


def find(release: Sequence[Drawn], place: Place, failure: Failure) -> list[Drawn]:
    """Find the fewest records for which the step fails; if time is up, the remaining records are returned."""
    ends = time.monotonic() + SECONDS_OF_SEARCH
    probe = _probe(release, place, failure)

    def fails(records: list[Drawn]) -> bool:
        if time.monotonic() > ends:
            return False
        write(records, place.source)
        return probe() is not None

    return answer(narrow(release, failure.said), fails)


def _probe(release: Sequence[Drawn], place: Place, failure: Failure) -> Callable[[], str | None]:
    """Return the function that says how a part of the release fails; for a model, it builds only upstream models."""
    if failure.step == "build":
        write(release, place.source)
        node = NODE.search(failure.said)
        for select in (f"+{node[1]}" if node else None, None):
            if failure_of_models(place, select):
                return functools.partial(failure_of_models, place, select)

    def take_steps() -> str | None:
        again = first_failure(place, until=failure.step)
        return again.said if again and again.step == failure.step else None

    return take_steps


def describe_failure(found: Sequence[Drawn], failure: Failure) -> str:
    """Return a report of the found records and their failure, for the person who fixes it."""
    lines = [f"the step '{failure.step}' fails: {failure.said[:SHOWN_CHARACTERS]}"]
    for record in found[:5]:
        text = record.text.decode()
        shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
        key = "" if record.key is None else f", key {record.key!r}"
        lines.append(f"corpus {record.corpus.corpus_id}, file {record.file}, record {record.index}{key}: {shown}")
    if len(found) > 5:
        lines.append(f"and {len(found) - 5:,} more records")
    return "\n".join(lines)
