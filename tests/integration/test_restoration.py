"""Restoration: every file is restored as it was read, and every change of a published value is reported."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.common.text import command
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.lineage import restored_files, restoring, verifying
from dialogue_warehouse.lineage.restored_files import SourceFile
from dialogue_warehouse.releases.records import Record
from dialogue_warehouse.settings import Settings
from tests import fixtures
from tests.conftest import run_command
from tests.released import read_file

CORPORA = registry.corpus_ids()

OURS = {
    # Derived columns, which the publisher's files do not have: keys, shared labels, counts. All others must be noticed.
    "*": {
        *("corpus_id", "split", "dialogue_key", "turn_key", "turn_index", "frame_index", "role"),
        *("annotation_type", "action_type", "event_type"),
    },
    "dim_dialogues": {
        *("source_split", "id_occurrence", "record_pointer", "channel", "collection_method"),
        *("turn_count", "utterance_count", "source_part"),
    },
    "dim_source_files": {
        *("source_file_id", "path", "entity", "source_part", "verification", "record_count", "bytes"),
        *("release_form", "losses", "is_generated"),
    },
    "fct_turns": {"occurred_at", "segment_count"},
    "fct_frames": {"frame_key"},
    "fct_actions": {"action_key", "service", "item_index"},
    "fct_slots": {"slot_key", "service", "status", "action_index", "canonical_value"},
    "fct_votes": {"vote_key", "agent_id"},
    "fct_responses": {"response_key"},
    "fct_classifier_examples": {"example_key"},
    "fct_service_calls": {"call_key", "service", "result_count"},
    "fct_service_results": {"result_key", "call_key", "service"},
    "fct_candidates": {"candidates_key"},
    "fct_knowledge_items": {"knowledge_key", "is_shared"},
    "dim_dialogue_services": {"domain"},
    "dim_acts": {"description"},
    "dim_agents": {"agent_id"},
    "dim_services": {"service_definition_key", "domain"},
    "dim_intents": {"intent_key"},
    "dim_slots": {"slot_definition_key", "is_categorical"},
    "dim_guidelines": {"guideline_key", "intent"},
    "dim_guideline_steps": {"act"},
    "source_quarantine": {"error", "record_pointer"},
}
ORDINALS = {
    # Positions: the property-based tests check the order of every list; a single change may leave a position as it is.
    *(
        "position",
        "flow_position",
        "parent_position",
        "gold_position",
        "ballot_position",
        "record_index",
        "attribute_index",
        "item_index",
    ),
    *("action_index", "span_index", "annotation_index", "value_index", "result_index", "step_index"),
}
NOT_PUBLISHED = {"dim_corpora", "dim_speakers", "dim_pointer_forms", "dim_key_pointers"}
PUBLISHED_ROWS = {
    # Arguments of acts are in fct_actions too, and are restored from there; acts without a group come from the data.
    "fct_slots": "annotation_type <> 'action_value'",
    "dim_acts": "act_group is not null",
    # The group of slots with listed values is the same key in each file; the order of the rows differs between builds.
    "dim_slots.slot_group": "is_categorical is distinct from true",
}


def published_rows(table: str, column: str) -> str:
    """Return the condition of the rows whose value of a column comes from the files."""
    return PUBLISHED_ROWS.get(f"{table}.{column}", PUBLISHED_ROWS.get(table, "true"))


TURNED = {
    "VARCHAR": "coalesce({0}, '') || 'x'",
    "INTEGER": "{0} + 1000",
    "BIGINT": "{0} + 1",
    "BOOLEAN": "not {0}",
    "DOUBLE": "{0} + 0.5",
    "VARCHAR[]": "list_append({0}, 'x')",
    "INTEGER[]": "list_append({0}, 7)",
    "MAP(VARCHAR, VARCHAR)": "map_concat({0}, map {{'new': 'x'}})",
}


def same(expected: Any, found: Any) -> bool:
    """Return whether two values are equal as JSON: 1, 1.0 and true differ. Independent of the code under test."""
    if type(expected) is not type(found):
        return False
    if isinstance(expected, dict):
        return expected.keys() == found.keys() and all(same(expected[key], found[key]) for key in expected)
    if isinstance(expected, list):
        return len(expected) == len(found) and all(map(same, expected, found))
    return expected == found


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("kind", ["awkward", "sample", "real"])
def test_restored_files_are_the_published_ones(request, tmp_path: Path, corpus: str, kind: str) -> None:
    folder = request.getfixturevalue(f"{kind}_folder")
    source = {
        "awkward": lambda: request.getfixturevalue("awkward_releases"),
        "sample": lambda: folder / "sample",
        "real": lambda: request.getfixturevalue("real_corpora"),
    }[kind]()
    if not (source / corpus).is_dir():
        pytest.skip(f"no {kind} data of {corpus}")
    restored = run_command("restore", "--corpus", corpus, "--to", tmp_path, "--warehouse", folder)
    assert restored.returncode == 0, restored.stderr
    listed = run_command(
        "sql", "--csv", f"select path from core.dim_source_files where corpus_id = '{corpus}'", "--warehouse", folder
    )
    paths = listed.stdout.split()[1:]
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert written == sorted(paths)
    for path in paths:
        published, again = (read_file(folder, corpus, path) for folder in (source / corpus, tmp_path))
        assert same(published, again), path


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("kind", ["awkward", "sample"])
def test_restored_bytes_do_not_depend_on_the_number_of_threads(request, tmp_path: Path, corpus: str, kind: str) -> None:
    """A second restoration into the same folder is refused if its files differ."""
    folder = request.getfixturevalue(f"{kind}_folder")
    if kind == "awkward" and not (request.getfixturevalue("awkward_releases") / corpus).is_dir():
        pytest.skip(f"no awkward data of {corpus}")
    restore = ("restore", "--corpus", corpus, "--to", tmp_path, "--warehouse", folder)
    for threads in ("1", "2", "5"):
        restored = run_command(*restore, DIALOGUE_THREADS=threads)
        assert restored.returncode == 0, restored.stderr


@pytest.mark.parametrize("kind", ["awkward", "sample", "real"])
def test_verify_finds_every_file_equal(request, kind: str) -> None:
    folder = request.getfixturevalue(f"{kind}_folder")
    completed = run_command("verify", "--json", "--warehouse", folder)
    assert completed.returncode == 0, completed.stderr
    results = json.loads(completed.stdout)
    assert len(results) > 18
    assert all(result["is_equal"] and result["first_difference"] is None for result in results)
    (kept,) = folder.glob("builds/*.restorations.json")
    assert json.loads(kept.read_text()) == results


@pytest.mark.parametrize(
    "command", [("verify",), ("restore", "--corpus", CORPORA[0], "--to", "restored"), ("trace", "a/b/c")]
)
def test_build_whose_file_is_gone_is_one_line_and_status_2(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "published.json").write_text('{"build_id": "20260101T000000000000Z"}')
    completed = run_command(*command, "--warehouse", tmp_path)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert len(completed.stderr.splitlines()) == 1
    assert f"{tmp_path / 'builds' / '20260101T000000000000Z.duckdb'} is missing" in completed.stderr


@pytest.mark.parametrize(
    ("name", "reported"), [("nowhere", "no such folder; --source FOLDER"), ("file", "is not a folder")]
)
def test_verify_without_its_source_is_one_line_and_status_2(
    awkward_folder: Path, tmp_path: Path, name: str, reported: str
) -> None:
    (tmp_path / "file").touch()
    kept = {path: path.read_bytes() for path in awkward_folder.glob("builds/*.restorations.json")}
    completed = run_command("verify", "--warehouse", awkward_folder, DIALOGUE_SOURCE=str(tmp_path / name))
    assert (completed.returncode, completed.stdout) == (2, "")
    assert len(completed.stderr.splitlines()) == 1
    assert completed.stderr.startswith(f"error: {tmp_path / name}: {reported}")
    assert kept == {path: path.read_bytes() for path in awkward_folder.glob("builds/*.restorations.json")}


def test_verify_without_the_generated_sample_names_the_build_that_generates_it(
    sample_folder: Path, tmp_path: Path
) -> None:
    """Regression: the advice was `--source`, but no user has the releases of the sample, which a backup leaves out."""
    folder = tmp_path / "warehouse"
    shutil.copytree(sample_folder, folder, ignore=shutil.ignore_patterns(".*", "raw", "reports", "sample"))
    completed = run_command("verify", "--warehouse", folder)
    assert (completed.returncode, completed.stdout) == (2, "")
    assert completed.stderr == (
        f"error: {folder / 'sample'}: no such folder; `{command('build', warehouse=folder)}` generates the embedded "
        "sample again\n"
    )


def test_verify_names_a_changed_source_and_ends_with_1(
    awkward_folder: Path, awkward_releases: Path, tmp_path: Path
) -> None:

    shutil.copytree(awkward_releases, tmp_path / "releases")
    changed = tmp_path / "releases/sgd/dev/dialogues_001.json"
    changed.write_text(changed.read_text().replace("Cafes_1", "Cafes_9"))
    completed = run_command("verify", "--source", tmp_path / "releases", "--warehouse", awkward_folder)
    assert completed.returncode == 1
    assert "sgd/dev/dialogues_001.json: the restored file differs:" in completed.stderr
    assert "has changed since it was read" in completed.stderr


def test_verified_build_publishes_its_restorations(awkward_warehouse: duckdb.DuckDBPyConnection) -> None:
    restored = "select count(*), bool_and(is_equal), sum(records) from quality.restorations"
    found = awkward_warehouse.execute(restored).fetchall()
    files = awkward_warehouse.execute("select count(*), true, sum(record_count) from core.dim_source_files").fetchall()
    assert found[0][0]
    assert found == files


@pytest.fixture(scope="module")
def core(awkward_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return the core of the awkward releases in memory, to be changed and rolled back."""
    with duckdb.connect() as con:
        con.execute(f"attach '{awkward_folder / 'dialogues.duckdb'}' as published (read_only)")
        con.execute("create schema core")
        for (table,) in con.execute(
            "select table_name from duckdb_tables() where database_name = 'published' and schema_name = 'core'"
        ).fetchall():
            con.execute(f"create table core.{table} as select * from published.core.{table}")
        con.execute("use memory.core")
        yield con


