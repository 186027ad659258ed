"""The builds that are kept on disk, and the removal of all others."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from dialogue_warehouse.common import files
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import BUILD_ID, RAW_FILE, WarehousePaths
from dialogue_warehouse.storage import builds

TEMPORARY = re.compile(r"[a-z0-9_]{8}")
"""The pattern of folder names from `tempfile`."""
LONGEST_WRITING = 24 * 3600
"""Seconds after which a temporary file counts as a leftover, if the file system has no locks to check."""


def kept_builds(paths: WarehousePaths) -> list[str]:
    """List the ids of the kept builds in the order of publication; foreign databases are ignored."""
    names = [path.stem for path in paths.builds.glob("*.duckdb") if BUILD_ID.fullmatch(path.stem)]
    return sorted(names, key=lambda build_id: (publication_number(paths, build_id), build_id))


def find(paths: WarehousePaths, build_id: str) -> str:
    """Return the kept build with this id, or the only one that begins with it. Raises InputError."""
    found = [name for name in kept_builds(paths) if name == build_id] or [
        name for name in kept_builds(paths) if build_id and name.startswith(build_id)
    ]
    if len(found) != 1:
        there = ", ".join(reversed(kept_builds(paths))) or "none"
        wrong = "matches more than one kept build" if found else "is not a kept build"
        raise InputError(f"{build_id or repr(build_id)}: {wrong}; the kept builds are {there}")
    return found[0]


def one_before(paths: WarehousePaths, build_id: str) -> str:
    """Return the kept build that was the published one before this one. Raises InputError.

    After a rollback that is not the build with the number before: it is the one that this build was compared with.
    """
    names = kept_builds(paths)
    if (base := base_of(paths, build_id)) in names:
        return base
    place = names.index(build_id)
    if place == 0:
        raise InputError(f"build {build_id} is the oldest of the kept builds, so there is none before it")
    return names[place - 1]


def base_of(paths: WarehousePaths, build_id: str) -> str | None:
    """Return the build that this one was compared with before it replaced it; None if it is unknown."""
    try:
        return builds.read_manifest(paths, build_id).base_build_id
    except InputError:
        return None


def publication_number(paths: WarehousePaths, build_id: str) -> int:
    """Return the number of a build's publication; 0 if it is unknown."""
    try:
        return builds.read_manifest(paths, build_id).number
    except InputError:
        return 0


def is_pinned(paths: WarehousePaths, build_id: str) -> bool:
    """Return whether a build is pinned."""
    try:
        return builds.read_manifest(paths, build_id).is_pinned
    except InputError:
        return False


def remove(paths: WarehousePaths, build_id: str) -> None:
    """Remove a build and the files beside it."""
    for file in (paths.build_database(build_id), *_beside(paths, build_id)):
        files.remove(file)


def prune(paths: WarehousePaths, builds_kept: int, days: float | None = None) -> None:
    """Delete builds beyond `builds_kept` or older than `days`, and raw files that no build names.

    The published build and pinned builds are never deleted. A pinned build does not count towards `builds_kept`.
    """
    published = builds.pointed_build(paths)
    names = [name for name in kept_builds(paths) if not is_pinned(paths, name)]
    for build_id in names:
        is_old = days is not None and time.time() - _built_at(paths, build_id) > days * 24 * 3600
        if build_id != published and (is_old or build_id in names[:-builds_kept]):
            remove(paths, build_id)
    named: set[Path] = set()
    for build_id in kept_builds(paths):
        with contextlib.suppress(InputError):  # no reader can find files that no manifest names
            named |= {file for files in builds.raw_files(paths, build_id).values() for file in files}
    for parquet in landed_files(paths):
        if parquet.suffix == ".parquet" and parquet not in named:
            files.remove(parquet)
            files.remove(parquet.with_suffix(".json"))


def landed_files(paths: WarehousePaths) -> Iterator[Path]:
    """Yield the files that landing has written, by their names; other files below `raw/` are ignored."""
    yield from (file for file in paths.raw.glob("*/*/*") if RAW_FILE.fullmatch(file.name))


def _built_at(paths: WarehousePaths, build_id: str) -> float:
    """Return the start of a build in seconds since 1970, or the current time if it is unknown."""
    try:
        return datetime.fromisoformat(builds.read_manifest(paths, build_id).started_at).timestamp()
    except (InputError, ValueError):
        return time.time()


def _is_old(file: Path) -> bool:
    """Return whether a file or folder is so old that no command can still be writing it."""
    with contextlib.suppress(OSError):
        return time.time() - file.lstat().st_mtime > LONGEST_WRITING
    return False


def sweep(paths: WarehousePaths) -> None:
    """Remove the leftovers of killed commands. The caller must hold the lock of the warehouse."""
    for path in _leftovers(paths):
        with files.alone_in(path.parent) as is_alone:  # another command may be writing its report
            if is_alone or (is_alone is None and _is_old(path)):
                files.remove(path)
    for path in list(paths.builds.glob("*")):
        build_id = path.name.partition(".")[0]
        if path in _beside(paths, build_id) and not paths.build_database(build_id).exists():
            files.remove(path)


def _leftovers(paths: WarehousePaths) -> list[Path]:
    """List temporary files beside the files of this project, by the names of those files."""
    own = {place.name for place in paths.places}
    is_own = (
        ("*", lambda name: name in own),
        (f"{paths.builds.name}/*", lambda name: BUILD_ID.match(name) is not None),
        (f"{paths.raw.name}/*/*/*", lambda name: bool(RAW_FILE.fullmatch(name) or TEMPORARY.fullmatch(name))),
    )
    return [
        path
        for pattern, of_ours in is_own
        for path in paths.root.glob(pattern)
        if (name := files.leftover(path.name)) and of_ours(name)
    ]


def _beside(paths: WarehousePaths, build_id: str) -> tuple[Path, ...]:
    """Return the paths beside the database of a build; empty for a name that is not a build id."""
    if not BUILD_ID.fullmatch(build_id):
        return ()
    kinds = (paths.build_tables, paths.build_manifest, paths.build_restorations, paths.build_report, paths.build_search)
    return tuple(file(build_id) for file in kinds)
