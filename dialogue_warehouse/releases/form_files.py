"""Files of another form of a release: reading rows, converting them to records, and writing. Needs pyarrow.

Parquet is read in batches, after its size has been checked before unpacking. The writer's metadata is used if it can be
read: the names of class ids (`datasets`), and the columns that are an index (`pandas`). Forms are declared with
`dialogue_warehouse.corpora.forms`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dialogue_warehouse.common.json_values import decode_strictly
from dialogue_warehouse.common.text import split_lines
from dialogue_warehouse.corpora.forms import FormError, Table
from dialogue_warehouse.errors import first_line
from dialogue_warehouse.releases import form_values
from dialogue_warehouse.releases.form_values import Classes
from dialogue_warehouse.releases.records import LandingError, refuse_answer
from dialogue_warehouse.releases.unpacking import LARGEST_RATIO, LARGEST_TEXT, UNSUSPECTED

BATCH = 256
"""Rows of a Parquet file that are in memory as Python objects at once."""
FEW = 16
"""Rows per measured batch if texts share prefixes. It is small because such rows can unpack to far more bytes."""
BYTES_OF_A_VALUE = 8
"""Minimum size that counts for a value, in bytes, so that columns of only nulls or empty lists are limited too."""
SHARED_PREFIXES = "DELTA_BYTE_ARRAY"
"""The encoding in which a value may be far longer than its bytes."""
WITHOUT_DICTIONARY = frozenset({SHARED_PREFIXES, "DELTA_LENGTH_BYTE_ARRAY"})
"""The encodings for which Arrow creates no dictionary."""
UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
INDEX = re.compile(r"__index_level_\d+__")
"""The name of an index without a name, as pandas writes it and `datasets` keeps it."""
NUMBERING = re.compile(r"index|level_\d+|row_(?:nr|index|number)|Unnamed: \d+")
"""The name of a column that numbers the rows, as pandas, polars and CSV readers create it from an index."""


def read_parquet(table: Table, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file with the values of the table's columns. Raises FormError."""
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        found, count = file.schema_arrow, file.metadata.num_rows
        _refuse_bomb(file.metadata, data)
    except UNREADABLE as error:
        raise FormError(f"cannot be read as Parquet, {first_line(error)}") from error
    read = _row_reader(table, found)
    number = 0
    try:
        for batch in file.iter_batches(BATCH):
            for row in batch.to_pylist():
                number += 1
                yield read(row)
    except UNREADABLE as error:
        raise FormError(f"cannot be read as Parquet, {first_line(error)}") from error
    except FormError as error:
        raise FormError(f"row {number:,} of {count:,}: {error}") from error


def index_columns(table: Table, names: Mapping[str, bool], metadata: Mapping[bytes, bytes]) -> set[str]:
    """Return the index columns of the writer that are not columns of the table; `names` say which hold integers."""
    noted = _noted(metadata, b"pandas", "index_columns")
    of_pandas = {name for name in noted if isinstance(name, str)} if isinstance(noted, list) else set()
    named = of_pandas.union(filter(INDEX.fullmatch, names))
    named.update(name for name, is_integer in names.items() if is_integer and NUMBERING.fullmatch(name))
    return named.intersection(names) - set(table.columns.names)


def _row_reader(table: Table, found: pa.Schema) -> form_values.Reader:
    """Return the reader of a row from a file of this schema. Raises FormError if no row of it can fit the table."""
    metadata = found.metadata or {}
    indexes = index_columns(table, {field.name: pa.types.is_integer(field.type) for field in found}, metadata)
    problem = form_values.name_difference(
        [name for name in found.names if name not in indexes], table.columns.names, ""
    )
    if problem:
        raise FormError(problem)
    classes = _classes(table, metadata)
    types = {field.name: (found.field(field.name).type, field.type) for field in table.columns}
    for name, (of, expected) in types.items():
        problem = form_values.difference(of, expected, name, classes)
        if problem:
            raise FormError(problem)
    of_json = [name for name, (of, _) in types.items() if form_values.has_json(of)]
    renumbered = {
        place.partition(".")[0] for place, ids in classes.items() if not set(ids) <= {*table.class_names[place]}
    }
    readers = {
        name: form_values.reader(expected, classes, name)
        for name, (of, expected) in types.items()
        if name in renumbered or not form_values.is_as_declared(of, expected)
    }

    def read(row: dict[str, Any]) -> dict[str, Any]:
        for name in of_json:
            row[name] = form_values.decoded(row[name], types[name][0], name)
        for name, read_value in readers.items():
            row[name] = read_value(row[name])
        return {name: row[name] for name in types}

    return read