def published_values(con: duckdb.DuckDBPyConnection, corpus: str) -> Iterator[tuple[str, str, str]]:
    """Return table, column and type of every published value of a corpus that can be changed."""
    columns = con.execute(
        "select table_name, column_name, data_type from duckdb_columns() where database_name = 'memory' and schema_name = 'core'"
    ).fetchall()
    with_corpus = {table for table, column, _ in columns if column == "corpus_id"} - NOT_PUBLISHED
    for table, column, data_type in columns:
        if table in with_corpus and column not in OURS["*"] | OURS.get(table, set()) | ORDINALS:
            rows = f"{table} where corpus_id = '{corpus}' and {published_rows(table, column)}"
            (count,) = con.execute(f"select count({column}) from {rows}").fetchall()[0]
            if count:
                yield table, column, data_type


DIFFERENCES = {corpus_id: fixtures.load_or_default(corpus_id, "differences") for corpus_id in CORPORA}


@pytest.mark.parametrize("corpus", CORPORA)
def test_one_changed_value_anywhere_is_named(
    core: duckdb.DuckDBPyConnection, awkward_releases: Path, corpus: str
) -> None:
    unnoticed, changes = [], 0
    for table, column, data_type in published_values(core, corpus):
        core.execute("begin")
        core.execute(
            f"update {table} set {column} = {TURNED[data_type].format(column)} where rowid = "
            f"(select min(rowid) from {table} where corpus_id = '{corpus}' and {column} is not null "
            f"and {published_rows(table, column)})"
        )
        changes += 1
        try:
            results = list(
                verifying.verify(restoring.Restorer(core).files([registry.load_corpus(corpus)]), awkward_releases)
            )
            name = f"{table}.{column}"
            if all(result.is_equal for result in results) and name not in DIFFERENCES[corpus].REPEATED:
                unnoticed.append(name)
        except (duckdb.Error, CorpusError, ValueError, LookupError):
            pass  # a value that makes the rebuilding fail is reported as well
        finally:
            core.execute("rollback")
    assert not unnoticed, (
        f"restore.sql does not notice another value of {', '.join(unnoticed)}: let it read the column, "
        f"or name it in REPEATED of tests/fixtures/{corpus}/differences.py if its value follows from other columns"
    )
    assert changes > 10


