"""The files of other forms of a release: read strictly, column by column, undone record by record, and written.

What a form is, and how a room declares one, is `pipelines.corpora.forms`. Nothing here knows a corpus.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.corpora.forms import FormError, Table, single_precision
from pipelines.errors import InputError, first_line
from pipelines.intake.strict_json import decode_strictly

BATCH = 256
"""Rows of a Parquet file that are in memory as Python objects at once."""


class FormFileError(InputError):
    """A file that is not of the form; the message names corpus, file and column in one line."""


def read_rows(table: Table, where: str, data: bytes) -> Iterator[dict[str, Any]]:
    """The rows of a file. Raises FormFileError when its columns are not exactly those of the table."""
    try:
        yield from _read_parquet(table, data) if where.endswith(".parquet") else _read_lines(table, data)
    except FormError as error:
        raise FormFileError(f"{where}: {error}") from error


def _read_parquet(table: Table, data: bytes) -> Iterator[dict[str, Any]]:
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        found = file.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise FormError(f"no Parquet, {first_line(error)}") from error
    difference = _difference(pa.struct(list(found)), pa.struct(list(table.columns)), "")
    if difference:
        raise FormError(difference)
    _check_class_names(table, found.metadata or {})
    try:
        for batch in file.iter_batches(BATCH):
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FormError(f"broken Parquet, {first_line(error)}") from error


def _difference(found: pa.DataType, expected: pa.DataType, place: str) -> str | None:
    """The first difference of two types, in one line; the order of columns and the width of offsets are none."""
    if _kind(found) != _kind(expected):
        return f"column {place} is {_kind(found)}, not {_kind(expected)}"
    if pa.types.is_struct(expected):
        names = [found.field(i).name for i in range(found.num_fields)]
        wanted = [expected.field(i).name for i in range(expected.num_fields)]
        for name in [*wanted, *names]:
            if name not in names:
                return f"column {_below(place, name)} is missing"
            if name not in wanted:
                return f"column {_below(place, name)} is unknown"
            if names.count(name) > 1:
                return f"column {_below(place, name)} stands twice"
        differences = (_difference(found.field(n).type, expected.field(n).type, _below(place, n)) for n in wanted)
        return next((difference for difference in differences if difference), None)
    if pa.types.is_list(expected):
        return _difference(found.value_type, expected.value_type, place)
    return None


def _kind(of: pa.DataType) -> str:
    if pa.types.is_struct(of):
        return "struct"
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return "list"
    return "string" if pa.types.is_large_string(of) else str(of)


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _check_class_names(table: Table, metadata: Mapping[bytes, bytes]) -> None:
    """Refuse a file that says itself that its class ids stand for other names."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, ValueError):
        return
    for place, names in table.class_names.items():
        found = features
        for step in place.split("."):
            while isinstance(found, dict) and step not in found and "feature" in found:
                found = found["feature"]
            found = found.get(step) if isinstance(found, dict) else None
        if isinstance(found, dict) and "names" in found and tuple(found["names"]) != names:
            raise FormError(
                f"column {place} has the classes {', '.join(map(str, found['names']))}, not {', '.join(names)}"
            )


def _read_lines(table: Table, data: bytes) -> Iterator[dict[str, Any]]:
    columns = pa.struct(list(table.columns))
    lines = data.split(b"\n")
    if lines.pop():
        raise FormError("cut off, the last line has no end")
    for number, line in enumerate(lines, start=1):
        try:
            row = decode_strictly(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FormError(f"line {number}: not JSON, {first_line(error)}") from error
        if row is None:
            raise FormError(f"line {number}: null is no row")
        try:
            yield _conform(row, columns, "")
        except FormError as error:
            raise FormError(f"line {number}: {error}") from error


def _conform(value: Any, of: pa.DataType, place: str) -> Any:
    """The value as a Parquet column of this type would hold it; raises FormError for another type. Null passes."""
    if value is None:
        return None
    if pa.types.is_struct(of) and isinstance(value, dict):
        return _conform_struct(value, of, place)
    if pa.types.is_list(of) and isinstance(value, list):
        return [_conform(item, of.value_type, place) for item in value]
    conformed = _conform_scalar(value, of)
    if conformed is None:
        raise FormError(f"column {place or 'of the row'} has {json.dumps(value)[:40]}, which is no {_kind(of)}")
    return conformed


def _conform_struct(value: dict[str, Any], of: pa.DataType, place: str) -> dict[str, Any]:
    wanted = [of.field(i) for i in range(of.num_fields)]
    for name in value:
        if all(name != field.name for field in wanted):
            raise FormError(f"column {_below(place, name)} is unknown")
    for field in wanted:
        if field.name not in value:
            raise FormError(f"column {_below(place, field.name)} is missing")
    return {field.name: _conform(value[field.name], field.type, _below(place, field.name)) for field in wanted}


def _conform_scalar(value: Any, of: pa.DataType) -> Any:
    """The value as the column would hold it; None for one of another type or beyond its range."""
    if isinstance(value, str):
        return value if pa.types.is_string(of) else None
    if isinstance(value, bool):
        return value if pa.types.is_boolean(of) else None
    if isinstance(value, int) and pa.types.is_integer(of):
        return value if -(2 ** (of.bit_width - 1)) <= value < 2 ** (of.bit_width - 1) else None
    if isinstance(value, int | float) and pa.types.is_floating(of):
        return single_precision(float(value)) if of.bit_width == 32 else float(value)
    return None


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
