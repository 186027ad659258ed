"""Which build is published, and what the manifest beside a build says of it."""

from __future__ import annotations

import json
from pathlib import Path

from pipelines.errors import InputError
from pipelines.paths import WarehousePaths

EMBEDDED_SAMPLE = "embedded sample"
"""What a manifest calls the source of a build that was made from the embedded sample."""


def source_of(build_id: str, paths: WarehousePaths) -> Path:
    """The folder of the releases that a build was made from. Raises InputError when its manifest is gone."""
    try:
        manifest = json.loads(paths.build_manifest(build_id).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{paths.build_manifest(build_id)}: not there, name the source with --source") from error
    return paths.sample if manifest["source"] == EMBEDDED_SAMPLE else Path(manifest["source"])
