"""Traces of a key to its source: file, record, JSON pointer and the JSON there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.common.json_values import beginning, resolve, shown
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container
from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.findings import TraceError, find_row, read_rows
from dialogue_warehouse.releases.finding import Places
from dialogue_warehouse.releases.records import split_records
from dialogue_warehouse.releases.unpacking import SIMULATED, sha256_of, unpack
from dialogue_warehouse.settings import RELEASE_FORM, Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.landed import places_of

DEEPEST_RECORD = 2
"""Maximum number of tokens in the pointer of a record: its part and its index."""


def read_json_at(
    corpus_id: str, path: str, data: bytes, pointers: Iterable[str | None], found_as: str | None = None
) -> Iterator[str | None]:
    """Yield the JSON at each pointer of a file, None if there is nothing; only the records concerned are parsed.

    `path` is the path in the release, `found_as` the name at the source if it differs. Of records with equal keys the
    first is used, which is the one that was landed. Raises LandingError for a file that is not JSON.
    """
    texts = _texts(corpus_id, path, data, found_as or path)
    for pointer in pointers:
        yield None if pointer is None else _json_at(texts, pointer)


def _texts(corpus_id: str, path: str, data: bytes, found_as: str) -> dict[str, bytes]:
    """Return the JSON text of each record by its pointer; for a file of lines, the values of its lines."""
    where = f"{corpus_id}/{path}"
    text = unpack(f"{corpus_id}/{found_as}", data).content
    entity = registry.load_corpus(corpus_id).entity_of(path)
    if entity is None:
        return {"": text}
    texts: dict[str, bytes] = {}
    for record in split_records(entity, where, text)[1]:
        is_value = entity.container is Container.LINES and not record.refused
        texts.setdefault(
            record.pointer, json.dumps(json.loads(record.text)["value"]).encode() if is_value else record.text
        )
    return texts


def _json_at(texts: dict[str, bytes], pointer: str) -> str | None:
    """Return the JSON at a pointer into a record."""
    for depth in range(DEEPEST_RECORD + 1):
        record = beginning(pointer, depth)
        if record in texts:
            try:
                found = resolve(json.loads(texts[record]), pointer[len(record) :])
            except LookupError:
                return None
            text = json.dumps(found, ensure_ascii=False)
            return text if shown(text) == text else json.dumps(found)
    return None


class ChangedSourceError(CheckError):
    """The source file differs from the file that was read, or has nothing at the pointer."""


@dataclass(frozen=True)
class Trace:
    """The place in the source that a row comes from."""

    key: str
    table: str
    source_file_id: str
    file: Path | None
    """The path of the file, even if the file is missing; None if the build does not name its source."""
    is_generated: bool
    """True if the file was generated: its content is not the publisher's."""
    record_index: int
    record_pointer: str
    pointer: str
    value_json: str | None
    """The JSON at the pointer; None if the source is missing or has changed."""
    row: dict[str, Any]
    other_pointer: str | None = None
    """The pointer to a second place of the row."""
    other_value_json: str | None = None
    missing: str | None = None
    """The reason why the JSON cannot be shown, if the source is missing."""
    changed: str | None = None
    """The reason why the JSON cannot be shown, if the source has changed since it was read."""


def trace(paths: WarehousePaths, settings: Settings, key: str) -> Trace:
    """Trace a key of the published warehouse to its place in the source.

    The source is the one in the settings, or else the published build's own. Raises TraceError for a key without a row
    or without a place in the release, and for a build that was not made from the releases' own files.
    """
    with connection.open_published(paths, settings=settings) as con:
        build_id = connection.build_of(con)
        table, row = find_row(con, key)
        place = _find_place(con, table, key, row)
        query = "select * from core.dim_source_files where source_file_id = ?"
        source_file = read_rows(con, query, [place.source_file_id])[0]
    form = source_file.get("release_form", RELEASE_FORM)
    if form != RELEASE_FORM:
        raise TraceError(
            f"{place.source_file_id}: was built from its {form} form, but only the publisher's own can be traced; "
            "build from those"
        )
    file, found = None, _Found()
    try:
        source = settings.source or builds.source_of(paths, build_id)
    except InputError as error:
        found.missing = f"{error}, or give --source"
    else:
        corpus = registry.load_corpus(source_file["corpus_id"])
        file = Places(source, _recorded_places(paths, build_id)).find(corpus, source_file["path"])
        found.read(file, source_file, place)
    return Trace(
        key=key,
        table=f"core.{table}",
        source_file_id=place.source_file_id,
        file=file,
        is_generated=source_file["verification"] == SIMULATED,
        record_index=place.record_index,
        record_pointer=place.record_pointer,
        pointer=place.json_pointer,
        value_json=found.value,
        row=row,
        other_pointer=place.other_json_pointer,
        other_value_json=found.other_value,
        missing=found.missing,
        changed=found.changed,
    )


def _recorded_places(paths: WarehousePaths, build_id: str) -> dict[str, str]:
    """Return where the build found files under other names; empty if its manifest cannot be read."""
    try:
        return places_of(builds.read_manifest(paths, build_id).files)
    except InputError:
        return {}


@dataclass(frozen=True)
class _Place:
    """The result of `core.source_of` for a key."""

    source_file_id: str
    record_index: int
    record_pointer: str
    json_pointer: str
    other_json_pointer: str | None


def _find_place(con: Connection, table: str, key: str, row: dict[str, Any]) -> _Place:
    """Return the result of the published macro. Raises TraceError if the key has no place."""
    places = read_rows(con, "from core.source_of(?)", [key])
    if not places and "dialogue_key" in row:
        raise TraceError(
            f"core.{table} has '{key}', but no form in int_{row['corpus_id']}__pointer_forms fits this key: add one"
        )
    if not places:
        raise TraceError(
            f"core.{table} has '{key}', which has no single place in the release: it comes from several records"
        )
    return _Place(**places[0])


class _Found:
    """The result of reading the source file."""

    def __init__(self) -> None:
        self.value: str | None = None
        self.other_value: str | None = None
        self.missing: str | None = None
        self.changed: str | None = None

    def read(self, file: Path, source_file: dict[str, Any], place: _Place) -> None:
        """Read the file and the values at the pointers."""
        try:
            data = read_regular(file)
        except OSError as error:
            self.missing = f"{file}: {error.strerror}"
            return
        if sha256_of(data) != source_file["sha256"]:
            self.changed = f"{file} has changed since it was read: its sha256 is not {source_file['sha256']}"
            return
        pointers = (place.json_pointer, place.other_json_pointer)
        found = read_json_at(source_file["corpus_id"], source_file["path"], data, pointers, file.name)
        self.value, self.other_value = found
        if self.value is None and self.other_value is None:
            models = " or ".join(
                f"int_{source_file['corpus_id']}__{name}" for name in ("pointer_forms", "key_pointers")
            )
            self.changed = f"{place.source_file_id}: has no value at {place.json_pointer}, where {models} leads"
