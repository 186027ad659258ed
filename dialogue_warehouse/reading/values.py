"""Values of a result: exact reading, and output as text, as JSON or as a cell on the terminal.

DuckDB's client returns an infinite date as 9999-12-31, drops nanoseconds and widens FLOAT; Arrow's Parquet writer
rejects intervals. Such values are cast in the query, also inside lists, structs and maps, and converted when they are
read.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
from duckdb import sqltypes
from rich.text import Text

from dialogue_warehouse.common.database import identifier
from dialogue_warehouse.common.text import visible

DISPLAYED_CHARACTERS = 1_000
"""Maximum number of characters of a value that a terminal or a page shows."""
NULL = "NULL"
"""Text that is shown for a missing value."""
ENCODER = msgspec.json.Encoder(decimal_format="number")
"""Keeps all digits of numbers."""
NATIVE = range(-(2**63), 2**64)
"""Integers that the encoder accepts directly."""


class JsonText(str):
    """A value of DuckDB's type JSON: a text that is JSON itself."""

    __slots__ = ()


def cell_of(value: Any) -> Text:
    """Return a value as a terminal cell: NULL as a word, control characters escaped."""
    return Text(visible(cut(text_of(value))), style="dim italic" if value is None else "")


def cut(text: str) -> str:
    """Return the beginning of a long text, with a mark that more follows."""
    return text if len(text) <= DISPLAYED_CHARACTERS else f"{text[:DISPLAYED_CHARACTERS]}…"


def elided(text: Text, width: int) -> Text:
    """Shorten a cell in its middle, because keys differ at their ends."""
    if len(text) <= width:
        return text
    kept = width - 1
    tail = (kept + 1) // 2
    return text[: kept - tail] + Text("…") + text[len(text) - tail :]


def text_of(value: Any) -> str:
    """Return the value as text; lists, structs and maps are JSON."""
    match value:
        case None:
            return NULL
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int() | float() | Decimal():
            return str(value)
        case list() | tuple() | dict():
            return json_of(value)
        case _:
            return str(plain_of(value))


def json_of(value: Any) -> str:
    """Return the value as JSON on one line."""
    return msgspec.json.format(ENCODER.encode(plain_of(value)), indent=0).decode()


