"""Where in the releases a failed expectation fails: its first cases, each with file, record and key.

An expectation counts; it does not say where. When it is what stops a build, its rows are looked up in the database that
was built, and each is led back to the source by `core.source_of`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from pipelines.corpora.claims import read_claims
from pipelines.corpora.registry import corpus_ids
from pipelines.corpora.suites import UNEXPECTED_ROWS, Expectation
from pipelines.intake.databases import connect
from pipelines.intake.sql_text import identifier, literal
from pipelines.settings import Settings

TOLD = 3
"""Cases that are named."""


def first_cases(database: Path, suite: str, expectation: Expectation, settings: Settings) -> list[str]:
    """The first rows that break an expectation, as text; none where what fails is a number and no row."""
    query = _cases_query(suite, expectation)
    if query is None:
        return []
    with connect(settings, database, read_only=True) as con:
        try:
            found = con.sql(f"from ({query}) order by all limit {TOLD}")
            rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error:  # an expectation whose query fails has failed for that, and says so itself
            return []
        return [_told(con, row) for row in rows]


def _cases_query(suite: str, expectation: Expectation) -> str | None:
    """The SQL that selects what breaks an expectation; None where no row does."""
    if expectation.type == UNEXPECTED_ROWS:
        return expectation.kwargs["query"]
    if suite in corpus_ids():
        recorded = {entry.id: entry.unexpected_rows for _, entry in read_claims(suite).claims}
        if recorded.get(expectation.expectation_id):
            return recorded[expectation.expectation_id]
    broken = _broken(expectation.type, expectation.kwargs)
    if broken is None:
        return None
    return f"from {expectation.table} where {_conditions(expectation.kwargs.get('row_condition'))} {broken}"


def _broken(kind: str, kwargs: Mapping[str, Any]) -> str | None:
    """What is true of a row that breaks an expectation of this type, as it ends a WHERE; None for other types."""
    columns = [identifier(name) for name in kwargs.get("column_list") or [kwargs.get("column", "")]]
    match kind:
        case "expect_column_values_to_not_be_null":
            return f"and {columns[0]} is null"
        case "expect_column_values_to_be_null":
            return f"and {columns[0]} is not null"
        case "expect_column_values_to_be_in_set":
            return f"and {columns[0]} not in ({', '.join(map(literal, kwargs['value_set']))})"
        case "expect_column_values_to_be_unique" | "expect_compound_columns_to_be_unique":
            return f"qualify count(*) over (partition by {', '.join(columns)}) > 1"
    return None


def _conditions(condition: Mapping[str, Any] | None) -> str:
    """The rows that an expectation is narrowed to, as SQL; `pipelines.corpora.suites` writes no other condition."""
    if condition is None:
        return "true"
    if condition["type"] == "and":
        return " and ".join(_conditions(part) for part in condition["conditions"])
    value = condition["parameter"]
    values = value if isinstance(value, list) else [value]
    return f"{identifier(condition['column']['name'])} in ({', '.join(map(literal, values))})"


def _told(con: duckdb.DuckDBPyConnection, row: Mapping[str, Any]) -> str:
    """A row as file, record and key; as its own values where it has no key, or one that the release does not know."""
    keys = [value for name, value in row.items() if name.endswith("_key") and isinstance(value, str)]
    key = max(keys, key=lambda value: value.count("/"), default=None)
    if row.get("source_file_id") and row.get("record_index") is not None:
        return f"{_place(row['source_file_id'], row['record_index'])}{f' ({key})' if key else ''}"
    if key is not None:
        with contextlib.suppress(duckdb.Error):
            query = f"select source_file_id, record_index, json_pointer from core.source_of({literal(key)})"
            if found := con.execute(query).fetchall():
                return f"{_place(*found[0])} ({key})"
    values = ", ".join(f"{name} {value}" for name, value in row.items() if value is not None)
    return " ".join(values.split())


def _place(source_file_id: str, record_index: int, pointer: str | None = None) -> str:
    return f"{source_file_id} record {record_index}{f' at {pointer}' if pointer else ''}"
