"""The search: through the index of a build and without it, the same utterances and labels as a scan by SQL finds."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import search
from dialogue_warehouse.reading.connection import build_of, open_published
from dialogue_warehouse.reading.selection import Selection
from dialogue_warehouse.storage import retention
from dialogue_warehouse.storage.search_index import KINDS, TURNS
from tests.conftest import rows, run_command
from tests.unit import core_tables

LABELS = {
    "corpus": "select corpus_id, dialogue_key from core.dim_dialogues",
    "split": "select coalesce(split, 'none'), dialogue_key from core.dim_dialogues",
    "domain": "select domain, dialogue_key from core.dim_dialogue_services",
    "task": "select task, dialogue_key from core.dim_dialogues",
    "channel": "select channel, dialogue_key from core.dim_dialogues",
    "act": "select act, dialogue_key from core.fct_actions",
    "slot": "select slot_name, dialogue_key from core.fct_slots",
    "defect": "select unnest([rule_id, 'any']), dialogue_key from quality.violations where kind = 'defect'",
    "by_design": "select rule_id, dialogue_key from quality.violations where kind <> 'defect'",
}
WORDS = {
    "please": r"\bplease\b",
    "what the": r"(?=.*\bwhat\b).*\bthe\b",
    '"what is the"': r"\bwhat\W+is\W+the\b",
    "even*": r"\beven",
    '"do you wa"*': r"\bdo\W+you\W+wa",
    "PLEASE?": r"\bplease\b",
    'the "thank you': r"(?=.*\bthe\b).*\bthank\W+you\b",
}
"""Searches, each with the regular expression that finds the same utterances of plain letters."""


@pytest.fixture(scope="module")
def paths(sample_folder: Path) -> WarehousePaths:
    return WarehousePaths(sample_folder)


@pytest.fixture(scope="module")
def con(paths: WarehousePaths) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_published(paths) as con:
        yield con


@pytest.fixture(scope="module", params=["beside the build", "in memory"])
def index(
    request: pytest.FixtureRequest,
    paths: WarehousePaths,
    con: duckdb.DuckDBPyConnection,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[search.Index]:
    is_kept = request.param == "beside the build"
    if is_kept:
        assert paths.build_search(build_of(con)).is_file()
    there = paths if is_kept else WarehousePaths(tmp_path_factory.mktemp("without"))
    with contextlib.closing(search.open_index(con, there)) as index:
        yield index


@pytest.mark.parametrize("words", WORDS)
def test_search_finds_what_a_scan_finds(con: duckdb.DuckDBPyConnection, index: search.Index, words: str) -> None:
    pattern = re.compile(WORDS[words], re.IGNORECASE | re.DOTALL)
    said = rows(con, r"select turn_key, utterance from core.fct_turns where utterance ~ '[A-Za-z0-9 .,?!]*'")
    expected = {key for key, utterance in said if pattern.search(utterance)}
    plain = {key for key, _ in said}
    assert expected
    hits = index.find(words)
    keys = [key for key, _ in search.read_utterances(con, index, hits.places).values()]
    assert hits.is_ranked
    assert {key for key in keys if key in plain} == expected
    found = {key.rpartition("/")[0] for key in keys}
    assert {index.dialogues[number].key for number in search.numbers_of(hits.dialogues)} == found


def test_hits_are_marked_in_the_text(con: duckdb.DuckDBPyConnection, index: search.Index) -> None:
    said = dict(rows(con, r"select turn_key, utterance from core.fct_turns where utterance ~ '[A-Za-z0-9 .,?!]*'"))
    found = search.find_utterances(con, index, "please", index.all, 100_000)
    plain = {one.turn_key: one.marked for one in found if one.turn_key in said}
    assert plain == {key: re.sub(r"(?i)\bplease\b", r"[\g<0>]", said[key]) for key in plain} != {}


def test_best_hit_is_first(con: duckdb.DuckDBPyConnection, index: search.Index) -> None:
    found = search.find_utterances(con, index, "please", index.all, 100_000)
    first, last = found[0].marked.split(), found[-1].marked.split()
    assert len(first) < len(last)  # the word is a larger part of the utterance
    hits = index.find("please")
    best: dict[int, int] = {}
    for place in hits.places:
        best.setdefault(search.place_of(place)[0], place)
    assert hits.first == best  # of each dialogue, the one that a page shows
    assert len(best) < len(hits.places)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_counted_as_sql_counts_them(con: duckdb.DuckDBPyConnection, index: search.Index, kind: str) -> None:
    pairs = {pair for pair in rows(con, LABELS[kind]) if None not in pair}
    assert pairs
    assert index.counts(kind, index.all) == Counter(label for label, _ in pairs)
    label = min(label for label, _ in pairs)
    chosen = index.labelled({kind: [label]})
    assert {index.dialogues[number].key for number in search.numbers_of(chosen)} == {
        key for name, key in pairs if name == label
    }
    among = search.set_of(range(0, len(index.dialogues), 2))
    evens = {dialogue.key for dialogue in index.dialogues[::2]}
    assert index.counts(kind, among) == Counter(name for name, key in pairs if key in evens)


def test_every_dialogue_has_the_task_that_is_published(con: duckdb.DuckDBPyConnection, index: search.Index) -> None:
    every = search.numbers_of(index.all)
    assert list(every) == list(range(len(index.dialogues)))
    tasks = {key: task for task, key in rows(con, LABELS["task"]) if task is not None}
    assert {index.dialogues[one].key: task for one, task in index.label_of_each("task", every).items()} == tasks
    odd = every[1::2]
    found = index.label_of_each("task", odd)
    assert {one: task for one, task in index.label_of_each("task", every).items() if one in odd} == found != {}
    assert search.numbers_of(0) == search.numbers_of(search.set_of([])) == range(0)
    for numbers in ([1], [1, 2], [0, 2]):
        assert list(search.numbers_of(search.set_of(numbers))) == numbers


def test_labels_of_one_kind_add_up_and_of_two_kinds_narrow(index: search.Index) -> None:
    first, second = list(index.labels["corpus"])[:2]
    both = index.labelled({"corpus": [first, second]})
    assert both == index.labels["corpus"][first] | index.labels["corpus"][second]
    split = next(iter(index.labels["split"]))
    narrowed = index.labelled({"corpus": [first], "split": [split]})
    assert narrowed == index.labels["corpus"][first] & index.labels["split"][split]
    assert index.labelled({"corpus": ["unknown"]}) == 0


def test_dialogues_are_numbered_as_published(con: duckdb.DuckDBPyConnection, index: search.Index) -> None:
    expected = rows(
        con,
        "select dialogue_key, turn_count from core.dim_dialogues order by corpus_id, source_file_id, record_index, 1",
    )
    assert [(one.key, one.turn_count) for one in index.dialogues] == expected
    defects = rows(con, "select count(*) from quality.violations where kind = 'defect' and dialogue_key is not null")
    assert [(sum(one.defect_count for one in index.dialogues),)] == defects
    timed = rows(con, "select count(distinct dialogue_key) from core.fct_turns where occurred_at is not null")
    assert [(sum(one.began is not None for one in index.dialogues),)] == timed


def test_selection_narrows_the_search(con: duckdb.DuckDBPyConnection, paths: WarehousePaths) -> None:
    every = search.search(con, paths, "please", most=100_000)
    corpora = {one.turn_key.partition("/")[0] for one in every}
    chosen = min(corpora)
    narrowed = search.search(con, paths, "please", Selection(corpora=(chosen,)), most=100_000)
    assert narrowed == [one for one in every if one.turn_key.startswith(f"{chosen}/")]
    key = every[0].turn_key.rpartition("/")[0]
    alone = search.search(con, paths, "please", Selection(keys=(key,)), most=100_000)
    assert alone == [one for one in every if one.turn_key.rpartition("/")[0] == key]
    assert len(search.search(con, paths, "please", most=3)) == 3


@pytest.mark.parametrize(
    "damage",
    [b"", b"no database", None],
    ids=["empty", "other content", "other version"],
)
def test_unusable_index_is_not_read(
    paths: WarehousePaths, con: duckdb.DuckDBPyConnection, tmp_path: Path, damage: bytes | None
) -> None:
    other = WarehousePaths(tmp_path)
    other.builds.mkdir()
    file = other.build_search(build_of(con))
    if damage is None:
        shutil.copyfile(paths.build_search(build_of(con)), file)
        with contextlib.closing(sqlite3.connect(file)) as tables:
            tables.execute("delete from dialogues")
            tables.commit()
            tables.execute("pragma user_version = 99")
    else:
        file.write_bytes(damage)
    assert search.search(con, other, "please") == search.search(con, paths, "please")


def test_turn_gets_no_number_of_another_dialogue() -> None:
    """Regression: turn 65,536 of a dialogue was found as the first turn of the next one."""
    with duckdb.connect() as con:
        core_tables.create(con)
        for dialogue in ("c/s/1", "c/s/2"):
            core_tables.insert(con, "dim_dialogues", {"corpus_id": "c", "dialogue_key": dialogue})
        for turn in (0, 65_535, 65_536):
            said = {"corpus_id": "c", "dialogue_key": "c/s/1", "turn_index": turn, "utterance": "Hello"}
            core_tables.insert(con, "fct_turns", said)
        places = [search.place_of(place) for place, _ in rows(con, TURNS)]
    assert places == [(0, 0), (0, 65_535)]


def test_index_is_removed_with_its_build(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path)
    paths.builds.mkdir()
    kept, removed, lost = (f"2026010{day}T000000000000Z" for day in (1, 2, 3))
    for build_id in (kept, removed, lost):
        paths.build_search(build_id).touch()
    for build_id in (kept, removed):
        paths.build_database(build_id).touch()
    retention.remove(paths, removed)
    retention.sweep(paths)
    assert [file.name for file in sorted(paths.builds.iterdir())] == [
        paths.build_database(kept).name,
        paths.build_search(kept).name,
    ]


@pytest.mark.parametrize("words", ["", "?", '""', "* *"])
def test_search_for_signs_alone_is_refused(words: str) -> None:
    with pytest.raises(InputError, match="has no word"):
        search.expression(words)


def test_search_that_is_not_unicode_is_refused(paths: WarehousePaths) -> None:
    with pytest.raises(InputError, match="not valid UTF-8"):
        search.expression("word \udcff")
    refused = run_command("search", "word", "\udcff", "--warehouse", paths.root)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)


def test_search_with_very_many_words_is_refused() -> None:
    with pytest.raises(InputError, match="51 words"):
        search.expression("word " * 51)
    with pytest.raises(InputError, match="2,001 characters"):
        search.expression("w" * 2_001)


@pytest.mark.parametrize("text", ["The movie, the MOVIE.", "a \x01movie\x01\x01", "mövie", "no hit", ""])
def test_marking_changes_no_text(text: str) -> None:
    (pieces,) = search.mark([text], "movie")
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece.lower().replace("ö", "o") for piece, is_hit in pieces if is_hit] == ["movie"] * (
        text.lower().replace("ö", "o").count("movie")
    )


def test_command_prints_every_form(paths: WarehousePaths, con: duckdb.DuckDBPyConnection) -> None:
    found = search.search(con, paths, '"what is" the', most=4)
    words = ("search", '"what is"', "the", "--limit", 4, "--warehouse", paths.root)
    as_json = run_command(*words, "--json")
    assert as_json.returncode == 0, as_json.stderr
    assert [row["utterance"] for row in json.loads(as_json.stdout)] == [one.marked for one in found]
    as_csv = csv.DictReader(io.StringIO(run_command(*words, "--csv").stdout))
    assert [row["turn_key"] for row in as_csv] == [one.turn_key for one in found]
    shown = run_command(*words, "--format", "vertical")
    assert found[0].turn_key in shown.stdout
    refused = run_command("search", "?", "--warehouse", paths.root)
    assert (refused.returncode, refused.stderr) == (2, "error: the search has no word: '?'\n")
