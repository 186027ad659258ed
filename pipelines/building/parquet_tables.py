"""The tables of a build as Parquet, for any engine, and the small database that describes them.

A table with a `corpus_id` is `<schema>/<table>/corpus_id=<value>/*.parquet`, as in Hive: the column is in the folders'
names and not in the files. Any other table, and one without rows, is `<schema>/<table>/*.parquet` with all its columns.
Everything is written in the scratch folder; `pipelines.building.publishing` publishes it. The purpose of the small
database is described in `dialogue_warehouse.storage.builds`.
"""

from __future__ import annotations

import math
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import NO_PATH, connect, identifier, literal
from dialogue_warehouse.errors import BuildError
from dialogue_warehouse.paths import tables_beside
from dialogue_warehouse.reading import descriptions
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

FILE_BYTES = 256 * 2**20
"""Largest size of a file: below the usual memory, and large enough that a scan opens few files."""
PARTITION = "corpus_id"
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The value of NULL in the name of a folder."""


@dataclass(frozen=True)
class Column:
    """A column of a table, as in its contract."""

    name: str
    type: str
    is_nullable: bool
    comment: str | None


@dataclass(frozen=True)
class Table:
    """A table, as dbt made it."""

    schema: str
    name: str
    comment: str | None
    columns: tuple[Column, ...]

    @property
    def address(self) -> str:
        """Its name in SQL, without a database."""
        return f"{identifier(self.schema)}.{identifier(self.name)}"

    @property
    def is_partitioned(self) -> bool:
        """True if its rows belong to corpora."""
        return any(column.name == PARTITION for column in self.columns)


def write(built: Path, catalog: Path, settings: Settings) -> None:
    """Write the tables of the database that dbt built as Parquet, and the database that describes them.

    The files are written to the folder that belongs to `catalog`. Raises BuildError when they do not have every row.
    """
    write_tables(built, tables_beside(catalog), settings)
    write_catalog(built, catalog, settings)
    refuse_other_rows(built, catalog, settings)


def write_tables(built: Path, folder: Path, settings: Settings) -> None:
    """Write every table as Parquet, each file in the order of the table's key."""
    files.remove(folder)
    spill = folder.parent / "spill"
    with attached(built, settings) as con:
        con.execute(f"set temp_directory = {literal(spill)}")
        # From its statistics DuckDB marks a column as never NULL in the files of one corpus and not in those of
        # another. Readers that take the types of a table from its first file would fail on that.
        con.execute("set disabled_optimizers = 'statistics_propagation'")
        for table in read_tables(con):
            for place, rows in _parts(con, table):
                target = folder / table.schema / table.name / place
                target.mkdir(parents=True, exist_ok=True)
                _write_bounded(con, f"{rows} {_in_order(table)}", target / "part-000.parquet")


def _parts(con: duckdb.DuckDBPyConnection, table: Table) -> Iterator[tuple[str, str]]:
    """Return the folders of a table inside its own folder, each with the SQL of the rows that belong there."""
    every = f"select * from built.{table.address}"
    values = []
    if table.is_partitioned:
        values = con.execute(f"select distinct {PARTITION} from built.{table.address} order by all").fetchall()
    for (value,) in values:
        name = NO_VALUE if value is None else urllib.parse.quote(value, safe="")
        is_it = f"{PARTITION} is not distinct from {'null' if value is None else literal(value)}"
        yield f"{PARTITION}={name}", f"select * exclude ({PARTITION}) from built.{table.address} where {is_it}"
    if not values:
        yield "", every


def _in_order(table: Table) -> str:
    """Return the order of a table's rows: that of its declared key, else of all its columns."""
    names = {column.name for column in table.columns}
    links = descriptions.links().get(f"{table.schema}.{table.name}")
    key = links.key if links and set(links.key) <= names else ()
    return f"order by {', '.join(map(identifier, key)) or 'all'}"


def _write_bounded(con: duckdb.DuckDBPyConnection, query: str, file: Path) -> None:
    """Write the rows of a query to a file, or to several where one would be too large, each with the next rows."""
    con.execute(f"copy ({query}) to {literal(file)} (format parquet, compression zstd)")
    size = file.stat().st_size
    (rows,) = con.execute(f"select count(*) from {_as_it_is(file)}").fetchall()[0]
    if size <= FILE_BYTES or rows <= 1:
        return
    count = min(rows, math.ceil(size / FILE_BYTES) + 1)
    each = math.ceil(rows / count)
    for number in range(math.ceil(rows / each)):
        part = f"select * from {_as_it_is(file)} limit {each} offset {number * each}"
        _write_bounded(con, part, file.with_name(f"{file.stem}-{number:03}.parquet"))
    file.unlink()


