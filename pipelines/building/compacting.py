"""Keep the published file from growing: compact a database that began as a copy of the published build.

DuckDB reuses the space of a dropped table, but not all of it, and a file never shrinks. So a build that reuses tables
is a little larger than one that is made as a whole, and the next one begins with that size. A database that is a tenth
larger than it was when it was last written as a whole is therefore written again, table by table.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import identifier, literal
from dialogue_warehouse.errors import BuildError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import DUCKDB_TABLES, Settings
from dialogue_warehouse.storage import builds
from pipelines.building import parquet_tables
from pipelines.building.parquet_tables import Column, Table
from pipelines.building.state import Build

ALLOWED = 1.1
"""The largest size of a database, as a multiple of its size when it was last written as a whole."""


def compact(build: Build, paths: WarehousePaths, settings: Settings) -> int:
    """Compact the scratch database if it has grown; return its size in bytes when it was last written as a whole.

    If that fails, for example without the disk space for a second database, the database stays as it is. Raises
    BuildError if a table does not have every row afterwards.
    """
    size = paths.scratch_database.stat().st_size
    before = _size_before(paths) if build.reused and build.tables == DUCKDB_TABLES else 0
    if not before or size <= before * ALLOWED:
        return before or size
    compacted = paths.scratch_database.with_suffix(".compacted")
    try:
        write_again(paths.scratch_database, compacted, settings)
    except (OSError, duckdb.IOException, duckdb.OutOfMemoryException):
        files.remove(compacted)
        return before
    compacted.replace(paths.scratch_database)
    return paths.scratch_database.stat().st_size


def _size_before(paths: WarehousePaths) -> int:
    """Return the size of the published build when it was last written as a whole; 0 if it is not known."""
    try:
        build_id = builds.pointed_build(paths)
        return builds.read_manifest(paths, build_id).whole_bytes if build_id else 0
    except InputError:
        return 0


def write_again(database: Path, to: Path, settings: Settings) -> None:
    """Write all tables of a database, with their contracts, comments, and the macros, into a new one."""
    files.remove(to)
    with parquet_tables.attached(database, settings) as con:
        con.execute(f"attach {literal(to)} as compacted (storage_version 'v1.5.0')")
        con.execute("use compacted")
        for schema in builds.PUBLISHED_SCHEMAS:
            con.execute(f"create schema {schema}")
        for table in parquet_tables.read_tables(con):
            for statement in _statements(table, _as_text(con, table)):
                con.execute(statement)
            counts = [con.sql(f"from {place}.{table.address}").count("*") for place in ("built", "compacted")]
            expected, found = (count.fetchall()[0][0] for count in counts)
            if found != expected:
                raise BuildError(f"{table.schema}.{table.name}: has {expected:,} rows, and {found:,} after compaction")
        for statement in parquet_tables.macros(con):
            con.execute(statement)
        con.execute("use memory")
        con.execute("detach compacted")  # writes everything to the file


def _as_text(con: duckdb.DuckDBPyConnection, table: Table) -> set[str]:
    """Return the columns that the model compresses as text (see `dbt_project/macros/materializations.sql`)."""
    query = "select distinct column_name from pragma_storage_info(?) where compression = 'ZSTD'"
    return {name for (name,) in con.execute(query, [f"built.{table.address}"]).fetchall()}


def _statements(table: Table, as_text: set[str]) -> Iterator[str]:
    """Return the statements that make a table again."""

    def declared(column: Column) -> str:
        compression = " using compression zstd" if column.name in as_text else ""
        return f"{identifier(column.name)} {column.type}{'' if column.is_nullable else ' not null'}{compression}"

    yield f"create table {table.address} ({', '.join(map(declared, table.columns))})"
    yield f"insert into {table.address} from built.{table.address}"
    yield from parquet_tables.comments(table, "table")
