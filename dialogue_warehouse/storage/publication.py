"""Publication of builds: publish, roll back, pin, and repair the state after a killed process.

A process may be killed between any two steps, and other programs may change its files. `mend` runs first in every
build, while the lock is held. Unreadable files are written again, a damaged file is copied from an intact one, and each
repair is reported in one line.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import structs

from dialogue_warehouse.common import files
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import BUILD_ID, WarehousePaths
from dialogue_warehouse.storage import builds, ownership, retention
from dialogue_warehouse.storage.builds import Pointer


def publish(build_id: str, paths: WarehousePaths, rolled_back: str = "") -> None:
    """Make a kept build the published one: first the pointer, then the file, each replaced in one step.

    `rolled_back` is the fingerprint of the newest build if this is a rollback from it.
    """
    write_pointer(paths.pointer, build_id, rolled_back)
    copy(paths.build_database(build_id), paths.published)


def copy(database: Path, to: Path) -> None:
    """Copy a database, read-only and with its time, in one step: readers see the whole old or the whole new file."""
    with files.replacing(to) as temporary:
        shutil.copyfile(database, temporary)
        made = database.stat()
        with contextlib.suppress(OSError):  # a file with another time is compared by its content
            os.utime(temporary, ns=(made.st_atime_ns, made.st_mtime_ns))
        files.make_read_only(temporary)


def write_pointer(path: Path, build_id: str, rolled_back: str = "") -> None:
    """Write a file that names a build, atomically."""
    pointer = Pointer(build_id, rolled_back)
    files.write_atomically(path, msgspec.json.format(msgspec.json.encode(pointer), indent=1))


def mend(paths: WarehousePaths) -> list[str]:
    """Repair the published state and remove leftovers; return one line per repair."""
    repairs = [*_remove_folders(paths), *_finish_publication(paths), *_right_pointer(paths), *_right_files(paths)]
    retention.sweep(paths)
    files.remove(paths.scratch_spark)
    return repairs


def _remove_folders(paths: WarehousePaths) -> Iterator[str]:
    """Remove folders at the paths of files of the warehouse, which would block writing."""
    ours = [
        paths.dagster_yaml,
        *(path for path in paths.builds.glob("*.json") if BUILD_ID.fullmatch(path.name.partition(".")[0])),
        *retention.landed_files(paths),
        *(path for kind in ("json", "msgpack", "sql") for path in paths.dbt_target.rglob(f"*.{kind}")),
    ]
    for path in ours:
        if path.is_dir() and not path.is_symlink():
            files.remove(path)
            yield f"{path} was a folder instead of a file: it is removed"


def _finish_publication(paths: WarehousePaths) -> Iterator[str]:
    """Finish or undo an interrupted publication."""
    try:
        started = files.read(paths.started_publication, builds.Pointer, "the name of a build")
    except InputError:  # the step is unknown; the pointer and the files are checked next
        started = None
    if started and paths.build_database(started.build_id).exists():
        publish(started.build_id, paths)
        yield f"build {started.build_id} had passed its checks, but its publication was interrupted: it is finished now"
    elif started:
        for file in (paths.build_manifest, paths.build_tables, paths.build_search):
            files.remove(file(started.build_id))
        yield f"build {started.build_id} had passed its checks, but its publication was interrupted: it is undone"
    files.remove(paths.started_publication)


def _right_pointer(paths: WarehousePaths) -> Iterator[str]:
    """Make a damaged or missing pointer name a build again: that of the published file, else the last intact one."""
    try:
        if builds.read_pointer(paths) is not None:
            return
        repair = ""
    except InputError as error:
        repair = str(error)
    files.remove(paths.pointer)
    whole = [build_id for build_id in reversed(retention.kept_builds(paths)) if is_whole(paths, build_id)]
    shown = [build_id for build_id in whole if not builds.damage(paths, build_id)]
    for build_id in [*shown, *whole][:1]:
        publish(build_id, paths)
        repair = f"{repair or f'{paths.pointer} was missing'}; it names build {build_id} again"
    if repair:
        yield repair


def _right_files(paths: WarehousePaths) -> Iterator[str]:
    """Restore the published file and the kept build as they were published, each from the other or from an older build.

    Parquet files have no second copy: a build with a damaged one is lost.
    """
    build_id = builds.pointed_build(paths)
    if build_id is None:
        return
    database = paths.build_database(build_id)
    damaged = builds.damage(paths, build_id)
    if damaged == [paths.published]:
        cause = f"was not the published build {build_id}" if paths.published.exists() else "was missing"
        files.remove(paths.published)
        copy(database, paths.published)
        yield f"{paths.published} {cause}: it is restored"
    elif damaged == [database]:
        cause = "had changed since publishing" if database.exists() else "was missing"
        files.remove(database)
        copy(paths.published, database)
        yield f"{database} {cause}: it is restored"
    elif damaged:
        yield from _fall_back(paths, build_id, damaged)


def _fall_back(paths: WarehousePaths, build_id: str, damaged: list[Path]) -> Iterator[str]:
    """Publish the build before one that cannot be repaired, or else the last intact one."""
    database = paths.build_database(build_id)
    if database in damaged and paths.published in damaged:
        loss = f"build {build_id} is lost: both {paths.published} and {database} have changed since publishing"
    else:
        lost = next(file for file in damaged if file not in (paths.published, database))
        loss = f"build {build_id} is lost: {lost} has changed since publishing, and there is no copy of it"
    base = retention.base_of(paths, build_id)
    retention.remove(paths, build_id)
    kept = retention.kept_builds(paths)[::-1]
    whole = [other for other in (base, *kept) if other and other in kept and is_whole(paths, other)]
    files.remove(paths.published)
    if whole:
        publish(whole[0], paths)
        yield f"{loss}; build {whole[0]} is published instead"
    else:
        files.remove(paths.pointer)
        yield f"{loss}, and no other build is kept"


def is_whole(paths: WarehousePaths, build_id: str) -> bool:
    """Return whether a kept build is unchanged since it was published."""
    return set(builds.damage(paths, build_id)) <= {paths.published}


def roll_back(
    paths: WarehousePaths, build_id: str | None = None, notice: Callable[[str], object] | None = None
) -> tuple[str, str]:
    """Publish a kept build again, by default the one before the published one; return the ids before and after.

    `notice` gets a line for each repair that comes first.

    Readers see one build or the other. Nothing is built or removed. Raises InputError if the build does not exist or is
    damaged, and BuildError while a build is running.
    """
    if not retention.kept_builds(paths):
        builds.published_build(paths)  # raises the error
    before = None
    with contextlib.suppress(InputError):  # a damaged pointer is repaired
        before = builds.pointed_build(paths)
    with ownership.exclusive(paths):
        for repair in mend(paths):
            if notice is not None:
                notice(repair)
        published = builds.published_build(paths)[0]
        lost = before if before not in retention.kept_builds(paths) else None
        if build_id is not None:
            target = retention.find(paths, build_id)
        else:  # in place of a lost build, the one before it is published now
            target = published if lost else retention.one_before(paths, published)
        if target != published:
            damaged = [file for file in builds.damage(paths, target) if file != paths.published]
            if damaged:
                raise InputError(
                    f"{damaged[0]}: has changed since publishing, so its build cannot be published again; "
                    "choose another build that `status` lists"
                )
            newest = retention.kept_builds(paths)[-1]
            publish(target, paths, _fingerprint(paths, newest) if target != newest else "")
    return lost or published, target


def _fingerprint(paths: WarehousePaths, build_id: str) -> str:
    """Return the fingerprint of a build; empty if its manifest cannot be read."""
    try:
        return builds.read_manifest(paths, build_id).fingerprint
    except InputError:
        return ""


def pin(paths: WarehousePaths, build_id: str | None = None, is_pinned: bool = True) -> str:
    """Pin a build, by default the published one, so that it is never removed; or unpin it. Returns its id."""
    published = builds.published_build(paths)[0]
    with ownership.exclusive(paths):
        target = retention.find(paths, published if build_id is None else build_id)
        manifest = structs.replace(builds.read_manifest(paths, target), is_pinned=is_pinned)
        files.write_atomically(paths.build_manifest(target), builds.encode_manifest(manifest))
    return target
