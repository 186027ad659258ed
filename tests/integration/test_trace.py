"""Tracing on whole warehouses: the value at each key's pointer is the one in its row."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.common.json_values import resolve
from dialogue_warehouse.lineage import tracing
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.findings import KEYED_TABLES, TraceError
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from tests import fixtures
from tests.conftest import run_command
from tests.fixtures.shapes import Row
from tests.released import read_file

KEYS_A_TABLE = 300
"""Number of keys per table and corpus that are traced."""
TRACES = fixtures.load_all("traces")
AGREES = {(table, corpus_id) for corpus_id, traces in TRACES.items() for table in traces.AGREES}
WITHOUT_PLACE = {(table, corpus_id) for corpus_id, traces in TRACES.items() for table in traces.WITHOUT_PLACE}
AWKWARD_KEYS = [pytest.param(*key, id=key[0]) for traces in TRACES.values() for key in traces.KEYS]


@dataclass(frozen=True)
class Built:
    """A warehouse and the releases that it was built from."""

    folder: Path
    source: Path
    con: duckdb.DuckDBPyConnection
    is_sample: bool = False

    @property
    def database(self) -> Path:
        """Return the published build's own file."""
        database = builds.published_build(WarehousePaths(self.folder))[1]
        assert database is not None
        return database

    def rows(self, query: str) -> list[Row]:
        found = self.con.execute(query)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def trace(self, key: str, **settings: Any) -> tracing.Trace:
        return tracing.trace(WarehousePaths(self.folder), Settings(warehouse=self.folder, **settings), key)


@pytest.fixture(scope="module", params=["sample", "awkward", "real"])
def built(request: pytest.FixtureRequest) -> Iterator[Built]:
    folder = request.getfixturevalue(f"{request.param}_folder")
    source = folder / "sample"
    if request.param != "sample":
        source = request.getfixturevalue("awkward_releases" if request.param == "awkward" else "real_corpora")
    with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
        yield Built(folder, source, con, request.param == "sample")


@pytest.fixture
def sample(sample_folder: Path) -> Iterator[Built]:
    with duckdb.connect(str(sample_folder / "dialogues.duckdb"), read_only=True) as con:
        yield Built(sample_folder, sample_folder / "sample", con)


@pytest.fixture
def awkward(awkward_folder: Path, awkward_releases: Path) -> Iterator[Built]:
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        yield Built(awkward_folder, awkward_releases, con)


@pytest.fixture
def copied(sample: Built, tmp_path: Path) -> Iterator[Built]:
    """Return a copy of the sample's warehouse with its source beside it, to be damaged."""
    folder, source = tmp_path / "warehouse", tmp_path / "source"
    shutil.copytree(sample.folder, folder, ignore=shutil.ignore_patterns(".*", "raw", "sample"))
    shutil.copytree(sample.source, source)
    for database in folder.glob("builds/*.duckdb"):
        database.chmod(0o644)
    with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
        yield Built(folder, source, con)


@functools.cache
def document(source: Path, source_file_id: str) -> Any:
    corpus_id, _, path = source_file_id.partition("/")
    return read_file(source / corpus_id, corpus_id, path)


def disagreements(built: Built, table: str, corpus: str) -> list[tuple[str, str]]:
    """Return keys whose pointer leads to another value than the one in their row, and their pointers."""
    assert table in KEYED_TABLES, f"{table} has no key in KEYED_TABLES of dialogue_warehouse/reading/findings.py"
    rows = built.rows(
        f"""
        select facts.*, core.json_pointer(facts.traced) as scalar_pointer, place.source_file_id as place_file,
            place.record_pointer as place_record, place.json_pointer, place.other_json_pointer
        from (
            select *, {KEYED_TABLES[table]} as traced from core.{table} where corpus_id = '{corpus}'
            order by hash(traced) limit {KEYS_A_TABLE}
        ) as facts
        left join lateral (from core.source_of(facts.traced)) as place on true
        """
    )
    if built.is_sample:
        assert rows
    broken = []
    for row in rows:
        whole = document(built.source, row["place_file"])
        row["other"] = at(whole, row["other_json_pointer"])
        agrees = (
            row["json_pointer"] == row["scalar_pointer"]
            and row["json_pointer"].startswith(row["place_record"])
            and TRACES[corpus].AGREES[table](row, resolve(whole, row["json_pointer"]))
        )
        if not agrees:
            broken.append((row["traced"], row["json_pointer"]))
    return broken


def at(whole: Any, pointer: str | None) -> Any:
    try:
        return None if pointer is None else resolve(whole, pointer)
    except LookupError:
        return None


@pytest.mark.parametrize(("table", "corpus"), sorted(AGREES))
def test_value_at_the_pointer_is_the_value_of_the_row(built: Built, table: str, corpus: str) -> None:
    assert disagreements(built, table, corpus) == []


