"""The builds that stay on disk, and removing those that do not."""

from __future__ import annotations

import contextlib
import re
import time
from datetime import datetime
from pathlib import Path

from pipelines.errors import InputError
from pipelines.intake import folder_use, own_files
from pipelines.paths import WarehousePaths
from pipelines.reading import builds

BUILD_ID = re.compile(r"\d{8}T\d{12}Z")
"""How a build is named: by the moment it began, in UTC."""
LONGEST_WRITING = 24 * 3600
"""Seconds after which a temporary file is taken for a leftover, where the file system has no locks that tell."""


def kept_builds(paths: WarehousePaths) -> list[str]:
    """The ids of the builds on disk, in the order they were published; databases that nobody here made do not count."""
    names = [path.stem for path in paths.builds.glob("*.duckdb")]
    ours = [name for name in names if BUILD_ID.fullmatch(name) or paths.build_manifest(name).exists()]
    return sorted(ours, key=lambda build_id: (publication_number(paths, build_id), build_id))


def find(paths: WarehousePaths, build_id: str) -> str:
    """The kept build of this id, or the only one that begins with it. Raises InputError."""
    found = [name for name in kept_builds(paths) if name == build_id] or [
        name for name in kept_builds(paths) if name.startswith(build_id)
    ]
    if len(found) != 1:
        there = ", ".join(reversed(kept_builds(paths))) or "none"
        raise InputError(
            f"{build_id}: {'more than one build' if found else 'no build'} that is kept; there are {there}"
        )
    return found[0]


def one_before(paths: WarehousePaths, build_id: str) -> str:
    """The build that was published before this one, of those that are kept. Raises InputError."""
    names = kept_builds(paths)
    place = names.index(build_id)
    if place == 0:
        raise InputError(f"{build_id}: no build before it is kept")
    return names[place - 1]


def publication_number(paths: WarehousePaths, build_id: str) -> int:
    """Which publication a build was; 0 where that is not known."""
    try:
        return builds.read_manifest(paths, build_id).number
    except InputError:
        return 0


def is_pinned(paths: WarehousePaths, build_id: str) -> bool:
    """Whether somebody has said that a build is to be kept."""
    try:
        return builds.read_manifest(paths, build_id).is_pinned
    except InputError:
        return False


def remove(paths: WarehousePaths, build_id: str) -> None:
    """Remove a build and what stands beside it."""
    for file in (paths.build_database, paths.build_tables, paths.build_manifest, paths.build_restorations):
        own_files.remove(file(build_id))


def prune(paths: WarehousePaths, builds_kept: int, days: float | None = None) -> None:
    """Delete the oldest builds beyond `builds_kept` and those older than so many days, and raw files that none names.

    The published build is never deleted, and a pinned one neither; it does not count.
    """
    published = builds.pointed_build(paths)
    names = [name for name in kept_builds(paths) if not is_pinned(paths, name)]
    for build_id in names:
        is_old = days is not None and time.time() - _built_at(paths, build_id) > days * 24 * 3600
        if build_id != published and (is_old or build_id in names[:-builds_kept]):
            remove(paths, build_id)
    named: set[Path] = set()
    for build_id in kept_builds(paths):
        with contextlib.suppress(InputError):  # what no manifest names, no reader can find
            named |= {file for files in builds.raw_files(paths, build_id).values() for file in files}
    for parquet in paths.raw.rglob("*.parquet"):
        if parquet not in named:
            own_files.remove(parquet)
            own_files.remove(parquet.with_suffix(".json"))


def _built_at(paths: WarehousePaths, build_id: str) -> float:
    """When a build was made, in seconds since 1970; now, where nobody knows."""
    try:
        return datetime.fromisoformat(builds.read_manifest(paths, build_id).started_at).timestamp()
    except (InputError, ValueError):
        return time.time()


def _is_old(file: Path) -> bool:
    """Whether no command can still be writing a file or folder."""
    with contextlib.suppress(OSError):
        return time.time() - file.lstat().st_mtime > LONGEST_WRITING
    return False


def sweep(paths: WarehousePaths) -> None:
    """Remove what commands that were killed left behind. Call it with the warehouse's lock held."""
    places = (".*.tmp", ".*.old", f"{paths.builds.name}/.*.tmp", f"{paths.raw.name}/*/*/.*.tmp")
    for leftover in [file for place in places for file in paths.root.glob(place)]:
        with folder_use.alone_in(leftover.parent) as is_alone:  # another command may be writing its report
            if is_alone or (is_alone is None and _is_old(leftover)):
                own_files.remove(leftover)
    for beside in [file for kind in ("json", "tables") for file in paths.builds.glob(f"*.{kind}")]:
        build_id = beside.name.partition(".")[0]
        if BUILD_ID.fullmatch(build_id) and not paths.build_database(build_id).exists():
            own_files.remove(beside)
