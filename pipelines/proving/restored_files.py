"""Rebuilt files: what one is, and how it is written in the layout of its entity's container."""

from __future__ import annotations

import filecmp
import gzip
import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pipelines.corpora import forms
from pipelines.corpora.room import Container, Corpus, Entity
from pipelines.errors import InputError
from pipelines.intake.records import Record, write_line
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


def restore_to(folder: Path, files: Iterable[RestoredFile], force: bool = False) -> list[Path]:
    """Write files below `folder/<path>`; their paths, in order. All are written first and put in place together.

    Raises InputError, with nothing put in place, when a file that stands there has other bytes, unless `force`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with tempfile.TemporaryDirectory(prefix=".restoring-", dir=folder) as scratch:
        for restored in files:
            path = restored.file.path
            if not (folder / path).resolve().is_relative_to(folder.resolve()):
                raise InputError(f"{restored.file.source_file_id}: the path leads out of {folder}")
            _write_file(restored, Path(scratch) / path)
            written.append(path)
        _refuse_overwriting(folder, Path(scratch), written, force)
        for path in written:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(scratch) / path).replace(folder / path)
    return [folder / path for path in written]


def _write_file(restored: RestoredFile, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as plain:
        if target.suffix == ".gz":
            with gzip.GzipFile(fileobj=plain, mode="wb", filename="", mtime=0) as archive:
                write_records(restored, archive)
        elif restored.table:
            from pipelines.intake import form_files

            form_files.write_rows(restored.table, target.name, _rows(restored.table, restored), plain)
        else:
            write_records(restored, plain)


def _refuse_overwriting(folder: Path, scratch: Path, paths: list[str], force: bool) -> None:
    """Raise InputError for what stands in the way: files of other bytes, and with `force` only what is no file."""
    there = [path for path in paths if os.path.lexists(folder / path)]
    strange = [path for path in there if not (folder / path).is_file()]
    if strange:
        raise InputError(f"{folder / strange[0]}: is no file and is not overwritten")
    different = [path for path in there if not filecmp.cmp(folder / path, scratch / path, shallow=False)]
    if different and not force:
        raise InputError(
            f"{folder / different[0]}: is there and differs from what would be written"
            f"{f', as do {len(different) - 1:,} more files' if len(different) > 1 else ''}; "
            "nothing was written, --force overwrites"
        )


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
                stream.write((write_line(value["value"]) if isinstance(value, dict) else f"{value}\n").encode())


def _write_separated(stream: BinaryIO | gzip.GzipFile, texts: Iterable[bytes]) -> None:
    for position, text in enumerate(texts):
        stream.write((b",\n" if position else b"\n") + text)
    stream.write(b"\n")
