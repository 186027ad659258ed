"""From a corpus's msgspec types to SQL: the DuckDB types that a release is read with, and the query that reads it.

Values that a type writes as an object, an array or a scalar are read as STRUCT or MAP, LIST, VARCHAR, INTEGER, DOUBLE
or BOOLEAN. Some shapes have no SQL counterpart and are read as JSON first: a struct that the release writes as an array
becomes a STRUCT, and a value that is either a text or an object, or either a text or such a struct, a STRUCT with a
member for each. Any other union stays JSON. The check of the records is in `pipelines.ingestion.checking`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import inspect

from dialogue_warehouse.common.database import NO_PATH, identifier, literal
from dialogue_warehouse.corpora.release import Container, Entity
from dialogue_warehouse.errors import InputError

OBJECT_SIZE = 16 * 2**20
"""Default limit of DuckDB's reader for one JSON value, in bytes."""
SCALAR_TYPES: dict[type[inspect.Type], str] = {
    inspect.StrType: "VARCHAR",
    inspect.NoneType: "VARCHAR",
    inspect.IntType: "INTEGER",
    inspect.FloatType: "DOUBLE",
    inspect.BoolType: "BOOLEAN",
}


@functools.cache
def type_of(record: Any) -> inspect.Type:
    """Return msgspec's description of a record's type; it is cached, because it takes a millisecond."""
    return inspect.type_info(record)


def select_array(entity: Entity, file: Path) -> str:
    """Return the query that reads a JSON array of records directly from the source file."""
    kind = type_of(entity.record)
    if isinstance(kind, inspect.StructType) and not kind.array_like:
        columns = ", ".join(f"{identifier(name)}: {literal(duckdb_type(of))}" for name, of in _fields(kind))
        options = f"columns={{{columns}}}"
        record = ", ".join(f"{_projected(identifier(name), of)} as {identifier(name)}" for name, of in _fields(kind))
    else:
        columns = f"json: {literal(duckdb_type(kind))}"
        options = f"records=false, columns={{{columns}}}"
        record = _record_columns("json", kind)
    reader = f"read_json({literal(file)}, format='array', compression='none', {NO_PATH}, {options})"
    position = "row_number() over () - 1"
    place = f"cast({position} as integer) as record_index, '/' || ({position}) as record_pointer"
    return f"select {place}, {record} from {reader}"


def select_split(entity: Entity, split: Path) -> str:
    """Return the query that reads the lines that `RecordCheck.run` wrote."""
    kind = type_of(entity.record)
    size = max(OBJECT_SIZE, split.stat().st_size if entity.container is Container.DOCUMENT else longest_line(split))
    columns = f"i: 'INTEGER', k: 'VARCHAR', p: 'VARCHAR', r: {literal(duckdb_type(kind))}"
    reader = (
        f"read_json({literal(split)}, format='newline_delimited', {NO_PATH}, columns={{{columns}}},"
        f" maximum_object_size={size})"
    )
    key = "k as record_key, " if entity.container in (Container.ENTRIES, Container.SPLITS) else ""
    return f"select i as record_index, p as record_pointer, {key}{_record_columns('r', kind)} from {reader}"


def longest_line(file: Path) -> int:
    """Return the limit for one JSON value that the longest line of a file needs, in bytes."""
    with file.open("rb") as lines:
        return max((len(line) for line in lines), default=0) + 1


def _record_columns(expression: str, kind: inspect.Type) -> str:
    """Return a record's columns: the fields of a struct, else the one column `value`."""
    if not isinstance(kind, inspect.StructType):
        return f"{_projected(expression, kind)} as value"
    if kind.array_like:
        items = _array_items(expression, kind)
        return ", ".join(f"{item} as {identifier(name)}" for name, item in items)
    return ", ".join(
        f"{_projected(f'{expression}.{identifier(name)}', of)} as {identifier(name)}" for name, of in _fields(kind)
    )


