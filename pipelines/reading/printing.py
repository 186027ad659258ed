"""How a query's result is shown: a table on the terminal, JSON, CSV, or a Parquet file.

JSON, CSV and Parquet are complete and streamed; a table shows the first rows and says how many it leaves out.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import math
import os
import sys
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.intake.writing import replacing
from pipelines.reading.query import BATCH_ROWS, QueryResult
from pipelines.reading.query_errors import QueryError, one_line

DISPLAYED_ROWS = 200
"""Rows that a table on the terminal shows."""
DISPLAYED_CHARACTERS = 1_000
"""Characters of a cell that are handed to the terminal's own cutting."""
PIPED_WIDTH = 200
"""Characters of a table's line where there is no terminal."""
NARROWEST_COLUMN = 12
COLUMN_PADDING = 3
"""Characters between two columns of a table."""
PARQUET_MAGIC = b"PAR1"


def print_result(result: QueryResult, form: str | None = None, parquet: Path | None = None) -> None:
    """Write a result to standard output as a table, `json` or `csv`, or to a Parquet file and say so."""
    if parquet is not None:
        count = write_parquet(result, parquet)
        print(f"{count:,} row{'' if count == 1 else 's'} written to {parquet}", file=sys.stderr)
    elif form == "json":
        write_json(result, sys.stdout)
    elif form == "csv":
        write_csv(result, sys.stdout)
    else:
        render_table(result, make_console())


def make_console() -> Console:
    """Standard output; where it is no terminal, nobody knows its width."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console


def render_table(result: QueryResult, console: Console, limit: int = DISPLAYED_ROWS) -> None:
    """Print the first rows as a table that fits the terminal, and below it how many there are in all."""
    if result.is_explain:
        for _, plan in result.rows():
            console.print(Text(plan), soft_wrap=True)
        return
    with contextlib.closing(result.rows()) as read:
        rows = list(itertools.islice(read, limit + 1))
    headings = [Text(_visible(column)) for column in result.columns]
    cells = [[_cell(value) for value in row] for row in rows[:limit]]
    natural = [max(text.cell_len for text in column) for column in zip(headings, *cells, strict=True)]
    widths = _fitting(natural, console.width)
    table = Table(box=box.SIMPLE_HEAD)
    for position, width in enumerate(widths):
        value = next((row[position] for row in rows if row[position] is not None), None)
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        table.add_column(headings[position], no_wrap=True, width=width, justify="right" if is_number else "left")
    for row in cells:
        table.add_row(*row[: len(widths)])
    console.print(table)
    footer = _footer(result, len(rows), limit)
    if len(widths) < len(headings):
        footer += f"; {len(widths)} of {len(headings)} columns fit"
    console.print(Text(footer, style="dim"), soft_wrap=True)


def _fitting(natural: list[int], available: int) -> list[int]:
    """The widths of the first columns, as many as fit; wide ones are cut alike, none below NARROWEST_COLUMN."""

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
        return f"{fetched:,} row{'' if fetched == 1 else 's'}"
    count = result.count()
    all_rows = "more" if count is None else f"{count:,} rows, {count - limit:,} more not shown"
    return f"first {limit:,} of {all_rows}: --json, --csv and --parquet give them all"


def write_json(result: QueryResult, stream: TextIO) -> int:
    """Write the rows as a JSON array of objects, one a line, and return their number."""
    names = _distinct(result.columns)
    count = 0
    stream.write("[")
    for row in result.rows():
        record = {name: _plain(value) for name, value in zip(names, row, strict=True)}
        stream.write(",\n" if count else "\n")
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False))
        count += 1
    stream.write("\n]\n" if count else "]\n")
    return count


def write_csv(result: QueryResult, stream: TextIO) -> int:
    """Write a header and the rows as RFC 4180 has them, and return their number.

    NULL is an empty field and '' is `""`; lists and maps are JSON. A NULL that is alone in its row is written `""`
    too, because readers skip an empty line.
    """
    stream.write(_csv_line(result.columns))
    count = 0
    for row in result.rows():
        stream.write(_csv_line(row))
        count += 1
    return count


def write_parquet(result: QueryResult, file: Path) -> int:
    """Write the rows to a Parquet file and return their number; the file appears whole or not at all.

    An existing Parquet file is replaced, any other file is refused, so that no database is overwritten by mistake.
    """
    if file.is_dir() or not file.parent.is_dir():
        raise QueryError(f"{file}: no file can be written there")
    if file.exists() and not _is_parquet(file):
        raise QueryError(f"{file} exists and is no Parquet file: not overwritten")
    count = 0
    try:
        with (
            replacing(file) as partial,
            result.con.sql(result.statement).to_arrow_reader(BATCH_ROWS * 10) as reader,
        ):
            names = _distinct(reader.schema.names)
            schema = pyarrow.schema([field.with_name(name) for field, name in zip(reader.schema, names, strict=True)])
            with pyarrow.parquet.ParquetWriter(partial, schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema))
                    count += batch.num_rows
    except (duckdb.Error, pyarrow.ArrowException, OSError) as error:
        raise QueryError(f"{file}: {one_line(error)}") from error
    return count


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def _csv_line(values: Iterable[Any]) -> str:
    return (",".join(_csv_field(value) for value in values) or '""') + "\r\n"


def _csv_field(value: Any) -> str:
    if value is None:
        return ""
    text = _text(value)
    if text and not any(character in text for character in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _cell(value: Any) -> Text:
    return Text("NULL", style="dim italic") if value is None else Text(_visible(_text(value)[:DISPLAYED_CHARACTERS]))


def _visible(text: str) -> str:
    """The text on one line, its control characters written out: none reaches the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def _text(value: Any) -> str:
    plain = value if isinstance(value, Decimal | float) else _plain(value)
    match plain:
        case str():
            return plain
        case bool():
            return "true" if plain else "false"
        case list() | dict():
            return json.dumps(plain, ensure_ascii=False)
        case _:
            return str(plain)


def _plain(value: Any) -> Any:
    """The value as JSON can hold it: maps and structs as objects, lists as arrays, times in ISO 8601."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case list() | tuple():
            return [_plain(element) for element in value]
        case dict():
            return {_text(key): _plain(element) for key, element in value.items()}
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case _:
            return str(value)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    distinct: list[str] = []
    for name in names:
        candidate, occurrence = name, 1
        while candidate in distinct:
            occurrence += 1
            candidate = f"{name}_{occurrence}"
        distinct.append(candidate)
    return tuple(distinct)
