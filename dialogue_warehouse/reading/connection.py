"""A connection that can only read published data.

The sandbox of a query is DuckDB's, not a filter of words. In DuckDB 2.0 a SELECT can contain a COPY TO (as a CTE), and
`enable_external_access=false` still allows the files of an attached database, so such a SELECT overwrites them.
Therefore `disabled_filesystems` is set once the database is open; after that no path can be opened at all. Parquet
files, of the raw tables and of a build, are read through `dialogue_warehouse.storage.parquet_files`, a file system that
opens no other file and writes nothing. https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import NO_PATH, QueryError, connect, identifier, literal, one_line
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import descriptions
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

Connection = duckdb.DuckDBPyConnection
"""A connection of DuckDB."""
LOCKS = (
    "set temp_directory = ''",
    "set allow_persistent_secrets = false",
    "set allow_community_extensions = false",
    "set autoload_known_extensions = false",
    "set autoinstall_known_extensions = false",
    "set global python_enable_replacements = false",
    "set enable_external_access = false",
    # Last but one: without the file system, `enable_external_access` itself can no longer be set.
    "set disabled_filesystems = 'LocalFileSystem'",
    "set lock_configuration = true",
)
"""The statements that restrict the connection, in the order that DuckDB 2.0.0 accepts."""


def open_published(
    paths: WarehousePaths, raw: bool = False, settings: Settings | None = None, scores: Path | None = None
) -> Connection:
    """Open the published build read-only and sandboxed. Queries may omit the schema: `fct_turns`.

    With `raw`, `raw.<table>` resolves too; with `scores`, a file of results of metrics, so does `scores.<table>`. If a
    build is pruned while it is opened, another one has replaced it: then that one is opened.

    The connection reads the published build, the file of results and, with `raw`, exactly the Parquet files that its
    manifest names. It opens no other file, writes none, loads no extension and changes no setting.

    Raises InputError if nothing is published or the published build cannot be read.
    """
    settings = settings or Settings()
    while True:
        build_id, database = builds.published_build(paths)
        try:
            return _open(build_id, database, paths, raw, settings, scores)
        except InputError:
            if builds.pointed_build(paths) == build_id:
                raise


def open_with_landed(paths: WarehousePaths, settings: Settings) -> Connection:
    """Open the published build with its raw tables, or without them if they cannot be read."""
    try:
        return open_published(paths, raw=True, settings=settings)
    except InputError:
        return open_published(paths, raw=False, settings=settings)


def _open(
    build_id: str, database: Path, paths: WarehousePaths, raw: bool, settings: Settings, scores: Path | None
) -> Connection:
    con = connect(settings)
    try:
        raw_names = _raw_names(paths, build_id) if raw else {}
        try:
            con.execute("set global TimeZone = 'UTC'")
            if builds.serve(con, database, also={name: file for named in raw_names.values() for name, file in named}):
                con.execute(f"set allowed_directories = [{literal(builds.NAMES)}]")
            con.execute(f"attach {literal(str(database))} as dialogues (read_only)")
            _use_dialogues(con)
        except duckdb.Error as error:
            raise QueryError(f"{database} cannot be opened: {one_line(error)}") from error
        if raw:
            _add_raw(con, build_id, raw_names)
        if scores is not None:
            _add_scores(con, scores)
        con.execute("detach memory")
        for lock in LOCKS:
            con.execute(lock)
    except BaseException:
        con.close()
        raise
    return con


def _add_scores(con: Connection, file: Path) -> None:
    if not file.is_file():
        raise QueryError(f"{file}: there is no such file of results; `score --to {file}` writes one")
    try:
        con.execute(f"attach {literal(file)} as scores (type duckdb, read_only)")
    except duckdb.Error as error:
        raise QueryError(f"{file}: is not a file of results, or is in use: {one_line(error)}") from error
    if not con.execute(
        "select 1 from duckdb_tables() where database_name = 'scores' and table_name = 'runs'"
    ).fetchall():
        raise QueryError(f"{file}: is not a file of results: it has no table runs")


def _use_dialogues(con: Connection) -> None:
    """Make the build the default database, and let queries omit the schema."""
    con.execute("use dialogues")
    found = con.execute("select schema_name from duckdb_schemas() where database_name = 'dialogues'").fetchall()
    places = [f"dialogues.{name}" for name in builds.PUBLISHED_SCHEMAS if (name,) in found]
    if places:
        con.execute(f"set search_path = {literal(','.join(places))}")


def another(con: Connection) -> Connection:
    """Return another connection to the same open build, with the same restrictions, for a thread or a result.

    It ends when `con` is closed.
    """
    cursor = con.cursor()
    _use_dialogues(cursor)
    return cursor


def build_of(con: Connection) -> str:
    """Return the id of the build that a connection reads."""
    ((path,),) = con.execute("select path from duckdb_databases() where database_name = 'dialogues'").fetchall()
    return Path(path).stem


@contextlib.contextmanager
def closed_when_idle(con: Connection) -> Generator[None]:
    """Close the connection at the end. If its query ignores the interrupt, the connection ends with the process."""
    try:
        yield
    finally:
        with contextlib.suppress(duckdb.Error):
            con.close()


def _raw_names(paths: WarehousePaths, build_id: str) -> dict[str, list[tuple[str, Path]]]:
    """Return the name and the path of each file, by raw table."""
    prefix = f"{builds.NAMES}{build_id}/"
    return {
        table: [(prefix + file.relative_to(paths.root).as_posix(), file) for file in files]
        for table, files in sorted(builds.raw_files(paths, build_id).items())
    }


def _add_raw(con: Connection, build_id: str, raw_names: dict[str, list[tuple[str, Path]]]) -> None:
    con.execute("attach ':memory:' as raw")
    for table, named in raw_names.items():
        try:
            files = ", ".join(literal(name) for name, _ in named)
            read = f"read_parquet([{files}], {NO_PATH})"
            con.execute(f"create view raw.main.{identifier(table)} as select * from {read}")
            columns = [name for name, *_ in con.execute(f"describe raw.main.{identifier(table)}").fetchall()]
            for comment in descriptions.comments_on(table, columns):
                con.execute(comment)
        except duckdb.Error as error:
            raise QueryError(f"raw table {table} of build {build_id}: {one_line(error)}") from error