def test_wrong_declaration_misleads_macro_and_command_and_is_found(copied: Built) -> None:
    with duckdb.connect(str(copied.database)) as con:
        con.execute(
            "update core.dim_pointer_forms set pointer_form = replace(pointer_form, '/targets/2', '/targets/1')"
        )
    with duckdb.connect(str(copied.database), read_only=True) as con:
        misled = Built(copied.folder, copied.source, con, is_sample=True)
        found = disagreements(misled, "fct_actions", "abcd")
        assert found
        assert misled.trace(found[0][0], source=copied.source).pointer == found[0][1]
        assert found[0][1].endswith("/targets/1")


def test_every_table_and_corpus_with_keys_is_checked(sample: Built) -> None:
    found = set()
    for table in KEYED_TABLES:
        found |= {(table, row["corpus_id"]) for row in sample.rows(f"select distinct corpus_id from core.{table}")}
    assert found == set(AGREES) | WITHOUT_PLACE


def test_every_key_has_a_different_place(built: Built) -> None:
    for table, key in KEYED_TABLES.items():
        placed = f"""
            select facts.traced, facts.corpus_id, place.source_file_id, place.json_pointer
            from (select corpus_id, {key} as traced from core.{table}) as facts
            left join lateral (from core.source_of(facts.traced)) as place on true
        """
        unplaced = built.rows(f"select distinct corpus_id from ({placed}) where json_pointer is null")
        assert {(table, row["corpus_id"]) for row in unplaced} <= WITHOUT_PLACE
        shared = f"select traced from ({placed}) where json_pointer is not null"
        assert built.rows(f"{shared} qualify count(*) over (partition by traced) > 1 limit 3") == []
        assert (
            built.rows(f"{shared} qualify count(*) over (partition by source_file_id, json_pointer) > 1 limit 3") == []
        )


def test_macros_work_in_a_copy_of_the_file_alone(sample_warehouse: Path, tmp_path: Path) -> None:
    copy = shutil.copy(sample_warehouse, tmp_path / "elsewhere.duckdb")
    with duckdb.connect(str(copy), read_only=True) as con:
        (key, pointer) = con.execute(
            "select action_key, core.json_pointer(action_key) from core.fct_actions where corpus_id = 'abcd' limit 1"
        ).fetchall()[0]
        assert pointer.endswith("/targets/2")
        assert con.execute("select json_pointer from core.source_of(?)", [key]).fetchall() == [(pointer,)]
        comments = con.execute(
            "select function_name from duckdb_functions() where schema_name = 'core' and comment is not null order by 1"
        ).fetchall()
        assert comments == [("json_pointer",), ("same_text",), ("source_of",), ("transcript",)]


def test_macro_does_not_confuse_the_callers_columns_with_its_own(sample: Built) -> None:
    for column in ("dialogue_key", "record_pointer", "source_file_id", "key_form"):
        rows = sample.rows(
            f"""
            select core.json_pointer({column}) as pointer, wanted
            from (select dialogue_key as {column}, record_pointer as wanted from core.dim_dialogues)
            """
        )
        assert rows
        assert all(row["pointer"] == row["wanted"] for row in rows), column


def test_sql_command_can_call_the_macro(sample: Built) -> None:
    key = sample.rows("select min(vote_key) as found from core.fct_votes")[0]["found"]
    query = f"select core.json_pointer('{key}') as pointer"
    shown = run_command("sql", query, "--json", "--warehouse", sample.folder)
    assert json.loads(shown.stdout) == [{"pointer": sample.trace(key).pointer}]


@pytest.mark.parametrize(("key", "pointer", "value"), AWKWARD_KEYS)
def test_awkward_keys_lead_to_their_place(awkward: Built, key: str, pointer: str, value: str | None) -> None:
    found = awkward.trace(key)
    assert found.pointer == pointer
    assert found.value_json is not None
    assert found.missing is found.changed is None
    if value is not None:
        assert json.loads(found.value_json) == json.loads(value)


def test_trace_of_an_action_has_all_information(sample: Built) -> None:
    row = sample.rows("select * from core.fct_actions where corpus_id = 'sgd' order by action_key limit 1")[0]
    found = sample.trace(row["action_key"])
    assert (found.table, found.row) == ("core.fct_actions", row)
    assert found.file == sample.source / found.source_file_id
    assert found.pointer.startswith(f"{found.record_pointer}/turns/{row['turn_index']}/")
    assert json.loads(found.value_json or "")["act"] == row["act"]


def test_turn_with_two_places_shows_both(sample: Built) -> None:
    row = sample.rows("select * from core.fct_turns where corpus_id = 'abcd' limit 1")[0]
    found = sample.trace(row["turn_key"])
    assert json.loads(found.value_json or "")["text"] == row["delexicalized_utterance"]
    assert json.loads(found.other_value_json or "")[1] == row["utterance"]


