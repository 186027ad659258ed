"""The files of other forms of a release: read by their values, undone record by record, and written.

What a form is, and how a room declares one, is `pipelines.corpora.forms`. Nothing here knows a corpus.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.corpora.forms import FormError, Table
from pipelines.errors import first_line
from pipelines.intake import form_parquet, form_values
from pipelines.intake.form_parquet import BATCH
from pipelines.intake.records import LandingError, refuse_answer
from pipelines.intake.strict_json import decode_strictly
from pipelines.intake.text_lines import split_lines


class FormFileError(LandingError):
    """A file that is not of the form; the message names corpus, file, row and column in one line."""


def read_rows(table: Table, where: str, data: bytes) -> Iterator[dict[str, Any]]:
    """The rows of a file. Raises FormFileError when its columns or a value are not those of the table."""
    try:
        yield from form_parquet.read_parquet(table, data) if where.endswith(".parquet") else _read_lines(table, data)
    except FormError as error:
        refuse_answer(where, data)
        raise FormFileError(f"{where}: {error}") from error


def _read_lines(table: Table, data: bytes) -> Iterator[dict[str, Any]]:
    read = form_values.reader(pa.struct(list(table.columns)), form_parquet.class_ids(table))
    for number, line in enumerate(split_lines(data), start=1):
        row = _decode_line(line, number)
        if not isinstance(row, dict):
            raise FormError(f"line {number}, column 1: {json.dumps(row)[:40]} is not a row")
        integers = {name: type(value) is int for name, value in row.items()}
        for name in form_parquet.index_columns(table, integers, {}):
            del row[name]
        try:
            yield read(row)
        except FormError as error:
            raise FormError(f"line {number}: {error}") from error


def _decode_line(line: bytes, number: int) -> Any:
    """Decode a line of JSON. Raises FormError with the line and the column that an editor shows."""
    try:
        return decode_strictly(line.decode())
    except json.JSONDecodeError as error:
        what = f"not JSON, {error.msg}" if line.strip() else "the line is blank"
        raise FormError(f"line {number}, column {error.colno}: {what}") from error
    except (ValueError, RecursionError) as error:
        raise FormError(f"line {number}, column 1: not JSON, {first_line(error)}") from error


def write_rows(table: Table, name: str, rows: Iterator[dict[str, Any]], stream: IO[bytes]) -> None:
    """Write rows as a file of the table, Parquet or JSON lines by its name."""
    if not name.endswith(".parquet"):
        for row in rows:
            stream.write(json.dumps(row).encode() + b"\n")
        return
    with pq.ParquetWriter(stream, table.columns) as writer:
        while batch := list(itertools.islice(rows, BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema=table.columns))


def undo_rows(table: Table, where: str, data: bytes) -> Iterator[tuple[bytes, dict[str, Any], str | None]]:
    """For each row of a file the release's record of it as JSON, the row, and why it has no record if it has none."""
    for row in read_rows(table, where, data):
        try:
            _refuse_gaps(row, "")
            record, refused = json.dumps(table.undo(row)).encode(), None
        except FormError as error:
            record, row, refused = b"", _as_json(row), str(error)
        yield record, row, refused


def _refuse_gaps(value: Any, pointer: str) -> None:
    """Raise FormError for a null, of which a form has none because it fills what is absent, and for a NaN."""
    if value is None:
        raise FormError(f"null at {pointer}")
    if isinstance(value, dict):
        for name, member in value.items():
            _refuse_gaps(member, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_gaps(item, f"{pointer}/{index}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise FormError(f"{value} at {pointer}, which no JSON holds")


def _as_json(value: Any) -> Any:
    """The value with null for each number that JSON has no text for."""
    if isinstance(value, dict):
        return {name: _as_json(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
