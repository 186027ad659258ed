"""The restrictions of queries on a build with Parquet tables: the cases of `test_connection`, and more."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import catalogue, connection
from dialogue_warehouse.storage import builds
from dialogue_warehouse.terminal.shell import Names
from tests.unit.parquet_builds import make_parquet_build
from tests.unit.published import BUILD, run, snapshot
from tests.unit.reading.test_catalogue import test_a_table_is_described_by_any_of_its_names
from tests.unit.reading.test_connection import (
    test_a_query_does_not_see_the_variables_of_python,
    test_core_tables_resolve_by_schema_and_table,
    test_cursor_has_the_same_restrictions,
    test_no_statement_changes_a_setting,
    test_no_statement_changes_the_database,
    test_no_statement_reads_a_file,
    test_no_statement_writes_a_file,
    test_sorting_beyond_memory_fails_instead_of_spilling_to_disk,
    test_two_readers_can_have_the_warehouse_open,
)
from tests.unit.reading.test_query import test_one_select_or_explain_runs

__all__ = [
    "test_a_query_does_not_see_the_variables_of_python",
    "test_a_table_is_described_by_any_of_its_names",
    "test_core_tables_resolve_by_schema_and_table",
    "test_cursor_has_the_same_restrictions",
    "test_no_statement_changes_a_setting",
    "test_no_statement_changes_the_database",
    "test_no_statement_reads_a_file",
    "test_no_statement_writes_a_file",
    "test_one_select_or_explain_runs",
    "test_sorting_beyond_memory_fails_instead_of_spilling_to_disk",
    "test_two_readers_can_have_the_warehouse_open",
]
"""Tests that must hold for both formats of tables; they run here with the fixtures below."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a warehouse folder with one published build, which is copied for each test."""
    folder = tmp_path_factory.mktemp("made")
    make_parquet_build(WarehousePaths(folder))
    return folder


@pytest.fixture
def paths(made: Path, tmp_path: Path) -> WarehousePaths:
    """Return a warehouse folder with one published build; its name has characters that SQL treats specially."""
    return WarehousePaths(shutil.copytree(made, tmp_path / "o'brien"))


@pytest.fixture
def con(paths: WarehousePaths) -> Iterator[connection.Connection]:
    """Return the published build, opened."""
    with connection.open_published(paths, raw=True) as con:
        yield con


def test_fixture_has_its_rows_in_parquet(paths: WarehousePaths, con: connection.Connection) -> None:
    assert len(builds.files_below(paths.build_tables(BUILD))) == 2
    assert con.execute("select view_name from duckdb_views() where schema_name = 'core'").fetchall()


def names(paths: WarehousePaths) -> list[str]:
    folder = paths.build_tables(BUILD)
    return [builds.name_of(file, folder) for file in builds.files_below(folder)]


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1 as a) to '{name}'",
        "copy (select 1 as a) to '{name}' (format parquet)",
        "copy (select 1 as a) to '{name}' (format parquet, use_tmp_file false)",
        "copy (select 1 as a) to '{name}.d' (format parquet, per_thread_output true)",
        "with written as (copy (select 1 as a) to '{name}' (use_tmp_file false)) select 1",
        "export database '{name}'",
        "attach '{name}.new' as other",
    ],
)
def test_file_of_a_build_cannot_be_written(paths: WarehousePaths, con: connection.Connection, statement: str) -> None:
    before = snapshot(paths.root)
    for name in (*names(paths), f"{builds.NAMES}{BUILD}/core/new.parquet", f"{builds.NAMES}new"):
        with pytest.raises(duckdb.Error):
            con.execute(statement.format(name=name)).fetchall()
    assert snapshot(paths.root) == before
    with pytest.raises(QueryError, match=r"^a query can neither read nor write files: "):
        run(con, f"with w as (copy (select 1) to '{names(paths)[0]}' (use_tmp_file false)) select 1")


@pytest.mark.parametrize(
    "name",
    ["{build}/../../published.json", "../{build}.json", "/etc/passwd", "{build}.json", "{build}/core/*/*.parquet"],
)
def test_names_lead_only_to_files_of_the_build(con: connection.Connection, name: str) -> None:
    named = builds.NAMES + name.format(build=BUILD)
    found = con.execute(f"from glob('{builds.NAMES}*')").fetchall()
    for read in ("read_text", "read_blob", "read_csv", "read_parquet", "read_json"):
        with contextlib.suppress(duckdb.Error):
            found += con.execute(f"from {read}('{named}')").fetchall()
    assert found == []


def test_missing_file_is_reported_in_one_line(paths: WarehousePaths) -> None:
    lost = names(paths)[1]
    builds.files_below(paths.build_tables(BUILD))[1].unlink()
    with connection.open_published(paths) as con:
        assert run(con, "select count(*) from core.fct_frames") == [(0,)]
        with pytest.raises(QueryError, match=f"^{lost} is missing, a file of the build: build again$"):
            run(con, "select count(*) from core.fct_turns")


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"<html>not found</html>", "cut off"])
def test_damaged_file_is_reported_in_one_line(paths: WarehousePaths, damage: bytes | str) -> None:
    file = builds.files_below(paths.build_tables(BUILD))[1]
    file.write_bytes(file.read_bytes()[:-30] if isinstance(damage, str) else damage)
    with connection.open_published(paths) as con, pytest.raises(QueryError) as refused:
        run(con, "select * from core.fct_turns")
    assert names(paths)[1] in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "Traceback" not in str(refused.value)


def test_contracts_are_not_listed_among_the_tables(con: connection.Connection) -> None:
    assert {table.schema for table in catalogue.list_tables(con)} == {"core", "raw"}
    assert not [name for name in Names(con)._tables if name.startswith("contracts")]