def test_command_prints_place_and_json(sample: Built) -> None:
    key = sample.rows("select min(turn_key) as found from core.fct_turns where corpus_id = 'sgd'")[0]["found"]
    shown = run_command("trace", key, "--warehouse", sample.folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "table    core.fct_turns\n" in shown.stdout
    place, _, text = shown.stdout.partition("\n\n")
    pointer = sample.trace(key).pointer
    assert place.endswith(f"pointer  {pointer}")
    assert json.loads(text.partition("\n")[2])["utterance"]
    whole = json.loads(run_command("trace", key, "--json", "--warehouse", sample.folder).stdout)
    assert whole["json_pointer"] == pointer
    assert whole["row"]["utterance"] == whole["value"]["utterance"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            "sgd/train/1_00000/14",
            "no row has the key 'sgd/train/1_00000/14'; core.dim_dialogues has 'sgd/train/1_00000', with 4 turns, 0 to 3",
        ),
        (
            "sgd/train/1_00000/1/frame/0/result/2",
            "no row has the key 'sgd/train/1_00000/1/frame/0/result/2'; core.fct_frames has "
            "'sgd/train/1_00000/1/frame/0', and keys below it are result/0, result/1, ",
        ),
        (
            "sgd/train/1_00000~4",
            "no row has the key 'sgd/train/1_00000~4'; the most similar dialogue is 'sgd/train/1_00000",
        ),
        ("sgd/train/1_00000/", "no row has the key 'sgd/train/1_00000/'; core.dim_dialogues has 'sgd/train/1_00000'"),
        ("' or 1=1 --", "no row has the key '' or 1=1 --'; a key of this build begins with one of "),
        ("", "no row has the key ''; a key of this build begins with one of "),
    ],
)
def test_unknown_key_is_reported_with_its_known_part(awkward: Built, key: str, message: str) -> None:
    with pytest.raises(TraceError) as refused:
        awkward.trace(key)
    assert str(refused.value).startswith(message)
    assert (refused.value.near is not None) == ("begins with one of" not in message)


def test_unknown_key_is_one_line_and_bad_input(sample: Built) -> None:
    refused = run_command("trace", "nowhere/at/all", "--warehouse", sample.folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert len(refused.stderr.splitlines()) == 1


def test_unknown_key_of_a_corpus_that_was_not_read_names_those_that_were(copied: Built) -> None:
    with duckdb.connect(str(copied.database)) as con:
        for table in ("dim_dialogues", "dim_source_files"):
            con.execute(f"delete from core.{table} where corpus_id not in ('bbai', 'sgd')")
    with pytest.raises(TraceError, match=r"'abcd/train/0'; a key of this build begins with one of bbai/, sgd/\Z"):
        copied.trace("abcd/train/0")


def test_key_without_a_place_is_reported(sample: Built) -> None:
    key = sample.rows("select min(intent_key) as found from core.dim_intents where corpus_id = 'bbai'")[0]["found"]
    with pytest.raises(TraceError, match="no single place in the release"):
        sample.trace(key)


def test_changed_file_is_reported_and_its_json_is_not_shown(copied: Built) -> None:
    row = copied.rows("select dialogue_key, source_file_id from core.dim_dialogues where corpus_id = 'sgd' limit 1")[0]
    with (copied.source / row["source_file_id"]).open("a") as file:
        file.write("\n")
    found = copied.trace(row["dialogue_key"], source=copied.source)
    assert found.value_json is None
    assert "has changed since it was read" in (found.changed or "")
    shown = run_command("trace", row["dialogue_key"], "--source", copied.source, "--warehouse", copied.folder)
    assert shown.returncode == 1
    assert f"pointer  {found.pointer}" in shown.stdout
    assert len(shown.stderr.splitlines()) == 1


def test_missing_file_still_shows_the_place(copied: Built) -> None:
    row = copied.rows("select dialogue_key, record_pointer from core.dim_dialogues where corpus_id = 'sgd' limit 1")[0]
    shown = run_command("trace", row["dialogue_key"], "--warehouse", copied.folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"pointer  {row['record_pointer']}\n" in shown.stdout
    assert "source   missing, so its JSON cannot be shown: " in shown.stdout
    assert copied.trace(row["dialogue_key"], source=copied.source).missing is None


def test_build_without_a_manifest_asks_for_the_source(copied: Built) -> None:
    for manifest in (copied.folder / "builds").glob("*.json"):
        manifest.unlink()
    key = copied.rows("select min(turn_key) as found from core.fct_turns")[0]["found"]
    found = copied.trace(key)
    assert (found.file, found.value_json) == (None, None)
    assert "is missing; build again, or give --source" in (found.missing or "")
    assert copied.trace(key, source=copied.source).value_json is not None


def test_other_form_of_a_release_is_rejected_by_name(copied: Built) -> None:
    row = copied.rows("select dialogue_key, source_file_id from core.dim_dialogues where corpus_id = 'sgd' limit 1")[0]
    with duckdb.connect(str(copied.database)) as con:
        con.execute("update core.dim_source_files set release_form = 'huggingface'")
    with pytest.raises(TraceError, match="built from its huggingface form"):
        copied.trace(row["dialogue_key"])


def test_line_of_a_split_file_is_its_value(sample: Built) -> None:
    row = sample.rows("select * from core.dim_split_members limit 1")[0]
    found = sample.trace(f"{row['source_file_id']}/{row['record_index']}")
    assert json.loads(found.value_json or "") == row["dialogue_id"]
    assert found.pointer == f"/{row['record_index']}"
