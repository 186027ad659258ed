"""Landing: the publisher's bytes become checked, typed, nested Parquet. One file in, one Parquet out.

Each record is decoded strictly with the corpus's msgspec type. Then DuckDB reads the file with the column types derived
from that same type and writes Parquet. Nothing that the type does not know is dropped: an extra key's value goes to
`extras`, and a record that the type refuses goes to `quarantine`, whole. A file that is not JSON is always refused.

`land_file` is a pure function of the bytes, the path and the schema: it can run in any process. This module names no
corpus and writes nothing to the warehouse database.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import tempfile
from collections.abc import Generator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import msgspec

from dialogue_warehouse.common.database import GLOB_CHARACTERS, connect, literal
from dialogue_warehouse.common.files import read_regular, replacing, write_atomically
from dialogue_warehouse.common.text import is_unicode
from dialogue_warehouse.corpora import column_types
from dialogue_warehouse.corpora.release import Container, Corpus, Entity
from dialogue_warehouse.errors import first_line
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.releases.records import LandingError, read_settled, state_of
from dialogue_warehouse.releases.source_tree import printable
from dialogue_warehouse.releases.unpacking import sha256_of, unpack, verification_of
from dialogue_warehouse.settings import RELEASE_FORM, Settings
from dialogue_warehouse.storage.landed import Landed, refuse_unknown
from pipelines.ingestion.checking import RecordCheck

if TYPE_CHECKING:
    from dialogue_warehouse.corpora.forms import Form, Table

LANDING_CODE = (
    "dialogue_warehouse/common/database.py",
    "dialogue_warehouse/common/json_values.py",
    "dialogue_warehouse/common/text.py",
    "dialogue_warehouse/corpora/column_types.py",
    "dialogue_warehouse/corpora/release.py",
    "dialogue_warehouse/releases/csv_tables.py",
    "dialogue_warehouse/releases/file_kinds.py",
    "dialogue_warehouse/releases/records.py",
    "dialogue_warehouse/releases/unpacking.py",
    "dialogue_warehouse/releases/value_lines.py",
    "dialogue_warehouse/storage/landed.py",
    "pipelines/ingestion/checking.py",
    "pipelines/ingestion/landing.py",
)
"""The modules that decide what is landed."""
FORM_CODE = (
    "dialogue_warehouse/corpora/forms.py",
    "dialogue_warehouse/releases/form_files.py",
    "dialogue_warehouse/releases/form_values.py",
)
"""The additional modules that decide it for files of another form."""
LANDING_LIBRARIES = ("duckdb", "msgspec")
"""The libraries that decide what is landed: another version may read, refuse or write a record differently."""
FORM_LIBRARIES = ("pyarrow",)
"""The additional libraries that decide it for files of another form."""

LONGEST_NAME = 150
"""Bytes of a source file's path that are part of the name of its Parquet; hashes and endings take a hundred."""
ROW_GROUP = 20_480
"""Records that DuckDB gathers before it writes them. A conversation with all its annotations may take 30 kB in memory:
100,000 of them in one file took 2.9 GB in DuckDB's own groups of 122,880."""
UNREADABLE = (duckdb.Error, UnicodeDecodeError)
"""DuckDB's errors for a text that it cannot read; the message may contain a piece that is cut within a character."""


@dataclass(frozen=True)
class LandingTask:
    """One file to land, with the options for it."""

    corpus: Corpus
    entity: Entity
    source: Path
    """Folder of the corpus's release."""
    path: str
    """The file's path in the release, with `/`."""
    target: Path
    """Folder of the raw layer; the Parquet is `target/<corpus_id>/<entity>/<path>-<content>-<schema>.parquet`."""
    strict: bool = False
    """Refuse extra keys and quarantined records instead of setting them aside."""
    form: Form | None = None
    """Another form of the file; it is undone record by record."""
    force: bool = False
    """Land it even if it was landed before."""
    found_as: str | None = None
    """The file's path below `source`, if it differs from that in the release."""
    memory_limit: str = Settings.memory_limit
    """Memory that DuckDB may use in the process that lands it."""

    @property
    def source_file_id(self) -> str:
        """`<corpus_id>/<path>`."""
        return f"{self.corpus.corpus_id}/{self.path}"

    @property
    def file(self) -> Path:
        """The file to read."""
        return self.source / (self.found_as or self.path)


