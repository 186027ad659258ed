"""Strict check of a file's records against the corpus's types: each record passes, loses extra keys, or is refused.

Nothing that a type does not know is dropped. The value of an extra key, or the whole record, is set aside with its
place.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import inspect

from dialogue_warehouse.common.json_values import (
    UnreadableError,
    decode_exactly,
    pointer_token,
    shown,
    split_path,
    text_at,
    with_path,
)
from dialogue_warehouse.corpora.column_types import type_of
from dialogue_warehouse.corpora.release import Container, Entity
from dialogue_warehouse.errors import naming, quoted
from dialogue_warehouse.releases import records
from dialogue_warehouse.releases.records import LandingError, Record
from dialogue_warehouse.releases.unpacking import MISMATCH, SIMULATED
from dialogue_warehouse.storage.landed import Landed

if TYPE_CHECKING:
    from dialogue_warehouse.corpora.forms import Table


MOST_REFUSED = 100_000
"""Largest number of records of a file in quarantine. No file of a release has as many, so a file in which every record
has a new type is seen whole. A refused record costs time and memory that a record which passes does not."""
MOST_EXTRAS = 1_000_000
"""Largest number of unknown keys of a file that are kept beside it: enough for a new key in every turn of a release."""


class RecordCheck:
    """Strict check of a file's records; `run` may be repeated and starts from nothing each time."""

    def __init__(self, entity: Entity, landed: Landed, table: Table | None) -> None:
        self.entity, self.landed, self.table = entity, landed, table
        self.decoder = msgspec.json.Decoder(entity.record)
        self.refuses_repeats = False
        self.parts: list[str] | None = None
        self.count = 0
        self.extras: list[dict[str, Any]] = []
        self.quarantine: list[dict[str, Any]] = []
        self.notes: list[str] = []

    @property
    def has_refused(self) -> bool:
        """True if anything was set aside."""
        return bool(self.extras or self.quarantine)

    def run(self, text: bytes, split: Path | None) -> None:
        """Check every record. Write those that pass to `split`, one a line, if it is given."""
        self.count, self.extras, self.quarantine, self.notes = 0, [], [], []
        self.parts, found = self._split(text)
        with naming(split), split.open("wb") if split else contextlib.nullcontext() as lines:
            for record in found:
                self.count += 1
                accepted = self._check(record)
                if lines and accepted is not None:
                    head = json.dumps({"i": record.index, "k": record.key, "p": record.pointer})
                    lines.write(b'%s,"r":%s}\n' % (head[:-1].encode(), accepted.replace(b"\n", b" ")))
        if self.table is not None:
            return
        if self.count == len(self.quarantine) or self.landed.verification == MISMATCH:
            records.refuse_answer(self.landed.source_file_id, text)
        if text.strip() and not self.count and self.landed.verification != SIMULATED:
            self.notes.append("has no records")

    def _split(self, text: bytes) -> tuple[list[str] | None, Iterator[Record]]:
        where = self.landed.source_file_id
        if self.entity.container in (Container.LINES, Container.TABLE, Container.JSON_LINES):
            if not text.strip():
                self.notes.append("is empty")
            elif not text.endswith((b"\n", b"\r")):
                self.notes.append("has a last line without a line break, which may be cut off")
        if self.table is None:
            return records.split_records(self.entity, where, text)
        from dialogue_warehouse.releases import form_files

        rows = enumerate(form_files.undo_rows(self.table, where, text))
        return None, (Record(index, None, f"/{index}", *row) for index, row in rows)

    def _check(self, record: Record) -> bytes | None:
        """Return the record's text to land; None for a record in quarantine."""
        if record.refused:
            return self._set_aside(record, record.refused)
        try:
            self.decoder.decode(record.text)
            if self.refuses_repeats:
                decode_exactly(record.text)
            return record.text
        except UnreadableError as error:
            return self._set_aside(record, str(error))
        except (msgspec.DecodeError, RecursionError) as error:
            return self._without_extras(record, error)

    def _without_extras(self, record: Record, error: Exception) -> bytes | None:
        """Return the record's text without its unknown keys, which are kept; None if they are not the error."""
        try:
            value = decode_exactly(record.text)
            extras = list(take_extras(type_of(self.entity.record), value, record.pointer))
            cleaned = json.dumps(value, separators=(",", ":")).encode()
            if extras:
                self.decoder.decode(cleaned)
        except UnreadableError as unreadable:
            return self._set_aside(record, str(unreadable))
        except msgspec.DecodeError as other:
            extras, error = [], other
        if not extras:
            is_typed = isinstance(error, msgspec.ValidationError)
            return self._set_aside(record, str(error) if is_typed else "a text has half a surrogate pair")
        self.extras += [
            {
                "json_pointer": pointer,
                "value": text_at(record.text, pointer[len(record.pointer) :]) or json.dumps(extra),
            }
            for pointer, extra in extras
        ]
        if len(self.extras) > MOST_EXTRAS:
            pointer = self.extras[0]["json_pointer"]
            raise LandingError(
                f"{self.landed.source_file_id}: more than {MOST_EXTRAS:,} of its keys are not in the schema, "
                f"the first at {quoted(pointer)}"
            )
        return cleaned

    def _set_aside(self, record: Record, reason: str) -> None:
        """Put a record into quarantine, with the path of the error. Raises LandingError when there are too many."""
        if record.place:
            reason = f"{record.place}: {reason}"
        reason, inner = split_path(shown(reason))
        key = "" if record.key is None else f".{shown(record.key)}"
        place = key if self.entity.container is Container.ENTRIES else f"{key}[{record.index}]"
        self.quarantine.append(
            {
                "record_index": record.index,
                "record_pointer": record.pointer,
                "error": with_path(reason, f"{place}{inner}"),
                "value": record.text.decode() if record.row is None else json.dumps(record.row),
            }
        )
        if len(self.quarantine) > MOST_REFUSED:
            raise LandingError(
                f"{self.landed.source_file_id}: more than {MOST_REFUSED:,} of its records are refused, "
                f"the first: {quoted(self.quarantine[0]['error'])}"
            )


def take_extras(kind: inspect.Type, value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Remove from `value` the keys that its type does not know, and yield their JSON pointers and values."""
    match kind, value:
        case inspect.Metadata(), _:
            yield from take_extras(kind.type, value, pointer)
        case inspect.UnionType(), _:
            for option in kind.types:
                yield from take_extras(option, value, pointer)
        case inspect.ListType(), list():
            for index, item in enumerate(value):
                yield from take_extras(kind.item_type, item, f"{pointer}/{index}")
        case inspect.DictType(), dict():
            for key, item in value.items():
                yield from take_extras(kind.value_type, item, f"{pointer}/{pointer_token(key)}")
        case inspect.StructType(), _:
            yield from _take_from_struct(kind, value, pointer)


def _take_from_struct(kind: inspect.StructType, value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Collect the unknown fields of a struct, which the release writes as an array or an object; see `take_extras`."""
    if kind.array_like and isinstance(value, list):
        for index, (struct_field, item) in enumerate(zip(kind.fields, value, strict=False)):
            yield from take_extras(struct_field.type, item, f"{pointer}/{index}")
    elif not kind.array_like and isinstance(value, dict):
        known = {struct_field.encode_name: struct_field.type for struct_field in kind.fields}
        for key in [key for key in value if key not in known]:
            yield f"{pointer}/{pointer_token(key)}", value.pop(key)
        for key, item in value.items():
            yield from take_extras(known[key], item, f"{pointer}/{pointer_token(key)}")
