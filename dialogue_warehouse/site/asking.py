"""The page of SQL: the query of the URL, its answer as a table and a chart, the place of an error."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

import msgspec
from markupsafe import Markup

from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.paths import example_queries
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.values import text_of
from dialogue_warehouse.site import drawing
from dialogue_warehouse.site.browsing import LINKS
from dialogue_warehouse.site.query_process import Answer
from dialogue_warehouse.storage.builds import PUBLISHED_SCHEMAS

FIRST = "select corpus_id, role, count(*) as turns\nfrom fct_turns\ngroup by all\norder by all"
CHARTS = ("none", "bars", "lines", "points")
MOST_BARS = 100
WIDTH, HEIGHT, LEFT, FOOT, TOP = 900, 340, 80, 44, 26
RIGHT = 24
LETTER = 8
"""Room for a letter of a label."""
TICKS = 6
"""Most steps of a scale."""
LINE_END = re.compile(r"\r?\n")
"""The line ends that DuckDB counts; `splitlines` knows more."""


def read_columns(con: Connection) -> dict[str, list[str]]:
    """Return the names of the columns of each published table, and of the results of scores if they are attached."""
    columns = con.execute(
        """
        select
            if(database_name = 'scores', 'scores.', '') || table_name as table_name,
            list(column_name order by column_index) as columns
        from duckdb_columns()
        where
            list_contains($schemas, schema_name) and database_name = 'dialogues'
            or database_name = 'scores'
        group by database_name, schema_name, duckdb_columns.table_name
        order by list_position($schemas, schema_name), table_name
        """,
        {"schemas": list(PUBLISHED_SCHEMAS)},
    )
    return dict(columns.fetchall())


def read_keywords(con: Connection) -> list[str]:
    """Return the keywords of SQL."""
    return [word for (word,) in con.execute("select keyword_name from duckdb_keywords() order by all").fetchall()]


def words(tables: dict[str, list[str]], keywords: list[str]) -> str:
    """Return the words that the editor completes, as JSON."""
    return msgspec.json.encode({"tables": tables, "keywords": keywords}).decode()


def questions() -> dict[str, str]:
    """Return the example queries: their titles and SQL."""
    return {f"{_title(path.stem)}?": read_regular(path).decode() for path in example_queries()}


def _title(name: str) -> str:
    return name.partition("_")[2].replace("_", " ").capitalize()


def page(query: str, answer: Answer | None, asked: dict[str, str]) -> dict[str, Any]:
    """Return what the page shows of an answer."""
    numbers = (
        [name for name, is_number in zip(answer.columns, answer.is_number, strict=False) if is_number] if answer else []
    )
    return {
        "query": query or FIRST,
        "answer": answer,
        "place": divide_line(query, answer.place) if answer and answer.place else None,
        "numbers": numbers,
        "charts": CHARTS,
        "chart": draw(answer, numbers, asked) if answer and answer.rows else {},
        "links": LINKS,
        "questions": questions(),
    }


def divide_line(query: str, place: tuple[int, str]) -> dict[str, Any] | None:
    """Return the line of the query that an error names, divided at its place."""
    lines = LINE_END.split(query)
    number, at = place
    if number > len(lines):
        return None
    line = lines[number - 1]
    before, there, after = line.rpartition(at) if line.count(at) == 1 else (line, "", "")
    return {"number": number, "before": before if there else line, "at": there, "after": after if there else ""}


def draw(answer: Answer, numbers: list[str], asked: dict[str, str]) -> dict[str, Any]:
    """Draw the chart that the URL asks for, of the shown rows."""
    kind = asked.get("chart", "none")
    others = [name for name in answer.columns if name not in numbers]
    across = asked.get("across") if asked.get("across") in answer.columns else (others or answer.columns)[0]
    up = (
        asked.get("up")
        if asked.get("up") in numbers
        else next((one for one in numbers if one != across), numbers[0] if numbers else "")
    )
    chart: dict[str, Any] = {"kind": kind, "across": across, "up": up, "drawn": None, "note": None}
    if kind not in CHARTS[1:] or not up or across is None:
        return chart
    named = [across] if across in numbers else _naming(answer, across, others)
    columns = [answer.columns.index(name) for name in named]
    pairs = [
        (row[columns[0]] if len(columns) == 1 else " · ".join(text_of(row[one]) for one in columns), float(value))
        for row in answer.rows
        if (value := row[answer.columns.index(up)]) is not None
    ]
    head = " · ".join(named)
    is_scale = across in numbers and kind != "bars"
    if not any(label is not None or not is_scale for label, _ in pairs):
        return chart | {"note": "The column has no values."}
    if kind == "bars":
        if min(value for _, value in pairs) < 0:
            return chart | {"drawn": Markup(""), "note": "Bars show no values below zero; lines and points do."}
        rows = [(text_of(label), [value]) for label, value in pairs[:MOST_BARS]]
        chart["drawn"] = drawing.bars(head, [up], rows, words=_number).draw()
        chart["note"] = f"The first {MOST_BARS} rows." if len(pairs) > MOST_BARS else None
        return chart
    chart["drawn"] = _plot(head, up, pairs, is_line=kind == "lines", is_number=across in numbers)
    return chart


def _naming(answer: Answer, across: str, others: list[str]) -> list[str]:
    """Return this column, with the other columns of texts if its values alone do not tell the rows apart."""
    values = [row[answer.columns.index(across)] for row in answer.rows]
    return [across, *(name for name in others if name != across)] if len({*values}) < len(values) else [across]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:,.4g}"


def _place(value: float) -> str:
    """Format a place on the scale across, which may be a year."""
    return f"{value:g}" if abs(value) < 10_000 else _number(value)


def _ticks(low: float, high: float) -> list[float]:
    """Return the round numbers of a scale from at most `low` to at least `high`; only these two if they are huge."""
    if not high > low:
        return [low]
    if math.isinf((high - low) * TICKS):
        return [low, high]
    rough = (high - low) / (TICKS - 1)
    if rough < sys.float_info.min:
        return [low]
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * one for one in (1, 2, 5, 10) if size * one >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [index * step for index in range(first, last + 1)]


def _share(value: float, low: float, high: float) -> float:
    """Return how far a value lies from `low` to `high`, whose difference may be too large for a number."""
    part = 0.5 if math.isinf(high - low) else 1
    return (value * part - low * part) / (high * part - low * part)


def _anchor(index: int, total: int) -> str:
    """Return the side of a label that is at its place: the first and the last one stay inside the chart."""
    return "middle" if 0 < index < total - 1 or total == 1 else "start" if index == 0 else "end"


def _plot(across: str, up: str, pairs: list[tuple[str | None, float]], is_line: bool, is_number: bool) -> Markup:
    """Draw points, joined by a line or not; a column of texts gives one place to each row."""
    if is_number:
        places = sorted((float(label), value, str(label)) for label, value in pairs if label is not None)
    else:
        places = [(float(index), value, text_of(label)) for index, (label, value) in enumerate(pairs)]
    xs, ys = [x for x, _, _ in places], [y for _, y, _ in places]
    ticks_up = _ticks(min(0.0, *ys), max(0.0, *ys))
    low, high = ticks_up[0], ticks_up[-1]
    first, last = min(xs), max(xs)

    def at(x: float, y: float) -> tuple[float, float]:
        width, height = WIDTH - LEFT - RIGHT, HEIGHT - FOOT - TOP
        return (
            round(LEFT + width * (_share(x, first, last) if last > first else 0.5), 1),
            round(TOP + height * (1 - (_share(y, low, high) if high > low else 0)), 1),
        )

    if is_number:
        named = [(x, _place(x)) for x in _ticks(first, last) if first <= x <= last] or [(first, _place(first))]
    else:
        has_room = max(len(text) for *_, text in places) * LETTER < (WIDTH - LEFT) / len(places)
        named = [(x, text[:60]) for x, _, text in (places if has_room else [places[0], places[-1]])]
    drawn = drawing.template("plot.html").render(
        across=across,
        up=up,
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        top=TOP,
        right=WIDTH - RIGHT,
        is_line=is_line,
        ticks_up=[{"at": at(first, value)[1], "text": _number(value)} for value in ticks_up],
        ticks_across=[
            {"at": at(x, low)[0], "text": text, "anchor": "middle" if is_number else _anchor(index, len(named))}
            for index, (x, text) in enumerate(named)
        ],
        points=[{"x": at(x, y)[0], "y": at(x, y)[1], "title": f"{text}: {_number(y)}"} for x, y, text in places],
    )
    return Markup(drawn)  # noqa: S704
