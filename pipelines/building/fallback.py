"""Fall back to the published files of a damaged corpus; find the corpus, file and record that a failure is about.

With `keep_going`, a corpus whose source is damaged, or whose rows fail a check, falls back: the files that the
published build landed take the place of the new ones, and the other corpora are built. Models and checks run over
these rows as over all others. On DuckDB, a failing model is run on parts of the rows, to name the corpus, file and
record; on Spark, the folder of the model and the failing rows of a test name the corpus.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import duckdb
import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import NOT_NULL, literal
from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.registry import corpus_ids
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import CheckError, InputError, quoted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.unpacking import sha256_of
from dialogue_warehouse.settings import RELEASE_FORM, Settings
from dialogue_warehouse.storage import builds, health
from dialogue_warehouse.storage.landed import Cause, Fallback, Landed
from pipelines.building import fingerprint
from pipelines.building.checks import can_fall_back
from pipelines.building.state import Build
from pipelines.ingestion import landing, raw_layer

FIRST = re.compile("[/,]")
"""The end of the first part of a key, or of the first of several columns that form a key."""


def named(words: Iterable[str]) -> set[str]:
    """Return the corpora among these words."""
    return set(words) & set(corpus_ids())


def of_rows(rows: Iterable[Sequence[Any]]) -> set[str]:
    """Return the corpora of failing rows; an empty set if any row names no corpus."""
    found: set[str] = set()
    for row in rows:
        about = named(FIRST.split(value)[0] for value in row if isinstance(value, str))
        if not about:
            return set()
        found |= about
    return found


def at_fault(described: Iterable[tuple[str, set[str]]]) -> dict[str, str]:
    """Return the first line about each corpus at fault; nothing if any failure is about no corpus."""
    found: dict[str, str] = {}
    for line, corpora in described:
        if not corpora:
            return {}
        for corpus_id in sorted(corpora):
            found.setdefault(corpus_id, line)
    return found


Select = Callable[[str, int], tuple[list[str], list[tuple[Any, ...]]]]
"""A function that returns the names of a query's columns, and its first rows."""
FEW, MOST = 1_000, 10_000_000
"""The largest number of rows that are read, and of values of a column."""


def locate(query: str, message: str, folders: Iterable[str], select: Select) -> tuple[str, set[str]]:
    """Return where a model's query fails, as the end of a message, and the corpora; nothing where that is not known."""
    if not query:
        return "", set()
    absent = NOT_NULL.search(message)
    if absent is not None:
        return _of_rows(*select(f"select * from ({query}) as made where {absent[1]} is null", FEW), select)
    columns, _ = select(f"select * from ({query}) as made limit 0", 1)
    corpora = named(folders)
    if not corpora and "corpus_id" in columns:
        every = [name for name in _values(query, "corpus_id", "true", select) if name is not None]
        corpora = {name for name in every if _fails(query, f"corpus_id = {literal(name)}", select)}
        if _fails(query, "corpus_id = ''", select):  # fails without any row
            corpora = set()
    if len(corpora) != 1:
        return "", corpora
    return _dialogue(query, columns, *corpora, select), corpora


def _of_rows(names: list[str], rows: Sequence[tuple[Any, ...]], select: Select) -> tuple[str, set[str]]:
    """Describe the first of the rows that a model must not have, and return the corpora of all of them."""
    if not rows:
        return "", set()
    first = dict(zip(names, rows[0], strict=True))
    values = ", ".join(f"{name}={quoted(value)}" for name, value in first.items() if value is not None)
    return f", the first: {values}{_place(first.get('dialogue_key'), select)}", of_rows(rows)


def _dialogue(query: str, columns: Sequence[str], corpus_id: str, select: Select) -> str:
    """Find the one dialogue on which the query fails, by bisection."""
    if "dialogue_key" not in columns:
        return ""
    about = f"corpus_id = {literal(corpus_id)}" if "corpus_id" in columns else "true"
    keys = [key for key in _values(query, "dialogue_key", about, select) if key is not None]
    while len(keys) > 1:
        middle = len(keys) // 2
        keys = next((half for half in (keys[:middle], keys[middle:]) if _fails(query, _between(half), select)), [])
    return f", of {quoted(keys[0])}{_place(keys[0], select)}" if keys else ""


