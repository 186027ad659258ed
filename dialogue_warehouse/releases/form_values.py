"""Column types of a form, the types that a republication may use instead, and the values read from them.

Writers use other widths, string types and nestings for the same values. A value that does not fit the declared type is
an error; it is never rounded or cut.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from dialogue_warehouse.common.json_values import decode_strictly
from dialogue_warehouse.corpora.forms import FormError, single_precision

Classes = Mapping[str, Mapping[str | int, str | int]]
"""For each column of class ids, by its path in the row: the declared id of each name and, if a file numbers its classes
differently, of each id of the file. A class that the form does not declare has its name instead."""


def difference(found: pa.DataType, expected: pa.DataType, place: str, classes: Classes) -> str | None:
    """Describe the first column whose type cannot hold the expected values, in one line; None if all types can."""
    found = _stored(found)
    if pa.types.is_null(found) or is_json(found) or (pa.types.is_nested(expected) and is_text(found)):
        return None
    if pa.types.is_struct(expected):
        return _struct_difference(found, expected, place, classes)
    if pa.types.is_list(expected) and is_list(found):
        return difference(found.value_type, expected.value_type, place, classes)
    if pa.types.is_list(expected) or not _may_fit(found, expected, place in classes):
        return f"column {place} is {kind_of(found)}, not {kind_of(expected)}"
    return None


def _struct_difference(found: pa.DataType, expected: pa.DataType, place: str, classes: Classes) -> str | None:
    """Do the work of `difference` for a struct, which may also be a list of structs, or a map."""
    if pa.types.is_map(found) or (is_list(found) and names_of(found.value_type) == ["key", "value"]):
        return None
    turned = element_of(expected)
    if turned is not None and is_list(found):
        return difference(found.value_type, turned, place, classes)
    if not pa.types.is_struct(found):
        return f"column {place} is {kind_of(found)}, not struct"
    problem = name_difference(names_of(found), names_of(expected), place)
    if problem:
        return problem
    wanted = [expected.field(i) for i in range(expected.num_fields)]
    each = (difference(found.field(f.name).type, f.type, below(place, f.name), classes) for f in wanted)
    return next((problem for problem in each if problem), None)


def name_difference(found: Sequence[str], wanted: Sequence[str], place: str) -> str | None:
    """Name the first column that is missing, unknown or repeated; the order does not matter."""
    for name in [*wanted, *found]:
        if name not in found:
            return f"column {below(place, name)} is missing"
        if name not in wanted:
            return f"column {below(place, name)} is unknown: remove it from the file"
        if found.count(name) > 1:
            return f"column {below(place, name)} occurs twice"
    return None


def is_as_declared(found: pa.DataType, expected: pa.DataType) -> bool:
    """Return whether Python reads the same values from both types."""
    if pa.types.is_struct(expected) and pa.types.is_struct(found):
        return names_of(found) == names_of(expected) and all(
            is_as_declared(found.field(i).type, expected.field(i).type) for i in range(expected.num_fields)
        )
    if pa.types.is_list(expected) and is_list(found):
        return is_as_declared(found.value_type, expected.value_type)
    return found == expected or (pa.types.is_string(expected) and is_string(_stored(found)))


def element_of(of: pa.DataType) -> pa.DataType | None:
    """Return the row type of an object of parallel lists; None for another type.

    Libraries that read datasets treat a list of objects differently: some keep it, some turn it into an object of
    lists.
    """
    if pa.types.is_list(of):
        return of.value_type
    if not pa.types.is_struct(of):
        return None
    elements = [(of.field(i).name, element_of(of.field(i).type)) for i in range(of.num_fields)]
    return None if any(element is None for _, element in elements) else pa.struct(elements)


def has_json(found: pa.DataType) -> bool:
    """Return whether the type contains a column of JSON."""
    if pa.types.is_struct(found):
        return any(has_json(found.field(i).type) for i in range(found.num_fields))
    return has_json(found.value_type) if is_list(found) else is_json(found)


def is_json(of: pa.DataType) -> bool:
    """Return whether the type is Arrow's extension for JSON texts."""
    return isinstance(of, pa.BaseExtensionType) and of.extension_name == "arrow.json"


