"""Builds on disk: the published one, the manifest beside each, and connections that can read the rows.

The rows of a build are in its database, or in Parquet files that the database has views over. In the second case
`builds/<build_id>.duckdb` contains what Parquet cannot store: comments, macros, contracts with their NOT NULL (empty
tables of the schema `contracts`) and, for each table, a view over files that it names
`dialogue-warehouse://<build_id>/<schema>/<table>/…`. Only `serve` resolves such a name: a warehouse can be moved, a
query cannot open another path, and a client that does not know the name gets an error instead of no rows.
"""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path

import duckdb
import msgspec
from msgspec import Struct

from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import connect, literal
from dialogue_warehouse.common.files import BuildId, RawPath, TablePath, open_regular
from dialogue_warehouse.common.text import command
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths, tables_beside
from dialogue_warehouse.releases.source_tree import Ignored
from dialogue_warehouse.settings import DUCKDB, RELEASE_FORM, Settings
from dialogue_warehouse.storage.landed import Fallback, Landed

NAMES = "dialogue-warehouse://"
"""The prefix of file names that `dialogue_warehouse.storage.parquet_files` resolves."""
CONTRACTS = "contracts"
"""The schema of the empty tables."""
PUBLISHED_SCHEMAS = ("core", "analytics", "quality")
"""The schemas that are searched for a table name without a schema. No table name occurs in two of them."""


def files_below(folder: Path) -> list[Path]:
    """List the Parquet files of a build's tables, by name."""
    return sorted(folder.rglob("*.parquet"))


def name_of(file: Path, folder: Path) -> str:
    """Return the name by which a view reads a file of this folder."""
    return f"{NAMES}{folder.stem}/{file.relative_to(folder).as_posix()}"


def serve(con: duckdb.DuckDBPyConnection, *databases: Path, also: Mapping[str, Path] | None = None) -> bool:
    """Let a connection read the Parquet files of these builds, and others by name; return False if there are none.

    The files of the builds are opened here, and InputError is raised for one that cannot be opened. The others are
    opened when they are read.
    """
    folders = [tables_beside(database) for database in databases]
    try:
        files = {name_of(file, folder): file for folder in folders for file in files_below(folder)}
    except OSError as error:  # the build is being removed
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from error
    if files or also:
        from dialogue_warehouse.storage.parquet_files import (
            SCHEME,
            ParquetFiles,  # 60 ms, which no other build needs
        )

        if not con.filesystem_is_registered(SCHEME):  # another connection to the same database may have registered it
            con.register_filesystem(ParquetFiles(files, also or {}))
    return bool(files or also)


@contextlib.contextmanager
def open_build(database: Path, settings: Settings) -> Generator[duckdb.DuckDBPyConnection]:
    """Open a build read-only, as the default database of a connection. Not for queries of users: it has no sandbox."""
    with connect(settings) as con:
        serve(con, database)
        con.execute(f"attach {literal(database)} as dialogues (read_only)")
        con.execute("use dialogues")
        yield con


EMBEDDED_SAMPLE = "embedded sample"
"""The source in the manifest of a build from the embedded sample."""


UNEXPECTED = "unexpected"
"""The key for claims whose verdict or number is not the recorded one."""


class PublishedFile(Struct, frozen=True, kw_only=True):
    """Size, time and checksum that identify a published file."""

    bytes: int
    modified_ns: int
    """Time of the last write, in nanoseconds since 1970. A file with the same size and time is not read again."""
    sha256: str


class Pointer(Struct, frozen=True):
    """The content of the file that names the published build."""

    build_id: BuildId
    rolled_back: str = ""
    """The fingerprint of the newest build after a rollback from it. No schedule builds the same again."""


class Definitions(Struct, frozen=True):
    """Hashes of the models and tests of a build, as `pipelines.building.reusing` computes it."""

    digests: dict[str, str] = {}
    """The hash of each model's or test's code and of its inputs, by dbt's unique id."""
    contents: dict[str, str] = {}
    """The hash that a table had when it first had these rows, if it was rebuilt since."""

    def content(self, name: str) -> str | None:
        """Return the hash that identifies the rows of a table; None for an unknown table."""
        return self.contents.get(name, self.digests.get(name))


