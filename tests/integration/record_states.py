"""States of the fields of a schema, and the states that a record shows.

A state is a property of a value that can break a model: an optional field that is absent or present, each member of a
union, each word of a literal, an empty, blank or long text, an empty list or object, a repeated item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from dialogue_warehouse.corpora.column_types import type_of
from dialogue_warehouse.corpora.release import Container, Corpus, Entity
from tests.fixtures.shapes import State

Place = tuple[str, str]
"""Record type and its field; the suffixes `[]`, `{}` and `{key}` mean its items, its values and its keys."""
LONG = 200
"""Number of characters of a text that counts as long."""
MEMBERS: dict[type[inspect.Type], str] = {
    inspect.NoneType: "null",
    inspect.StrType: "text",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.ListType: "list",
    inspect.DictType: "object",
    inspect.StructType: "record",
}
PYTHON: dict[type[inspect.Type], type | tuple[type, ...]] = {
    inspect.NoneType: type(None),
    inspect.StrType: str,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.BoolType: bool,
    inspect.ListType: list,
    inspect.DictType: dict,
    inspect.StructType: (dict, list),
}
"""Python types that the JSON values of a type are read as."""


def unwrapped(kind: inspect.Type) -> inspect.Type:
    """Return the type itself, without its annotations."""
    return unwrapped(kind.type) if isinstance(kind, inspect.Metadata) else kind


def members(kind: inspect.UnionType) -> dict[str, inspect.Type]:
    """Return the members of a union by their names."""
    return {MEMBERS[type(member)]: member for member in map(unwrapped, kind.types)}


def member_of(kind: inspect.UnionType, value: Any) -> tuple[str, inspect.Type] | None:
    """Return the member of a union that a value belongs to, None if there is none."""
    for name, member in members(kind).items():
        if isinstance(value, PYTHON[type(member)]) and isinstance(value, bool) is isinstance(member, inspect.BoolType):
            return name, member
    return None


_possible: dict[int, tuple[inspect.Type, list[str]]] = {}


def possible(kind: inspect.Type) -> list[str]:
    """Return the states that a value of this type can have, in order."""
    known = _possible.get(id(kind))
    if known is None or known[0] is not kind:
        known = _possible[id(kind)] = kind, sorted(_states(kind))
    return known[1]


def _states(kind: inspect.Type) -> set[str]:
    match unwrapped(kind):
        case inspect.UnionType() as union:
            found = members(union)
            return set(found).union(*map(_states, found.values()))
        case inspect.StrType(pattern=None):
            return {"empty text", "blank text", "long text"}
        case inspect.IntType():
            return {"zero", "negative"}
        case inspect.BoolType():
            return {"true", "false"}
        case inspect.ListType():
            return {"empty list", "repeated item"}
        case inspect.DictType():
            return {"empty object"}
        case inspect.LiteralType(values=values) if len(values) > 1:
            return {f"word {value}" for value in values}
    return set()


def shown(kind: inspect.Type, value: Any) -> Iterator[str]:
    """Return the states that a value of this type has."""
    match unwrapped(kind), value:
        case inspect.UnionType() as union, _:
            found = member_of(union, value)
            if found is not None:
                yield found[0]
                yield from shown(found[1], value)
        case inspect.StrType(pattern=None), str() if len(value) > LONG or not value.strip():
            yield "long text" if len(value) > LONG else "blank text" if value else "empty text"
        case inspect.IntType(), int() if value <= 0:
            yield "negative" if value else "zero"
        case inspect.BoolType(), bool():
            yield str(value).lower()
        case inspect.ListType(), list() if not value or repeats(value):
            yield "repeated item" if value else "empty list"
        case inspect.DictType(), {**items} if not items:
            yield "empty object"
        case inspect.LiteralType(values=values), _ if len(values) > 1:
            yield f"word {value}"


def repeats(items: list[Any]) -> bool:
    """Return whether an item occurs in a list more than once."""
    return any(item in items[:position] for position, item in enumerate(items))


def parts_of(kind: inspect.Type, place: Place, value: Any) -> Iterator[tuple[inspect.Type, Place, Any]]:
    """Return the values directly inside a value, each with its type and place; for a mapping, the keys too."""
    owner, name = place
    match unwrapped(kind), value:
        case inspect.UnionType() as union, _:
            found = member_of(union, value)
            if found is not None:
                yield from parts_of(found[1], place, value)
        case inspect.ListType() as of, list():
            yield from ((of.item_type, (owner, f"{name}[]"), item) for item in value)
        case inspect.DictType() as of, dict():
            yield from ((of.key_type, (owner, f"{name}{{key}}"), key) for key in value)
            yield from ((of.value_type, (owner, f"{name}{{}}"), item) for item in value.values())
        case inspect.StructType() as of, list():
            for field, item in zip(of.fields, value, strict=False):
                yield field.type, (of.cls.__name__, field.encode_name), item
        case inspect.StructType() as of, dict():
            for field in of.fields:
                if field.encode_name in value:
                    yield field.type, (of.cls.__name__, field.encode_name), value[field.encode_name]


def states_of(kind: inspect.Type, place: Place, value: Any) -> Iterator[State]:
    """Return every state that a value and its content show."""
    yield from ((*place, state) for state in shown(kind, value))
    match unwrapped(kind), value:
        case inspect.StructType() as of, dict():
            for field in of.fields:
                if not field.required:
                    is_there = field.encode_name in value
                    yield of.cls.__name__, field.encode_name, "there" if is_there else "absent"
    for inner, inner_place, item in parts_of(kind, place, value):
        yield from states_of(inner, inner_place, item)


def states_of_schema(corpus: Corpus) -> set[State]:
    """Return every state that the records of a corpus can show. Documents (one record per build) are left out."""
    entities = [entity for entity in corpus.entities if entity.container is not Container.DOCUMENT]
    return set().union(*map(states_of_entity, entities))


def states_of_entity(entity: Entity) -> set[State]:
    """Return every state that the records of an entity can show."""
    found: set[State] = set()
    _collect(type_of(entity.record), (entity.name, "record"), found)
    return found


def _collect(kind: inspect.Type, place: Place, found: set[State]) -> None:
    found |= {(*place, state) for state in possible(kind)}
    owner, name = place
    match unwrapped(kind):
        case inspect.UnionType() as union:
            for member in members(union).values():
                _collect(member, place, found)
        case inspect.ListType() as of:
            _collect(of.item_type, (owner, f"{name}[]"), found)
        case inspect.DictType() as of:
            _collect(of.key_type, (owner, f"{name}{{key}}"), found)
            _collect(of.value_type, (owner, f"{name}{{}}"), found)
        case inspect.StructType() as of:
            for field in of.fields:
                if not field.required:
                    found |= {(of.cls.__name__, field.encode_name, state) for state in ("absent", "there")}
                _collect(field.type, (of.cls.__name__, field.encode_name), found)
