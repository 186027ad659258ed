"""Places of a warehouse other than its folder: a DuckDB file, a folder of Parquet tables, a URL.

Each of them becomes a warehouse folder, so that everything that reads a warehouse works with it: a temporary one, with
a link to the file, to the Parquet tables, or to the file in the cache that was downloaded from the URL.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import QueryError, connect, identifier, literal, one_line
from dialogue_warehouse.common.files import open_regular, remove_own
from dialogue_warehouse.common.text import command
from dialogue_warehouse.errors import DownloadError, InputError
from dialogue_warehouse.paths import (
    BUILD_ID,
    WarehousePaths,
    absolute,
    refuse_root,
    refuse_undecodable,
    tables_beside,
    temporary_folder,
)
from dialogue_warehouse.paths import downloads as downloads_folder
from dialogue_warehouse.reading import connection, damage, descriptions
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, downloads, publication

_HAS_TABLES = f"""
    select 1
    from information_schema.tables
    where table_catalog = 'dialogues' and list_contains({list(builds.PUBLISHED_SCHEMAS)}, table_schema)
"""
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
DATABASE = slice(8, 12), b"DUCK"
"""The place and the bytes by which DuckDB knows its files."""
KINDS = (
    (downloads.PAGE, "a web page"),
    (re.compile(rb"PK\x03\x04"), "a ZIP archive"),
    (re.compile(rb"\x1f\x8b"), "a file that is compressed with gzip"),
    (re.compile(rb"\(\xb5/\xfd"), "a file that is compressed with zstd"),
    (re.compile(rb"PAR1"), "a Parquet file"),
    (re.compile(rb"SQLite format 3"), "an SQLite database"),
    (re.compile(rb"version https://git-lfs"), "a pointer of Git LFS"),
    (re.compile(rb"\s*[\[{]"), "JSON"),
)
"""The beginning of a file that people confuse with the file of a warehouse, and its name."""


def is_folder_of_a_warehouse(named: str) -> bool:
    """Return whether a place can only be the folder of a warehouse, which need not be there yet."""
    return not URL.match(named) and not Path(named).is_file() and not _has_tables(Path(named))


class Place:
    """A place from which a warehouse can be opened."""

    def __init__(
        self, named: str | Path, settings: Settings, notice: Callable[[str], None], is_raw: bool = False
    ) -> None:
        """Find what is there; `notice` gets a line about a download without a checksum.

        Raises InputError if no warehouse can be there, or none with landed files although `is_raw` asks for them, and
        DownloadError if a URL cannot be downloaded.
        """
        self._url = str(named) if URL.match(str(named)) else None
        self.named = downloads.without_secrets(self._url) if self._url else str(named)
        self._is_raw = is_raw
        if self._url:
            self._refuse_raw()
        self._settings, self._notice = settings, notice
        self._path = self._download(self._url) if self._url else _usable(Path(named))
        self._seen: object = None
        self.paths = WarehousePaths(self._folder())

    def look_again(self) -> bool:
        """Follow a change of the place, and return True if there was one that the folder's pointer does not show.

        A newer file at a URL is downloaded, and another local file is linked.

        Raises InputError and DownloadError as the first look does.
        """
        if self._url:
            self._path = self._download(self._url, is_new_wanted=True)
        if self.is_replaced():
            self.paths = WarehousePaths(self._link())
            return True
        return False

    def is_replaced(self) -> bool:
        """Return whether another file or folder is there than the linked one. Raises InputError if none is there."""
        if self._seen is None:
            return False
        if self._url and not self._path.exists():  # another process downloaded a newer file into the cache
            return True
        return self._seen != _identity(self._path)

    def _folder(self) -> Path:
        try:
            is_there = self._path.exists()
            has_tables = self._path.is_dir() and _has_tables(self._path)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be read: {error.strerror}") from error
        if is_there and not self._path.is_dir() and not self._path.is_file():
            raise InputError(f"{self._path}: is neither a folder nor a file")
        if self._path.is_dir() and not has_tables:
            return self._path
        if self._path.name == "dialogues.duckdb" and WarehousePaths(self._path.parent).pointer.is_file():
            return self._path.parent
        if not is_there:
            hint = f"; `{command('build', warehouse=self._path)}` builds one" if not self._path.suffix else ""
            raise InputError(f"{self._path}: there is no warehouse{hint}")
        return self._link()

    def _refuse_raw(self) -> None:
        if self._is_raw:
            raise InputError(f"raw: only the folder of a warehouse has landed files, not {self.named}")

    def _download(self, url: str, is_new_wanted: bool = False) -> Path:
        cache = downloads_folder(self._settings.cache)
        return downloads.downloaded(url, cache, self._settings, self._notice, is_new_wanted)

    def _link(self) -> Path:
        """Make a warehouse with one published build: links to the file and to the Parquet tables.

        It is a new folder each time: DuckDB takes a file with the path of an open one for the same database.
        """
        self._refuse_raw()
        self._seen = _identity(self._path)
        paths = WarehousePaths(Path(tempfile.mkdtemp(prefix="dialogue-warehouse-", dir=temporary_folder())))
        weakref.finalize(self, remove_own, paths.root, os.getpid())
        paths.builds.mkdir()
        tables, database = self._path, self._path
        if self._path.is_dir():
            database = self._path.with_suffix(".duckdb")
        else:
            tables = tables_beside(self._path)
        try:
            build_id = database.stem if BUILD_ID.fullmatch(database.stem) else _id_of(database, tables)
        except QueryError as error:
            if self._url:  # the next attempt downloads it again
                what = _kind_of(self._path, error)
                self._path.unlink(missing_ok=True)
                raise DownloadError(f"{self.named}: is not the file of a warehouse, but {what}") from error
            raise
        if tables.is_dir():
            paths.build_tables(build_id).symlink_to(tables)
        if database.is_file():
            paths.build_database(build_id).symlink_to(database)
        else:
            try:
                _describe(paths.build_database(build_id), paths.build_tables(build_id))
            except duckdb.Error as error:
                raise damage.damage_of_copy(error, tables) or error from error
        publication.write_pointer(paths.pointer, build_id)
        return paths.root


def _usable(path: Path) -> Path:
    """Make a path absolute. Raises InputError for one at which no warehouse can be opened."""
    refuse_root(path)
    refuse_undecodable(path)
    return absolute(path)


def _kind_of(path: Path, error: QueryError) -> str:
    """Name what a file is that cannot be opened as a warehouse."""
    with open_regular(path) as stream:
        begin = stream.read(512)
    if begin[DATABASE[0]] == DATABASE[1]:
        return f"another file of DuckDB: {str(error).removeprefix(f'{path}: ')}"
    return next((name for pattern, name in KINDS if pattern.match(begin)), "a file of another kind")


def _identity(path: Path) -> object:
    """Return what changes when a file or folder is replaced. Raises InputError if it is gone."""
    try:
        state = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return state.st_dev, state.st_ino, state.st_mtime_ns, state.st_size


def _has_tables(folder: Path) -> bool:
    """Return whether a folder has Parquet tables: `<schema>/<table>/…`. Raises InputError if it cannot be read."""
    try:
        return any(next((folder / schema).glob("*/**/*.parquet"), None) for schema in builds.PUBLISHED_SCHEMAS)
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}") from error


def _id_of(database: Path, tables: Path) -> str:
    """Return the id of the build in a file or in Parquet tables, or one made of the time of what was opened.

    The views of a database beside its Parquet tables name the files by this id. Raises QueryError for another file.
    """
    with connect(Settings()) as con:
        if tables.is_dir():
            files = {builds.name_of(file, tables): file for file in builds.files_below(tables / "quality" / "builds")}
            builds.serve(con, also=files)
            listed = f"read_parquet([{', '.join(map(literal, files))}])"
        else:
            _attach(con, database)
            listed = "dialogues.quality.builds"
        with contextlib.suppress(duckdb.Error):
            query = f"select build_id from {listed} order by build_id desc limit 1"
            for (build_id,) in con.execute(query).fetchall():
                if BUILD_ID.fullmatch(build_id):
                    return build_id
    opened = tables if tables.is_dir() else database
    return f"{datetime.fromtimestamp(opened.stat().st_mtime, UTC):%Y%m%dT%H%M%S%f}Z"


def _attach(con: duckdb.DuckDBPyConnection, database: Path) -> None:
    """Attach the file of a warehouse. Raises QueryError for another file."""
    try:
        con.execute(f"attach {literal(database)} as dialogues (type duckdb, read_only)")
        for lock in connection.LOCKS:  # a view in the file may read other files
            con.execute(lock)
    except duckdb.Error as error:
        raise QueryError(f"{database} cannot be opened: {one_line(error)}") from error
    if not con.execute(_HAS_TABLES).fetchall():
        raise QueryError(f"{database}: is not the file of a warehouse: it has none of its tables")


def _describe(catalog: Path, tables: Path) -> None:
    """Write a database that describes Parquet tables without one: a view for each table, with its descriptions.

    It has no macros: those are only in the database that a build writes beside its tables.
    """
    with connect(Settings()) as con:
        builds.serve(con, catalog)
        con.execute(f"attach {literal(catalog)} as catalog (storage_version 'v1.5.0')")
        con.execute("use catalog")
        for schema in builds.PUBLISHED_SCHEMAS:
            con.execute(f"create schema {schema}")
            for folder in sorted(path for path in (tables / schema).glob("*") if path.is_dir()):
                files = ", ".join(literal(builds.name_of(file, tables)) for file in builds.files_below(folder))
                if not files:
                    continue
                address = f"{schema}.{identifier(folder.name)}"
                read = f"read_parquet([{files}], hive_partitioning = true, hive_types_autocast = false)"
                con.execute(f"create view {address} as select * from {read}")
                if model := descriptions.models().get(f"{schema}.{folder.name}"):
                    con.execute(f"comment on view {address} is {literal(model['description'].strip())}")
                    _describe_columns(con, address, descriptions.columns_of(model))


def _describe_columns(con: duckdb.DuckDBPyConnection, address: str, texts: dict[str, str]) -> None:
    """Add the comments of a table's columns, if the table has the columns of this version."""
    if {name for name, *_ in con.execute(f"describe {address}").fetchall()} == texts.keys():
        for name, text in texts.items():
            con.execute(f"comment on column {address}.{identifier(name)} is {literal(text)}")
