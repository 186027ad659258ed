"""Measured tables as the ledger tells them, laid out so that one sees where the data differ from a document."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Any

from pipelines.corpora.claims import same_rows


@dataclass(frozen=True)
class GridCell:
    """One cell; `differs` says that the cell of the table it is compared with is another one, or not there."""

    text: str
    differs: bool


Grid = tuple[tuple[GridCell, ...], ...]


def read_rows(told: str | None) -> list[list[Any]] | None:
    """The rows that `describe_rows` has told: JSON of a table, or a single cell as it stands; None stays None."""
    if told is None:
        return None
    if told.startswith("[["):
        try:
            rows = json.loads(told)
        except ValueError:
            return [[told]]
        if all(isinstance(row, list) for row in rows):
            return rows
    return [[_number(told)]]


def compare(told: str | None, against: str | None) -> Grid | None:
    """The cells of a told table, marked where they differ from those of the other; no mark where there is no other.

    Rows are compared by position, as the verdicts compare them.
    """
    rows, others = read_rows(told), read_rows(against)
    if rows is None:
        return None
    return tuple(
        tuple(
            GridCell(_text(cell), others is not None and _differs(cell, others, row_index, index))
            for index, cell in enumerate(row)
        )
        for row_index, row in enumerate(rows)
    )


def in_words(told: str | None, limit: int = 0) -> str:
    """What was measured, on one line: the rows of a table one after the other, the figures of an object by name.

    Cut at `limit` characters; 0 cuts nothing.
    """
    rows = read_rows(told)
    if rows is None:
        return ""
    text = "; ".join(" ".join(_text(cell) for cell in row) for row in rows)
    if text.startswith("{"):
        with contextlib.suppress(ValueError):
            figures = json.loads(text)
            text = ", ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in figures.items())
    return f"{text[: limit - 1].rstrip()}…" if limit and len(text) > limit else text


def _differs(cell: Any, others: list[list[Any]], row: int, column: int) -> bool:
    if row >= len(others) or column >= len(others[row]):
        return True
    return not same_rows([[cell]], [[others[row][column]]])


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _text(cell: Any) -> str:
    match cell:
        case None:
            return "NULL"
        case list() | dict():
            return json.dumps(cell, ensure_ascii=False)
        case bool() | str():
            return str(cell)
        case int():
            return f"{cell:,}"
        case _:
            return str(cell)