def class_ids(table: Table) -> Classes:
    """Map each class name to its id, for columns whose file has names."""
    return {place: {name: number for number, name in enumerate(names)} for place, names in table.class_names.items()}


def _classes(table: Table, metadata: Mapping[bytes, bytes]) -> Classes:
    """Return the id of each class name and, if the file numbers its classes differently, of each id of the file."""
    info = _noted(metadata, b"huggingface", "info")
    features = info.get("features") if isinstance(info, dict) else None
    classes = {}
    for place, ids in class_ids(table).items():
        own = _names_behind(features, place)
        numbered = (
            {} if own in ((), table.class_names[place]) else {i: ids.get(name, name) for i, name in enumerate(own)}
        )
        classes[place] = {**ids, **numbered}
    return classes


def _names_behind(features: Any, place: str) -> tuple[str, ...]:
    """Return the names of a column's class ids from the features of `datasets`, through nested lists; else empty."""
    found = features
    for step in [*place.split("."), "names"]:
        while True:
            if isinstance(found, list) and len(found) == 1:
                found = found[0]
            elif isinstance(found, dict) and step not in found and "feature" in found:
                found = found["feature"]
            else:
                break
        found = found.get(step) if isinstance(found, dict) else None
    is_named = isinstance(found, list) and all(isinstance(name, str) for name in found)
    return tuple(found) if is_named else ()


def _noted(metadata: Mapping[bytes, bytes], key: bytes, member: str) -> Any:
    """Return a member of the JSON object that a writer stored under a key; None if it cannot be read."""
    with contextlib.suppress(KeyError, ValueError, RecursionError):
        noted = json.loads(metadata[key])
        return noted.get(member) if isinstance(noted, dict) else None
    return None


def _refuse_bomb(metadata: pq.FileMetaData, data: bytes) -> None:
    """Raise FormError for a file that unpacks to far more than its size; texts are measured without unpacking."""
    limit = min(LARGEST_TEXT, max(UNSUSPECTED, LARGEST_RATIO * len(data)))
    columns = range(metadata.num_columns)
    chunks = [(i, metadata.row_group(group).column(i)) for group in range(metadata.num_row_groups) for i in columns]
    sizes = [max(BYTES_OF_A_VALUE, metadata.schema.column(i).length) for i in columns]
    unpacked = sum(chunk.total_uncompressed_size for _, chunk in chunks)
    size = max(unpacked, sum(chunk.num_values * sizes[i] for i, chunk in chunks))
    if size <= limit:
        prefixed = {i for i, chunk in chunks if SHARED_PREFIXES in chunk.encodings}
        plain = {i for i, chunk in chunks if WITHOUT_DICTIONARY & {*chunk.encodings}}
        texts = {i for i in columns if metadata.schema.column(i).physical_type == "BYTE_ARRAY"}
        shared = [metadata.schema.column(i).path for i in texts - plain]
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=shared, arrow_extensions_enabled=False)
        rows = FEW if prefixed else BATCH
        groups = range(metadata.num_row_groups)  # one at a time: Arrow cannot join the dictionaries of two groups
        for batch in (batch for group in groups for batch in file.iter_batches(rows, row_groups=[group])):
            size += sum(map(_text_bytes, batch.columns))
            if size > limit:
                break
    if size > limit:
        allowed = "2 GiB" if limit == LARGEST_TEXT else f"{limit:,} bytes, out of {len(data):,}"
        raise FormError(f"unpacks to more than {allowed}")


