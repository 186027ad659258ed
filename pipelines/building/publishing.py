"""Publishing: the scratch database becomes a build, and the build becomes what readers open.

A build works in the scratch folder. Only when everything has passed is its database renamed into `builds/` and the
published link and pointer replaced: a build that fails or is killed changes nothing that a reader sees.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb

from pipelines.building.kept import prune
from pipelines.building.state import Build, BuildError, clear_scratch
from pipelines.intake import writing
from pipelines.paths import WarehousePaths

PUBLISHED_SCHEMAS = {"core", "analytics", "quality"}


def publish(build: Build, paths: WarehousePaths, builds_kept: int) -> Path:
    """Make the scratch database a build that every reader sees. Raises BuildError when it is not fit to be seen."""
    refuse_unfit(paths.scratch_database)
    paths.builds.mkdir(exist_ok=True)
    with paths.scratch_database.open("rb") as database:
        os.fsync(database.fileno())
    manifest: dict[str, Any] = {
        "build_id": build.build_id,
        "source": build.source,
        "form": build.form,
        "verified": build.verify,
        "corpora": build.corpora,
        "raw": build.raw,
    }
    manifest |= {"started_at": build.started_at.isoformat(), "fingerprint": build.fingerprint}
    manifest |= {"files": [asdict(file) | {"extras": [], "quarantine": []} for file in build.landed]}
    writing.write_atomically(paths.build_manifest(build.build_id), json.dumps(manifest, indent=1).encode())
    paths.scratch_database.rename(paths.build_database(build.build_id))
    show(build.build_id, paths)
    prune(paths, builds_kept)
    clear_scratch(paths)
    return paths.published


def show(build_id: str, paths: WarehousePaths) -> None:
    """Make a kept build the published one: the pointer first, then the link, each replaced in one step."""
    writing.write_atomically(paths.pointer, json.dumps({"build_id": build_id}).encode())
    temporary = paths.published.with_name(f"{paths.published.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.link(paths.build_database(build_id), temporary)
    except OSError:  # a file system without hard links
        shutil.copyfile(paths.build_database(build_id), temporary)
    temporary.replace(paths.published)


def refuse_unfit(database: Path) -> None:
    """Raise BuildError when the database holds anything but tables of the published schemas."""
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute("select distinct schema_name from duckdb_tables() where not temporary").fetchall()
        views = con.execute("select view_name from duckdb_views() where not internal").fetchall()
    strange = {schema for (schema,) in tables} - PUBLISHED_SCHEMAS
    if strange or views or ("core",) not in tables:
        raise BuildError(f"the built database has schemas {sorted(strange)} and views {views} that are not published")
