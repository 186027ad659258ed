"""What a build has recorded of its difference from the one before it: `quality.build_changes`, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import duckdb

from pipelines.errors import InputError
from pipelines.paths import WarehousePaths
from pipelines.reading import builds, changes
from pipelines.reading.changes import CASES, VERDICTS, Changes, Moved, RowChange
from pipelines.reading.keyed_rows import Row, read_rows
from pipelines.reading.tables import open_build
from pipelines.settings import Settings


def find(paths: WarehousePaths, base_build_id: str, build_id: str, settings: Settings) -> Changes:
    """What differs between two kept builds, which are compared where the later one has not recorded it.

    Raises InputError when one of them cannot be read.
    """
    recorded = read(paths, base_build_id, build_id, settings)
    return recorded or changes.find_changes(paths, base_build_id, build_id, settings)


def read(paths: WarehousePaths, base_build_id: str, build_id: str, settings: Settings) -> Changes | None:
    """What the build has recorded; None where it was compared with another one, or by a version that recorded less."""
    try:
        if not builds.read_manifest(paths, build_id).changed.endswith(_against(base_build_id)):
            return None
        with open_build(paths.build_database(build_id), settings) as con:
            rows = read_rows(
                con,
                "from quality.build_changes where build_id = ? and base_build_id = ? order by all",
                [build_id, base_build_id],
            )
    except (InputError, duckdb.Error):
        return None
    is_whole = all(row.get("first_before") is not None for row in rows if row["kind"] in _ORDER)
    return _made_of(rows, base_build_id, build_id) if is_whole else None


def told_of(found: Changes) -> str:
    """What differs from which build, in a few words: what the build's manifest says."""
    return found.summary() + _against(found.base_build_id)


def _against(base_build_id: str) -> str:
    return f", against build {base_build_id}"


def change_rows(found: Changes) -> Iterator[dict[str, Any]]:
    """The rows of `quality.build_changes` about one build."""
    of = {"build_id": found.build_id, "base_build_id": found.base_build_id, "first_before": None, "first_after": None}
    for one in found.rows:
        at = {"kind": "row", "table_name": one.table_name, "corpus_id": one.corpus_id, "change": one.change}
        yield of | at | {"row_count": one.row_count, "first_keys": list(one.first_keys)}
    moved: dict[tuple[str, str | None, str], list[Moved]] = {}
    for one in found.moved:
        change = "added" if one.before is None else "removed" if one.after is None else "changed"
        moved.setdefault((one.kind, one.corpus_id, change), []).append(one)
    for (kind, corpus_id, change), those in moved.items():
        at = {"kind": kind, "table_name": VERDICTS if kind == "claim" else CASES, "corpus_id": corpus_id}
        names = [one.name for one in those]
        values = {"first_before": [one.before for one in those], "first_after": [one.after for one in those]}
        yield of | at | values | {"change": change, "row_count": len(those), "first_keys": names}
    if found.columns:
        at = {"kind": "column", "table_name": None, "corpus_id": None, "change": "changed"}
        yield of | at | {"row_count": len(found.columns), "first_keys": list(found.columns)}


_ORDER = ("claim", "rule")
"""The kinds of what moved, in the order in which they are told."""


def _made_of(rows: Iterable[Row], base_build_id: str, build_id: str) -> Changes:
    """The changes of which `change_rows` has made these rows."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    moved = [
        Moved(kind, name, row["corpus_id"], before, after)
        for kind in _ORDER
        for row in by_kind.get(kind, ())
        for name, before, after in zip(row["first_keys"], row["first_before"], row["first_after"], strict=True)
    ]
    found = [
        RowChange(row["table_name"], row["corpus_id"], row["change"], row["row_count"], tuple(row["first_keys"]))
        for row in by_kind.get("row", ())
    ]
    return Changes(
        base_build_id,
        build_id,
        tuple(line for row in by_kind.get("column", ()) for line in row["first_keys"]),
        tuple(found),
        tuple(sorted(moved, key=lambda one: (_ORDER.index(one.kind), one.corpus_id or "", one.name))),
    )