def test_difference_names_file_pointer_expected_and_found(
    core: duckdb.DuckDBPyConnection, awkward_releases: Path
) -> None:
    core.execute("begin")
    core.execute("update fct_slots set value = 'Bern' where slot_key = 'sgd/train/1_00000/0/frame/0/state/city/1'")
    results = verifying.verify(restoring.Restorer(core).files([registry.load_corpus("sgd")]), awkward_releases)
    (named,) = [result for result in results if not result.is_equal]
    core.execute("rollback")
    assert named.source_file_id == "sgd/train/dialogues_001.json"
    assert named.first_difference == '/0/turns/0/frames/0/state/slot_values/city/1: expected "Zürich", found "Bern"'


def test_error_in_a_query_of_restore_sql_names_file_and_entity(
    core: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: it was an internal error."""
    corpus = registry.load_corpus(CORPORA[0])
    queries = dict.fromkeys(restoring.restore_queries(corpus), "select absent from dim_corpora")
    monkeypatch.setattr(restoring, "restore_queries", lambda _: queries)
    place = f"{corpus.corpus_id}/restore.sql: {corpus.entities[0].name}: "
    with pytest.raises(CorpusError, match=f'^{place}Binder Error: .*"absent"'):
        next(restoring.Restorer(core).files([corpus]))


def test_record_over_several_lines_is_shown_in_one() -> None:
    assert verifying._shown(b'{\n  "text": "a  b"\n}') == '{ "text": "a  b" }'


def test_files_that_are_not_read_to_the_end_leave_the_connection_usable(core: duckdb.DuckDBPyConnection) -> None:
    files = restoring.Restorer(core).files(registry.load_corpora())
    assert next(files).file.source_file_id.startswith(f"{CORPORA[0]}/")
    files.close()
    assert core.execute("select 42").fetchall() == [(42,)]


def test_key_noted_as_absent_is_left_out_of_the_restored_file(
    core: duckdb.DuckDBPyConnection, awkward_releases: Path
) -> None:
    core.execute("begin")
    core.execute(
        "insert into source_exceptions by name select source_file_id, corpus_id, '/0/services' as json_pointer, "
        "'absent' as form from dim_source_files where source_file_id = 'sgd/train/dialogues_001.json'"
    )
    results = verifying.verify(restoring.Restorer(core).files([registry.load_corpus("sgd")]), awkward_releases)
    named = {result.source_file_id: result.first_difference for result in results if not result.is_equal}
    core.execute("rollback")
    assert list(named) == ["sgd/train/dialogues_001.json"]
    assert named["sgd/train/dialogues_001.json"].startswith("/0/services: expected [")
    assert named["sgd/train/dialogues_001.json"].endswith("], found nothing")


@pytest.mark.parametrize(
    ("expected", "found", "named"),
    [
        (1, 1.0, [("", "1", "1.0")]),
        (1, True, [("", "1", "true")]),
        ({"a/b": None}, {}, [("/a~1b", "null", "nothing")]),
        ({}, {"a": []}, [("/a", "nothing", "[]")]),
        ([1, 2], [1], [("/1", "2", "nothing")]),
        ([], [[]], [("/0", "nothing", "[]")]),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}, [("/a/0/b", '"x"', '"y"')]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    ],
)
def test_plain_comparison_keeps_json_types_apart(expected: Any, found: Any, named: list) -> None:
    assert list(verifying.differences(expected, found)) == named


def test_what_is_put_back_goes_to_its_place() -> None:
    (entity,) = registry.load_corpus("mutualfriends").entities
    file = SourceFile("toy/x.json", "x.json", None, 1, "")
    file.exceptions.extend([("/1/kbs/0", "empty_list"), ("/1/kbs/2", "empty_list"), ("/1/kbs/10", "empty_object")])
    file.extras.append(("/2/a~1b", [1]))
    file.quarantine.append((0, "/0", b'"refused"'))
    records = [Record(1, None, "/1", b'{"kbs": [[1]]}'), Record(2, None, "/2", b"{}")]
    put = list(restored_files.put_back(entity, file, iter(records)))
    assert [json.loads(record.text) for record in put] == ["refused", {"kbs": [[], [1], [], {}]}, {"a/b": [1]}]


@pytest.mark.parametrize("column", ["dim_source_files.release_form", "dim_dialogues.record_index"])
def test_build_of_another_version_says_to_build_again(sample_warehouse: Path, tmp_path: Path, column: str) -> None:
    table, name = column.split(".")
    copy = tmp_path / "copy.duckdb"
    shutil.copy(sample_warehouse, copy)
    with duckdb.connect(copy) as con:
        con.execute(f"alter table core.{table} drop column {name}")
    with (
        restoring.open_core(copy, Settings()) as con,
        contextlib.closing(restoring.Restorer(con).files(registry.load_corpora(CORPORA[:1]))) as files,
    ):
        refused = rf"^{CORPORA[0]}.*\b{name}\b.*; if an older version made the published build, build again$"
        with pytest.raises(CorpusError, match=refused):
            next(files)