def write_catalog(built: Path, catalog: Path, settings: Settings) -> None:
    """Write the database that describes the Parquet files beside it; contracts and macros are those of `built`."""
    files.remove(catalog)
    folder = tables_beside(catalog)
    with attached(built, settings) as con:
        builds.serve(con, catalog)
        con.execute(f"attach {literal(catalog)} as catalog (storage_version 'v1.5.0')")
        con.execute("use catalog")
        con.execute("begin")  # one transaction for all statements: hundreds of them would each wait for the disk
        for schema in (*builds.PUBLISHED_SCHEMAS, builds.CONTRACTS):
            con.execute(f"create schema if not exists {schema}")
        for table in read_tables(con):
            for statement in _described(table, folder):
                con.execute(statement)
        for statement in macros(con):
            con.execute(statement)
        con.execute("commit")


def _described(table: Table, folder: Path) -> Iterator[str]:
    """Return the statements that make the contract of a table, the view over its files, and its comments."""
    contract = ", ".join(
        f"{identifier(column.name)} {column.type}{'' if column.is_nullable else ' not null'}"
        for column in table.columns
    )
    yield f"create table {builds.CONTRACTS}.{identifier(table.name)} ({contract})"
    yield f"create view {table.address} as {_rows(table, folder)}"
    yield from comments(table, "view")


def comments(table: Table, kind: str) -> Iterator[str]:
    """Return the statements that make the comments of a table and of its columns; its kind is `table` or `view`."""
    if table.comment:
        yield f"comment on {kind} {table.address} is {literal(table.comment)}"
    for column in table.columns:
        if column.comment:
            yield f"comment on column {table.address}.{identifier(column.name)} is {literal(column.comment)}"


def _rows(table: Table, folder: Path) -> str:
    """Return the SQL of a table's rows, with the columns of its contract; of no rows where no file holds any."""
    names = [literal(builds.name_of(file, folder)) for file in builds.files_below(folder / table.schema / table.name)]
    columns = ", ".join(
        f"cast({identifier(column.name) if names else 'null'} as {column.type}) as {identifier(column.name)}"
        for column in table.columns
    )
    if not names:
        return f"select {columns} limit 0"
    hive = f"hive_partitioning = {str(table.is_partitioned).lower()}, hive_types_autocast = false"
    return f"select {columns} from read_parquet([{', '.join(names)}], {hive})"


def macros(con: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Return the statements that make the macros of the built database; a macro follows those that it calls."""
    found = con.execute(
        """
        select
            schema_name, function_name, parameters, macro_definition, comment, function_type = 'table_macro' as is_table
        from duckdb_functions()
        where database_name = 'built' and not internal and macro_definition is not null
        order by not is_table, schema_name, function_name
        """
    ).fetchall()
    for schema, name, parameters, definition, comment, is_table in found:
        named = ", ".join(map(identifier, parameters))
        kind = "table " if is_table else ""
        address = f"{identifier(schema)}.{identifier(name)}"
        yield f"create macro {address}({named}) as {kind}{definition}"
        if comment:
            yield f"comment on macro {kind}{address} is {literal(comment)}"


def read_tables(con: duckdb.DuckDBPyConnection) -> list[Table]:
    """Return the tables of the database that is attached as `built`."""
    found = con.execute(
        """
        select tables.schema_name, tables.table_name, tables.comment, columns.column_name, columns.data_type,
            columns.is_nullable, columns.comment
        from duckdb_tables() as tables
        inner join duckdb_columns() as columns
            on tables.table_oid = columns.table_oid and tables.database_oid = columns.database_oid
        where tables.database_name = 'built' and list_contains(?, tables.schema_name)
        order by tables.schema_name, tables.table_name, columns.column_index
        """,
        [list(builds.PUBLISHED_SCHEMAS)],
    ).fetchall()
    columns: dict[tuple[str, str, str | None], list[Column]] = {}
    for *table, name, data_type, is_nullable, comment in found:
        columns.setdefault(tuple(table), []).append(Column(name, data_type, is_nullable, comment))
    return [Table(*table, tuple(of)) for table, of in columns.items()]


def refuse_other_rows(built: Path, catalog: Path, settings: Settings) -> None:
    """Raise BuildError unless each table is read back with as many rows as it was built with."""
    with attached(built, settings) as con:
        builds.serve(con, catalog)
        con.execute(f"attach {literal(catalog)} as catalog (read_only)")
        for table in read_tables(con):
            counts = [con.sql(f"from {database}.{table.address}").count("*") for database in ("built", "catalog")]
            expected, found = (count.fetchall()[0][0] for count in counts)
            if found != expected:
                raise BuildError(
                    f"{table.schema}.{table.name}: {expected:,} rows were built, its Parquet has {found:,}"
                )


def attached(built: Path, settings: Settings) -> duckdb.DuckDBPyConnection:
    """Return a connection in memory that has the built database, read-only, as `built`."""
    con = connect(settings)
    con.execute(f"attach {literal(built)} as built (read_only)")
    return con


def _as_it_is(file: Path) -> str:
    """Return a file as SQL reads it, without the columns that the names of its folders give."""
    return f"read_parquet({literal(file)}, {NO_PATH})"
