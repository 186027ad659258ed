"""The way back: from any key of the warehouse to the JSON in the source file that its row was made from.

Where a key's row stands is said by the published macro `core.source_of` alone, which reads what each room declares;
here the key's own row is found, the source file is read, and what stands at the pointer is shown.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from pipelines.errors import CheckError
from pipelines.paths import WarehousePaths
from pipelines.proving.source_json import TraceError, json_at, read_document
from pipelines.reading import connection
from pipelines.reading.builds import EMBEDDED_SAMPLE
from pipelines.reading.connection import Connection
from pipelines.settings import FORMS, Settings

KEYED_TABLES = {
    "dim_dialogues": "dialogue_key",
    "fct_turns": "turn_key",
    "fct_frames": "frame_key",
    "fct_actions": "action_key",
    "fct_slots": "slot_key",
    "fct_votes": "vote_key",
    "fct_responses": "response_key",
    "fct_classifier_examples": "example_key",
    "fct_service_calls": "call_key",
    "fct_service_results": "result_key",
    "fct_candidates": "candidates_key",
    "fct_knowledge_items": "knowledge_key",
    "dim_services": "service_definition_key",
    "dim_intents": "intent_key",
    "dim_slots": "slot_definition_key",
    "dim_guidelines": "guideline_key",
    "dim_split_members": "source_file_id || '/' || record_index",
}
"""The tables of core that have a key of their own, and its column; the key of a line is its file and its number."""
NAMED_KEYS = 3
"""Keys that a message names as examples."""


class ChangedSourceError(CheckError):
    """The source file is not the one that was read, or has nothing where it must have something."""


@dataclass(frozen=True)
class Trace:
    """Where the row of a key comes from."""

    key: str
    table: str
    source_file_id: str
    file: Path | None
    """The file on disk, also where it is not there; None when the build does not say where its source is."""
    record_index: int
    record_pointer: str
    pointer: str
    value_json: str | None
    """The JSON at the pointer; None when the source is not at hand or has changed."""
    row: dict[str, Any]
    other_pointer: str | None = None
    """Where the row stands a second time."""
    other_value_json: str | None = None
    missing: str | None = None
    """Why the JSON cannot be shown, where the source is not at hand."""
    changed: str | None = None
    """Why the JSON cannot be shown, where the source is another than was read."""


def trace(paths: WarehousePaths, settings: Settings, key: str) -> Trace:
    """Follow a key of the published warehouse to its place in the source.

    The source is the one in the settings, or else the published build's own. Raises TraceError for a key that has no
    row or no place in the release, and for a build that was not made from the releases' own files.
    """
    with connection.open_published(paths, settings=settings) as con:
        table, row = _find_row(con, key)
        place = _find_place(con, table, key)
        published = _rows(con, "select * from core.dim_source_files where source_file_id = ?", [place.source_file_id])[
            0
        ]
    manifest = _manifest(paths)
    form = published.get("release_form", FORMS[0])
    if form != FORMS[0]:
        raise TraceError(f"{place.source_file_id}: built from its {form} form, and pointers are into the release")
    file = _source_file(paths, settings, manifest, published)
    found = _Found()
    if file is None:
        found.missing = f"build {paths.published_build()} does not say where its source is: give --source"
    else:
        found.read(file, published, place)
    return Trace(
        key=key,
        table=f"core.{table}",
        source_file_id=place.source_file_id,
        file=file,
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


@dataclass(frozen=True)
class _Place:
    """What `core.source_of` says of a key."""

    source_file_id: str
    record_index: int
    record_pointer: str
    json_pointer: str
    other_json_pointer: str | None


def _rows(con: Connection, query: str, parameters: Iterable[Any] = ()) -> list[dict[str, Any]]:
    found = con.execute(query, list(parameters))
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _find_row(con: Connection, key: str) -> tuple[str, dict[str, Any]]:
    """The table whose own key this is, and its row. Raises TraceError with what is nearest when there is none."""
    present = {
        name for (name,) in con.execute("select table_name from duckdb_tables() where schema_name = 'core'").fetchall()
    }
    tables = {table: column for table, column in KEYED_TABLES.items() if table in present}
    for table, column in tables.items():
        rows = _rows(con, f"select * from core.{table} where {column} = ?", [key])
        if rows:
            return table, rows[0]
    raise TraceError(f"no row has the key '{key}'{_nearest(con, tables, key)}")


def _nearest(con: Connection, tables: dict[str, str], key: str) -> str:
    """The longest beginning of the key that is itself a key, and what stands below it; else a similar dialogue."""
    every_key = " union all ".join(
        f"select '{table}' as name, {column} as found from core.{table}" for table, column in tables.items()
    )
    beginning = key.rstrip("/")
    while "/" in beginning:
        known = con.execute(f"select name from ({every_key}) where found = ? limit 1", [beginning]).fetchone()
        if known:
            break
        beginning = beginning.rpartition("/")[0]
    else:
        similar = con.execute(
            "select dialogue_key from core.dim_dialogues "
            "order by jaro_winkler_similarity(dialogue_key, ?) desc, dialogue_key limit 1",
            [key],
        ).fetchone()
        return f"; the dialogue most like it is '{similar[0]}'" if similar else ""
    if beginning == key.rstrip("/"):
        return f"; core.{known[0]} has '{beginning}'"
    wanted = key[len(beginning) + 1 :].split("/")[0]
    below = con.execute(
        f"""
        select substr(found, length($1) + 2) as tail
        from ({every_key})
        where starts_with(found, $1 || '/')
        order by not starts_with(tail, $2 || '/'), length(tail), tail
        """,
        [beginning, wanted],
    ).fetchall()
    there = f"; core.{known[0]} has '{beginning}'"
    if known[0] == "dim_dialogues":
        turns = sum(tail.isdigit() for (tail,) in below)
        there += f", with {turns:,} turn{'' if turns == 1 else 's'}" + (f", 0 to {turns - 1}" if turns > 1 else "")
        below = [] if wanted.isdigit() else below
    if below:
        named = ", ".join(tail for (tail,) in below[:NAMED_KEYS])
        there += f", and below it {named}{' …' if len(below) > NAMED_KEYS else ''}"
    return there


def _find_place(con: Connection, table: str, key: str) -> _Place:
    """What the published macro says. Raises TraceError when the key has no place, or the build no macro."""
    try:
        places = _rows(con, "from core.source_of(?)", [key])
    except duckdb.CatalogException as error:
        raise TraceError("the published build has no macro core.source_of: build again") from error
    if not places:
        raise TraceError(
            f"core.{table} has '{key}', but no single place of the release: it is gathered from its records"
        )
    return _Place(**places[0])


def _manifest(paths: WarehousePaths) -> dict[str, Any]:
    """What the published build's manifest says; nothing where it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        manifest = json.loads(paths.build_manifest(paths.published_build() or "").read_text(encoding="utf-8"))
        if isinstance(manifest, dict):
            return manifest
    return {}


