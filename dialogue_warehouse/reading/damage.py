"""Find a problem of the published build that explains an error, because DuckDB does not name it.

The problem is a damaged file, or a table, column or macro that a build of another version lacks, or that Parquet tables
lack without their database.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import msgspec

from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.common.files import read_regular
from dialogue_warehouse.common.text import command
from dialogue_warehouse.errors import CheckError, InputError, causes, first_line
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection, descriptions
from dialogue_warehouse.releases.unpacking import sha256_of
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.builds import PublishedFile
from dialogue_warehouse.storage.landed import Landed

OF_THE_QUERY = (
    *(duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.SyntaxException),
    *(duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.TypeMismatchException),
    *(duckdb.InterruptException, duckdb.OutOfMemoryException, duckdb.NotImplementedException),
)
"""Errors of a query that no damaged file can cause."""


OF_DAMAGE = re.compile(rf"Could not read enough bytes|{re.escape(builds.NAMES)}[^/]+/(?P<file>[^\"']+)")
"""DuckDB's message about a damaged file; its errors have a class and no other field. It may name a file of Parquet."""
OF_OTHER_TABLES = (duckdb.BinderException, duckdb.CatalogException)
"""Errors about a missing table, column or macro."""
MACROS = ("source_of", "json_pointer", "same_text", "transcript")
"""The macros of core, which only the database of a build has."""
OF_MACRO = re.compile(rf"Function with name ({'|'.join(MACROS)}) does not exist")
"""DuckDB's message about one that is missing."""


def cause_of(error: Exception, paths: WarehousePaths) -> InputError | None:
    """Name the problem of the published build in one line that says how to fix it; None if no problem is found.

    Damage is only searched for if damage can cause the error, because the search reads the whole build.
    """
    if (explained := _of_another_version(error, paths)) is not None:
        return explained
    if not _is_suspicious(error):
        return None
    with contextlib.suppress(InputError, OSError):
        build_id, _ = builds.published_build(paths)
        if (copy := builds.opened_copy(paths, build_id)) is not None:
            return damage_of_copy(error, copy)
        for file in _damaged(paths, build_id):
            if file.exists() and not os.access(file, os.R_OK, effective_ids=True):
                return InputError(f"{file}: {os.strerror(errno.EACCES)}")
            build, rollback = (f"`{command(name, warehouse=paths.root)}`" for name in ("build", "rollback"))
            return InputError(
                f"{file}: is damaged, it has changed since build {build_id} was published; "
                f"{build} repairs it, {rollback} publishes the build before"
            )
    return None


def damage_of_copy(error: Exception, copy: Path) -> InputError | None:
    """Name the file of an opened copy that DuckDB cannot read; None if the error is about something else.

    The message of DuckDB decides, because the checksum of the published file is not known.
    """
    for cause in causes(error):
        found = OF_DAMAGE.search(str(cause))
        # an error of the base class is about bytes that DuckDB cannot decode, such as those of a wrong checksum
        if isinstance(cause, duckdb.Error) and (found or type(cause) is duckdb.Error):
            file, said = copy, first_line(cause)
            if found and found["file"]:
                file = copy / found["file"]
                said = said.replace(found[0], str(file))
            return InputError(f"{file}: is damaged ({said}); replace it with a copy that is whole")
    return None


def _of_another_version(error: Exception, paths: WarehousePaths) -> QueryError | None:
    """Explain an error about a table, column or macro of this version that the published build lacks."""
    about = next((cause for cause in causes(error) if isinstance(cause, OF_OTHER_TABLES)), None)
    if about is None:
        return None
    named = set(re.findall(r"\w+", first_line(about)))  # the next lines name columns that exist
    with contextlib.suppress(InputError, OSError, duckdb.Error):
        build_id, _ = builds.published_build(paths)
        with connection.open_published(paths) as con:
            query = "select schema_name || '.' || table_name, column_name from duckdb_columns()"
            there = set(con.execute(query).fetchall())
            macros = con.execute("select function_name from duckdb_functions() where schema_name = 'core'").fetchall()
        if (macro := OF_MACRO.search(str(about))) and (macro[1],) not in macros:
            return QueryError(_without_macro(paths, build_id, macro[1]))
        tables = {table for table, _ in there}
        for table, model in descriptions.models().items():
            for column in (entry["name"] for entry in model["columns"]):
                if (table, column) not in there and (column if table in tables else table.partition(".")[2]) in named:
                    return QueryError(
                        f"build {build_id} was made by another version of dialogue-warehouse and lacks "
                        f"{table}.{column} ({first_line(about)}); {_advice(paths, build_id)}"
                    )
    return None


def _without_macro(paths: WarehousePaths, build_id: str, macro: str) -> str:
    """Return why a build lacks a macro, and what to do."""
    copy = builds.opened_copy(paths, build_id)
    if copy is not None and copy.is_dir() and not (database := copy.with_suffix(".duckdb")).is_file():
        return f"{copy}: the macro core.{macro} is only in the database of the build; copy that to {database}"
    return (
        f"build {build_id} was made by another version of dialogue-warehouse and lacks the macro core.{macro}; "
        f"{_advice(paths, build_id)}"
    )


def _advice(paths: WarehousePaths, build_id: str) -> str:
    """Return what to do about a build that lacks a table or column."""
    if (copy := builds.opened_copy(paths, build_id)) is not None:
        return f"{copy} is a copy: replace it with one of a build by this version"
    built, given, options = builds.read_manifest(paths, build_id), Settings.from_environment(), []
    if built.source not in (builds.EMBEDDED_SAMPLE, str(given.source)):
        options = ["--source", built.source]
    if built.form != given.form:
        options += ["--form", built.form]
    return f"`{command('build', *options, warehouse=paths.root)}` builds it again"


def _is_suspicious(error: Exception) -> bool:
    """Return whether damaged data may be the cause: DuckDB raised the error about data, or no code expects it."""
    of_duckdb = [cause for cause in causes(error) if isinstance(cause, duckdb.Error)]
    if of_duckdb:
        return not all(isinstance(cause, OF_THE_QUERY) for cause in of_duckdb)
    return isinstance(error, ValueError | RuntimeError | LookupError) and not isinstance(error, InputError | CheckError)


def _damaged(paths: WarehousePaths, build_id: str) -> Iterator[Path]:
    """Yield files that changed since they were published or landed: database, Parquet of the tables, raw Parquet."""
    manifest = builds.read_manifest(paths, build_id)
    known = {paths.build_tables(build_id) / name: file for name, file in manifest.tables.items()}
    if manifest.database:
        known |= {paths.build_database(build_id): manifest.database}
    yield from (file for file, published in known.items() if _is_damaged(file, published))
    for file in sorted({file for files in builds.raw_files(paths, build_id).values() for file in files}):
        with contextlib.suppress(OSError, msgspec.MsgspecError):  # the file of an absent entity has no manifest
            landed = msgspec.json.decode(read_regular(file.with_suffix(".json")), type=Landed)
            if landed.parquet_sha256 != sha256_of(read_regular(file)):
                yield file


def _is_damaged(file: Path, published: PublishedFile) -> bool:
    """Compare every byte with the published file, regardless of its modification time.

    If a damaged file still has its old time, it gets a new one, so that the next build reads it.
    """
    try:
        found = builds.describe_file(file)
    except OSError:
        return True
    if found.sha256 == published.sha256:
        return False
    if found.modified_ns == published.modified_ns:
        with contextlib.suppress(OSError):  # the file belongs to another user
            os.utime(file)
    return True
