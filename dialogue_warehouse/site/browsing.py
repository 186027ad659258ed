"""The page of a table: what it holds, and its rows with filters and an order that the URL has.

Names of columns in the URL are filters; names that begin with `_` belong to the page. What is shown is one query,
which the reader can take to the page of SQL or download.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from starlette.datastructures import QueryParams

from dialogue_warehouse.common.database import identifier, literal
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading import catalogue
from dialogue_warehouse.reading.catalogue import TableDescription
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.findings import KEYED_TABLES
from dialogue_warehouse.reading.query import run_query
from dialogue_warehouse.site.columns import draw, filling
from dialogue_warehouse.site.paging import ROWS, address, number, paged, without
from dialogue_warehouse.site.published import Build
from dialogue_warehouse.site.query_process import answer

LONGEST_FILTER = 80
"""Characters of a value up to which a click filters by it."""
FILTERED = ("VARCHAR", "BOOLEAN", "INTEGER", "BIGINT")
"""Types of the columns whose values filter by a click."""
LINKS = frozenset({*KEYED_TABLES.values(), "unit_key"})
"""Columns with keys, which open a dialogue; the unit of a score has one, too."""
FORM_LINE_END = re.compile(r"\r\n?")
"""The line ends other than a line feed. A form sends every line end as both characters, whatever the value has."""
Parameters = list[tuple[str, str]]


def page(build: Build, con: Connection, parameters: QueryParams) -> dict[str, Any]:
    """Return what the page shows. Raises InputError for an unknown table, and for a filter of an unknown column."""
    if not parameters.get("_table"):
        schemas = defaultdict(list)
        for table in build.kept.get("tables", lambda: catalogue.list_tables(con)):
            schemas[table.schema].append(table)
        return {"schemas": schemas}
    asked = parameters["_table"]
    table = build.kept.get(("table", asked), lambda: catalogue.describe_table(con, asked))
    items = parameters.multi_items()
    given = [(field, FORM_LINE_END.sub("\n", value)) for field, value in items if value]  # as the addresses of pages do
    return _rows(con, table, given)


def address_of_row(table: str, key: str) -> str:
    """Return the URL of the row of a table of core with this key."""
    column = KEYED_TABLES[table]
    filters: list[tuple[str, object]] = [(column, key)]
    if not column.isidentifier():  # the key of a line is its file and its number
        filters = list(zip(("source_file_id", "record_index"), key.rsplit("/", 1), strict=True))
    return address("tables", [("_table", f"core.{table}"), *filters])


def prepare(build: Build, _: Connection) -> None:
    """Describe every table, so that its page need not."""
    for listed, described in build.reading.described:
        build.kept.get(("table", f"{listed.schema}.{listed.table}"), lambda table=described: table)


def _rows(con: Connection, table: TableDescription, given: Parameters) -> dict[str, Any]:
    name = f"{table.schema}.{table.table}"
    columns = {column.column: column.type for column in table.columns}
    asked = dict(given)
    kept = [(field, value) for field, value in given if not field.startswith("_") or field == "_null"]
    if asked.get("_contains"):
        kept.append((f"_contains_{asked.get('_column', '')}", asked["_contains"]))
    kept += [(field, value) for field, value in given if field.startswith("_contains_")]
    order = asked.get("_order", "")
    is_falling = order.startswith("-")
    falling = " desc" if is_falling else ""
    by = order.removeprefix("-")
    named = [*(_column_of(field, value) for field, value in kept), *([by] if by else [])]
    if unknown := [column for column in named if column not in columns]:
        raise InputError(f"{name} has no column '{unknown[0]}'; it has {', '.join(columns)}")
    conditions = [_condition(columns, field, value) for field, value in kept]
    where = f"\nwhere {' and '.join(conditions)}" if conditions else ""
    # without the key, equal values come in another order for each part: rows would be repeated, and others left out
    rest = [identifier(column) for column in table.links.key if column != by]
    ordered = f"\norder by {', '.join([f'{identifier(by)}{falling}', *rest])}" if by else ""
    query = f"select *\nfrom {name}{where}{ordered}"
    drawn = asked.get("_draw", "") if asked.get("_draw") in columns else ""
    state: Parameters = [
        *[("_table", name), *kept],
        *([("_order", order)] if by else []),
        *([("_draw", drawn)] if drawn else []),
    ]
    ((total,),) = con.execute(f"select count(*) from {name}{where}").fetchall()
    paging = paged(total, number(asked.get("_page")), lambda other: address("tables", [*state, ("_page", str(other))]))
    shown = answer(run_query(con, f"{query}\nlimit {ROWS} offset {paging.start}"))
    chart = filled = None
    if drawn:
        chart = draw(con, f"from {name}{where}", drawn, columns[drawn], "corpus_id" in columns)
        described = next(column for column in table.columns if column.column == drawn)
        filled = filling(described.filling)
    return {
        "name": name,
        "drawn": chart,
        "filling": filled,
        "charts": {
            column: address("tables", [*without(state, "_draw"), ("_draw", column)], "drawn") for column in columns
        },
        "undrawn": address("tables", without(state, "_draw")),
        "table": table,
        "kept": state,
        "chips": [
            {
                "text": _words(field, value),
                "address": address("tables", [one for one in state if one != (field, value)]),
            }
            for field, value in kept
        ],
        "total": total,
        "paging": paging,
        "query": query,
        "answer": shown,
        "links": LINKS,
        "heads": {column: _head(state, column, by, is_falling) for column in columns},
        "filters": _filter(state, columns),
    }


def _column_of(field: str, value: str) -> str:
    """Return the column that a filter is about."""
    return value if field == "_null" else field.removeprefix("_contains_")


def _condition(columns: dict[str, str], field: str, value: str) -> str:
    """Return a filter as SQL."""
    column = _column_of(field, value)
    if field == "_null":
        return f"{identifier(column)} is null"
    text = _shown(column, columns[column])
    if columns[column].startswith("TIMESTAMP"):
        value = value.replace(" ", "T")
    wanted = literal(value)
    if "\n" in value:  # one line, or the form of the page of SQL would send other line ends
        text = f"regexp_replace({text}, '\\r\\n?', chr(10), 'g')"
        wanted = " || chr(10) || ".join(map(literal, value.split("\n")))
    if field != column:
        return f"contains(lower({text}), lower({wanted}))"
    return f"{text} = {wanted}"


def _shown(column: str, kind: str) -> str:
    """Return the text of a column that the page shows, as SQL: lists, maps and structs are JSON, times ISO 8601."""
    name = identifier(column)
    if kind == "VARCHAR":
        return name
    if kind.startswith("TIMESTAMP"):
        return f"replace(cast({name} as text), ' ', 'T')"
    if kind.endswith("]") or kind.startswith(("MAP(", "STRUCT(")):
        one_line = f"regexp_replace(json_pretty(to_json({name})), ',\\n *', ', ', 'g')"
        return f"regexp_replace({one_line}, '\\n *', '', 'g')"  # in JSON, a line end of a text is escaped
    return f"cast({name} as text)"


def _words(field: str, value: str) -> str:
    column = _column_of(field, value)
    if field == "_null":
        return f"{column} is NULL"
    return f"{column} contains {value}" if field != column else f"{column} = {value}"


def _head(state: Parameters, column: str, by: str, is_falling: bool) -> dict[str, Any]:
    """Return the URL that sorts by a column, ascending at first, and the present order."""
    order = f"-{column}" if by == column and not is_falling else column
    is_sorted = {True: "descending", False: "ascending"}[is_falling] if by == column else None
    return {"address": address("tables", [*without(state, "_order"), ("_order", order)]), "sorted": is_sorted}


def _filter(state: Parameters, columns: dict[str, str]) -> Callable[[str, str | None], str | None]:
    """Return a function that returns the URL of only the rows with a value."""
    page = address("tables", state)

    def filtered(column: str, value: str | None) -> str | None:
        added = ("_null", column) if value is None else (column, value)
        is_long = value is not None and not 0 < len(value) <= LONGEST_FILTER
        if added in state or is_long or columns.get(column) not in FILTERED:
            return None
        return address(page, [added])

    return filtered
