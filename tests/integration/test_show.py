"""A dialogue is shown whole: all its rows, each span as SQL marks it, the requested row, and nothing else.

On the sample, on the hand-written releases, where nothing is as usual, and on the real data.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.common.text import address
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.reading import connection, dialogue_parts, dialogues
from dialogue_warehouse.reading.dialogue_parts import marked
from dialogue_warehouse.reading.dialogue_queries import SOME
from dialogue_warehouse.reading.dialogue_rows import read_found
from dialogue_warehouse.reading.findings import KEYED_TABLES
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import rendering
from dialogue_warehouse.storage import builds
from dialogue_warehouse.terminal import dialogue_text
from tests.conftest import run_command
from tests.integration.analyst_sources import read_service_dialogues
from tests.integration.browser import BACKGROUNDS, Browser
from tests.unit.dialogues import HOSTILE

DOCUMENT = (CLONE / "docs/read_a_dialogue.md").read_text(encoding="utf-8")
DIALOGUES = 12
"""Number of dialogues of each corpus that are read."""
SHOWN = {
    "fct_turns": ("turn_key", "true"),
    "fct_frames": ("frame_key", "active_intent is not null"),
    "fct_actions": ("action_key", "true"),
    "fct_slots": ("slot_key", "annotation_type = 'span'"),
    "fct_service_calls": ("call_key", "true"),
    "fct_service_results": ("result_key", "true"),
    "fct_candidates": ("candidates_key", "true"),
    "fct_votes": ("vote_key", "true"),
    "fct_responses": ("response_key", "true"),
    "fct_knowledge_items": ("knowledge_key", "attribute_index = 0"),
}
"""Tables below a dialogue, the key by which a part shows a row, and the rows that have a separate part."""
SEGMENT = "replace(replace(replace(slot_name, '%', '%25'), '/', '%2F'), '~', '%7E')"
"""Name of a slot as a segment of a key."""


@dataclass(frozen=True)
class Built:
    """Warehouse, opened as readers open it."""

    folder: Path
    con: duckdb.DuckDBPyConnection

    def column(self, query: str, *values: object) -> list[Any]:
        return [row[0] for row in self.con.execute(query, list(values)).fetchall()]

    def read(self, key: str) -> dialogue_parts.Dialogue:
        return dialogues.read_dialogue(self.con, key)

    @functools.cached_property
    def some_dialogues(self) -> list[dialogue_parts.Dialogue]:
        """Return some dialogues of each corpus, including dialogues that break rules."""
        keys = self.column(
            f"""
            select dialogue_key
            from core.dim_dialogues as dialogues
            left join (select dialogue_key, count(*) as cases from quality.violations group by all) as broken
                using (dialogue_key)
            qualify row_number() over (
                partition by corpus_id order by cases is null, hash(dialogue_key)
            ) <= {DIALOGUES} / 2
            or row_number() over (partition by corpus_id order by hash(dialogue_key)) <= {DIALOGUES} / 2
            order by dialogue_key
            """
        )
        return [*dialogues.read_dialogues(self.con, keys)]


def opened(folder: Path) -> duckdb.DuckDBPyConnection:
    return connection.open_published(WarehousePaths(folder), settings=Settings(warehouse=folder))


@pytest.fixture(scope="module", params=["sample", "awkward", "real"])
def built(request: pytest.FixtureRequest) -> Iterator[Built]:
    folder = request.getfixturevalue(f"{request.param}_folder")
    with opened(folder) as con:
        yield Built(folder, con)


@pytest.fixture(scope="module")
def sample(sample_folder: Path) -> Iterator[Built]:
    with opened(sample_folder) as con:
        yield Built(sample_folder, con)


def test_every_row_of_a_dialogue_has_its_part(built: Built) -> None:
    for dialogue in built.some_dialogues:
        key = dialogue.key
        expected = [key]
        for table, (column, where) in SHOWN.items():
            name = "regexp_replace(knowledge_key, '/[^/]*$', '')" if table == "fct_knowledge_items" else column
            expected += built.column(f"select {name} from core.{table} where dialogue_key = ? and {where}", key)
        states = f"select frame_key || '/state/' || {SEGMENT} from analytics.belief_states where dialogue_key = ?"
        expected += built.column(states, key)
        found = dialogues.keys_of(dataclasses.replace(dialogue, guideline=None))
        assert Counter(found) == Counter(expected), key


def test_places_of_turns_are_those_of_the_macro(built: Built) -> None:
    for dialogue in built.some_dialogues:
        expected = built.column(
            "select core.json_pointer(turn_key) from core.fct_turns where dialogue_key = ? order by turn_index",
            dialogue.key,
        )
        assert [turn.json_pointer for turn in dialogue.turns] == expected
        assert None not in expected


def test_prescribed_acts_agree_with_missing_and_extra_ones(built: Built) -> None:
    guided = [one for one in built.some_dialogues if one.guideline and one.guideline.prescribed_acts]
    assert guided
    for dialogue in guided:
        guideline = dialogue.guideline
        taken = {act.act for turn in dialogue.turns for act in turn.acts if act.act}
        assert guideline.missing_acts == tuple(act for act in guideline.prescribed_acts if act not in taken)
        assert set(guideline.extra_acts) == taken - set(guideline.prescribed_acts)


def test_spans_are_marked_like_in_the_macro(built: Built) -> None:
    spans = 0
    for dialogue in built.some_dialogues:
        texts = built.column("select text from core.transcript(?)", dialogue.key)
        assert len(texts) == len(dialogue.turns)
        for turn, text in zip(dialogue.turns, texts, strict=True):
            if turn.text is None:
                item = ", ".join(f"{name}: {value}" for pick in turn.selections for name, value in pick.item.items())
                assert (text or "") == item
            else:
                assert text == marked(turn.text, turn.spans)
                spans += len(turn.spans)
    assert spans


def test_state_agrees_with_the_frame(built: Built) -> None:
    for dialogue in built.some_dialogues:
        key = dialogue.key
        rows = built.con.execute(
            "select frame_index, turn_index, slot_name, value from core.fct_slots "
            "where dialogue_key = ? and annotation_type = 'state'",
            [key],
        ).fetchall()
        expected = Counter((f"{key}/{turn}/frame/{frame}", slot, value) for frame, turn, slot, value in rows)
        found = Counter(
            (state.key, slot.slot, value)
            for turn in dialogue.turns
            for state in turn.states
            for slot in state.slots
            if slot.change != "dropped"
            for value in slot.variants or [None]
        )
        assert found == expected


def test_violations_are_shown_at_their_places(built: Built) -> None:
    for dialogue in built.some_dialogues:
        found = [(case.rule, case.turn_index, case.detail) for case in dialogue.violations]
        found += [(case.rule, turn.index, case.detail) for turn in dialogue.turns for case in turn.violations]
        query = "select distinct (rule_id, turn_index, row_key, detail) from quality.violations where dialogue_key = ?"
        expected = [(rule, turn, detail) for rule, turn, _, detail in built.column(query, dialogue.key)]
        assert Counter(found) == Counter(expected)


def test_rule_has_the_title_that_its_own_corpus_gives_it(built: Built) -> None:
    titles = dict(
        built.con.execute(
            """
            select
                (violations.dialogue_key, violations.rule_id),
                coalesce(own.title, shared.title)
            from quality.violations as violations
            left join quality.violation_rules as own
                on violations.rule_id = own.rule_id and violations.corpus_id = own.corpus_id
            left join quality.violation_rules as shared
                on violations.rule_id = shared.rule_id and shared.corpus_id is null
            """
        ).fetchall()
    )
    renamed = built.column(
        "select rule_id from quality.violation_rules group by all having count(distinct title) > 1 order by all"
    )
    assert len(renamed) >= 3
    keys = built.column(
        "select min(dialogue_key) from quality.violations where dialogue_key is not null and list_contains(?, rule_id)"
        " group by corpus_id, rule_id",
        renamed,
    )
    for dialogue in (*built.some_dialogues, *dialogues.read_dialogues(built.con, keys)):
        for case in (*dialogue.violations, *(one for turn in dialogue.turns for one in turn.violations)):
            assert case.title == titles[dialogue.key, case.rule]


def test_nothing_is_missing_without_the_queries_that_find_nothing(built: Built) -> None:
    found_by = read_found(built.con)
    asked = {(name, corpus) for name in SOME for corpus in built.column("select corpus_id from core.dim_corpora")}
    assert found_by < asked  # some are left out
    for dialogue in built.some_dialogues:
        assert dialogues.read_dialogue(built.con, dialogue.key, found_by) == dialogue


def test_a_key_of_every_kind_is_shown_in_its_dialogue(built: Built) -> None:
    for table, column in KEYED_TABLES.items():
        columns = built.column("select column_name from duckdb_columns() where table_name = ?", table)
        if "dialogue_key" not in columns:
            continue
        kind = "annotation_type" if table == "fct_slots" else "''"
        keys = built.column(
            f"select min({column}) from core.{table} where dialogue_key is not null group by corpus_id, {kind}"
        )
        for key in keys:
            dialogue = built.read(key)
            assert key.startswith(dialogue.key) or table in ("fct_classifier_examples", "dim_split_members"), key
            if dialogue.mark is None:
                assert table == "dim_dialogues"
                continue
            assert (dialogue.mark.key, dialogue.mark.table) == (key, f"core.{table}")
            assert dialogue.mark.shown_key in set(dialogues.keys_of(dialogue))
            is_below = dialogue.mark.shown_key != dialogue.key
            assert is_below or not key.startswith(dialogue.key), key
            assert (" data-marked" in rendering.render_page(dialogue)) is is_below, key


def test_command_prints_a_dialogue_without_colors_in_a_pipe(sample: Built) -> None:
    for key in sample.column("select min(turn_key) from core.fct_turns group by corpus_id"):
        shown = run_command("show", key, "--warehouse", sample.folder)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert all(character.isprintable() or character == "\n" for character in shown.stdout)
        assert shown.stdout.startswith(f"{key.rpartition('/')[0]}\n")
        assert re.search(
            rf"^{dialogue_text.MARK.plain} {re.escape(key)}: core\.fct_turns, at '", shown.stdout, flags=re.M
        )
        assert re.search(rf"^{dialogue_text.MARK.plain} +0 ", shown.stdout, flags=re.M)


def test_command_writes_json_and_a_page(sample: Built) -> None:
    key = sample.column("select min(dialogue_key) from core.fct_service_calls")[0]
    whole = json.loads(run_command("show", key, "--json", "--warehouse", sample.folder).stdout)
    assert whole["key"] == key
    assert [turn["text"] for turn in whole["turns"]] == sample.column(
        "select utterance from core.fct_turns where dialogue_key = ? order by turn_index", key
    )
    assert whole["turns"][0]["json_pointer"] == sample.column("select core.json_pointer(?)", f"{key}/0")[0]
    written = run_command("show", key, "--html", "--warehouse", sample.folder)
    assert written.stdout == rendering.render_page(sample.read(key))


def test_command_prints_the_address_of_a_row_in_the_dashboard(sample: Built) -> None:
    for key in (*sample.column("select min(action_key) from core.fct_actions"), "sgd/dev/1_00000"):
        printed = run_command("show", key, "--url", "--warehouse", sample.folder)
        assert printed.stdout == f"http://127.0.0.1:8501{address(key)}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere/at/all"], "error: no row has the key 'nowhere/at/all'; a key of this build begins with one of "),
        (["{intent}"], "error: core.dim_intents has '{intent}', which does not belong to a dialogue: "),
        (["{dialogue}", "--json", "--html"], "error: only one of --json, --html and --url can be given (see "),
    ],
)
def test_key_that_cannot_be_shown_is_bad_input(sample: Built, arguments: list[str], message: str) -> None:
    names = {
        "intent": sample.column("select min(intent_key) from core.dim_intents")[0],
        "dialogue": sample.column("select min(dialogue_key) from core.dim_dialogues")[0],
    }
    refused = run_command("show", *(word.format(**names) for word in arguments), "--warehouse", sample.folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(message.format(**names))
    assert len(refused.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def hostile(hostile_folder: Path) -> Iterator[Built]:
    with opened(hostile_folder) as con:
        yield Built(hostile_folder, con)


def test_hostile_corpus_does_no_harm_in_the_command(hostile: Built) -> None:
    for key in hostile.column("select min(dialogue_key) from core.dim_dialogues group by corpus_id"):
        for option in ([], ["--json"]):
            shown = run_command("show", key, *option, "--warehouse", hostile.folder)
            assert (shown.returncode, shown.stderr) == (0, "")
            assert all(character.isprintable() or character == "\n" for character in shown.stdout)
        reported = json.loads(shown.stdout)
        assert HOSTILE in json.dumps(reported, ensure_ascii=False).replace("\\u001b", "\x1b").replace("\\u0007", "\x07")


@pytest.mark.parametrize("warehouse", ["sample", "hostile"])
def test_page_needs_nothing_and_fits_the_window(
    request: pytest.FixtureRequest, browser: Browser, tmp_path: Path, warehouse: str
) -> None:
    shown: Built = request.getfixturevalue(warehouse)
    for key in shown.column("select min(dialogue_key) from core.dim_dialogues group by corpus_id order by all"):
        file = tmp_path / "dialogue.html"
        file.write_text(rendering.render_page(shown.read(key)), encoding="utf-8")
        for width in (360, 1280, 1600):
            visit = browser.open(file.as_uri(), width, "light")
            browser.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
            for scheme, color in BACKGROUNDS.items():
                browser.use(scheme)
                assert browser.evaluate("document.documentElement.scrollWidth") <= width, (key, scheme)
                assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == color, (key, width)
            assert [url for url in visit.requests if url not in (file.as_uri(), "data:,")] == [], (key, width)
            assert visit.problems == [], (key, width)
            assert browser.evaluate("document.querySelectorAll('script, img, iframe, object').length") == 0, key


def test_document_names_every_field(sample: Built) -> None:
    table = re.findall(r"^\| (?!object|---)[^|]*\| (.*) \|$", DOCUMENT, flags=re.M)
    reported = {tuple(re.findall(r"`(\w+)`", fields)) for fields in table}
    classes = {tuple(kind.__struct_fields__) for kind in dialogue_parts.Part.__subclasses__()}
    assert reported == classes | {tuple(field.name for field in dataclasses.fields(dialogue_parts.Dialogue))}


def test_documents_query_gives_the_states_of_the_release(sample: Built) -> None:
    first, states, picks = re.findall(r"```sql\n(.*?)```", DOCUMENT, flags=re.S)
    expected = Counter(
        (
            frame["service"],
            tuple(sorted((slot, tuple(values)) for slot, values in frame["state"]["slot_values"].items())),
        )
        for _, dialogue in read_service_dialogues(sample.folder / "sample")
        for turn in dialogue["turns"]
        for frame in turn["frames"]
        if "state" in frame
    )
    found = Counter(
        (service, tuple(sorted((slot, tuple(values)) for slot, values in (state or {}).items())))
        for _, service, state in sample.con.execute(states).fetchall()
    )
    assert found == expected
    assert sample.con.execute(picks).fetchall()
    key = sample.column("select min(dialogue_key) from core.fct_frames")[0]
    assert sample.con.execute(first.replace("sgd/dev/1_00000", key)).fetchall()


def test_build_without_the_tables_asks_for_another(sample_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "warehouse"
    shutil.copytree(sample_folder, folder, ignore=shutil.ignore_patterns(".*", "raw", "sample"))
    database = builds.published_build(WarehousePaths(folder))[1]
    database.chmod(0o644)
    with duckdb.connect(str(database)) as con:
        key = con.execute("select min(dialogue_key) from analytics.belief_states").fetchone()[0]
        con.execute("drop table analytics.belief_states")
    refused = run_command("show", key, "--warehouse", folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    build_id = database.stem
    assert refused.stderr.startswith(
        f"error: build {build_id} was made by another version of dialogue-warehouse and lacks "
    )
    assert "analytics.belief_states" in refused.stderr
    assert refused.stderr.endswith("builds it again\n")
    assert refused.stderr.count("\n") == 1
