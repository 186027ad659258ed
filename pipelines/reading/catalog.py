"""What tables the published warehouse has: their rows, their columns and the comments that describe them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from pipelines.commands import command
from pipelines.intake.sql_text import identifier
from pipelines.reading.connection import Connection
from pipelines.reading.declared import Links, links
from pipelines.reading.filling import Filling, read_filling
from pipelines.reading.query_errors import QueryError
from pipelines.reading.tables import CONTRACTS


@dataclass(frozen=True)
class TableSummary:
    """One table that can be queried."""

    schema: str
    table: str
    rows: int
    summary: str
    """The first sentence of its description."""


@dataclass(frozen=True)
class ColumnDescription:
    """One column of a table."""

    column: str
    type: str
    comment: str | None
    filling: Filling | None = None
    """How far it is filled; None where the table has no rows."""


@dataclass(frozen=True)
class TableDescription:
    """A table with all its columns."""

    schema: str
    table: str
    comment: str | None
    links: Links
    """Its key and its joins, of which only those that this build has; empty for a raw table."""
    columns: tuple[ColumnDescription, ...]


def list_tables(con: Connection) -> list[TableSummary]:
    """Every table and view, with its exact number of rows, by schema and name."""
    tables = _catalog(con)
    if not tables:
        return []
    counts = con.execute(" union all ".join(f"select {n}, count(*) from {t.address}" for n, t in enumerate(tables)))
    rows = dict(counts.fetchall())
    return [TableSummary(t.schema, t.table, rows[n], _first_sentence(t.comment)) for n, t in enumerate(tables)]


def describe_table(con: Connection, name: str, warehouse: Path | None = None) -> TableDescription:
    """The columns of `fct_turns` or `core.fct_turns`. Raises QueryError, with near names, when there is none."""
    tables = _catalog(con)
    wanted = name.strip().replace('"', "").lower()
    found = [t for t in tables if wanted in (t.table.lower(), f"{t.schema}.{t.table}".lower())]
    if len(found) > 1:
        raise QueryError(f"'{name}' is {' and '.join(f'{t.schema}.{t.table}' for t in found)}: say which")
    if not found:
        raise QueryError(f"there is no table '{name}'{_near(wanted, tables, warehouse)}")
    return _described(con, found[0], _columns(con, found), {f"{table.schema}.{table.table}" for table in tables})


def describe_tables(con: Connection) -> list[tuple[TableSummary, TableDescription]]:
    """Every table, listed and described."""
    tables = {(table.schema, table.table): table for table in _catalog(con)}
    names = {".".join(name) for name in tables}
    columns = _columns(con, tables.values())
    listed = list_tables(con)
    return [(row, _described(con, tables[row.schema, row.table], columns, names)) for row in listed]


_Columns = dict[tuple[str, str, str], list[tuple[str, str, str | None]]]
"""By database, schema and table: name, type and comment of each column, in the table's order."""


def _columns(con: Connection, tables: Iterable[_CatalogTable]) -> _Columns:
    """The columns of these tables, in one query: DuckDB looks at every column there is for each."""
    found: _Columns = {(table.database, table.database_schema, table.table): [] for table in tables}
    rows = con.execute(
        """
        select database_name, schema_name, table_name, column_name, data_type, comment
        from duckdb_columns()
        where list_contains($tables, table_name)
        order by column_index
        """,
        {"tables": sorted({name for *_, name in found})},
    ).fetchall()
    for database, schema, table, *column in rows:
        if (database, schema, table) in found:
            found[database, schema, table].append(tuple(column))
    return found


def _described(con: Connection, table: _CatalogTable, known: _Columns, names: Collection[str]) -> TableDescription:
    columns = known[table.database, table.database_schema, table.table]
    filling = read_filling(con, table.address, [name for name, _, _ in columns])
    described = tuple(ColumnDescription(*column, filling.get(column[0])) for column in columns)
    own = {name for name, _, _ in columns}
    return TableDescription(table.schema, table.table, table.comment, _links(table, own, names), described)


def _links(table: _CatalogTable, columns: set[str], names: Collection[str]) -> Links:
    """The declared key and joins, without what a build of another version does not have."""
    declared = links().get(f"{table.schema}.{table.table}", Links(()))
    return Links(
        key=declared.key if columns >= set(declared.key) else (),
        joins=tuple(join for join in declared.joins if join.to in names and columns >= set(join.columns)),
        joined_by=tuple(name for name in declared.joined_by if name in names),
    )


@dataclass(frozen=True)
class _CatalogTable:
    database: str
    database_schema: str
    table: str
    comment: str | None

    @property
    def schema(self) -> str:
        """The schema as a query names it: the raw tables lie in a database of that name."""
        return "raw" if self.database == "raw" else self.database_schema

    @property
    def address(self) -> str:
        return ".".join(identifier(part) for part in (self.database, self.database_schema, self.table))


def _catalog(con: Connection) -> list[_CatalogTable]:
    found = con.execute(
        """
        select database_name, schema_name, table_name, comment
        from duckdb_tables()
        where database_name in ('dialogues', 'raw') and not internal and schema_name <> $contracts
        union all
        select database_name, schema_name, view_name, comment
        from duckdb_views()
        where database_name in ('dialogues', 'raw') and not internal
        order by 1, 2, 3
        """,
        {"contracts": CONTRACTS},
    ).fetchall()
    return [_CatalogTable(*row) for row in found]


def _near(wanted: str, tables: list[_CatalogTable], warehouse: Path | None) -> str:
    names = {f"{table.schema}.{table.table}".lower(): f"{table.schema}.{table.table}" for table in tables}
    by_table = {table.table.lower(): f"{table.schema}.{table.table}" for table in tables}
    candidates = by_table | names
    near = difflib.get_close_matches(wanted, candidates, n=4, cutoff=0.75)
    suggested = list(dict.fromkeys(candidates[name] for name in near))[:3]
    if suggested:
        return f"; did you mean {' or '.join(suggested)}?"
    return f"; `{command('tables', warehouse=warehouse)}` lists what there is"


def _first_sentence(comment: str | None) -> str:
    text = " ".join((comment or "").split())
    sentence = re.match(r".+?[.!?](?=\s+[^a-z\s]|$)", text)
    return sentence[0] if sentence else text
