"""Find the file of the published build that is damaged, where an error may come of that: DuckDB names none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import msgspec

from pipelines.commands import command
from pipelines.errors import CheckError, InputError, causes
from pipelines.intake.checksums import sha256_of
from pipelines.intake.landed import Landed
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.reading.builds import PublishedFile

OF_THE_QUERY = (
    *(duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.SyntaxException),
    *(duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.TypeMismatchException),
    *(duckdb.InterruptException, duckdb.OutOfMemoryException, duckdb.NotImplementedException),
)
"""Errors of a query that no file is the cause of."""


def behind(error: Exception, paths: WarehousePaths) -> InputError | None:
    """Name the damaged file that an error came of, in one line that says what to do; None where there is none.

    Reads the published build whole, so it looks only when the error is one that damage can cause.
    """
    if not _is_suspicious(error):
        return None
    with contextlib.suppress(InputError, OSError):
        build_id, _ = builds.published_build(paths)
        for file in _damaged(paths, build_id):
            mends, goes_back = (f"`{command(name, warehouse=paths.root)}`" for name in ("build", "rollback"))
            return InputError(
                f"{file}: is damaged, it is not what build {build_id} was published with; "
                f"{mends} mends it, {goes_back} goes back to the build before"
            )
    return None


def _is_suspicious(error: Exception) -> bool:
    """Tell if an error is one of DuckDB's about what it reads, or one that no code of ours expects."""
    of_duckdb = [cause for cause in causes(error) if isinstance(cause, duckdb.Error)]
    if of_duckdb:
        return not all(isinstance(cause, OF_THE_QUERY) for cause in of_duckdb)
    return isinstance(error, ValueError | RuntimeError | LookupError) and not isinstance(error, InputError | CheckError)


def _damaged(paths: WarehousePaths, build_id: str) -> Iterator[Path]:
    """Find what is not as it was published or landed: the database, the Parquet of its tables, the raw Parquet."""
    manifest = builds.read_manifest(paths, build_id)
    known = {paths.build_tables(build_id) / name: file for name, file in manifest.tables.items()}
    if manifest.database:
        known |= {paths.build_database(build_id): manifest.database}
    yield from (file for file, published in known.items() if _is_damaged(file, published))
    for file in sorted({file for files in builds.raw_files(paths, build_id).values() for file in files}):
        with contextlib.suppress(OSError, msgspec.MsgspecError):  # that of an absent entity has no manifest
            landed = msgspec.json.decode(file.with_suffix(".json").read_bytes(), type=Landed)
            if landed.parquet_sha256 != sha256_of(file.read_bytes()):
                yield file


def _is_damaged(file: Path, published: PublishedFile) -> bool:
    """Compare every byte with what was published, whatever the time of the file says.

    A damaged file that still has its time gets another one: by that, the next build sees that it has to read it.
    """
    try:
        found = builds.describe_file(file)
    except OSError:
        return True
    if found.sha256 == published.sha256:
        return False
    if found.modified_ns == published.modified_ns:
        with contextlib.suppress(OSError):  # of another user
            os.utime(file)
    return True
