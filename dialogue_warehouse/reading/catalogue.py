"""The published tables: row counts, columns, comments, and how far each corpus fills a column."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialogue_warehouse.common.database import QueryError, identifier
from dialogue_warehouse.common.text import command
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.descriptions import Links, links
from dialogue_warehouse.reading.values import text_of
from dialogue_warehouse.storage.builds import CONTRACTS, PUBLISHED_SCHEMAS

LONGEST_EXAMPLE = 80
"""Maximum number of characters of an example."""
FIRST_ROWS = 100
"""Number of rows that are searched for an example before the whole column."""
PREFIX = re.compile(r"^(fct|dim)_")
"""Beginning of a table's name that says its kind."""
EMPTY: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Filling:
    """The share of a column that is filled, for a table with rows."""

    shares: dict[str, float]
    """Share of rows where the column is not NULL, 0 to 1, by corpus; the key is `all` for rows without a corpus."""
    example: str | None
    """The first value of the column that is not empty, cut to 80 characters."""

    def __str__(self) -> str:
        """Describe which corpora fill the column: `always`, `never`, or their names, with a percentage if needed."""
        if all(share == 1 for share in self.shares.values()):
            return "always"
        if not any(self.shares.values()):
            return "never"
        filled = {corpus: share for corpus, share in self.shares.items() if share}
        return ", ".join(corpus if share == 1 else f"{corpus} {percent(share)}" for corpus, share in filled.items())


def percent(share: float) -> str:
    """Write a share in percent. It is never 0 or 100, because the share is neither nothing nor everything."""
    return "<1%" if share < 0.01 else f"{min(round(share * 100), 99)}%"


def read_filling(con: Connection, address: str, columns: Sequence[str]) -> dict[str, Filling]:
    """Return the filling of each column of a table, in one pass over it; empty for a table without rows.

    `address` is the name of the table in SQL.
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
    """Return the first non-empty value of each column, from few rows, because a raw row is a whole dialogue."""
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
    """Return the first value that is not empty. DuckDB keeps the order of the rows and stops at the first match."""
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
    """A table that can be queried."""

    schema: str
    """`core`, `analytics`, `quality` or `raw`."""
    table: str
    """Its name in the schema."""
    rows: int
    """The exact number of its rows."""
    summary: str
    """The first sentence of the table's description."""


@dataclass(frozen=True)
class ColumnDescription:
    """One column of a table."""

    column: str
    """Its name."""
    type: str
    """Its type in DuckDB."""
    comment: str | None
    """Its description; None if it has none."""
    filling: Filling | None = None
    """The share of it that is filled; None for a table without rows."""


@dataclass(frozen=True)
class TableDescription:
    """A table with all its columns."""

    schema: str
    """`core`, `analytics`, `quality` or `raw`."""
    table: str
    """Its name in the schema."""
    comment: str | None
    """Its description: what a row is, and what to know about it."""
    links: Links
    """The key and the joins that this build has; empty for a raw table."""
    columns: tuple[ColumnDescription, ...]
    """Its columns, in their order."""


def list_tables(con: Connection) -> list[TableSummary]:
    """List every table and view with its exact number of rows: core, analytics, quality, then what landed."""
    tables = _catalog(con)
    if not tables:
        return []
    counts = con.execute(" union all ".join(f"select {n}, count(*) from {t.address}" for n, t in enumerate(tables)))
    rows = dict(counts.fetchall())
    return [TableSummary(t.schema, t.table, rows[n], _first_sentence(t.comment)) for n, t in enumerate(tables)]


def describe_table(con: Connection, name: str, warehouse: Path | None = None) -> TableDescription:
    """Describe a table: `fct_turns` or `core.fct_turns`. Raises QueryError, with similar names, for an unknown one."""
    tables = _catalog(con)
    found = _found(tables, name, warehouse)
    return _described(con, found, _columns(con, [found]), {f"{table.schema}.{table.table}" for table in tables})


def address_of(con: Connection, name: str) -> str:
    """Return the name of a table in SQL. Raises QueryError, with similar names, for an unknown one."""
    return _found(_catalog(con), name).address


class UnknownTableError(QueryError):
    """There is no table of this name. `reason` is the message without the command that lists all tables."""

    def __init__(self, reason: str, listing: str = "") -> None:
        """Create the error; `listing` is the end of the message, which names the command."""
        super().__init__(f"{reason}{listing}")
        self.reason = reason


