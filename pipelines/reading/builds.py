"""Which build is published, and what the manifest beside a build says of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from pipelines.commands import command
from pipelines.errors import InputError
from pipelines.intake.landed import Landed
from pipelines.paths import WarehousePaths
from pipelines.settings import RELEASE_FORM

EMBEDDED_SAMPLE = "embedded sample"
"""What a manifest calls the source of a build that was made from the embedded sample."""


class BuildManifest(Struct, frozen=True, kw_only=True):
    """What stands beside a build: what it was made from, and how. What another version wrote more is passed over."""

    build_id: str
    started_at: str
    source: str
    """The folder of the releases, or EMBEDDED_SAMPLE."""
    form: str = RELEASE_FORM
    corpora: tuple[str, ...] = ()
    verified: bool = False
    """Whether every file was rebuilt from core and compared before the build was published."""
    fingerprint: str = ""
    """The hash of all that decides what the build comes to."""
    notices: tuple[str, ...] = ()
    """What was odd and did not stop the build."""
    raw: dict[str, list[str]]
    """The Parquet files of each raw table, relative to the warehouse folder."""
    files: tuple[Landed, ...] = ()
    """What landing each file came to; extra keys and refused records are left out."""


def encode_manifest(manifest: BuildManifest) -> bytes:
    """The text of a manifest, as `read_manifest` reads it."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


def read_manifest(paths: WarehousePaths, build_id: str) -> BuildManifest:
    """The manifest of a build. Raises InputError, in one line with the file, when it is not there or cannot be read."""
    file = paths.build_manifest(build_id)
    try:
        return msgspec.json.decode(file.read_bytes(), type=BuildManifest)
    except OSError as error:
        raise InputError(f"{file}: the manifest of build {build_id} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{file}: is no manifest of a build: {error}") from error


def source_of(paths: WarehousePaths, build_id: str) -> Path:
    """The folder of the releases that a build was made from. Raises InputError when its manifest cannot be read."""
    source = read_manifest(paths, build_id).source
    return paths.sample if source == EMBEDDED_SAMPLE else Path(source)


def raw_files(paths: WarehousePaths, build_id: str) -> dict[str, list[Path]]:
    """The Parquet files of each raw table of a build. Raises InputError when its manifest cannot be read."""
    named = read_manifest(paths, build_id).raw
    return {table: [paths.root / file for file in files] for table, files in named.items()}


def published_build(paths: WarehousePaths) -> tuple[str, Path]:
    """The id and the database of the published build. Raises InputError when there is none, or it is not there."""
    try:
        build_id = paths.published_build()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{paths.pointer} does not name the published build: {error}") from error
    if build_id is None:
        raise InputError(f"no warehouse at {paths.root}: run `{command('build', warehouse=paths.root)}`")
    database = paths.build_database(build_id)
    if not database.is_file():
        if paths.published_build() != build_id:  # another was published meanwhile, and this one pruned
            return published_build(paths)
        raise InputError(f"{paths.pointer} names build {build_id}, but {database} is missing: build again")
    return build_id, database
