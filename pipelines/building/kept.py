"""The builds that stay on disk, and removing those that do not."""

from __future__ import annotations

import contextlib
from pathlib import Path

from pipelines.errors import InputError
from pipelines.paths import WarehousePaths
from pipelines.reading import builds


def kept_builds(paths: WarehousePaths) -> list[str]:
    """The ids of the builds on disk, oldest first."""
    return sorted(path.stem for path in paths.builds.glob("*.duckdb"))


def prune(paths: WarehousePaths, builds_kept: int) -> None:
    """Delete the oldest builds beyond `builds_kept`, never the published one, and raw files that no build names."""
    published = paths.published_build()
    for build_id in kept_builds(paths)[:-builds_kept]:
        if build_id != published:
            paths.build_database(build_id).unlink()
            paths.build_manifest(build_id).unlink(missing_ok=True)
            paths.build_restorations(build_id).unlink(missing_ok=True)
    named: set[Path] = set()
    for build_id in kept_builds(paths):
        with contextlib.suppress(InputError):  # what no manifest names, no reader can find
            named |= {file for files in builds.raw_files(paths, build_id).values() for file in files}
    for parquet in paths.raw.rglob("*.parquet"):
        if parquet not in named:
            parquet.unlink()
            parquet.with_suffix(".json").unlink(missing_ok=True)
