"""Read the values of a query exactly, where Python's or Parquet's own types would change them.

DuckDB's client gives an infinite date as 9999-12-31, drops nanoseconds and widens FLOAT; Arrow's Parquet writer refuses
intervals. Such values are cast in the query, also inside lists, structs and maps, and converted when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duckdb import sqltypes

from pipelines.intake.sql_text import identifier
from pipelines.reading.cells import JsonText, text_of

INTEGERS = ("tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint")
TEXT = "varchar"
IN_PYTHON: Mapping[str, str] = dict.fromkeys(
    (*INTEGERS, "hugeint", "uhugeint", "boolean", "double", "decimal", TEXT, "enum", "uuid", "blob", "bit"), ""
)
"""The types that Python holds exactly."""
IN_PARQUET: Mapping[str, str] = (
    dict.fromkeys((*INTEGERS, "boolean", "float", "double", "decimal", TEXT, "enum", "uuid", "blob"), "")
    | dict.fromkeys(("date", "time", "timestamp", "timestamp_ns", "timestamp with time zone"), "")
    | {"hugeint": "decimal(38, 0)", "timestamp_s": "timestamp", "timestamp_ms": "timestamp"}
)
"""The types that Parquet holds exactly, and the type that others are cast to; what is not listed is cast to text."""
MOMENT = re.compile(r"(?<=\d) (?=\d)")
"""The blank between the date and the time of DuckDB's own text."""
Reader = Callable[[Any], Any]


@dataclass(frozen=True)
class Carrier:
    """A type that holds every value of another one: its SQL, and what makes the value of what Python gives."""

    sql: str
    is_cast: bool
    read: Reader | None = None


def carrier(kind: sqltypes.DuckDBPyType, exact: Mapping[str, str] = IN_PYTHON) -> Carrier:
    """Find the type that carries all values of a type to where the types of `exact` are held."""
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
            is_cast = key.is_cast or value.is_cast or key_kind.id == "null"  # no key of Parquet's maps can be NULL
            return Carrier(f"map({key.sql}, {value.sql})", is_cast, _entries(key_kind, key, value))
        case "null":
            return Carrier(TEXT, is_cast=False)
        case _:
            return _leaf(kind, exact)


def _leaf(kind: sqltypes.DuckDBPyType, exact: Mapping[str, str]) -> Carrier:
    """Find what carries a type that holds no other."""
    if str(kind) == "JSON":
        return Carrier("json", is_cast=False, read=JsonText)
    other = exact.get(kind.id, TEXT)
    if not other:
        return Carrier(str(kind), is_cast=False)
    is_moment = kind.id.startswith(("date", "time"))
    return Carrier(other, is_cast=True, read=_moment if is_moment else float if kind.id == "float" else None)


LINES_BEFORE = 1
"""Lines of a wrapped query before its own."""


def statement(query: str, kinds: Sequence[Carrier], names: Sequence[str]) -> str:
    """Wrap a query so that its columns are of the carrying types; one that needs no cast stays as it is."""
    if not any(kind.is_cast for kind in kinds):
        return query
    columns = ", ".join(
        f"cast(c{index} as {kind.sql}) as {identifier(name)}" if kind.is_cast else f"c{index} as {identifier(name)}"
        for index, (kind, name) in enumerate(zip(kinds, names, strict=True))
    )
    return f"select {columns} from (\n{query}\n) as result({', '.join(f'c{index}' for index in range(len(kinds)))})"


def reader(kinds: Sequence[Carrier]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Make what reads a row of the carrying types."""
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
    """Write a date or a time as ISO 8601 has it; infinite ones are words."""
    return MOMENT.sub("T", text, count=1)


def _each(read: Reader) -> Reader:
    return lambda values: [_optional(read, value) for value in values]


def _fields(readers: Mapping[str, Reader]) -> Reader:
    return lambda value: value | {name: _optional(read, value[name]) for name, read in readers.items()}


def _entries(kind: sqltypes.DuckDBPyType, key: Carrier, value: Carrier) -> Reader | None:
    """Read a map. Where Python cannot use its keys as those of a dict, the client gives lists of keys and values."""
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
