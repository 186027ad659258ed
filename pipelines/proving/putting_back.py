"""What the columns of core cannot show, put back into rebuilt records: forms, extra keys, refused records."""

from __future__ import annotations

import copy
import heapq
import json
from collections.abc import Iterator
from typing import Any

from pipelines.corpora.room import Container, Entity
from pipelines.intake.records import Record, pointer_token
from pipelines.proving.restored_files import SourceFile

FORMS: dict[str, Any] = {"null": None, "empty_list": [], "empty_object": {}}
"""What a form of source_exceptions stands for."""


def put_back(entity: Entity, file: SourceFile, records: Iterator[Record]) -> Iterator[Record]:
    """The records with the file's exceptions, extras and refused records, in the order of the file."""
    added = [Record(index, _key_of(entity, pointer), pointer, text) for index, pointer, text in file.quarantine]
    changes: dict[str, list[tuple[str, Any]]] = {}
    for pointer, form in sorted(file.exceptions, key=lambda change: _natural(change[0])):
        record_pointer = _record_pointer(entity, pointer)
        if pointer == record_pointer:  # the whole record is the empty form, and left no row
            added.append(Record(0, _key_of(entity, pointer), pointer, json.dumps(FORMS[form]).encode()))
        else:
            changes.setdefault(record_pointer, []).append((pointer, FORMS[form]))
    for pointer, value in file.extras:
        changes.setdefault(_record_pointer(entity, pointer), []).append((pointer, value))
    parts = list(file.parts or ())

    def place(record: Record) -> tuple[int, int]:
        part = parts.index(record.key) if entity.container is Container.SPLITS and record.key in parts else 0
        return part, record.index

    for record in heapq.merge(records, sorted(added, key=place), key=place) if added else records:
        if record.pointer in changes:
            value = json.loads(record.text)
            for pointer, new in changes[record.pointer]:
                _insert(value, pointer[len(record.pointer) :], new)
            record = record._replace(text=json.dumps(value).encode())
        yield record


def _insert(value: Any, pointer: str, new: Any) -> None:
    """Set a member of an object, or insert an element of an array."""
    parent, last = _parent(value, pointer)
    new = copy.deepcopy(new)
    if isinstance(parent, list):
        parent.insert(int(last), new)
    else:
        parent[last] = new


def _parent(value: Any, pointer: str) -> tuple[Any, str]:
    """The object or array that a pointer's last token is in."""
    *path, last = _tokens(pointer)
    for token in path:
        value = value[int(token) if isinstance(value, list) else token]
    return value, last


def _tokens(pointer: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def _natural(pointer: str) -> list[tuple[int, int, str]]:
    """Sorts array positions as numbers, so that insertions come in order."""
    return [(0, int(token), "") if token.isdigit() else (1, 0, token) for token in pointer.split("/")]


def _record_pointer(entity: Entity, pointer: str) -> str:
    """The record that a pointer into the file leads through."""
    depth = {Container.DOCUMENT: 0, Container.SPLITS: 2}.get(entity.container, 1)
    return "".join(f"/{token}" for token in pointer.split("/")[1 : depth + 1])


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


def _key_of(entity: Entity, pointer: str) -> str | None:
    return _tokens(pointer)[0] if entity.container in (Container.ENTRIES, Container.SPLITS) else None
