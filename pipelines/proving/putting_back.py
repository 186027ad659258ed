"""What the columns of core cannot show, put back into rebuilt records: forms, extra keys, refused records."""

from __future__ import annotations

import copy
import enum
import heapq
import json
from collections.abc import Iterator
from typing import Any, Final

from pipelines.corpora.room import Container, Entity
from pipelines.errors import InputError
from pipelines.intake.json_pointer import array_index, beginning, pointer_token, split_pointer
from pipelines.intake.records import Record
from pipelines.proving.restored_files import SourceFile


class Nothing(enum.Enum):
    """What stands at a pointer where nothing does; its own type, because None is JSON's null."""

    ABSENT = "absent"


ABSENT: Final = Nothing.ABSENT
FORMS: dict[str, Any] = {"absent": ABSENT, "null": None, "empty_list": [], "empty_object": {}}
"""What a form of source_exceptions stands for: the file has it, where core's columns have another or none.

`absent` is for a key that a room's restore.sql always writes and that a record of the file leaves out.
"""


def put_back(entity: Entity, file: SourceFile, records: Iterator[Record]) -> Iterator[Record]:
    """The records with the file's exceptions, extras and refused records, in the order of the file."""
    added, absent, changes = _what_changes(entity, file)
    refused = {id(record) for record in added[: len(file.quarantine)]}
    parts = list(file.parts or ())
    if entity.container is Container.DOCUMENT and file.quarantine:
        records = iter(())  # core has no row of it, and a query can still make an empty document of no rows

    def place(record: Record) -> tuple[int, int]:
        part = parts.index(record.key) if entity.container is Container.SPLITS and record.key in parts else 0
        return part, record.index

    for record in heapq.merge(records, sorted(added, key=place), key=place) if added else records:
        if id(record) in refused:  # of equal keys the first may have been taken: what changes is about that one
            yield record
            continue
        if record.pointer in absent:
            continue
        if record.pointer in changes:
            value = json.loads(record.text)
            for pointer, new in changes[record.pointer]:
                _change(value, pointer[len(record.pointer) :], new)
            record = record._replace(text=json.dumps(value).encode())
        yield record


def _what_changes(entity: Entity, file: SourceFile) -> tuple[list[Record], set[str], dict[str, list[tuple[str, Any]]]]:
    """The records to add, the pointers of those to leave out, and by record what to change in it, in this order."""
    added = [Record(index, _key_of(entity, pointer), pointer, text) for index, pointer, text in file.quarantine]
    absent: set[str] = set()
    changes: dict[str, list[tuple[str, Any]]] = {}
    for pointer, form in sorted(file.exceptions, key=lambda change: _in_reading_order(change[0])):
        record_pointer = _record_pointer(entity, pointer)
        if pointer != record_pointer:
            changes.setdefault(record_pointer, []).append((pointer, FORMS[form]))
        elif FORMS[form] is ABSENT:
            absent.add(pointer)
        else:  # the whole record is the empty form, and left no row
            added.append(Record(0, _key_of(entity, pointer), pointer, json.dumps(FORMS[form]).encode()))
    for pointer, value in file.extras:
        changes.setdefault(_record_pointer(entity, pointer), []).append((pointer, value))
    return added, absent, changes


def _change(value: Any, pointer: str, new: Any) -> None:
    """Set or remove a member of an object, or insert an element of an array."""
    parent, last = _parent(value, pointer)
    if new is ABSENT:
        if isinstance(parent, list):
            raise InputError(f"{pointer}: an element of an array cannot be absent")
        parent.pop(last, None)
    elif isinstance(parent, list):
        parent.insert(int(last), copy.deepcopy(new))
    else:
        parent[last] = copy.deepcopy(new)


def _parent(value: Any, pointer: str) -> tuple[Any, str]:
    """The object or array that a pointer's last token is in."""
    *path, last = split_pointer(pointer)
    for token in path:
        value = value[int(token) if isinstance(value, list) else token]
    return value, last


def _in_reading_order(pointer: str) -> list[tuple[int, int, str]]:
    """Sorts array positions as numbers, so that insertions come in order."""
    indexes = [(array_index(token), token) for token in split_pointer(pointer)]
    return [(1, 0, token) if index is None else (0, index, "") for index, token in indexes]


def _record_pointer(entity: Entity, pointer: str) -> str:
    """The record that a pointer into the file leads through."""
    depth = {Container.DOCUMENT: 0, Container.SPLITS: 2}.get(entity.container, 1)
    return beginning(pointer, depth)


def _key_of(entity: Entity, pointer: str) -> str | None:
    return split_pointer(pointer)[0] if entity.container in (Container.ENTRIES, Container.SPLITS) else None


def pointer_of(entity: Entity, index: int, key: str | None) -> str:
    """The record's own pointer."""
    match entity.container:
        case Container.DOCUMENT:
            return ""
        case Container.ENTRIES:
            return f"/{pointer_token(str(key))}"
        case Container.SPLITS:
            return f"/{pointer_token(str(key))}/{index}"
        case _:
            return f"/{index}"