class BuildManifest(Struct, frozen=True, kw_only=True):
    """The manifest beside a build: what it was made from, and how. Unknown fields of another version are ignored."""

    build_id: BuildId
    number: int = 0
    """Number of this publication in the warehouse, from 1. It orders the builds independently of the clock."""
    started_at: str
    source: str
    """The folder of the releases, or EMBEDDED_SAMPLE."""
    form: str = RELEASE_FORM
    engine: str = DUCKDB
    """The engine that landed the files and ran the models."""
    corpora: tuple[str, ...] = ()
    verified: bool = False
    """True if every file that was read was rebuilt from core and compared before publishing."""
    uncompared: tuple[str, ...] = ()
    """The corpora of a verified build whose files no build has compared: the run was not about them."""
    fingerprint: str = ""
    """The hash of everything that determines the build."""
    changed: str = ""
    """A short summary of the differences from the build before."""
    base_build_id: BuildId | None = None
    """The build that it was compared with; None if there was none, or another version did not record it."""
    notices: tuple[str, ...] = ()
    """Warnings that did not stop the build."""
    ignored: dict[str, tuple[Ignored, ...]] = {}
    """Files at the source that were not read, by corpus. NO_CORPUS has the files that belong to no corpus."""
    raw: dict[str, list[RawPath]]
    """The Parquet files of each raw table, relative to the warehouse folder."""
    files: tuple[Landed, ...] = ()
    """The result of landing each file, without extra keys and refused records."""
    scales: dict[str, float] = {}
    """The scales of the corpora with a generated release."""
    carried: dict[str, Fallback] = {}
    """The corpora that fell back to their published files."""
    verdicts: dict[str, int] = {}
    """Number of claims by verdict; UNEXPECTED counts those whose verdict or number is not the recorded one."""
    is_pinned: bool = False
    """True if the build is kept however old it gets."""
    database: PublishedFile | None = None
    """The database as it was published; None if another version published it."""
    tables: dict[TablePath, PublishedFile] = {}
    """The Parquet files of the tables, relative to their folder; empty if the rows are in the database."""
    definitions: Definitions = Definitions()
    """The definitions of its models and tests; empty if the tables are not in the database."""
    built_bytes: int = 0
    """Size in bytes of the database that dbt wrote; 0 if another version published the build."""
    whole_bytes: int = 0
    """Size in bytes of its database when all tables were last written; 0 if another version published the build."""