def duckdb_type(kind: inspect.Type, place: str = "schema.py") -> str:
    """Return the DuckDB type to read a msgspec type with; JSON where the type's shape has no SQL counterpart.

    Raises InputError for a type without a column; `place` names the field.
    """
    match kind:
        case inspect.Metadata():
            return duckdb_type(kind.type, place)
        case inspect.StrType() | inspect.NoneType() | inspect.IntType() | inspect.FloatType() | inspect.BoolType():
            return SCALAR_TYPES[type(kind)]
        case inspect.LiteralType():
            return "VARCHAR" if isinstance(kind.values[0], str) else "INTEGER"
        case inspect.ListType():
            return f"{duckdb_type(kind.item_type, place)}[]"
        case inspect.DictType():
            return f"MAP(VARCHAR, {duckdb_type(kind.value_type, place)})"
        case inspect.StructType(array_like=True):
            return "JSON"
        case inspect.StructType():
            of_struct = f"{'/'.join(kind.cls.__module__.split('.')[-2:])}.py: {kind.cls.__name__}"
            types = [(identifier(name), duckdb_type(of, f"{of_struct}.{name}")) for name, of in _fields(kind)]
            return f"STRUCT({', '.join(f'{name} {type_name}' for name, type_name in types)})"
        case inspect.UnionType():
            options = _options(kind)
            if len(options) == 1:
                return duckdb_type(options[0], place)
            types = {duckdb_type(option, place) for option in options}
            return "DOUBLE" if types == {"INTEGER", "DOUBLE"} else "JSON"
    raise InputError(
        f"{place}: a field of the type {type(kind).__name__.removesuffix('Type').lower()} has no column; "
        "use str, int, float, bool, list, dict, a Struct, or a union of them"
    )


def _projected(expression: str, kind: inspect.Type) -> str:
    """Turn values that were read as JSON into typed columns; all other values stay as they are."""
    if "JSON" not in duckdb_type(kind):
        return expression
    match kind:
        case inspect.Metadata():
            return _projected(expression, kind.type)
        case inspect.ListType():
            item = identifier(f"{expression.rpartition('.')[2].strip(chr(34))}_item")
            return f"list_transform({expression}, lambda {item}: {_projected(item, kind.item_type)})"
        case inspect.DictType():
            entry = identifier(f"{expression.rpartition('.')[2].strip(chr(34))}_entry")
            pair = f"struct_pack(key := {entry}.key, value := {_projected(f'{entry}.value', kind.value_type)})"
            return f"map_from_entries(list_transform(map_entries({expression}), lambda {entry}: {pair}))"
        case inspect.StructType(array_like=True):
            members = ", ".join(f"{identifier(name)} := {item}" for name, item in _array_items(expression, kind))
            return f"struct_pack({members})"
        case inspect.StructType():
            members = ", ".join(
                f"{identifier(name)} := {_projected(f'{expression}.{identifier(name)}', of)}"
                for name, of in _fields(kind)
            )
            return f"case when {expression} is not null then struct_pack({members}) end"
        case inspect.UnionType() if len(_options(kind)) == 1:
            return _projected(expression, _options(kind)[0])
        case inspect.UnionType() if {type(option) for option in _options(kind)} == {inspect.StrType, inspect.DictType}:
            entries = next(option for option in _options(kind) if isinstance(option, inspect.DictType))
            return (
                f"struct_pack(text := case when json_type({expression}) = 'VARCHAR' then {expression} ->> '$' end, "
                f"entries := case when json_type({expression}) = 'OBJECT' "
                f"then cast({expression} as {duckdb_type(entries)}) end)"
            )
        case inspect.UnionType() if _is_text_or_array(_options(kind)):
            array = next(option for option in _options(kind) if isinstance(option, inspect.StructType))
            return (
                f"struct_pack(text := case when json_type({expression}) = 'VARCHAR' then {expression} ->> '$' end, "
                f"items := case when json_type({expression}) = 'ARRAY' then {_projected(expression, array)} end)"
            )
    return expression


def _is_text_or_array(options: list[inspect.Type]) -> bool:
    """Return whether these are a text and a struct that the release writes as an array."""
    return {type(option) for option in options} == {inspect.StrType, inspect.StructType} and all(
        option.array_like for option in options if isinstance(option, inspect.StructType)
    )


def _array_items(expression: str, kind: inspect.StructType) -> Iterator[tuple[str, str]]:
    """Yield name and expression of the members of a struct that the release writes as an array."""
    for index, struct_field in enumerate(kind.fields):
        of = duckdb_type(struct_field.type)
        if "JSON" in of:
            raise InputError(f"schema.py: {struct_field.name}: an array inside an array-like struct must be plain")
        item = f"({expression} ->> {index})" if of == "VARCHAR" else f"cast({expression} -> {index} as {of})"
        yield struct_field.name, item


def _fields(kind: inspect.StructType) -> Iterator[tuple[str, inspect.Type]]:
    return ((struct_field.encode_name, struct_field.type) for struct_field in kind.fields)


def _options(kind: inspect.UnionType) -> list[inspect.Type]:
    """Return the alternatives of a union that have a value: neither null nor absent."""
    plain = [option.type if isinstance(option, inspect.Metadata) else option for option in kind.types]
    return [option for option in plain if not isinstance(option, inspect.NoneType)]
