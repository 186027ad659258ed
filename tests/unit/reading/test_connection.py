"""The connection to a published build: the files that it opens, and the restrictions of its queries."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection
from dialogue_warehouse.settings import Settings
from tests.unit.published import BUILD, TURNS, run, snapshot, write_raw

# Opening


def test_core_tables_resolve_by_schema_and_table(con):
    assert run(con, "select utterance from core.fct_turns order by turn_index") == [(row[1],) for row in TURNS]


def test_raw_tables_are_exactly_the_files_of_the_manifest(paths):
    write_raw(paths, "apples-of-another-build", [4])
    with connection.open_published(paths, raw=True) as con:
        assert run(con, "select record_index from raw.fruit__apples order by all") == [(1,), (2,), (3,)]


def test_raw_table_may_have_more_files_than_a_process_can_have_open(paths):
    """One for each file of a release: at scale 10, SGD has 1,810 files, and most systems allow 1,024 open files."""
    files = [write_raw(paths, f"apples-{number:03}", [number]) for number in range(120)]
    manifest = json.loads(paths.build_manifest(BUILD).read_text())
    paths.build_manifest(BUILD).write_text(json.dumps(manifest | {"raw": {"fruit__apples": files}}))
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/proc/self/fd").iterdir())) + 40, allowed[1]))
    try:
        with connection.open_published(paths, raw=True) as con:
            assert run(con, "select count(*), sum(record_index) from raw.fruit__apples") == [(120, 7140)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, allowed)


def test_raw_tables_are_absent_unless_requested(paths):
    with connection.open_published(paths) as con, pytest.raises(QueryError, match="fruit__apples"):
        run(con, "select * from raw.fruit__apples")


def test_two_readers_can_have_the_warehouse_open(paths):
    with connection.open_published(paths) as one, connection.open_published(paths) as other:
        assert run(one, "select count(*) from core.fct_turns") == run(other, "select count(*) from core.fct_turns")


def test_an_empty_folder_says_what_to_run(tmp_path):
    with pytest.raises(InputError) as error:
        connection.open_published(WarehousePaths(tmp_path / "none"))
    said = str(error.value)
    assert said.startswith(f"no warehouse at {tmp_path / 'none'}: run `")
    assert said.endswith(f"dialogue-warehouse build --warehouse {tmp_path / 'none'}`")


@pytest.mark.parametrize("damage", [b"", b"<html>not found</html>", "cut off"])
def test_a_damaged_database_is_one_line(paths, damage):
    database = paths.build_database(BUILD)
    database.write_bytes(database.read_bytes()[:20_000] if damage == "cut off" else damage)
    with pytest.raises(QueryError) as error:
        connection.open_published(paths)
    assert str(database) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("pointer", ["", "[]", "{}", "{"])
def test_a_damaged_pointer_is_one_line(paths, pointer):
    paths.pointer.write_text(pointer)
    with pytest.raises(InputError, match="is not the name of the published build"):
        connection.open_published(paths)


def test_pointer_to_a_missing_build_is_reported(paths):
    paths.build_database(BUILD).unlink()
    with pytest.raises(InputError, match=f"names build {BUILD}"):
        connection.open_published(paths)


def test_a_missing_raw_file_is_one_line(paths):
    (paths.raw / "fruit" / "apples" / "apples-1.parquet").unlink()
    with pytest.raises(QueryError, match="raw table fruit__apples"):
        connection.open_published(paths, raw=True)


def test_missing_manifest_affects_only_raw_tables(paths):
    paths.build_manifest(BUILD).unlink()
    connection.open_published(paths).close()
    with pytest.raises(InputError, match="manifest of build"):
        connection.open_published(paths, raw=True)


def test_invalid_memory_limit_names_the_setting(paths):
    with pytest.raises(QueryError, match="DIALOGUE_MEMORY_LIMIT"):
        connection.open_published(paths, settings=Settings(memory_limit="a lot"))


def test_memory_and_threads_have_the_limits_of_the_settings(paths):
    with connection.open_published(paths, settings=Settings(memory_limit="1GiB", threads=1)) as con:
        assert run(con, "select current_setting('memory_limit'), current_setting('threads')") == [("1.0 GiB", 1)]


# The fence: on the connection itself, so that it holds for every statement, whatever `run_query` lets through


READS = (
    "select * from read_csv('{file}')",
    "select * from read_text('{file}')",
    "select * from read_blob('{file}')",
    "select * from read_json('{file}')",
    "select * from read_parquet('{file}')",
    "select * from sniff_csv('{file}')",
    "select * from parquet_metadata('{file}')",
    "select * from read_duckdb('{file}')",
    "select * from '{file}'",
    "select * from query_table('{file}')",
    "select * from query('select * from read_text(''{file}'')')",
    "select * from glob('{folder}/*')",
    "attach '{file}' as other",
    "attach '{file}' as other (read_only)",
    "import database '{folder}'",
    "create temp table copied as select * from read_text('{file}')",
    "copy core.fct_frames from '{file}'",
    "select getenv('HOME')",
    "install httpfs",
    "load httpfs",
    "load '{file}'",
    "select * from read_text('https://example.com/')",
)


@pytest.mark.parametrize("statement", READS)
@pytest.mark.parametrize("target", ["/etc/passwd", "database", "raw"])
def test_no_statement_reads_a_file(con, paths, statement, target):
    raw = paths.raw / "fruit" / "apples" / "apples-1.parquet"
    file = {"database": paths.build_database(BUILD), "raw": raw}.get(target, Path(target))
    with pytest.raises(duckdb.Error):
        con.execute(statement.format(file=quoted(file), folder=quoted(file.parent))).fetchall()


def quoted(path: Path) -> str:
    """Return the path as part of a string in SQL."""
    return str(path).replace("'", "''")


WRITES = (
    "copy (select 1) to '{file}'",
    "copy (select 1) to '{file}' (use_tmp_file false)",
    "with written as (copy (select 1) to '{file}' (use_tmp_file false)) select 1",
    "select * from query('with written as (copy (select 1) to ''{file}'' (use_tmp_file false)) select 1')",
    "explain analyze copy (select 1) to '{file}' (use_tmp_file false)",
    "export database '{file}'",
    "attach '{file}.new' as other",
    "set profiling_output = '{file}'",
    "set log_query_path = '{file}'",
)


@pytest.mark.parametrize("statement", WRITES)
@pytest.mark.parametrize("name", ["new.csv", "builds/{build}.duckdb", "builds/{build}.duckdb.wal", "raw"])
def test_no_statement_writes_a_file(con, paths, statement, name):
    # Found with DuckDB 2.0.0: with enable_external_access=false alone, the third statement overwrites the database.
    raw = paths.raw / "fruit" / "apples" / "apples-1.parquet"
    file = raw if name == "raw" else paths.root / name.format(build=BUILD)
    before = snapshot(paths.root)
    with pytest.raises(duckdb.Error):
        con.execute(statement.format(file=quoted(file))).fetchall()
    assert snapshot(paths.root) == before


@pytest.mark.parametrize(
    "statement",
    [
        "insert into core.fct_turns values (3, 'x', 'y')",
        "with gone as (delete from core.fct_turns returning *) select * from gone",
        "update core.fct_turns set utterance = ''",
        "drop table core.fct_turns",
        "create table core.other (a integer)",
        "comment on table core.fct_turns is 'x'",
        "detach dialogues",
    ],
)
def test_no_statement_changes_the_database(con, paths, statement):
    before = snapshot(paths.root)
    with pytest.raises(duckdb.Error):
        con.execute(statement).fetchall()
    assert snapshot(paths.root) == before
    assert con.execute("select count(*) from dialogues.core.fct_turns").fetchall() == [(len(TURNS),)]


@pytest.mark.parametrize(
    "statement",
    [
        "set threads = 8",
        "reset threads",
        "set global memory_limit = '1TB'",
        "pragma threads = 8",
        "set enable_external_access = true",
        "set disabled_filesystems = ''",
        "set allowed_directories = ['/']",
        "set lock_configuration = false",
        "set python_enable_replacements = true",
        "call enable_logging()",
        "pragma enable_profiling",
    ],
)
def test_no_statement_changes_a_setting(con, statement):
    with pytest.raises(duckdb.Error):
        con.execute(statement)


def test_no_progress_bar_gets_into_a_result(con):
    assert con.execute("select current_setting('enable_progress_bar')").fetchone() == (False,)


def test_a_query_does_not_see_the_variables_of_python(con):
    secrets = pyarrow.table({"secret": [1]})
    with pytest.raises(QueryError, match="secrets"):
        run(con, "select * from secrets")
    assert secrets.num_rows == 1


def test_a_query_sees_no_stored_secrets(con):
    assert run(con, "select * from duckdb_secrets()") == []
    assert run(con, "select current_setting('allow_persistent_secrets')") == [(False,)]


def test_cursor_has_the_same_restrictions(con):
    with pytest.raises(duckdb.PermissionException):
        con.cursor().execute("select * from read_text('/etc/passwd')")


def test_sorting_beyond_memory_fails_instead_of_spilling_to_disk(paths):
    with connection.open_published(paths, settings=Settings(memory_limit="20MB", threads=1)) as con:
        before = snapshot(paths.root)
        with pytest.raises(QueryError, match="Out of Memory"):
            run(con, "select hash(range) as h from range(5_000_000) order by h desc limit 1 offset 4_000_000")
        assert snapshot(paths.root) == before
