"""The values of a form's columns, each read as the declared type holds it.

A value that does not fit is an error, never rounded or cut.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from pipelines.corpora.forms import FormError, single_precision
from pipelines.intake.form_types import Classes, below, element_of, is_json, is_list, kind_of, name_difference, names_of
from pipelines.intake.strict_json import decode_strictly

Reader = Callable[[Any], Any]
"""Reads a value as a declared column holds it. Raises FormError for one that does not fit; null passes."""
MOST_DIGITS = 17
"""Digits that tell any two 64-bit numbers apart."""


def reader(of: pa.DataType, classes: Classes, place: str = "") -> Reader:
    """The reader of a declared column."""
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
    """The declared id of a class; a number that the file does not explain is taken for a declared one."""
    is_explained = isinstance(value, str) or any(isinstance(known, int) for known in ids)
    declared = ids.get(value) if is_explained else value
    if declared is None or isinstance(declared, str):
        raise FormError(f"column {place} has the class {json.dumps(declared or value, default=str)}, which is unknown")
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
                if None in value:
                    raise _misfit(None, of, place)
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
    """The object that a map is, given as pairs or as a list of `key` and `value`; None for another list."""
    pairs = [tuple(item.values()) if isinstance(item, dict) and [*item] == ["key", "value"] else item for item in value]
    if not pairs or not all(isinstance(pair, tuple) for pair in pairs):
        return None
    members = dict(pairs)
    if len(members) != len(pairs):
        raise FormError(f"column {place} has a key twice")
    return members


def _turned(items: list[Any], of: pa.DataType) -> Any:
    """A list of objects as the object of parallel lists that the column is declared to be."""
    if pa.types.is_list(of):
        return items
    members = [of.field(i) for i in range(of.num_fields)]
    columns = {member.name: [None if item is None else item[member.name] for item in items] for member in members}
    return {member.name: _turned(columns[member.name], member.type) for member in members}


def _nested(value: Any, place: str) -> Any:
    """The value of a nested column; one that was written as JSON text is decoded."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return decode_strictly(value)
    except (ValueError, RecursionError) as error:
        raise FormError(f"column {place} has a text that is no JSON") from error


def decoded(value: Any, found: pa.DataType, place: str = "") -> Any:
    """The value with what a column of JSON holds decoded; only for types for which `has_json`."""
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
        raise FormError(f"column {place} has bytes that are no UTF-8") from error


def _fitting(value: Any, of: pa.DataType) -> Any:
    """The value as a plain column holds it; None for one that does not fit."""
    if isinstance(value, str):
        return value if pa.types.is_string(of) else None
    if isinstance(value, bool):
        return value if pa.types.is_boolean(of) else None
    if not isinstance(value, int | float | Decimal):
        return None
    if pa.types.is_boolean(of):
        return bool(value) if value in (0, 1) else None
    if pa.types.is_integer(of):
        is_whole = math.isfinite(value) and value == int(value)
        limit = 2 ** (of.bit_width - 1)
        return int(value) if is_whole and -limit <= value < limit else None
    if not pa.types.is_floating(of):
        return None
    try:
        return _as_single(float(value)) if of.bit_width == 32 else float(value)
    except OverflowError:
        return None


def _as_single(value: float) -> float | None:
    """The 32-bit number that the value is, or that it stands for with fewer digits; None for any other value."""
    single = single_precision(value)
    if single == value or math.isnan(value):
        return single
    is_shorter = any(float(f"{single:.{digits}g}") == value for digits in range(1, MOST_DIGITS))
    return single if is_shorter else None


def _misfit(value: Any, of: pa.DataType, place: str) -> FormError:
    text = json.dumps(value, default=str)
    return FormError(f"column {place or 'of the row'} has {text[:40]}, which is no {kind_of(of)}")