def _source_file(
    paths: WarehousePaths, settings: Settings, manifest: dict[str, Any], published: dict[str, Any]
) -> Path | None:
    """Where the source file is expected."""
    source = settings.source
    if source is None and isinstance(manifest.get("source"), str):
        source = paths.sample if manifest["source"] == EMBEDDED_SAMPLE else Path(manifest["source"])
    return source / published["corpus_id"] / published["path"] if source else None


class _Found:
    """What reading the source file came to."""

    def __init__(self) -> None:
        self.value: str | None = None
        self.other_value: str | None = None
        self.missing: str | None = None
        self.changed: str | None = None

    def read(self, file: Path, published: dict[str, Any], place: _Place) -> None:
        """Read the file, and in it what stands at the pointers."""
        try:
            data = file.read_bytes()
        except OSError as error:
            self.missing = f"{file}: {error.strerror}"
            return
        if hashlib.sha256(data).hexdigest() != published["sha256"]:
            self.changed = f"{file} has changed since it was read: its sha256 is not {published['sha256']}"
            return
        document = read_document(published, data)
        values = [json_at(document, pointer) for pointer in (place.json_pointer, place.other_json_pointer)]
        self.value, self.other_value = values
        if values == [None, None]:
            self.changed = f"{place.source_file_id}: nothing stands at {place.json_pointer}"
