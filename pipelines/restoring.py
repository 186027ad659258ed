"""Restoration: each upstream file rebuilt, as JSON, from core tables alone.

A room's `restore.sql` has one query an entity, which gives the file, place and JSON of each record. What the columns
cannot show is put back last, in this order: forms from `source_exceptions`, keys from `source_extras`, whole records
from `source_quarantine`. Records are streamed; memory holds one batch of files. No raw Parquet and no source is read.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import heapq
import itertools
import json
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from pipelines import forms, registry
from pipelines.corpus import Container, Corpus, Entity
from pipelines.errors import InputError
from pipelines.landing import NO_PROGRESS_BAR
from pipelines.paths import WarehousePaths
from pipelines.rawtypes import literal
from pipelines.records import Record, pointer_token
from pipelines.settings import Settings

BATCH_BYTES = 256 * 2**20
"""Bytes of source files whose records are rebuilt by one query."""
FETCHED_RECORDS = 500
FORMS: dict[str, Any] = {"null": None, "empty_list": [], "empty_object": {}}
"""What a form of source_exceptions stands for."""
RESTORE_SQL = "restore.sql"


@dataclass(frozen=True)
class SourceFile:
    """A file of the build that can be rebuilt."""

    source_file_id: str
    path: str
    parts: tuple[str, ...] | None
    bytes: int
    sha256: str
    form: str = "release"
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


def restore_queries(corpus: Corpus) -> dict[str, str]:
    """The query of each entity, from the room's restore.sql. Raises RoomError for a room that lacks one."""
    path = corpus.folder / RESTORE_SQL
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise registry.RoomError(f"{corpus.corpus_id}: {RESTORE_SQL} is missing") from error
    sections = re.split(r"^-- entity: (\w+)\n", text, flags=re.MULTILINE)[1:]
    queries = dict(zip(sections[::2], sections[1::2], strict=True))
    lacking = [entity.name for entity in corpus.entities if entity.name not in queries]
    if lacking:
        raise registry.RoomError(f"{corpus.corpus_id}/{RESTORE_SQL}: no query for {', '.join(lacking)}")
    return queries


def restore_to(folder: Path, files: Iterable[RestoredFile]) -> list[Path]:
    """Write files below `folder/<path>`, each all or nothing; the paths written, in order."""
    written = []
    for restored in files:
        target = folder / restored.file.path
        if not target.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{restored.file.source_file_id}: the path leads out of {folder}")
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f"{target.name}.part")
        with temporary.open("wb") as plain:
            if target.suffix == ".gz":
                with gzip.GzipFile(fileobj=plain, mode="wb", filename="", mtime=0) as archive:
                    write_records(restored, archive)
            elif restored.table:
                forms.write_rows(restored.table, target.name, _rows(restored.table, restored), plain)
            else:
                write_records(restored, plain)
        temporary.replace(target)
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


@contextlib.contextmanager
def open_core(database: Path, settings: Settings) -> Generator[duckdb.DuckDBPyConnection]:
    """A connection in memory that has a build's core, read-only, as its default schema."""
    config: dict[str, str | float | list[str]] = {"memory_limit": settings.memory_limit, "threads": settings.threads}
    with duckdb.connect(config=config) as con:
        con.execute(NO_PROGRESS_BAR)
        con.execute(f"attach {literal(database)} as dialogues (read_only)")
        con.execute("use dialogues.core")
        yield con


def published(paths: WarehousePaths) -> tuple[str, Path]:
    """The id and the database of the published build. Raises InputError when there is none."""
    build_id = paths.published_build()
    if build_id is None:
        raise InputError(f"no warehouse at {paths.root}: run `dialogue-warehouse build`")
    return build_id, paths.build_database(build_id)


def restore_published(paths: WarehousePaths, settings: Settings, corpus_id: str, folder: Path) -> list[Path]:
    """Write a corpus's files from the published build. Raises InputError when the build has none of them."""
    corpus = registry.load_corpus(corpus_id)
    with open_core(published(paths)[1], settings) as con:
        written = restore_to(folder, Restorer(con).files(corpus))
    if not written:
        raise InputError(f"{corpus_id}: the published build has no file of it")
    return written


