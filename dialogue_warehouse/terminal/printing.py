"""Output of a query's result: a table if its rows fit the terminal, else one line per column; or a complete file.

Complete results are written by `reading.result_files`: JSON, CSV and others, streamed. A terminal shows the first rows
and the number of omitted rows, in a pager if they need more lines than the terminal has.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import os
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.common.text import visible, visible_json, visible_lines
from dialogue_warehouse.errors import counted
from dialogue_warehouse.reading.query import QueryResult
from dialogue_warehouse.reading.result_files import (
    stream_parquet,
    write_csv,
    write_json,
    write_json_lines,
    write_markdown,
    write_parquet,
)
from dialogue_warehouse.reading.values import cell_of, elided

DISPLAYED_ROWS = 200
"""Maximum number of rows that the terminal shows."""
PIPED_WIDTH = 200
"""Width of a table in characters without a terminal."""
NARROWEST_COLUMN = 12
COLUMN_PADDING = 3
"""Characters between two columns of a table."""
WRITERS = {"json": write_json, "jsonl": write_json_lines, "csv": write_csv, "markdown": write_markdown}
Pager = Callable[[str], None]
"""Shows a long text page by page."""


def print_result(
    result: QueryResult, form: str | None = None, parquet: Path | None = None, pager: Pager | None = None
) -> None:
    """Write a result to standard output in one of `settings.FORMATS`, or to a Parquet file and report that.

    On a terminal, output that is longer than the screen goes to the pager. Parquet is refused there with QueryError.
    """
    if parquet is not None:
        count = write_parquet(result, parquet)
        print(f"{counted(count, 'row')} written to {parquet}", file=sys.stderr)
    elif form == "parquet":
        if sys.stdout.isatty():
            raise QueryError("Parquet cannot be shown on a terminal: use --parquet FILE, or > FILE")
        stream_parquet(result, sys.stdout.buffer)
    elif form in WRITERS:
        WRITERS[form](result, _Escaped(sys.stdout, form) if sys.stdout.isatty() else sys.stdout)
    else:
        _show(result, form, make_console(), pager)


class _Escaped(io.StringIO):
    """A terminal without control characters: they are escaped, in JSON with JSON's escapes."""

    def __init__(self, terminal: TextIO, form: str) -> None:
        self._terminal = terminal
        self._escape = visible_json if form in ("json", "jsonl") else visible_lines

    def write(self, text: str, /) -> int:
        """Write a text with its control characters escaped."""
        self._terminal.write(self._escape(text))
        return len(text)


def make_console() -> Console:
    """Return a console for standard output; without a terminal it has a fixed width.

    It prints texts as they are, also `[/b]` and `:key:`, which rich would read as instructions.
    """
    make = functools.partial(Console, highlight=False, markup=False, emoji=False)
    console = make()
    if console.width < 1 or (not console.is_terminal and "COLUMNS" not in os.environ):  # with COLUMNS=0, nothing fits
        return make(width=PIPED_WIDTH)
    return console


def _show(result: QueryResult, form: str | None, console: Console, pager: Pager | None) -> None:
    """Print the first rows, or page them."""
    render = {"table": render_table, "vertical": render_vertical}.get(form or "", render_fitting)
    print_paged(lambda: render(result, console), console, pager)


def print_paged(render: Callable[[], None], console: Console, pager: Pager | None) -> None:
    """Draw on the console; on a terminal, output that is longer than the screen goes to the pager."""
    if pager is None or not console.is_terminal:
        render()
        return
    with console.capture() as capture:
        render()
    text = capture.get()
    lines = text.splitlines()
    if len(lines) < console.height and sum(_lines(line, console.width) for line in lines) < console.height:
        console.file.write(text)
    else:
        pager(text)


