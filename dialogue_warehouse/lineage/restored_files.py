"""Files of a restored release, written record by record, together with the parts that other tables store.

Extra keys, quarantined records and exceptions of form are applied last.
"""

from __future__ import annotations

import copy
import enum
import gzip
import heapq
import itertools
import json
import math
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.json_values import array_index, beginning, pointer_token, split_pointer
from dialogue_warehouse.corpora import forms
from dialogue_warehouse.corpora.release import Container, Corpus, Entity
from dialogue_warehouse.errors import InputError, naming, require_extra
from dialogue_warehouse.releases import csv_tables
from dialogue_warehouse.releases.records import Record
from dialogue_warehouse.releases.value_lines import write_line
from dialogue_warehouse.settings import RELEASE_FORM


@dataclass(frozen=True)
class SourceFile:
    """A file of the build that can be rebuilt."""

    source_file_id: str
    path: str
    parts: tuple[str, ...] | None
    bytes: int
    sha256: str
    form: str = RELEASE_FORM
    exceptions: list[tuple[str, Any]] = field(default_factory=list, repr=False)
    extras: list[tuple[str, msgspec.Raw]] = field(default_factory=list, repr=False)
    quarantine: list[tuple[int, str, bytes]] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class RestoredFile:
    """A file with its records in order; `records` is read once. A file of another form has rows of `table`."""

    corpus: Corpus
    entity: Entity
    file: SourceFile
    records: Iterator[Record]
    table: forms.Table | None = None


def restore_to(folder: Path, restored_files: Iterable[RestoredFile], force: bool = False) -> list[Path]:
    """Write files below `folder/<path>` and return their paths in order. All are written first, then moved together.

    Raises InputError, with nothing moved, if an existing file has other bytes, unless `force` is set.
    """
    written = []
    with files.folder_made(folder), tempfile.TemporaryDirectory(prefix=".restoring-", dir=folder) as scratch:
        for restored in restored_files:
            path = restored.file.path
            if not (folder / path).resolve().is_relative_to(folder.resolve()):
                raise InputError(f"{restored.file.source_file_id}: the path is not below {folder}")
            _write_file(restored, Path(scratch) / path)
            written.append(path)
        files.move_all(Path(scratch), folder, written, force, "restored")
    return [folder / path for path in written]


