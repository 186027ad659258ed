"""Rebuilt files: what one is, and how it is written in the layout of its entity's container."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pipelines.corpora import forms
from pipelines.corpora.room import Container, Corpus, Entity
from pipelines.errors import InputError
from pipelines.intake import form_files, writing
from pipelines.intake.records import Record
from pipelines.settings import RELEASE_FORM


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
    extras: list[tuple[str, Any]] = field(default_factory=list, repr=False)
    quarantine: list[tuple[int, str, bytes]] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class RestoredFile:
    """A file with its records in their order; `records` is read once. A file of another form has rows of `table`."""

    corpus: Corpus
    entity: Entity
    file: SourceFile
    records: Iterator[Record]
    table: forms.Table | None = None


def restore_to(folder: Path, files: Iterable[RestoredFile]) -> list[Path]:
    """Write files below `folder/<path>`, each all or nothing; the paths written, in order."""
    written = []
    for restored in files:
        target = folder / restored.file.path
        if not target.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{restored.file.source_file_id}: the path leads out of {folder}")
        with writing.replacing(target) as temporary, temporary.open("wb") as plain:
            if target.suffix == ".gz":
                with gzip.GzipFile(fileobj=plain, mode="wb", filename="", mtime=0) as archive:
                    write_records(restored, archive)
            elif restored.table:
                form_files.write_rows(restored.table, target.name, _rows(restored.table, restored), plain)
            else:
                write_records(restored, plain)
        written.append(target)
    return written


def _rows(table: forms.Table, restored: RestoredFile) -> Iterator[dict[str, Any]]:
    """The records as rows of the form that the file has; a refused one is a row already."""
    refused = {pointer for _, pointer, _ in restored.file.quarantine}
    for record in restored.records:
        value = json.loads(record.text)
        yield value if record.pointer in refused else table.redo(value)


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
        case Container.DOCUMENT:
            for record in restored.records:
                stream.write(record.text + b"\n")
        case Container.LINES:
            for record in restored.records:
                value = json.loads(record.text)
                stream.write((f"{value['value']},\n" if isinstance(value, dict) else f"{value}\n").encode())


def _write_separated(stream: BinaryIO | gzip.GzipFile, texts: Iterable[bytes]) -> None:
    for position, text in enumerate(texts):
        stream.write((b",\n" if position else b"\n") + text)
    stream.write(b"\n")
