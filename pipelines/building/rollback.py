"""Going back: a build that is kept becomes the published one again. A pinned one is kept whatever follows."""

from __future__ import annotations

from msgspec import structs

from pipelines.building import kept, lock, mending, showing
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
        target = kept.find(paths, build_id) if build_id else kept.one_before(paths, before)
        if target != before:
            damaged = [file for file in builds.damage(paths, target) if file != paths.published]
            if damaged:
                raise InputError(f"{damaged[0]}: is not what was published, so that nobody can go back to it")
            newest = kept.kept_builds(paths)[-1]
            showing.show(target, paths, _fingerprint(paths, newest) if target != newest else "")
    return before, target


def _fingerprint(paths: WarehousePaths, build_id: str) -> str:
    """What a build was made of; nothing where its manifest cannot be read."""
    try:
        return builds.read_manifest(paths, build_id).fingerprint
    except InputError:
        return ""


def pin(paths: WarehousePaths, build_id: str | None = None, is_pinned: bool = True) -> str:
    """Keep a build, the published one where none is named, however old it gets; or do so no longer. Its id."""
    published = builds.published_build(paths)[0]
    with lock.exclusive(paths):
        target = kept.find(paths, build_id or published)
        manifest = structs.replace(builds.read_manifest(paths, target), is_pinned=is_pinned)
        writing.write_atomically(paths.build_manifest(target), builds.encode_manifest(manifest))
    return target