def land_file(task: LandingTask) -> Landed:
    """Land a file and return its manifest row; a file that was landed before is not landed again.

    Raises LandingError for a file that is not JSON, and under `strict` for anything the schema does not know.
    """
    try:
        return _land_file(task)
    except LandingError as error:
        if task.found_as is None:
            raise
        raise LandingError(f"{error} (the file is {task.file})") from error


def _land_file(task: LandingTask) -> Landed:
    corpus, entity, form = task.corpus, task.entity, task.form
    if not is_unicode(str(task.file)):
        raise LandingError(f"{printable(task.source_file_id)}: its name is not UTF-8: rename the file")
    data, file_state = read_settled(task.source_file_id, task.file)
    sha256 = sha256_of(data)
    verification = verification_of(corpus, task.source, task.path, task.found_as, data, sha256)
    stem = f"{_one_name(task.path)}-{sha256[:16]}-{schema_hash(corpus, form and form.name)}"
    table, part = form.place(task.path) if form else (None, entity.source_part(task.path))
    parquet = task.target / corpus.corpus_id / entity.name / f"{stem}.parquet"
    manifest = parquet.with_suffix(".json")
    landed = None if task.force else _landed_before(manifest, parquet, task, sha256, verification)
    if landed is None:
        landed = Landed(
            corpus_id=corpus.corpus_id,
            entity=entity.name,
            path=task.path,
            source_part=part,
            parts=None,
            bytes=len(data),
            sha256=sha256,
            verification=verification,
            record_count=0,
            parquet=parquet.relative_to(task.target).as_posix(),
            form=form.name if form else RELEASE_FORM,
            losses=list(form.losses(task.path)) if form else [],
            state=file_state,
            found_as=task.found_as,
        )
        parquet.parent.mkdir(parents=True, exist_ok=True)
        _connection().execute(f"set memory_limit = {literal(task.memory_limit)}")
        landed = _land(entity, landed, task.file, data, parquet, table)
        write_atomically(manifest, json.dumps(asdict(landed)).encode())
    if task.strict:
        refuse_unknown(landed)
    return replace(landed, state=file_state)


def _one_name(path: str) -> str:
    """Return a path as a part of a file's name, which has at most 255 bytes; a long path is cut and hashed."""
    name = os.fsencode(path.replace("/", "~"))
    if len(name) > LONGEST_NAME:
        return f"{name[: LONGEST_NAME // 2].decode(errors='ignore')}~{sha256_of(name)[:16]}"
    return os.fsdecode(name)


def identify(corpus: Corpus, source: Path, path: str, found_as: str | None = None) -> tuple[str, str]:
    """Return the SHA-256 of a file's bytes and its verification, as landing would record them. Raises LandingError."""
    data, _ = read_settled(f"{corpus.corpus_id}/{path}", source / (found_as or path))
    sha256 = sha256_of(data)
    return sha256, verification_of(corpus, source, path, found_as, data, sha256)


def _landed_before(manifest: Path, parquet: Path, task: LandingTask, sha256: str, verification: str) -> Landed | None:
    """Return the manifest row of an earlier landing of the same bytes and schema, if its Parquet is unchanged.

    The notes also depend on the name of the file and on its verification, so these must be the same, too.
    """
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        landed = msgspec.json.decode(read_regular(manifest), type=Landed)
        is_of_this = (landed.source_file_id, landed.sha256) == (task.source_file_id, sha256)
        is_noted_alike = (landed.found_as, landed.verification) == (task.found_as, verification)
        if is_of_this and is_noted_alike and parquet.stat().st_size == landed.parquet_bytes:
            return landed if sha256_of(read_regular(parquet)) == landed.parquet_sha256 else None
    return None


def write_empty(corpus: Corpus, entity: Entity, target: Path) -> str:
    """Write the zero-row typed Parquet of an absent entity. Return its path relative to `target`.

    It is written each time, which costs less than to check that an older one is unchanged.
    """
    parquet = target / corpus.corpus_id / entity.name / f"empty-{schema_hash(corpus)}.parquet"
    parquet.parent.mkdir(parents=True, exist_ok=True)
    with _scratch_folder(parquet.parent) as folder:
        nothing = folder / "nothing.ndjson"
        nothing.write_bytes(b"")
        _copy(entity, column_types.select_split(entity, nothing), None, parquet)
    return parquet.relative_to(target).as_posix()