def _stored(of: pa.DataType) -> pa.DataType:
    """Return the value type of an encoding, or of an extension that is not JSON."""
    if pa.types.is_dictionary(of):
        return of.value_type
    if isinstance(of, pa.BaseExtensionType) and not is_json(of):
        return of.storage_type
    return of


def is_list(of: pa.DataType) -> bool:
    """Return whether the type is a list, with offsets of any width; a map is not a list."""
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        return True
    return pa.types.is_list_view(of) or pa.types.is_large_list_view(of)


def is_string(of: pa.DataType) -> bool:
    """Return whether the type is a string, with offsets of any width."""
    return pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of)


def is_text(of: pa.DataType) -> bool:
    """Return whether the type holds text, or text as bytes."""
    if pa.types.is_binary(of) or pa.types.is_large_binary(of) or pa.types.is_binary_view(of):
        return True
    return is_string(of) or pa.types.is_fixed_size_binary(of)


def _may_fit(found: pa.DataType, expected: pa.DataType, is_class: bool) -> bool:
    """Return whether values of the file's type can possibly have the schema's type; each value is checked later."""
    if pa.types.is_string(expected) or (is_class and is_text(found)):
        return is_text(found)
    is_number = pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found)
    return is_number or (pa.types.is_boolean(found) and pa.types.is_boolean(expected))


def kind_of(of: pa.DataType) -> str:
    """Return the name of a type for messages."""
    if pa.types.is_struct(of):
        return "struct"
    if is_list(of):
        return "list"
    return "string" if is_string(of) else str(of)


def names_of(of: pa.DataType) -> list[str]:
    """Return the names of a struct's members in order; empty for another type."""
    return [of.field(i).name for i in range(of.num_fields)] if pa.types.is_struct(of) else []


def below(place: str, name: str) -> str:
    """Return the path of a field inside a nested column, for messages."""
    return f"{place}.{name}" if place else name


Reader = Callable[[Any], Any]
"""Converts a value to the type of a declared column. Raises FormError for a value that does not fit; null passes."""
MOST_DIGITS = 17
"""Digits that distinguish any two 64-bit numbers."""


def reader(of: pa.DataType, classes: Classes, place: str = "") -> Reader:
    """Return the reader of a declared column."""
    if pa.types.is_struct(of):
        return _struct_reader(of, classes, place)
    if pa.types.is_list(of):
        return _list_reader(of, classes, place)
    ids = classes.get(place)

    def read(value: Any) -> Any:
        if value is None:
            return None
        value = _text(value, place) if isinstance(value, bytes) else value
        if ids is not None and isinstance(value, str | int | float | Decimal) and not isinstance(value, bool):
            value = _class_id(value, ids, place)
        fitting = _fitting(value, of)
        if fitting is None:
            raise _misfit(value, of, place)
        return fitting

    return read


def _class_id(value: Any, ids: Mapping[str | int, str | int], place: str) -> Any:
    """Return the declared id of a class; a number that the file does not explain is treated as a declared id."""
    is_explained = isinstance(value, str) or any(isinstance(known, int) for known in ids)
    declared = ids.get(value) if is_explained else value
    if declared is None or isinstance(declared, str):
        raise FormError(f"column {place} has the unknown class {json.dumps(declared or value, default=str)}")
    return declared


