"""What every build does first, with the warehouse's lock held: it puts right what happened to the folder meanwhile.

A process may have been killed between any two steps, and anything may have been done to our files. What cannot be read
is made again, what is not what was published is taken from where it still is, and each is told in a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipelines.building import kept, showing
from pipelines.errors import InputError
from pipelines.intake import own_files
from pipelines.paths import BUILD_ID, WarehousePaths
from pipelines.reading import builds


def mend(paths: WarehousePaths) -> list[str]:
    """Put right what readers see, and remove what nobody needs. What was mended, a line each; normally nothing is."""
    told = [*_remove_folders(paths), *_finish_publication(paths), *_right_pointer(paths), *_right_files(paths)]
    kept.sweep(paths)
    own_files.remove(paths.scratch_spark)
    return told


def _remove_folders(paths: WarehousePaths) -> Iterator[str]:
    """Remove the folders that stand where files of ours do: nothing could be written there."""
    ours = [
        paths.dagster_home / "dagster.yaml",
        *(path for path in paths.builds.glob("*.json") if BUILD_ID.fullmatch(path.name.partition(".")[0])),
        *kept.landed_files(paths),
        *(path for kind in ("json", "msgpack", "sql") for path in paths.dbt_target.rglob(f"*.{kind}")),
    ]
    for path in ours:
        if path.is_dir() and not path.is_symlink():
            own_files.remove(path)
            yield f"{path} was a folder where a file belongs: it is removed"


def _finish_publication(paths: WarehousePaths) -> Iterator[str]:
    """Finish or undo a publication that was broken off."""
    try:
        started = own_files.read(paths.started_publication, builds.Pointer, "the name of a build")
    except InputError:  # it may have been at any step: pointer and files say themselves whether they are right
        started = None
    if started and paths.build_database(started.build_id).exists():
        showing.show(started.build_id, paths)
        yield f"build {started.build_id} had passed, but its publication was broken off: it is finished now"
    elif started:
        for file in (paths.build_manifest, paths.build_tables):
            own_files.remove(file(started.build_id))
        yield f"build {started.build_id} had passed, but its publication was broken off: it is undone"
    own_files.remove(paths.started_publication)


def _right_pointer(paths: WarehousePaths) -> Iterator[str]:
    """Let the pointer name a build again: the one that is shown, else the last one that is whole."""
    try:
        builds.pointed_build(paths)
        return
    except InputError as error:
        told = str(error)
    own_files.remove(paths.pointer)
    whole = [build_id for build_id in reversed(kept.kept_builds(paths)) if is_whole(paths, build_id)]
    shown = [build_id for build_id in whole if not builds.damage(paths, build_id)]
    for build_id in [*shown, *whole][:1]:
        showing.show(build_id, paths)
        told += f"; it names build {build_id} again"
    yield told


def _right_files(paths: WarehousePaths) -> Iterator[str]:
    """Let the published file and the kept build be what was published, each from the other or from an older build.

    Of Parquet files there is no second copy: a build with one that is not what was published is lost.
    """
    build_id = builds.pointed_build(paths)
    if build_id is None:
        return
    database = paths.build_database(build_id)
    damaged = builds.damage(paths, build_id)
    if damaged == [paths.published]:
        own_files.remove(paths.published)
        showing.copy(database, paths.published)
        yield f"{paths.published} was not build {build_id}, which is published: it is again"
    elif damaged == [database]:
        own_files.remove(database)
        showing.copy(paths.published, database)
        yield f"{database} was not what was published: it is again"
    elif damaged:
        yield from _fall_back(paths, build_id, damaged)


def _fall_back(paths: WarehousePaths, build_id: str, damaged: list[Path]) -> Iterator[str]:
    """Show the last build that is whole in the place of one that cannot be made whole again."""
    database = paths.build_database(build_id)
    if database in damaged and paths.published in damaged:
        told = f"build {build_id} is lost: neither {paths.published} nor {database} is what was published"
    else:
        lost = next(file for file in damaged if file not in (paths.published, database))
        told = f"build {build_id} is lost: {lost} is not what was published, and there is no second one"
    kept.remove(paths, build_id)
    whole = [other for other in reversed(kept.kept_builds(paths)) if is_whole(paths, other)]
    own_files.remove(paths.published)
    if whole:
        showing.show(whole[0], paths)
        yield f"{told}; build {whole[0]} is shown in its place"
    else:
        own_files.remove(paths.pointer)
        yield f"{told}, and no other is kept"


def is_whole(paths: WarehousePaths, build_id: str) -> bool:
    """Whether a kept build is what was published."""
    return set(builds.damage(paths, build_id)) <= {paths.published}