def _values(query: str, column: str, condition: str, select: Select) -> list[Any]:
    """Return the distinct values of a column; they can often be read although another column cannot be computed."""
    with contextlib.suppress(duckdb.Error):
        _, rows = select(f"select distinct {column} from ({query}) as made where {condition} order by all", MOST)
        return [value for (value,) in rows]
    return []


def _between(keys: Sequence[str]) -> str:
    return f"dialogue_key between {literal(keys[0])} and {literal(keys[-1])}"


def _fails(query: str, condition: str, select: Select) -> bool:
    """Return whether the query fails on the rows that meet a condition."""
    try:
        select(f"select max(hash(made)) from (select * from ({query}) as every where {condition}) as made", 1)
    except duckdb.Error:
        return True
    return False


def _place(dialogue_key: str | None, select: Select) -> str:
    """Return the file and the record of a dialogue, in parentheses."""
    if dialogue_key is None:
        return ""
    query = f"select source_file_id, record_index from core.dim_dialogues where dialogue_key = {literal(dialogue_key)}"
    with contextlib.suppress(duckdb.CatalogException):  # the table may be made after the model
        _, rows = select(query, 1)
        return "".join(f" ({file}, record {index})" for file, index in rows)
    return ""


class LandedCorpus(NamedTuple):
    """The files of a corpus that a build uses, landed by this build or by the published one."""

    landed: list[Landed]
    scale: dict[str, float]
    """The scale of its release, if that was generated."""
    fallback: Fallback | None
    """The reason that it falls back, and to which build; None if it was landed."""
    is_left_out: bool = False
    """True if the build is not about it, and the published one does not have it either."""


def fall_back(corpus: Corpus, paths: WarehousePaths, cause: Cause, error: str = "") -> LandedCorpus:
    """Return the files of a corpus in the published build. Raises InputError where they cannot be used."""
    build_id = builds.pointed_build(paths)
    if build_id is None:
        raise InputError(f"{corpus.corpus_id}: cannot fall back, because nothing is published")
    manifest = builds.read_manifest(paths, build_id)
    files = [_whole(corpus, file, paths) for file in manifest.files if file.corpus_id == corpus.corpus_id]
    if not files and cause is Cause.NOT_ASKED_FOR:
        return LandedCorpus([], {}, None, is_left_out=True)
    if not files:
        raise InputError(f"{corpus.corpus_id}: cannot fall back: build {build_id} does not have this corpus")
    scale = {key: value for key, value in manifest.scales.items() if key == corpus.corpus_id}
    before = manifest.carried.get(corpus.corpus_id)
    if before and cause is Cause.NOT_ASKED_FOR:  # a damaged corpus is still damaged when a run does not read it
        return LandedCorpus(files, scale, before)
    since = before.since if before and before.is_damaged else ""
    first = before.build_id if before else build_id
    return LandedCorpus(files, scale, Fallback(first, cause, error, since or health.now()))


def _whole(corpus: Corpus, file: Landed, paths: WarehousePaths) -> Landed:
    """Return the record of a landed file. Raises InputError where its Parquet has changed since."""
    parquet = paths.raw / file.parquet
    form = registry.load_form(corpus.corpus_id, file.form) if file.form != RELEASE_FORM else None
    if not parquet.stem.endswith(f"-{landing.schema_hash(corpus, form and form.name)}"):
        raise InputError(
            f"{file.source_file_id}: cannot fall back: another version of this program or of its libraries landed it"
        )
    try:
        landed = msgspec.json.decode(read_regular(parquet.with_suffix(".json")), type=Landed)
        is_whole = sha256_of(read_regular(parquet)) == landed.parquet_sha256
    except (OSError, msgspec.MsgspecError):
        is_whole = False
    if not is_whole:
        raise InputError(f"{file.source_file_id}: cannot fall back: {parquet} is damaged")
    return replace(landed, verification=file.verification, found_as=file.found_as, state=None)