def _found(tables: list[_CatalogTable], name: str, warehouse: Path | None = None) -> _CatalogTable:
    wanted = name.strip().replace('"', "").lower()
    found = [t for t in tables if wanted in (t.table.lower(), f"{t.schema}.{t.table}".lower())]
    if len(found) > 1:
        raise QueryError(f"'{name}' is ambiguous: {' or '.join(f'{t.schema}.{t.table}' for t in found)}")
    if not found:
        near = near_tables(wanted, [f"{table.schema}.{table.table}" for table in tables])
        listing = "" if near else f"; `{command('tables', warehouse=warehouse)}` lists all tables"
        raise UnknownTableError(f"there is no table '{name}'{f'; did you mean {near}?' if near else ''}", listing)
    return found[0]


def describe_tables(con: Connection, has_filling: bool = True) -> list[tuple[TableSummary, TableDescription]]:
    """List and describe every table. Without `has_filling`, no column has a filling: only rows are counted."""
    tables = {(table.schema, table.table): table for table in _catalog(con)}
    names = {".".join(name) for name in tables}
    columns = _columns(con, tables.values())
    listed = list_tables(con)
    described = functools.partial(_described, con, known=columns, names=names, has_filling=has_filling)
    return [(row, described(tables[row.schema, row.table])) for row in listed]


_Columns = dict[tuple[str, str, str], list[tuple[str, str, str | None]]]
"""Name, type and comment of each column in the table's order, by database, schema and table."""


def _columns(con: Connection, tables: Iterable[_CatalogTable]) -> _Columns:
    """Return the columns of these tables with one query: DuckDB reads the columns of all tables for each query."""
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


def _described(
    con: Connection, table: _CatalogTable, known: _Columns, names: Collection[str], has_filling: bool = True
) -> TableDescription:
    columns = known[table.database, table.database_schema, table.table]
    filling = read_filling(con, table.address, [name for name, _, _ in columns]) if has_filling else {}
    described = tuple(ColumnDescription(*column, filling.get(column[0])) for column in columns)
    own = {name for name, _, _ in columns}
    return TableDescription(table.schema, table.table, table.comment, _links(table, own, names), described)


def _links(table: _CatalogTable, columns: set[str], names: Collection[str]) -> Links:
    """Return the declared key and joins, without columns and tables that a build of another version lacks."""
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
        """The name of the schema in a query. The raw tables are in a database named `raw`."""
        return "raw" if self.database == "raw" else self.database_schema

    @property
    def address(self) -> str:
        return ".".join(identifier(part) for part in (self.database, self.database_schema, self.table))


def _catalog(con: Connection) -> list[_CatalogTable]:
    found = con.execute(
        """
        from (
            select database_name, schema_name, table_name, comment
            from duckdb_tables()
            where not internal and schema_name <> $contracts
            union all
            select database_name, schema_name, view_name, comment
            from duckdb_views()
            where not internal
        )
        where database_name in ('dialogues', 'raw')
        order by database_name, list_position($published, schema_name), schema_name, table_name
        """,
        {"contracts": CONTRACTS, "published": list(PUBLISHED_SCHEMAS)},
    ).fetchall()
    return [_CatalogTable(*row) for row in found]


def table_names(con: Connection) -> list[str]:
    """Return the names of the published and landed tables, with their schemas."""
    return [f"{table.schema}.{table.table}" for table in _catalog(con)]


def near_tables(wanted: str, names: Sequence[str]) -> str | None:
    """Name up to three tables that a wrong name probably means, joined by "or"; None if there are none.

    A table without its prefix, such as `turns` for core.fct_turns, comes before similar spellings. No table is near its
    own name.
    """
    wanted = wanted.lower()
    forms: dict[str, str] = {}
    for name in names:
        table = name.lower().partition(".")[2]
        forms |= dict.fromkeys((name.lower(), table), name)
        forms.setdefault(PREFIX.sub("", table), name)
    if wanted in (form for name in names for form in (name.lower(), name.lower().partition(".")[2])):
        return None
    exact = [forms[form] for form in (wanted, f"{wanted}s") if form in forms]
    near = difflib.get_close_matches(wanted, forms, n=4, cutoff=0.75)
    return " or ".join((exact or list(dict.fromkeys(forms[form] for form in near)))[:3]) or None


def _first_sentence(comment: str | None) -> str:
    text = " ".join((comment or "").split())
    sentence = re.match(r".+?[.!?](?=\s+[^a-z\s]|$)", text)
    return sentence[0] if sentence else text