def plain_of(value: Any) -> Any:
    """Convert the value for JSON: maps and structs to objects, lists to arrays, times to ISO 8601.

    JSON has no numbers for NaN and infinity: they become the text that a table shows. A value of DuckDB's type JSON is
    inserted as JSON.
    """
    match value:
        case JsonText():
            return msgspec.Raw(value.encode())
        case None | bool() | str():
            return value
        case int():
            return value if value in NATIVE else Decimal(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return value
        case list() | tuple():
            return [plain_of(element) for element in value]
        case dict():
            return {text_of(key): plain_of(element) for key, element in value.items()}
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case _:
            return str(value)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Make names unique: a repeated name gets a number."""
    found: list[str] = []
    for name in names:
        candidate, occurrence = name, 1
        while candidate in found:
            occurrence += 1
            candidate = f"{name}_{occurrence}"
        found.append(candidate)
    return tuple(found)


INTEGERS = ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint")
TEXT = "varchar"
IN_PYTHON: Mapping[str, str] = dict.fromkeys(
    (*INTEGERS, "hugeint", "uhugeint", "boolean", "double", "decimal", TEXT, "enum", "uuid", "blob", "bit"), ""
)
"""The types that Python represents exactly."""
IN_PARQUET: Mapping[str, str] = (
    dict.fromkeys((*INTEGERS, "boolean", "float", "double", "decimal", TEXT, "enum", "uuid", "blob"), "")
    | dict.fromkeys(("date", "time", "timestamp", "timestamp_ns", "timestamp with time zone"), "")
    | {"hugeint": "decimal(38, 0)", "timestamp_s": "timestamp", "timestamp_ms": "timestamp"}
)
"""The types that Parquet stores exactly, and for some others the type to cast them to. The rest is cast to text."""
TOO_LONG = re.compile(
    r"Could not cast value (?P<value>-?\d+) to DECIMAL\(38,0\)(?: when casting from source column c(?P<index>\d+))?$"
)
"""DuckDB's error about an integer that is too large for its type in Parquet, with the name that `statement` gives."""
MOMENT = re.compile(r"(?<=\d) (?=\d)")
"""The blank between date and time in DuckDB's own text."""
WHOLE_HOURS = re.compile(r"(:[\d.]+[+-]\d\d)$")
"""A time that ends with an offset without minutes, as DuckDB writes it."""
Reader = Callable[[Any], Any]


@dataclass(frozen=True)
class Carrier:
    """A type that represents every value of another type: its SQL, and a function that converts the read value."""

    sql: str
    is_cast: bool
    read: Reader | None = None


def carrier(kind: sqltypes.DuckDBPyType, exact: Mapping[str, str] = IN_PYTHON) -> Carrier:
    """Find a type that represents all values of `kind`, if the target represents the types in `exact`."""
    match kind.id:
        case "list" | "array":
            (_, child), *size = kind.children
            inner = carrier(sqltypes.DuckDBPyType(child), exact)
            dimension = f"[{size[0][1]}]" if size else "[]"
            return Carrier(f"{inner.sql}{dimension}", inner.is_cast, inner.read and _each(inner.read))
        case "struct" if all(name for name, _ in kind.children):
            fields = {name: carrier(sqltypes.DuckDBPyType(field), exact) for name, field in kind.children}
            sql = ", ".join(f"{identifier(name)} {field.sql}" for name, field in fields.items())
            readers = {name: field.read for name, field in fields.items() if field.read}
            is_cast = any(field.is_cast for field in fields.values())
            return Carrier(f"struct({sql})", is_cast, _fields(readers) if readers else None)
        case "map":
            key_kind, value_kind = (sqltypes.DuckDBPyType(inner) for _, inner in kind.children)
            key, value = carrier(key_kind, exact), carrier(value_kind, exact)
            is_cast = key.is_cast or value.is_cast or key_kind.id == "null"  # Parquet's maps cannot have a NULL key
            return Carrier(f"map({key.sql}, {value.sql})", is_cast, _entries(key_kind, key, value))
        case "null":
            return Carrier(TEXT, is_cast=False)
        case _:
            return _leaf(kind, exact)


def _leaf(kind: sqltypes.DuckDBPyType, exact: Mapping[str, str]) -> Carrier:
    """Find the carrier of a type without nested types."""
    if str(kind) == "JSON":
        return Carrier("json", is_cast=False, read=JsonText)
    other = exact.get(kind.id, TEXT)
    if not other:
        return Carrier(str(kind), is_cast=False)
    is_moment = kind.id.startswith(("date", "time"))
    return Carrier(other, is_cast=True, read=_moment if is_moment else float if kind.id == "float" else None)


LINES_BEFORE = 1
"""Lines that a wrapped query has before the query itself."""


def statement(query: str, kinds: Sequence[Carrier], names: Sequence[str]) -> str:
    """Wrap a query so that its columns have the carrier types. A query that needs no cast is returned unchanged."""
    if not any(kind.is_cast for kind in kinds):
        return query
    columns = ", ".join(
        f"cast(c{index} as {kind.sql}) as {identifier(name)}" if kind.is_cast else f"c{index} as {identifier(name)}"
        for index, (kind, name) in enumerate(zip(kinds, names, strict=True))
    )
    return f"select {columns} from (\n{query}\n) as result({', '.join(f'c{index}' for index in range(len(kinds)))})"


def reader(kinds: Sequence[Carrier]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a function that converts a row of the carrier types."""
    readers = [(index, kind.read) for index, kind in enumerate(kinds) if kind.read]

    def read(row: tuple[Any, ...]) -> tuple[Any, ...]:
        values = list(row)
        for index, one in readers:
            values[index] = _optional(one, values[index])
        return tuple(values)

    return read if readers else lambda row: row


def _optional(read: Reader, value: Any) -> Any:
    return None if value is None else read(value)


def _moment(text: str) -> str:
    """Convert a date or a time to ISO 8601, as RFC 3339 profiles it; infinite ones are words."""
    return WHOLE_HOURS.sub(r"\1:00", MOMENT.sub("T", text, count=1))


def _each(read: Reader) -> Reader:
    return lambda values: [_optional(read, value) for value in values]


def _fields(readers: Mapping[str, Reader]) -> Reader:
    return lambda value: value | {name: _optional(read, value[name]) for name, read in readers.items()}


def _entries(kind: sqltypes.DuckDBPyType, key: Carrier, value: Carrier) -> Reader | None:
    """Read a map. If its keys cannot be keys of a dict, the client returns lists of keys and values."""
    has_lists = kind.id in ("list", "array", "struct", "map")
    if not (has_lists or key.read or value.read):
        return None
    read_key, read_value = key.read or _unchanged, value.read or _unchanged

    def read(found: dict[Any, Any]) -> dict[Any, Any]:
        pairs = zip(found.get("key", ()), found.get("value", ()), strict=True) if has_lists else found.items()
        return {_hashable(read_key(name)): _optional(read_value, item) for name, item in pairs}

    return read


def _unchanged(value: Any) -> Any:
    return value


def _hashable(key: Any) -> Any:
    return text_of(key) if isinstance(key, list | dict) else key