def _struct_reader(of: pa.DataType, classes: Classes, place: str) -> Reader:
    members = {
        of.field(i).name: reader(of.field(i).type, classes, below(place, of.field(i).name))
        for i in range(of.num_fields)
    }
    names = list(members)
    element = element_of(of)
    read_item = None if element is None else reader(element, classes, place)

    def read(value: Any) -> Any:
        if value is None:
            return None
        value = _nested(value, place)
        if isinstance(value, list):
            pairs = _as_object(value, place)
            if pairs is None and read_item is not None:
                return _turned([read_item(item) for item in value], of)
            value = value if pairs is None else pairs
        if not isinstance(value, dict):
            raise _misfit(value, of, place)
        if value.keys() != members.keys():
            raise FormError(name_difference(list(value), names, place))
        return {name: read_member(value[name]) for name, read_member in members.items()}

    return read


def _list_reader(of: pa.DataType, classes: Classes, place: str) -> Reader:
    read_item = reader(of.value_type, classes, place)

    def read(value: Any) -> Any:
        if value is None:
            return None
        value = _nested(value, place)
        if not isinstance(value, list):
            raise _misfit(value, of, place)
        return [read_item(item) for item in value]

    return read


def _as_object(value: list[Any], place: str) -> dict[str, Any] | None:
    """Return the object of a map, given as pairs or as a list of `key` and `value`; None for another list."""
    pairs = [tuple(item.values()) if isinstance(item, dict) and [*item] == ["key", "value"] else item for item in value]
    if not pairs or not all(isinstance(pair, tuple) and isinstance(pair[0], str) for pair in pairs):
        return None
    members = dict(pairs)
    if len(members) != len(pairs):
        raise FormError(f"column {place} has a key twice")
    return members


def _turned(items: list[Any], of: pa.DataType) -> Any:
    """Convert a list of objects to the object of parallel lists that the column declares."""
    if pa.types.is_list(of):
        return items
    members = [of.field(i) for i in range(of.num_fields)]
    columns = {member.name: [None if item is None else item[member.name] for item in items] for member in members}
    return {member.name: _turned(columns[member.name], member.type) for member in members}


def _nested(value: Any, place: str) -> Any:
    """Return the value of a nested column, decoded if it was written as JSON text."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return decode_strictly(value)
    except (ValueError, RecursionError) as error:
        raise FormError(f"column {place} has a text that is not JSON") from error


def decoded(value: Any, found: pa.DataType, place: str = "") -> Any:
    """Decode the JSON in a value; only for types for which `has_json` is true."""
    if value is None:
        return None
    if is_json(found):
        return _nested(value, place)
    if pa.types.is_struct(found):
        return {name: decoded(value[name], found.field(name).type, below(place, name)) for name in names_of(found)}
    if is_list(found):
        return [decoded(item, found.value_type, place) for item in value]
    return value


def _text(value: bytes, place: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormError(f"column {place} has bytes that are not UTF-8") from error


def _fitting(value: Any, of: pa.DataType) -> Any:
    """Convert a value to the type of a column that is not nested; None if it does not fit."""
    if isinstance(value, str):
        return value if pa.types.is_string(of) else None
    if isinstance(value, bool):
        return value if pa.types.is_boolean(of) else None
    if not isinstance(value, int | float | Decimal):
        return None
    if pa.types.is_boolean(of):
        return bool(value) if value in (0, 1) else None
    if pa.types.is_integer(of):
        is_whole = isinstance(value, int) or (math.isfinite(value) and value == int(value))
        limit = 2 ** (of.bit_width - 1)
        return int(value) if is_whole and -limit <= value < limit else None
    if not pa.types.is_floating(of):
        return None
    try:
        return _as_single(float(value)) if of.bit_width == 32 else float(value)
    except OverflowError:
        return None


def _as_single(value: float) -> float | None:
    """Return the 32-bit number that equals the value, or has it as a shorter decimal form; None for any other value."""
    single = single_precision(value)
    if single == value or math.isnan(value):
        return single
    is_shorter = any(float(f"{single:.{digits}g}") == value for digits in range(1, MOST_DIGITS))
    return single if is_shorter else None


def _misfit(value: Any, of: pa.DataType, place: str) -> FormError:
    text = json.dumps(value, default=str)
    return FormError(f"column {place or 'of the row'} has {text[:40]}, which is not {kind_of(of)}")
