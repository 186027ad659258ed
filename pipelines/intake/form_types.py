"""The types of a form's columns, and which other types a republication may give them.

Writers choose other widths, string types and nestings for the same values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

Classes = Mapping[str, Mapping[str | int, str | int]]
"""For each column of class ids, by its path in the row: the declared id of each name and, where a file numbers its
classes otherwise, of each id of the file; a class that the form does not declare has its name instead."""


def difference(found: pa.DataType, expected: pa.DataType, place: str, classes: Classes) -> str | None:
    """Describe the first column whose found type has no value of the expected one, in one line; None without one."""
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
    """Do what `difference` does for a struct, which may also be a list of structs, or a map."""
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
    """Name the first column that is missing, unknown or there twice; their order is no difference."""
    for name in [*wanted, *found]:
        if name not in found:
            return f"column {below(place, name)} is missing"
        if name not in wanted:
            return f"column {below(place, name)} is unknown"
        if found.count(name) > 1:
            return f"column {below(place, name)} stands twice"
    return None


def is_as_declared(found: pa.DataType, expected: pa.DataType) -> bool:
    """Tell if Python gets the same values from both types, so that none needs to be read again."""
    if pa.types.is_struct(expected) and pa.types.is_struct(found):
        return names_of(found) == names_of(expected) and all(
            is_as_declared(found.field(i).type, expected.field(i).type) for i in range(expected.num_fields)
        )
    if pa.types.is_list(expected) and is_list(found):
        return is_as_declared(found.value_type, expected.value_type)
    return found == expected or (pa.types.is_string(expected) and is_string(_stored(found)))


def element_of(of: pa.DataType) -> pa.DataType | None:
    """The type of one row of an object of parallel lists; None for what is not one.

    Readers of data sets disagree on a list of objects: some keep it, some turn it into an object of lists.
    """
    if pa.types.is_list(of):
        return of.value_type
    if not pa.types.is_struct(of):
        return None
    elements = [(of.field(i).name, element_of(of.field(i).type)) for i in range(of.num_fields)]
    return None if any(element is None for _, element in elements) else pa.struct(elements)


def has_json(found: pa.DataType) -> bool:
    """Tell if a column of JSON is in the type."""
    if pa.types.is_struct(found):
        return any(has_json(found.field(i).type) for i in range(found.num_fields))
    return has_json(found.value_type) if is_list(found) else is_json(found)


def is_json(of: pa.DataType) -> bool:
    """Tell if the type is Arrow's extension for JSON texts."""
    return isinstance(of, pa.BaseExtensionType) and of.extension_name == "arrow.json"


def _stored(of: pa.DataType) -> pa.DataType:
    """The type of the values behind an encoding, or behind an extension that is not JSON."""
    if pa.types.is_dictionary(of):
        return of.value_type
    if isinstance(of, pa.BaseExtensionType) and not is_json(of):
        return of.storage_type
    return of


def is_list(of: pa.DataType) -> bool:
    """Tell if the type is a list, of whatever offsets; a map is another thing."""
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        return True
    return pa.types.is_list_view(of) or pa.types.is_large_list_view(of)


def is_string(of: pa.DataType) -> bool:
    """Tell if the type is a string, of whatever offsets."""
    return pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of)


def is_text(of: pa.DataType) -> bool:
    """Tell if the type holds texts, or the bytes of texts."""
    if pa.types.is_binary(of) or pa.types.is_large_binary(of) or pa.types.is_binary_view(of):
        return True
    return is_string(of) or pa.types.is_fixed_size_binary(of)


def _may_fit(found: pa.DataType, expected: pa.DataType, is_class: bool) -> bool:
    """Tell if any value of one plain type can be one of the other; each value is looked at later."""
    if pa.types.is_string(expected) or (is_class and is_text(found)):
        return is_text(found)
    is_number = pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found)
    return is_number or (pa.types.is_boolean(found) and pa.types.is_boolean(expected))


def kind_of(of: pa.DataType) -> str:
    """The word for a type in a message."""
    if pa.types.is_struct(of):
        return "struct"
    if is_list(of):
        return "list"
    return "string" if is_string(of) else str(of)


def names_of(of: pa.DataType) -> list[str]:
    """The names of a struct's members, in their order; none of another type."""
    return [of.field(i).name for i in range(of.num_fields)] if pa.types.is_struct(of) else []


def below(place: str, name: str) -> str:
    """The path of a member of a column."""
    return f"{place}.{name}" if place else name