def cause_not_to_land(corpus: Corpus, is_there: bool, settings: Settings, paths: WarehousePaths) -> Cause | None:
    """Return why a corpus falls back before its files are read; None if it must be landed."""
    if settings.refresh and corpus.corpus_id not in settings.refresh:
        return Cause.NOT_ASKED_FOR
    if not is_there and settings.keep_going and can_fall_back(corpus.corpus_id, paths, settings):
        return Cause.ABSENT
    return None


def fall_back_after(
    error: CheckError, build: Build, settings: Settings, paths: WarehousePaths, reporter: Reporter
) -> Build:
    """Let the corpora at fault fall back. Return the build, ready for its models to run again.

    Raises the error itself without `keep_going`, where the corpora at fault are not known or have fallen back already,
    and where no new corpus would be left. Raises CheckError where corpora cannot fall back, with the reason of each.
    """
    if not settings.keep_going:
        raise error
    at_fault = error.at_fault or _only_change(build, error, paths)
    about, fallen_back = set(settings.refresh or build.corpora), set(build.fallbacks)
    if not at_fault or fallen_back & set(at_fault) or about <= fallen_back | set(at_fault):
        raise error
    published: dict[str, LandedCorpus] = {}
    refused: list[str] = []
    for corpus_id, reason in at_fault.items():
        try:
            corpus = registry.load_corpus(corpus_id)
            published[corpus_id] = fall_back(corpus, paths, Cause.DAMAGED, reason.splitlines()[0])
        except InputError as why:
            refused.append(str(why))
    if refused:
        raise CheckError("; ".join([str(error), *refused])) from error
    for corpus_id, one in published.items():
        assert one.fallback is not None
        notice = one.fallback.describe(corpus_id)
        reporter.notice(notice)
        build = replace(
            build,
            landed=(*(file for file in build.landed if file.corpus_id != corpus_id), *one.landed),
            raw=build.raw | raw_layer.link_raw(registry.load_corpus(corpus_id), one.landed, paths),
            scales={key: scale for key, scale in build.scales.items() if key != corpus_id} | one.scale,
            fallbacks=build.fallbacks | {corpus_id: one.fallback},
            notices=build.notices | {corpus_id: (notice,)},
        )
    for database in (paths.scratch_database, paths.scratch_staging):
        files.remove(database)
    return write_catalog(build, paths, settings)[0]


def write_catalog(build: Build, paths: WarehousePaths, settings: Settings) -> tuple[Build, dict[str, int]]:
    """Write the raw tables about a build that has landed everything, and save its fingerprint.

    Return the build and the row counts of these tables.
    """
    built = [corpus for corpus in registry.load_corpora() if corpus.corpus_id in build.corpora]
    counts = raw_layer.write_catalog(built, build.landed, paths, settings, build.fallbacks)
    return replace(build, fingerprint=fingerprint.fingerprint_landed(build)).save(paths), counts


def _only_change(build: Build, error: CheckError, paths: WarehousePaths) -> dict[str, str]:
    """Return the one corpus whose files differ from those of the published build, if there is exactly one.

    This serves a failure that names no corpus: the build is tried with the published files of that corpus. If it
    passes, the new files were at fault.
    """
    try:
        published = builds.read_manifest(paths, builds.published_build(paths)[0])
    except InputError:  # nothing is published that could take its place
        return {}
    files = published.files, build.landed
    before, now = ({(file.corpus_id, file.source_file_id, file.sha256) for file in side} for side in files)
    changed = {corpus_id for corpus_id, *_ in before ^ now} & set(build.corpora)
    return {corpus_id: str(error) for corpus_id in changed} if len(changed) == 1 else {}