@contextlib.contextmanager
def _scratch_folder(parent: Path) -> Generator[Path]:
    """Make a folder for temporary files; the next build removes the folder of a process that was killed."""
    with tempfile.TemporaryDirectory(prefix=".", suffix=f".{os.getpid()}.tmp", dir=parent) as folder:
        yield Path(folder)


@functools.cache
def schema_hash(corpus: Corpus, form: str | None = None) -> str:
    """Return a hash of all that a corpus' Parquet depends on besides the bytes: schema, form, this code, libraries."""
    digest = hashlib.sha256()
    sources, libraries = [corpus.folder / "schema.py", *(CLONE / path for path in LANDING_CODE)], LANDING_LIBRARIES
    if form:
        sources += [corpus.folder / f"{form}.py", *(CLONE / path for path in FORM_CODE)]
        libraries += FORM_LIBRARIES
    for source in sources:
        digest.update(source.read_bytes())
    for library in libraries:
        digest.update(f"{library} {importlib.metadata.version(library)}\n".encode())
    return digest.hexdigest()[:12]


def _land(entity: Entity, landed: Landed, file: Path, data: bytes, parquet: Path, table: Table | None) -> Landed:
    """Check every record, let DuckDB write the Parquet, and complete the manifest row."""
    text = unpack(f"{landed.corpus_id}/{landed.found_as or landed.path}", data)
    is_array = entity.container is Container.ARRAY and table is None
    is_direct = is_array and text.content is data and not GLOB_CHARACTERS & set(str(file))
    check = RecordCheck(entity, landed, table)
    with _scratch_folder(parquet.parent) as folder:
        split = folder / "records.ndjson"
        check.run(text.content, None if is_direct else split)
        if not (is_direct and not check.has_refused and _copy_as_it_stands(entity, landed, file, parquet)):
            if is_direct:
                check.run(text.content, split)
            _copy_records(check, text.content, split, parquet)
    written = parquet.read_bytes()
    return replace(
        landed,
        parts=check.parts,
        record_count=check.count,
        extras=check.extras,
        quarantine=check.quarantine,
        notes=[*text.notes, *check.notes],
        parquet_bytes=len(written),
        parquet_sha256=sha256_of(written),
    )


def _copy_as_it_stands(entity: Entity, landed: Landed, file: Path, parquet: Path) -> bool:
    """Let DuckDB read the source file itself, which is fastest.

    Return False if it cannot, or if the file has changed.
    """
    try:
        _copy(entity, column_types.select_array(entity, file), landed, parquet)
    except UNREADABLE:
        return False
    return state_of(file) == landed.state


def _copy_records(check: RecordCheck, text: bytes, split: Path, parquet: Path) -> None:
    """Let DuckDB read the records that passed, from the lines that the check wrote."""
    entity, landed = check.entity, check.landed
    try:
        _copy(entity, column_types.select_split(entity, split), landed, parquet)
    except UNREADABLE:
        # msgspec accepts a key that occurs twice in an object of a record, and DuckDB does not.
        check.refuses_repeats = True
        check.run(text, split)
        try:
            _copy(entity, column_types.select_split(entity, split), landed, parquet)
        except UNREADABLE as error:
            raise LandingError(f"{landed.source_file_id}: {first_line(error)}") from error


def _copy(entity: Entity, select: str, landed: Landed | None, parquet: Path) -> None:
    """Write the query's rows, each with its file and part, to `parquet`; a reader sees all of it or nothing."""
    source_file_id = literal(landed.source_file_id if landed else "")
    known_part = literal(landed.source_part) if landed and landed.source_part else "null"
    part = "record_key" if entity.container is Container.SPLITS else f"cast({known_part} as varchar)"
    query = f"select {source_file_id} as source_file_id, {part} as source_part, * from ({select})"
    with replacing(parquet) as temporary:
        _connection().execute(
            f"copy ({query}) to {literal(temporary)} (format parquet, compression zstd, row_group_size {ROW_GROUP})"
        )


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    """Return DuckDB for this process: in memory, with one thread, because files are landed in parallel processes.

    Without `async_threads`, DuckDB's threads for files, a COPY that failed does nothing more after it has raised.
    """
    return connect(Settings(threads=1), async_threads=0, autoinstall_known_extensions=False)
