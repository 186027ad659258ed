"""Rows of the published tables, by the names of their columns."""

from __future__ import annotations

from typing import Any

from pipelines.reading.connection import Connection

Row = dict[str, Any]


def read_rows(con: Connection, query: str, parameters: list[Any] | None = None) -> list[Row]:
    """What a query selects."""
    found = con.execute(query, parameters)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
