"""Complete results of a query, streamed: JSON, JSON lines, CSV, Markdown, Parquet."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from dialogue_warehouse.common.database import QueryError, one_line
from dialogue_warehouse.common.files import open_regular, replacing
from dialogue_warehouse.common.text import visible
from dialogue_warehouse.errors import require_extra
from dialogue_warehouse.reading.query import QueryResult
from dialogue_warehouse.reading.values import json_of, text_of
from dialogue_warehouse.storage import ownership

PARQUET_MAGIC = b"PAR1"


def write_json(result: QueryResult, stream: TextIO) -> int:
    """Write the rows as a JSON array with one object per line, and return their number."""
    rows, count = _begun(result), 0
    stream.write("[")
    for row in rows:
        stream.write(",\n" if count else "\n")
        stream.write(json_of(dict(zip(result.columns, row, strict=True))))
        count += 1
    stream.write("\n]\n" if count else "]\n")
    return count


def _begun(result: QueryResult) -> Iterator[tuple[Any, ...]]:
    """Run a query up to its first row, so that nothing is written if it fails before that."""
    rows = result.rows()
    return itertools.chain(list(itertools.islice(rows, 1)), rows)


def write_json_lines(result: QueryResult, stream: TextIO) -> int:
    """Write each row as a JSON object on its own line, and return the number of rows."""
    count = 0
    for row in result.rows():
        stream.write(f"{json_of(dict(zip(result.columns, row, strict=True)))}\n")
        count += 1
    return count


def write_markdown(result: QueryResult, stream: TextIO) -> int:
    """Write the rows as a Markdown table, and return their number."""
    rows, count = _begun(result), 0
    stream.write(_markdown_line(result.columns))
    stream.write(f"|{'---|' * len(result.columns)}\n")
    for row in rows:
        stream.write(_markdown_line(map(text_of, row)))
        count += 1
    return count


def _markdown_line(texts: Iterable[str]) -> str:
    """Return one row; characters that end a cell or begin a tag are escaped, and a line break is `<br>`."""
    escaped = (re.sub(r"([\\|<`*_\[\]])", r"\\\1", text) for text in texts)
    broken = ("<br>".join(visible(line) for line in text.split("\n")) for text in escaped)
    return f"| {' | '.join(broken)} |\n"


def write_csv(result: QueryResult, stream: TextIO) -> int:
    """Write a header and the rows as in RFC 4180, except with LF as line end, and return the number of rows.

    NULL is an empty field and '' is `""`; lists and maps are JSON. A NULL that is alone in its row is also written
    `""`, because readers skip an empty line. Text is not changed, even if a spreadsheet would read it as a formula.
    """
    rows, count = _begun(result), 0
    stream.write(_csv_line(result.columns))
    for row in rows:
        stream.write(_csv_line(row))
        count += 1
    return count


def write_parquet(result: QueryResult, file: Path) -> int:
    """Write the rows to a Parquet file and return their number. The file is written whole or not at all.

    An existing Parquet file is replaced. Any other file is refused, so that no database is overwritten by mistake; so
    is a read-only file, and every path in a warehouse that a build writes to. Raises QueryError.
    """
    if file.is_dir() or not file.parent.is_dir():
        raise QueryError(f"{file}: is a folder, or its folder does not exist")
    if (warehouse := ownership.warehouse_of(file)) is not None:
        raise QueryError(f"{file} belongs to the warehouse {warehouse}: not overwritten; choose a path outside of it")
    if os.path.lexists(file):
        _refuse_to_replace(file)
    try:
        with replacing(file) as partial, partial.open("wb") as stream:
            return stream_parquet(result, stream)
    except OSError as error:
        raise QueryError(f"{file}: {error.strerror or one_line(error)}") from error
    except QueryError as error:
        raise QueryError(f"{file}: {error}") from error


def _refuse_to_replace(file: Path) -> None:
    """Raise QueryError for an existing file that is not Parquet or is read-only."""
    if not file.is_file() or not _is_parquet(file):
        raise QueryError(f"{file} exists and is not a Parquet file; it is not overwritten, choose another name")
    if not file.stat().st_mode & 0o222:
        raise QueryError(f"{file} exists and is read-only: not overwritten; choose another name")


def stream_parquet(result: QueryResult, stream: BinaryIO) -> int:
    """Write the rows as Parquet to a stream and return their number. Raises QueryError for a type Parquet lacks."""
    require_extra("arrow", "Parquet as a result")
    import pyarrow
    import pyarrow.parquet

    count = 0
    with contextlib.closing(result.batches()) as batches:
        schema = next(batches).schema
        schema = pyarrow.schema([field.with_name(name) for field, name in zip(schema, result.columns, strict=True)])
        try:
            with pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
                for batch in batches:
                    writer.write_batch(pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema))
                    count += batch.num_rows
        except pyarrow.ArrowException as error:
            raise QueryError(one_line(error)) from error
    return count


def _is_parquet(file: Path) -> bool:
    try:
        with open_regular(file) as stream:
            return stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    except OSError:
        return False


def _csv_line(values: Iterable[Any]) -> str:
    return (",".join(_csv_field(value) for value in values) or '""') + "\n"


def _csv_field(value: Any) -> str:
    if value is None:
        return ""
    text = text_of(value)
    if text and not any(character in text for character in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'
