"""Tables of the report about claims and expectations: documented and observed values, results of the last builds."""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dialogue_warehouse.corpora.claims import DeclarationError, same_rows
from dialogue_warehouse.corpora.suites import Expectation, load_suites
from dialogue_warehouse.reading.findings import Row


@dataclass(frozen=True)
class GridCell:
    """One cell; `differs` is true if the cell of the compared table is different or missing."""

    text: str
    differs: bool


Grid = tuple[tuple[GridCell, ...], ...]


def read_rows(value: str | None) -> list[list[Any]] | None:
    """Read the text of `describe_rows`: JSON of a table, or a single cell; None stays None."""
    if value is None:
        return None
    if value.startswith("[["):
        try:
            rows = json.loads(value)
        except ValueError:
            return [[value]]
        if all(isinstance(row, list) for row in rows):
            return rows
    return [[_cell(value)]]


def compare(value: str | None, against: str | None) -> Grid | None:
    """Return the cells of a table, marked if they differ from the other table; without another table no cell is marked.

    Rows are compared by position, as the verdicts do.
    """
    rows, others = read_rows(value), read_rows(against)
    if rows is None:
        return None
    return tuple(
        tuple(
            GridCell(_text(cell), others is not None and _differs(cell, others, row_index, index))
            for index, cell in enumerate(row)
        )
        for row_index, row in enumerate(rows)
    )


def in_words(value: str | None, limit: int = 0) -> str:
    """Write a measured value on one line: the rows of a table in sequence, the figures of an object by name.

    The text is cut to `limit` characters; 0 means no limit.
    """
    rows = read_rows(value)
    if rows is None:
        return ""
    text = "; ".join(" ".join(_text(cell) for cell in row) for row in rows)
    if text.startswith("{"):
        with contextlib.suppress(ValueError):
            figures = json.loads(text)
            first = []
            if "unexpected" in figures:
                tested = f" of {_text(figures.pop('of'))} rows" if "of" in figures else ""
                first = [f"{_text(figures.pop('unexpected'))}{tested} unexpected"]
            others = [f"{name.replace('_', ' ')} {_text(value)}" for name, value in figures.items()]
            text = ", ".join([*first, *others])
    return f"{text[: limit - 1].rstrip()}…" if limit and len(text) > limit else text


def _differs(cell: Any, others: list[list[Any]], row: int, column: int) -> bool:
    if row >= len(others) or column >= len(others[row]):
        return True
    return not same_rows([[cell]], [[others[row][column]]])


def _cell(text: str) -> int | float | str:
    """Return a number that is written as in JSON, or else the text: `007` and `1_000` are not numbers."""
    with contextlib.suppress(ValueError):
        value = json.loads(text)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
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


def join_suites(results: list[Row], builds: list[str]) -> dict[str, list[Row]]:
    """Return by suite each expectation with its last result and its results by build, oldest first."""
    declared = _declared()
    histories: dict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
    for result in results:
        histories[result["suite"], result["expectation"]][result["build_id"]] = result
    suites: dict[str, list[Row]] = defaultdict(list)
    for (suite, name), history in histories.items():
        newest = next(history[build_id] for build_id in builds if build_id in history)
        expectation = declared.get((suite, name))
        suites[suite].append(
            newest
            | {
                "is_current": builds[0] in history,
                "history": [history.get(build_id) for build_id in reversed(builds)],
                "type": expectation and expectation.type,
                "why": expectation and expectation.why,
                "arguments": describe_arguments(expectation.kwargs) if expectation else [],
                "query": expectation and expectation.kwargs.get("query"),
            }
        )
    return dict(suites)


def result_of(entry: Row) -> str:
    """Return the result of an expectation in this build."""
    if not entry["is_current"]:
        return "not judged"
    return "passed" if entry["success"] else "not passed"


def _declared() -> Mapping[tuple[str, str], Expectation]:
    try:
        suites = load_suites()
    except DeclarationError:  # an unfinished corpus must not prevent the report of a published build
        return {}
    return {(suite.name, entry.expectation_id): entry for suite in suites for entry in suite.expectations}


def describe_arguments(kwargs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Describe the arguments of an expectation in words; its query is shown separately."""
    described = []
    for name, value in kwargs.items():
        if name == "row_condition":
            described.append(("only rows where", _condition(value)))
        elif name != "query":
            described.append((name.replace("_", " "), _value(value)))
    return described


def _condition(condition: Mapping[str, Any]) -> str:
    if condition["type"] == "and":
        return " and ".join(_condition(part) for part in condition["conditions"])
    operator = {"==": "is", "IN": "is one of"}.get(condition["operator"], condition["operator"])
    return f"{condition['column']['name']} {operator} {_value(condition['parameter'])}"


def _value(value: Any) -> str:
    match value:
        case {"$PARAMETER": name}:
            return f"the build's {str(name).replace('_', ' ')}"
        case list() if not any(isinstance(element, list | dict) for element in value):
            return ", ".join(map(str, value))
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