def _write_file(restored: RestoredFile, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with naming(target), target.open("wb") as plain:
        if target.suffix == ".gz":
            with gzip.GzipFile(fileobj=plain, mode="wb", filename="", mtime=0) as archive:
                write_records(restored, archive)
        elif restored.table:
            require_extra("arrow", "a release in this form")
            from dialogue_warehouse.releases import form_files

            form_files.write_rows(restored.table, target.name, _rows(restored.table, restored), plain)
        else:
            write_records(restored, plain)


def _rows(table: forms.Table, restored: RestoredFile) -> Iterator[dict[str, Any]]:
    """Yield the records as rows in the form of the file. A refused record already is a row, as JSON."""
    from dialogue_warehouse.releases import form_files

    refused = {pointer for _, pointer, _ in restored.file.quarantine}
    for record in restored.records:
        value = json.loads(record.text)
        yield form_files.row_from_json(table, value) if record.pointer in refused else table.redo(value)


def write_records(restored: RestoredFile, stream: BinaryIO | gzip.GzipFile) -> None:
    """Write the records in the layout of the entity's container."""
    match restored.entity.container:
        case Container.ARRAY:
            stream.write(b"[")
            _write_separated(stream, (record.text for record in restored.records))
            stream.write(b"]\n")
        case Container.ENTRIES:
            stream.write(b"{")
            members = (json.dumps(record.key).encode() + b": " + record.text for record in restored.records)
            _write_separated(stream, members)
            stream.write(b"}\n")
        case Container.SPLITS:
            stream.write(b"{")
            groups = itertools.groupby(restored.records, key=lambda record: record.key)
            found, records = next(groups, (None, iter(())))
            for position, part in enumerate(restored.file.parts or ()):
                stream.write((b", " if position else b"") + json.dumps(part).encode() + b": [")
                if found == part:
                    _write_separated(stream, (record.text for record in records))
                    found, records = next(groups, (None, iter(())))
                stream.write(b"]")
            stream.write(b"}\n")
        case Container.DOCUMENT | Container.JSON_LINES:
            for record in restored.records:
                stream.write(record.text + b"\n")
        case Container.LINES | Container.TABLE:
            stream.writelines(_lines(restored))


def _lines(restored: RestoredFile) -> Iterator[bytes]:
    """Yield the lines of a CSV file. A refused record is its line."""
    texts = (record.text for record in restored.records)
    if restored.entity.container is Container.TABLE:
        names = [each.encode_name for each in msgspec.structs.fields(restored.entity.record)]
        yield from csv_tables.write_table(texts, names, csv_tables.separator_of(restored.file.path))
        return
    for value in map(json.loads, texts):
        line = write_line(value["value"], restored.file.path) if isinstance(value, dict) else f"{value}\n"
        yield line.encode()


def _write_separated(stream: BinaryIO | gzip.GzipFile, texts: Iterable[bytes]) -> None:
    for position, text in enumerate(texts):
        stream.write((b",\n" if position else b"\n") + text)
    stream.write(b"\n")


class Absent(enum.Enum):
    """The value at a pointer that leads nowhere. It is a separate type because None is JSON's null."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
EXCEPTION_FORMS: dict[str, Any] = {"absent": ABSENT, "null": None, "empty_list": [], "empty_object": {}}
"""The values of the forms in source_exceptions: the file has this value, while core's columns have another or none.

`absent` marks a key that a corpus's restore.sql always writes and that a record of the file leaves out."""


def put_back(entity: Entity, file: SourceFile, records: Iterator[Record]) -> Iterator[Record]:
    """Yield the records with the file's exceptions, extras and refused records, in the order of the file."""
    added, empty, absent, changes = _what_changes(entity, file)
    refused = {id(record) for record in added[: len(file.quarantine)]}
    parts = list(file.parts or ())
    if entity.container is Container.DOCUMENT and file.quarantine:
        records = iter(())  # core has no row of it, but a query can still build an empty document from no rows

    def place(record: Record) -> tuple[int, int]:
        part = parts.index(record.key) if entity.container is Container.SPLITS and record.key in parts else 0
        return part, record.index

    found = heapq.merge(records, sorted(added, key=place), key=place) if added else records
    for record in _with_empty(found, empty) if empty else found:
        if id(record) in refused:  # with equal keys the first may have been accepted; the changes belong to that one
            yield record
            continue
        if record.pointer in absent:
            continue
        if record.pointer in changes:
            value = json.loads(record.text)
            for pointer, new in changes[record.pointer]:
                _change(value, pointer[len(record.pointer) :], new)
            record = record._replace(text=_written(value))
        yield record


def _with_empty(records: Iterable[Record], empty: list[Record]) -> Iterator[Record]:
    """Yield the members of an object with the empty ones, whose places are those that no other member has."""
    waiting, place = iter(empty), 0
    for record in records:
        yield from itertools.islice(waiting, max(record.index - place, 0))
        yield record
        place = record.index + 1
    yield from waiting


def _written(value: Any) -> bytes:
    """Write a value as JSON; extras are in it as they were read."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(value, default=lambda raw: json.loads(bytes(raw))).encode()


def _what_changes(
    entity: Entity, file: SourceFile
) -> tuple[list[Record], list[Record], set[str], dict[str, list[tuple[str, Any]]]]:
    """Return the records to add, the empty ones without a known place, the pointers to omit, and the changes."""
    added = [Record(index, _key_of(entity, pointer), pointer, text) for index, pointer, text in file.quarantine]
    empty: list[Record] = []
    absent: set[str] = set()
    changes: dict[str, list[tuple[str, Any]]] = {}
    for pointer, form in sorted(file.exceptions, key=lambda change: _in_reading_order(change[0])):
        record_pointer = _record_pointer(entity, pointer)
        if pointer != record_pointer:
            changes.setdefault(record_pointer, []).append((pointer, EXCEPTION_FORMS[form]))
        elif EXCEPTION_FORMS[form] is ABSENT:
            absent.add(pointer)
        else:  # the whole record is the empty form, and left no row
            named = entity.container in (Container.ENTRIES, Container.DOCUMENT)
            index = None if named else array_index(split_pointer(pointer)[-1])
            text = json.dumps(EXCEPTION_FORMS[form]).encode()
            (empty if index is None else added).append(Record(index or 0, _key_of(entity, pointer), pointer, text))
    for pointer, value in file.extras:
        changes.setdefault(_record_pointer(entity, pointer), []).append((pointer, value))
    repeated: dict[str, int] = {}
    for index, pointer, _ in file.quarantine:
        repeated[pointer] = min(index, repeated.get(pointer, index))
    # A key that is repeated is refused, so the empty member of that key is before it.
    empty.sort(key=lambda record: repeated.get(record.pointer, math.inf))
    return added, empty, absent, changes


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
    """Return the object or array that contains a pointer's target, and the last token."""
    *path, last = split_pointer(pointer)
    for token in path:
        value = value[int(token) if isinstance(value, list) else token]
    return value, last


def _in_reading_order(pointer: str) -> list[tuple[int, int, str]]:
    """Return a sort key that compares array positions as numbers, so that insertions are in order."""
    indexes = [(array_index(token), token) for token in split_pointer(pointer)]
    return [(1, 0, token) if index is None else (0, index, "") for index, token in indexes]


def _record_pointer(entity: Entity, pointer: str) -> str:
    """Return the pointer of the record that contains a pointer's target."""
    depth = {Container.DOCUMENT: 0, Container.SPLITS: 2}.get(entity.container, 1)
    return beginning(pointer, depth)


def _key_of(entity: Entity, pointer: str) -> str | None:
    return split_pointer(pointer)[0] if entity.container in (Container.ENTRIES, Container.SPLITS) else None


def pointer_of(entity: Entity, index: int, key: str | None) -> str:
    """Return the pointer of a record."""
    match entity.container:
        case Container.DOCUMENT:
            return ""
        case Container.ENTRIES:
            return f"/{pointer_token(str(key))}"
        case Container.SPLITS:
            return f"/{pointer_token(str(key))}/{index}"
        case _:
            return f"/{index}"
