"""The published tables: rows, columns, comments, which corpora fill a column and with what, counted in the rows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialogue_warehouse.common.database import QueryError, identifier
from dialogue_warehouse.common.text import command
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.descriptions import Links, links
from dialogue_warehouse.reading.values import text_of
from dialogue_warehouse.storage.builds import CONTRACTS

LONGEST_EXAMPLE = 80
"""Characters of an example."""
FIRST_ROWS = 100
"""Rows in which an example is looked for before the whole column is."""
EMPTY: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Filling:
    """How far a column is filled, where its table has rows."""

    shares: dict[str, float]
    """By corpus, the share of its rows where the column is not NULL, 0 to 1; by `all` where rows are of no corpus."""
    example: str | None
    """The column's first value that is not empty, cut at LONGEST_EXAMPLE."""

    def __str__(self) -> str:
        """The shares in words: `always`, `never`, or the corpora that fill it, and how much where it is not always."""
        if all(share == 1 for share in self.shares.values()):
            return "always"
        if not any(self.shares.values()):
            return "never"
        filled = {corpus: share for corpus, share in self.shares.items() if share}
        return ", ".join(corpus if share == 1 else f"{corpus} {percent(share)}" for corpus, share in filled.items())


def percent(share: float) -> str:
    """A part of a whole in percent: never 0 or 100, since it is neither nothing nor everything."""
    return "<1%" if share < 0.01 else f"{min(round(share * 100), 99)}%"


def read_filling(con: Connection, address: str, columns: Sequence[str]) -> dict[str, Filling]:
    """The filling of each column of a table, one pass over it; none where it has no rows.

    `address` is its name as SQL has it.
    """
    by = "coalesce(corpus_id, 'all')" if "corpus_id" in columns else "'all'"
    counts = con.execute(
        f"select {by} as filled_by, count(*), {', '.join(f'count({identifier(column)})' for column in columns)} "
        f"from {address} group by filled_by order by filled_by"
    ).fetchall()
    if not counts:
        return {}
    filled = [column for index, column in enumerate(columns) if any(row[2 + index] for row in counts)]
    examples = _first_values(con, address, filled)
    return {
        column: Filling({row[0]: row[2 + index] / row[1] for row in counts}, _shortened(examples.get(column)))
        for index, column in enumerate(columns)
    }


def _first_values(con: Connection, address: str, columns: Sequence[str]) -> dict[str, object]:
    """The first value of each column that is not empty, from as few rows as it takes: a raw row is a whole dialogue."""
    found: dict[str, object] = {}
    for rows in (1, FIRST_ROWS):
        wanted = [column for column in columns if column not in found]
        if wanted:
            names = ", ".join(map(identifier, wanted))
            first_rows = con.execute(f"select {names} from {address} limit {rows}").fetchall()
            for column, values in zip(wanted, zip(*first_rows, strict=True), strict=True):
                example = next((value for value in values if value not in EMPTY), None)
                if example is not None:
                    found[column] = example
    return found | {column: _first_value(con, address, column) for column in columns if column not in found}


def _first_value(con: Connection, address: str, column: str) -> object:
    """The first value that is not empty: DuckDB keeps the order of the rows, and stops at the first that is wanted."""
    name = identifier(column)
    found = con.execute(
        f"select {name} from {address} where cast({name} as varchar) not in ('', '[]', '{{}}') limit 1"
    ).fetchone()
    return found and found[0]


def _shortened(value: object) -> str | None:
    if value is None:
        return None
    text = text_of(value)
    return text if len(text) <= LONGEST_EXAMPLE else f"{text[: LONGEST_EXAMPLE - 1]}…"


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