def _lines(line: str, width: int) -> int:
    """Return how many lines of the terminal a printed line takes."""
    return max(1, -(-Text.from_ansi(line).cell_len // width))


class _Rows:
    """The first rows of a result, as cells."""

    def __init__(self, result: QueryResult, limit: int) -> None:
        with contextlib.closing(result.rows()) as read:
            self.values = list(itertools.islice(read, limit + 1))
        self.headings = [Text(visible(column)) for column in result.columns]
        self.cells = [[cell_of(value) for value in row] for row in self.values[:limit]]
        columns = zip(self.headings, *self.cells, strict=True)
        self.widths = [max(text.cell_len for text in column) for column in columns]
        self.footer = _footer(result, len(self.values), limit)

    def is_number(self, position: int) -> bool:
        """Return whether a column contains numbers."""
        value = next((row[position] for row in self.values if row[position] is not None), None)
        return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def render_fitting(result: QueryResult, console: Console, limit: int = DISPLAYED_ROWS) -> None:
    """Print the first rows as a table if every column fits the terminal, else vertically."""
    if result.is_explain:
        return _render_plan(result, console)
    rows = _Rows(result, limit)
    fits = len(_fitting(rows.widths, console.width)) == len(rows.widths)
    return (_print_table if fits else _print_vertical)(rows, console)


def render_table(result: QueryResult, console: Console, limit: int = DISPLAYED_ROWS) -> None:
    """Print the first rows as a table that fits the terminal, and below it the total number of rows."""
    if result.is_explain:
        return _render_plan(result, console)
    return _print_table(_Rows(result, limit), console)


def render_vertical(result: QueryResult, console: Console, limit: int = DISPLAYED_ROWS) -> None:
    """Print the first rows, one value per line."""
    if result.is_explain:
        return _render_plan(result, console)
    return _print_vertical(_Rows(result, limit), console)


def _render_plan(result: QueryResult, console: Console) -> None:
    for _, plan in result.rows():
        console.print(Text(visible_lines(plan)), soft_wrap=True)


def _print_table(rows: _Rows, console: Console) -> None:
    """Print a table of as many columns as fit. If not all fit, keys come last. Keys are cut in their middle."""
    shown = list(range(len(rows.widths)))
    if len(_fitting(rows.widths, console.width)) < len(shown):
        shown.sort(key=lambda position: _is_key(rows.headings[position]))
    widths = _fitting([rows.widths[position] for position in shown], console.width)
    table = Table(box=box.SIMPLE_HEAD)
    for position, width in zip(shown, widths, strict=False):
        justify = "right" if rows.is_number(position) else "left"
        table.add_column(rows.headings[position], no_wrap=True, width=width, justify=justify)
    for row in rows.cells:
        cells = zip(shown, widths, strict=False)
        table.add_row(
            *(elided(row[at], width) if _is_key(rows.headings[at]) else row[at] for at, width in cells),
        )
    console.print(table)
    footer = rows.footer
    if len(widths) < len(shown):
        footer += f"; {len(widths)} of {len(shown)} columns fit, --format vertical shows all"
    console.print(Text(footer, style="dim"), soft_wrap=True)


def _print_vertical(rows: _Rows, console: Console) -> None:
    """Print one block per row, with one line per column."""
    width = max(heading.cell_len for heading in rows.headings)
    for number, row in enumerate(rows.cells, start=1):
        console.print(Text(f"── row {number} ".ljust(width + 12, "─"), style="dim"), soft_wrap=True)
        for heading, cell in zip(rows.headings, row, strict=True):
            label = Text(heading.plain + " " * (width - heading.cell_len + 2), style="bold")
            console.print(label + cell, soft_wrap=True)
    console.print(Text(rows.footer, style="dim"), soft_wrap=True)


def _is_key(heading: Text) -> bool:
    return heading.plain.endswith("_key")


def _fitting(natural: list[int], available: int) -> list[int]:
    """Return the widths of the first columns that fit; wide ones are cut equally, none below NARROWEST_COLUMN."""

    def total(widths: list[int], cut: int) -> int:
        return sum(min(width, cut) + COLUMN_PADDING for width in widths)

    shown = len(natural)
    while shown > 1 and total(natural[:shown], NARROWEST_COLUMN) > available - COLUMN_PADDING:
        shown -= 1
    cut = NARROWEST_COLUMN
    while cut < max(natural[:shown]) and total(natural[:shown], cut + 1) <= available - COLUMN_PADDING:
        cut += 1
    return [min(width, cut) for width in natural[:shown]]


def _footer(result: QueryResult, fetched: int, limit: int) -> str:
    if fetched <= limit:
        return counted(fetched, "row")
    count = result.count()
    all_rows = "more" if count is None else f"{count:,} rows, {count - limit:,} not shown"
    return f"first {limit:,} of {all_rows}: --json and --csv write all"