def _text_bytes(values: pa.Array) -> int:
    """Return the size in bytes of all texts in an array; a dictionary value counts each time it is used."""
    of = values.type
    if pa.types.is_dictionary(of):
        lengths = _lengths(values.dictionary)
        return _sum(lengths.take(values.indices))
    if pa.types.is_struct(of):
        return sum(map(_text_bytes, values.flatten()))
    if isinstance(values, pa.ExtensionArray):
        return _text_bytes(values.storage)
    if pa.types.is_map(of):
        return _text_bytes(values.keys) + _text_bytes(values.items)
    if form_values.is_list(of):
        return _text_bytes(values.flatten())
    return _sum(_lengths(values)) if form_values.is_text(of) else 0


def _lengths(texts: pa.Array) -> pa.Array:
    is_view = pa.types.is_string_view(texts.type) or pa.types.is_binary_view(texts.type)
    lengths = pc.call_function("binary_length", [texts.cast(pa.large_binary()) if is_view else texts])
    return lengths.cast(pa.int64())


def _sum(numbers: pa.Array) -> int:
    return pc.call_function("sum", [numbers]).as_py() or 0


class FormFileError(LandingError):
    """A file does not fit the form. The message names corpus, file, row and column in one line."""


def read_rows(table: Table, where: str, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file. Raises FormFileError if a column or value does not fit the table."""
    try:
        yield from read_parquet(table, data) if where.endswith(".parquet") else _read_lines(table, data)
    except FormError as error:
        refuse_answer(where, data)
        raise FormFileError(f"{where}: {error}") from error


def _read_lines(table: Table, data: bytes) -> Iterator[dict[str, Any]]:
    read = form_values.reader(pa.struct(list(table.columns)), class_ids(table))
    for number, line in enumerate(split_lines(data), start=1):
        row = _decode_line(line, number)
        if not isinstance(row, dict):
            raise FormError(f"line {number}, column 1: {json.dumps(row)[:40]} is not a row")
        integers = {name: type(value) is int for name, value in row.items()}
        for name in index_columns(table, integers, {}):
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
    """Write rows as a file of the table, Parquet or JSON lines depending on its name."""
    if not name.endswith(".parquet"):
        for row in rows:
            stream.write(json.dumps(row).encode() + b"\n")
        return
    with pq.ParquetWriter(stream, table.columns) as writer:
        while batch := list(itertools.islice(rows, BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema=table.columns))


def undo_rows(table: Table, where: str, data: bytes) -> Iterator[tuple[bytes, dict[str, Any], str | None]]:
    """Yield for each row of a file the release's record as JSON, the row, and the reason if it has no record."""
    for row in read_rows(table, where, data):
        try:
            _refuse_gaps(row, "")
            record, refused = json.dumps(table.undo(row)).encode(), None
        except FormError as error:
            record, row, refused = b"", _as_json(row), str(error)
        yield record, row, refused


def _refuse_gaps(value: Any, pointer: str) -> None:
    """Raise FormError for a null or NaN. A form contains no nulls, because it fills missing values."""
    if value is None:
        raise FormError(f"null at {pointer}, where this form has a value")
    if isinstance(value, dict):
        for name, member in value.items():
            _refuse_gaps(member, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_gaps(item, f"{pointer}/{index}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise FormError(f"{value} at {pointer}, which is not possible in JSON")


def _as_json(value: Any) -> Any:
    """Return the value with a text, such as `nan`, for each number that JSON cannot express."""
    if isinstance(value, dict):
        return {name: _as_json(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def row_from_json(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """Return a refused row with the values that `_as_json` wrote as texts."""
    return _from_json(row, pa.struct(list(table.columns)))


def _from_json(value: Any, of: pa.DataType) -> Any:
    if isinstance(value, dict):
        return {name: _from_json(member, of.field(name).type) for name, member in value.items()}
    if isinstance(value, list):
        return [_from_json(item, of.value_type) for item in value]
    return float(value) if isinstance(value, str) and pa.types.is_floating(of) else value
