"""Publishing: the scratch database becomes a build, and the build becomes what readers open.

A build works in the scratch folder. Only when everything has passed is its database renamed into `builds/` and the
published pointer and link replaced: a build that fails or is killed changes nothing that a reader sees. Killed between
two of these steps, whatever runs next finishes or undoes them.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from pipelines.building.kept import prune
from pipelines.building.state import Build, BuildError, clear_scratch
from pipelines.intake import writing
from pipelines.paths import WarehousePaths
from pipelines.reading.builds import BuildManifest, encode_manifest

PUBLISHED_SCHEMAS = {"core", "analytics", "quality"}


def publish(build: Build, paths: WarehousePaths, builds_kept: int) -> Path:
    """Make the scratch database a build that every reader sees. Raises BuildError when it is not fit to be seen.

    It is noted first that this has begun, so that `mend` can finish or undo it when this process is killed in between.
    """
    refuse_unfit(paths.scratch_database)
    paths.builds.mkdir(exist_ok=True)
    with paths.scratch_database.open("rb") as database:
        os.fsync(database.fileno())
    _write_json(paths.started_publication, {"build_id": build.build_id})
    writing.write_atomically(paths.build_manifest(build.build_id), encode_manifest(_manifest(build)))
    paths.scratch_database.rename(paths.build_database(build.build_id))
    show(build.build_id, paths)
    paths.started_publication.unlink()
    prune(paths, builds_kept)
    clear_scratch(paths)
    return paths.published


def show(build_id: str, paths: WarehousePaths) -> None:
    """Make a kept build the published one: the pointer first, then the link, each replaced in one step."""
    _write_json(paths.pointer, {"build_id": build_id})
    with writing.replacing(paths.published) as temporary:
        temporary.unlink(missing_ok=True)
        try:
            os.link(paths.build_database(build_id), temporary)
        except OSError:  # a file system without hard links
            shutil.copyfile(paths.build_database(build_id), temporary)


def is_shown(build_id: str, paths: WarehousePaths) -> bool:
    """Whether the published file is this build: the same file, or one of the same bytes where there are no links."""
    database = paths.build_database(build_id)
    try:
        return paths.published.samefile(database) or filecmp.cmp(paths.published, database, shallow=False)
    except FileNotFoundError:
        return False


def mend(paths: WarehousePaths) -> list[str]:
    """Finish or undo a publication that was broken off, and let the link be the build that the pointer names.

    Call it with the warehouse's lock held. What was mended, a line each; normally nothing is.
    """
    told = []
    with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):  # none, or none that says a build
        build_id = json.loads(paths.started_publication.read_text(encoding="utf-8"))["build_id"]
        if paths.build_database(build_id).exists():
            show(build_id, paths)
            told.append(f"build {build_id} had passed, but its publication was broken off: it is finished now")
        else:
            paths.build_manifest(build_id).unlink(missing_ok=True)
            told.append(f"build {build_id} had passed, but its publication was broken off: it is undone")
    paths.started_publication.unlink(missing_ok=True)
    published = paths.published_build()
    if published and paths.build_database(published).exists() and not is_shown(published, paths):
        show(published, paths)
        told.append(f"{paths.published} was not build {published}, which is published: it is again")
    for leftover in (*paths.root.glob(".*.tmp"), *paths.builds.glob(".*.tmp")):  # of atomic writes
        if leftover.is_file():  # not the folder of a report that is being written
            leftover.unlink()
    return told


def _manifest(build: Build) -> BuildManifest:
    """What is written beside a build."""
    return BuildManifest(
        build_id=build.build_id,
        started_at=build.started_at.isoformat(),
        source=build.source,
        form=build.form,
        corpora=build.corpora,
        verified=build.verify,
        fingerprint=build.fingerprint,
        notices=build.notices,
        raw=build.raw,
        files=tuple(replace(file, extras=[], quarantine=[]) for file in build.landed),
    )


def _write_json(path: Path, content: dict[str, Any]) -> None:
    writing.write_atomically(path, json.dumps(content, indent=1).encode())


def refuse_unfit(database: Path) -> None:
    """Raise BuildError when the database holds anything but tables of the published schemas."""
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute("select distinct schema_name from duckdb_tables() where not temporary").fetchall()
        views = con.execute("select view_name from duckdb_views() where not internal").fetchall()
    strange = {schema for (schema,) in tables} - PUBLISHED_SCHEMAS
    if strange or views or ("core",) not in tables:
        raise BuildError(f"the built database has schemas {sorted(strange)} and views {views} that are not published")