def encode_manifest(manifest: BuildManifest) -> bytes:
    """Return a manifest as indented JSON, which `read_manifest` reads."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


def read_manifest(paths: WarehousePaths, build_id: str) -> BuildManifest:
    """Read the manifest of a build. Raises InputError, which names the file, if it is missing or damaged."""
    file = paths.build_manifest(build_id)
    manifest = files.read(file, BuildManifest, f"the manifest of build {build_id}")
    if manifest is None:
        raise InputError(f"{file}: the manifest of build {build_id} is missing; build again")
    return manifest


def source_of(paths: WarehousePaths, build_id: str) -> Path:
    """Return the source folder of a build. Raises InputError if its manifest cannot be read."""
    source = read_manifest(paths, build_id).source
    return paths.sample if source == EMBEDDED_SAMPLE else Path(source)


def raw_files(paths: WarehousePaths, build_id: str) -> dict[str, list[Path]]:
    """List the Parquet files of each raw table of a build. Raises InputError if its manifest cannot be read."""
    named = read_manifest(paths, build_id).raw
    return {table: [paths.root / file for file in files] for table, files in named.items()}


def read_pointer(paths: WarehousePaths) -> Pointer | None:
    """Read the pointer; None if nothing is published. Raises InputError if it is damaged."""
    return files.read(paths.pointer, Pointer, "the name of the published build")


def pointed_build(paths: WarehousePaths) -> str | None:
    """Return the id of the published build; None if nothing is published. Raises InputError for a damaged pointer."""
    try:
        pointer = read_pointer(paths)
    except InputError as error:
        if isinstance(error.__cause__, OSError):  # such as a file of another user
            raise
        raise InputError(f"{error}; `{command('build', warehouse=paths.root)}` repairs it") from error
    return pointer.build_id if pointer else None


def published_build(paths: WarehousePaths) -> tuple[str, Path]:
    """Return the id and the database of the published build.

    Raises InputError if there is none, if it is missing, and if its folder cannot be read.
    """
    build_id = pointed_build(paths)
    if build_id is None:
        raise InputError(f"no warehouse at {paths.root}: run `{command('build', warehouse=paths.root)}`")
    database = paths.build_database(build_id)
    try:
        is_there = database.is_file()
    except OSError as error:
        raise InputError(f"{database}: {error.strerror}") from error
    if not is_there:
        if pointed_build(paths) != build_id:  # another build was published meanwhile, and this one removed
            return published_build(paths)
        raise InputError(f"{paths.pointer} names build {build_id}, but {database} is missing: build again")
    return build_id, database


def opened_copy(paths: WarehousePaths, build_id: str) -> Path | None:
    """Return the folder of Parquet tables, or the file, that was opened in place of a warehouse's folder; else None.

    `dialogue_warehouse.reading.places` makes the links to it.
    """
    links = (paths.build_tables(build_id), paths.build_database(build_id))
    return next((link.readlink() for link in links if link.is_symlink()), None)


def describe_file(file: Path) -> PublishedFile:
    """Read a whole file and return its size, time and checksum."""
    state = file.stat()
    with open_regular(file) as stream:
        digest = hashlib.file_digest(stream, "sha256")
    return PublishedFile(bytes=state.st_size, modified_ns=state.st_mtime_ns, sha256=digest.hexdigest())


def is_as_published(file: Path, published: PublishedFile) -> bool:
    """Return whether a file is unchanged since publishing. It is read only if its time, but not its size, differs."""
    try:
        state = file.stat()
        if not file.is_file() or state.st_size != published.bytes:
            return False
        return state.st_mtime_ns == published.modified_ns or describe_file(file).sha256 == published.sha256
    except OSError:
        return False


def damage(paths: WarehousePaths, build_id: str) -> list[Path]:
    """List the damaged files among the published file, the kept build and its Parquet files.

    Without a manifest, the published file is compared with the kept build.
    """
    files = [paths.published, paths.build_database(build_id)]
    try:
        manifest = read_manifest(paths, build_id)
    except InputError:
        manifest = None
    if manifest and manifest.database:
        known = dict.fromkeys(files, manifest.database)
        known |= {paths.build_tables(build_id) / name: file for name, file in manifest.tables.items()}
        return [file for file, published in known.items() if not is_as_published(file, published)]
    missing = [file for file in files if not file.is_file()]
    return missing or ([] if filecmp.cmp(*files, shallow=False) else [paths.published])


def size_of(paths: WarehousePaths, build_id: str) -> int:
    """Return the size of a build in bytes: its database and the Parquet files of its tables."""
    return total_size((paths.build_database(build_id), *files_below(paths.build_tables(build_id))))


def total_size(files: Iterable[Path]) -> int:
    """Return the size of these files in bytes, without those that a running build has removed meanwhile."""
    size = 0
    for file in files:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            size += file.stat().st_size
    return size


def earlier_builds(paths: WarehousePaths, settings: Settings) -> set[str]:
    """Return the ids of earlier builds that the published build lists."""
    with contextlib.suppress(InputError, duckdb.Error):
        _, database = published_build(paths)
        with open_build(database, settings) as con:
            return {build_id for (build_id,) in con.execute("select build_id from quality.builds").fetchall()}
    return set()
