"""Going back: a build that is kept becomes the published one again. A pinned one is kept whatever follows."""

from __future__ import annotations

from msgspec import structs

from pipelines.building import kept, lock, mending, publishing
from pipelines.errors import InputError
from pipelines.intake import writing
from pipelines.paths import WarehousePaths
from pipelines.reading import builds


def roll_back(paths: WarehousePaths, build_id: str | None = None) -> tuple[str, str]:
    """Publish a kept build again, the one before the published where none is named; the ids before and after.

    Readers see one or the other; nothing is built and nothing removed. Raises InputError where there is no such build,
    or not all of it, and BuildError while a build is running.
    """
    before = builds.published_build(paths)[0]
    with lock.exclusive(paths):
        mending.mend(paths)
        before = builds.pointed_build(paths) or before
        target = _kept(paths, build_id) if build_id else _one_before(paths, before)
        if target != before:
            if not mending.is_whole(paths, target):
                database = paths.build_database(target)
                raise InputError(f"{database}: is not what was published, so that nobody can go back to it")
            publishing.show(target, paths)
    return before, target


def pin(paths: WarehousePaths, build_id: str | None = None, is_pinned: bool = True) -> str:
    """Keep a build, the published one where none is named, however old it gets; or do so no longer. Its id."""
    published = builds.published_build(paths)[0]
    with lock.exclusive(paths):
        target = _kept(paths, build_id or published)
        manifest = structs.replace(builds.read_manifest(paths, target), is_pinned=is_pinned)
        writing.write_atomically(paths.build_manifest(target), builds.encode_manifest(manifest))
    return target


def _kept(paths: WarehousePaths, build_id: str) -> str:
    """The build of this id, or the only one that begins with it."""
    found = [name for name in kept.kept_builds(paths) if name == build_id] or [
        name for name in kept.kept_builds(paths) if name.startswith(build_id)
    ]
    if len(found) != 1:
        there = ", ".join(reversed(kept.kept_builds(paths))) or "none"
        raise InputError(
            f"{build_id}: {'more than one build' if found else 'no build'} that is kept; there are {there}"
        )
    return found[0]


def _one_before(paths: WarehousePaths, build_id: str) -> str:
    """The build that was published before this one, of those that are kept."""
    names = kept.kept_builds(paths)
    place = names.index(build_id)
    if place == 0:
        raise InputError(f"{build_id}: no build before it is kept")
    return names[place - 1]
