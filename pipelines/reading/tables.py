"""Where the rows of a build are: in its database, or in Parquet files beside it that the database has views over.

`builds/<build_id>.duckdb` then holds what Parquet has no place for: comments, macros, contracts with their NOT NULL
(empty tables of the schema `contracts`) and, for each table, a view over files that it names
`dialogue-warehouse://<build_id>/<schema>/<table>/…`. Such a name leads nowhere but through `serve`: a warehouse may be
moved, a query cannot open another path, and a client that does not know the name gets an error instead of no rows. What
reads a build opens it here, and reads both forms alike.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from pathlib import Path

import duckdb

from pipelines.errors import InputError
from pipelines.intake.databases import connect
from pipelines.intake.sql_text import literal
from pipelines.paths import tables_beside
from pipelines.settings import Settings

NAMES = "dialogue-warehouse://"
"""What the names of the files begin with, as `pipelines.reading.parquet_files` answers to them."""
CONTRACTS = "contracts"
"""The schema of the empty tables."""
PUBLISHED_SCHEMAS = ("core", "analytics", "quality")


def files_below(folder: Path) -> list[Path]:
    """The Parquet files of a build's tables, by name."""
    return sorted(folder.rglob("*.parquet"))


def name_of(file: Path, folder: Path) -> str:
    """What a view calls a file of this folder."""
    return f"{NAMES}{folder.stem}/{file.relative_to(folder).as_posix()}"


def serve(con: duckdb.DuckDBPyConnection, *databases: Path, also: Mapping[str, Path] | None = None) -> bool:
    """Let a connection read the Parquet files of these builds, and others by their names; whether there are any.

    Those of the builds are opened here, and InputError is raised for one that cannot be; the others when they are read.
    """
    folders = [tables_beside(database) for database in databases]
    try:
        files = {name_of(file, folder): file for folder in folders for file in files_below(folder)}
    except OSError as error:  # of a build that is being removed
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from error
    if files or also:
        from pipelines.reading.parquet_files import SCHEME, ParquetFiles  # 60 ms, of which nobody else has need

        if not con.filesystem_is_registered(SCHEME):  # another connection to the same database has
            con.register_filesystem(ParquetFiles(files, also or {}))
    return bool(files or also)


@contextlib.contextmanager
def open_build(database: Path, settings: Settings) -> Generator[duckdb.DuckDBPyConnection]:
    """A connection that has a build, read-only, as its default database; for our own queries, not for a user's."""
    with connect(settings) as con:
        serve(con, database)
        con.execute(f"attach {literal(database)} as dialogues (read_only)")
        con.execute("use dialogues")
        yield con