class Restorer:
    """Rebuilds the files of a published build. `con` has that build's core as its default schema."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        con.execute("create or replace temp table batch (source_file_id varchar)")

    def files(self, corpus: Corpus) -> Iterator[RestoredFile]:
        """Every file of a corpus, rebuilt, an entity after the other; each is read before the next is asked for."""
        queries = restore_queries(corpus)
        for entity in corpus.entities:
            for batch in self._batches(corpus, entity):
                yield from self._restored(corpus, entity, queries[entity.name], batch)

    def _batches(self, corpus: Corpus, entity: Entity) -> Iterator[list[SourceFile]]:
        """The files of an entity, in groups that fit into memory."""
        rows = self.con.execute(
            "select source_file_id, path, parts, bytes, sha256, release_form from dim_source_files "
            "where corpus_id = ? and entity = ? order by path",
            [corpus.corpus_id, entity.name],
        ).fetchall()
        batch: list[SourceFile] = []
        for source_file_id, path, parts, size, sha256, form in rows:
            file = SourceFile(source_file_id, path, None if parts is None else tuple(parts), size, sha256, form)
            if batch and sum(each.bytes for each in batch) + size > BATCH_BYTES:
                yield batch
                batch = []
            batch.append(file)
        if batch:
            yield batch

    def _restored(self, corpus: Corpus, entity: Entity, query: str, batch: list[SourceFile]) -> Iterator[RestoredFile]:
        """The files of a batch, one query for all."""
        self.con.execute("delete from batch")
        names = ", ".join(f"({literal(file.source_file_id)})" for file in batch)
        self.con.execute(f"insert into batch values {names}")
        self._add_what_is_put_back(batch)
        place = "files.path"
        if entity.container is Container.SPLITS:
            place = "list_position(files.parts, restored.record_key)"
        self.con.execute(
            f"""
            select restored.source_file_id, restored.record_index, restored.record_key, restored.record::varchar
            from ({query}) as restored
            inner join dim_source_files as files on restored.source_file_id = files.source_file_id
            order by restored.source_file_id, {place}, restored.record_index
            """
        )
        rows = itertools.chain.from_iterable(iter(lambda: self.con.fetchmany(FETCHED_RECORDS), []))
        grouped = itertools.groupby(rows, key=lambda row: row[0])
        found, records = next(grouped, (None, iter(())))
        for file in sorted(batch, key=lambda file: file.source_file_id):
            own: Iterator[Any] = iter(())
            if found == file.source_file_id:
                own = records
            plain = (Record(row[1], row[2], _pointer(entity, row[1], row[2]), row[3].encode()) for row in own)
            form = registry.load_form(corpus.corpus_id, file.form)
            table = form.place(file.path)[0] if form else None
            yield RestoredFile(corpus, entity, file, put_back(entity, file, plain), table)
            if found == file.source_file_id:
                for _ in own:  # what the reader left
                    pass
                found, records = next(grouped, (None, iter(())))

    def _add_what_is_put_back(self, batch: list[SourceFile]) -> None:
        """Read the exceptions, extras and refused records of the batch's files."""
        files = {file.source_file_id: file for file in batch}
        for name, columns in (
            ("source_exceptions", "json_pointer, form"),
            ("source_extras", "json_pointer, value"),
            ("source_quarantine", "record_index, record_pointer, value"),
        ):
            rows = self.con.execute(
                f"select source_file_id, {columns} from {name} semi join batch using (source_file_id)"
            ).fetchall()
            for source_file_id, *values in rows:
                file = files[source_file_id]
                match name, values:
                    case "source_exceptions", [pointer, form]:
                        file.exceptions.append((pointer, form))
                    case "source_extras", [pointer, value]:
                        file.extras.append((pointer, json.loads(value)))
                    case _, [index, pointer, value]:
                        file.quarantine.append((index, pointer, value.encode()))


# --- what the columns cannot show ---------------------------------------------------------------------------------


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


def _pointer(entity: Entity, index: int, key: str | None) -> str:
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


def _write_separated(stream: BinaryIO | gzip.GzipFile, texts: Iterable[bytes]) -> None:
    for position, text in enumerate(texts):
        stream.write((b",\n" if position else b"\n") + text)
    stream.write(b"\n")
