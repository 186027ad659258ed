"""Landing: the publisher's bytes become checked, typed, nested Parquet. One file in, one Parquet out.

Each record is decoded strictly with the room's msgspec type, then DuckDB reads the file with the column types derived
from that same type and writes Parquet. What the type does not know is kept, never dropped: an extra key's value goes
to `extras`, a record that the type refuses goes to `quarantine`, whole. A file that is no JSON is always refused.

`land_file` is a pure function of the bytes, the path and the schema: it can run in any process. Nothing here knows a
corpus by name, and nothing here writes to the warehouse database.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec
from msgspec import inspect

from pipelines import corpus as corpus_module
from pipelines import rawtypes, records
from pipelines.corpus import Container, Corpus, Entity
from pipelines.errors import first_line
from pipelines.records import LandingError, Record, RepeatedKeyError, pairs_without_repeats, pointer_token

if TYPE_CHECKING:
    from pipelines.forms import Form, Table

NO_PROGRESS_BAR = "set enable_progress_bar = false"
"""DuckDB draws one on standard output, terminal or not, for whatever takes two seconds: into the midst of a result."""
GLOB_CHARACTERS = frozenset("*?[]{}")


@dataclass(frozen=True)
class Landed:
    """What landing one file came to: the manifest row of its Parquet."""

    corpus_id: str
    entity: str
    path: str
    source_part: str | None
    parts: list[str] | None
    bytes: int
    sha256: str
    verification: str
    record_count: int
    parquet: str
    extras: list[dict[str, Any]] = field(default_factory=list)
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    form: str = "release"
    losses: list[str] = field(default_factory=list)

    @property
    def source_file_id(self) -> str:
        """`<corpus_id>/<path>`."""
        return f"{self.corpus_id}/{self.path}"


def land_file(
    corpus: Corpus,
    entity: Entity,
    source: Path,
    path: str,
    target: Path,
    strict: bool = False,
    form: Form | None = None,
    force: bool = False,
) -> Landed:
    """Land `source/path` below `target` and return its manifest row; a file landed before is not landed again.

    Parameters
    ----------
    source: folder of the corpus's release; `path` is relative to it, with `/`.
    target: folder of the raw layer; the Parquet is `target/<corpus_id>/<entity>/<path>-<content>-<schema>.parquet`.
    strict: refuse extra keys and quarantined records instead of setting them aside.
    form: another form that the file has; it is undone record by record.
    force: land it although it was landed before.

    Raises LandingError for a file that is no JSON, and under `strict` for anything the schema does not know.
    """
    data = _read(corpus, source, path)
    sha256 = sha256_of(data)
    verification = _verification(corpus, source, path, data, sha256)
    stem = f"{path.replace('/', '~')}-{sha256[:16]}-{schema_hash(corpus, form and form.name)}"
    table, part = form.place(path) if form else (None, entity.source_part(path))
    parquet = target / corpus.corpus_id / entity.name / f"{stem}.parquet"
    manifest = parquet.with_suffix(".json")
    landed = None if force else _landed_before(manifest, parquet)
    if landed is None:
        landed = Landed(
            corpus_id=corpus.corpus_id,
            entity=entity.name,
            path=path,
            source_part=part,
            parts=None,
            bytes=len(data),
            sha256=sha256,
            verification=verification,
            record_count=0,
            parquet=parquet.relative_to(target).as_posix(),
            form=form.name if form else "release",
            losses=list(table.losses) if table else [],
        )
        parquet.parent.mkdir(parents=True, exist_ok=True)
        landed = _land(entity, landed, source / path, data, parquet, table)
        write_atomically(manifest, json.dumps(asdict(landed)).encode())
    if strict:
        refuse_what_is_unknown(landed)
    return replace(landed, verification=verification)


def identify(corpus: Corpus, source: Path, path: str) -> tuple[str, str]:
    """The SHA-256 of a file's bytes and its verification: what landing it would note. Raises LandingError."""
    data = _read(corpus, source, path)
    sha256 = sha256_of(data)
    return sha256, _verification(corpus, source, path, data, sha256)


def _read(corpus: Corpus, source: Path, path: str) -> bytes:
    try:
        return (source / path).read_bytes()
    except OSError as error:
        raise LandingError(f"{corpus.corpus_id}/{path}: {error.strerror}") from error


def _landed_before(manifest: Path, parquet: Path) -> Landed | None:
    """The manifest row of an earlier landing of the same bytes and schema, where its Parquet still stands."""
    with contextlib.suppress(FileNotFoundError, msgspec.MsgspecError):
        landed = msgspec.json.decode(manifest.read_bytes(), type=Landed)
        return landed if parquet.exists() else None
    return None


def refuse_what_is_unknown(landed: Landed) -> None:
    """Raise LandingError when something of the file was set aside."""
    for extra in landed.extras:
        raise LandingError(f"{landed.source_file_id}: the schema does not know the key at {extra['json_pointer']}")
    for record in landed.quarantine:
        raise LandingError(f"{landed.source_file_id}: {record['error']}")


def data_version(files: Iterable[Landed]) -> str:
    """Identifies what was landed: the bytes of each file, what they were checked against, and the schema."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.parquet} {file.sha256} {file.verification}\n".encode())
    return digest.hexdigest()[:16]


def write_empty(corpus: Corpus, entity: Entity, target: Path) -> str:
    """Write the zero-row typed Parquet that stands for an absent entity; its path relative to `target`."""
    parquet = target / corpus.corpus_id / entity.name / f"empty-{schema_hash(corpus)}.parquet"
    if not parquet.exists():
        parquet.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=parquet.parent) as folder:
            nothing = Path(folder) / "nothing.ndjson"
            nothing.write_bytes(b"")
            _copy(entity, rawtypes.select_split(entity, nothing), None, parquet)
    return parquet.relative_to(target).as_posix()


@functools.cache
def schema_hash(corpus: Corpus, form: str | None = None) -> str:
    """Identifies what the Parquet of a corpus depends on besides the bytes: its schema, its form and this code."""
    digest = hashlib.sha256()
    sources = [corpus.folder / "schema.py", Path(__file__), Path(records.__file__)]
    sources += [Path(rawtypes.__file__), Path(corpus_module.__file__)]
    if form:
        sources += [corpus.folder / f"{form}.py", Path(__file__).with_name("forms.py")]
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)


# --- one file -----------------------------------------------------------------------------------------------------


def sha256_of(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _git_blob_sha1(data: bytes) -> str:
    """The id that git gives these bytes: the only checksum known of some upstream files."""
    blob = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    blob.update(data)
    return blob.hexdigest()


def _verification(corpus: Corpus, source: Path, path: str, data: bytes, sha256: str) -> str:
    """`simulated`, `unlisted`, `verified` or `mismatch`, against source.toml."""
    if (source / "SIMULATED.json").exists():
        return "simulated"
    listed = corpus.listed(path)
    if listed is None or not (listed.sha256 or listed.git_blob_sha1):
        return "unlisted"
    if listed.sha256:
        return "verified" if listed.sha256 == sha256 else "mismatch"
    return "verified" if listed.git_blob_sha1 == _git_blob_sha1(data) else "mismatch"


def _land(entity: Entity, landed: Landed, file: Path, data: bytes, parquet: Path, table: Table | None) -> Landed:
    """Check every record, let DuckDB write the Parquet, and complete the manifest row."""
    text = data if table else records.unpack(landed.source_file_id, data)
    split = parquet.with_name(f"records.{os.getpid()}.ndjson")
    try:
        is_array = entity.container is Container.ARRAY and table is None
        is_direct = is_array and text is data and not GLOB_CHARACTERS & set(str(file))
        check = _Check(entity, landed, table)
        check.run(text, None if is_direct else split)
        if is_direct and check.has_refused:
            is_direct = False
            check.run(text, split)
        try:
            select = rawtypes.select_array(entity, file) if is_direct else rawtypes.select_split(entity, split)
            _copy(entity, select, landed, parquet)
        except duckdb.Error:
            # What msgspec accepts and DuckDB does not: a key that stands twice in an object of a record.
            check.refuses_repeats = True
            check.run(text, split)
            try:
                _copy(entity, rawtypes.select_split(entity, split), landed, parquet)
            except duckdb.Error as error:
                raise LandingError(f"{landed.source_file_id}: {first_line(error)}") from error
    finally:
        split.unlink(missing_ok=True)
    return replace(
        landed, parts=check.parts, record_count=check.count, extras=check.extras, quarantine=check.quarantine
    )


class _Check:
    """The strict check of a file's records; `run` may be repeated and starts afresh."""

    def __init__(self, entity: Entity, landed: Landed, table: Table | None) -> None:
        self.entity, self.landed, self.table = entity, landed, table
        self.decoder = msgspec.json.Decoder(entity.record)
        self.refuses_repeats = False
        self.parts: list[str] | None = None
        self.count = 0
        self.extras: list[dict[str, Any]] = []
        self.quarantine: list[dict[str, Any]] = []

    @property
    def has_refused(self) -> bool:
        """Whether anything was set aside."""
        return bool(self.extras or self.quarantine)

    def run(self, text: bytes, split: Path | None) -> None:
        """Check every record; write those that pass, one a line, to `split` where one is given."""
        self.count, self.extras, self.quarantine = 0, [], []
        self.parts, found = self._split(text)
        with split.open("wb") if split else contextlib.nullcontext() as lines:
            for record in found:
                self.count += 1
                accepted = self._check(record)
                if lines and accepted is not None:
                    head = json.dumps({"i": record.index, "k": record.key, "p": record.pointer})
                    lines.write(b'%s,"r":%s}\n' % (head[:-1].encode(), accepted.replace(b"\n", b" ")))

    def _split(self, text: bytes) -> tuple[list[str] | None, Iterator[Record]]:
        where = self.landed.source_file_id
        if self.table is None:
            return records.split_records(self.entity, where, text)
        from pipelines import forms  # pyarrow, which a process that lands the publisher's own files does not need

        rows = enumerate(forms.undo_rows(self.table, where, text))
        return None, (Record(index, None, f"/{index}", *row) for index, row in rows)

    def _check(self, record: Record) -> bytes | None:
        """The record's text as it is to be landed, None for one in quarantine."""
        if record.refused:
            return self._set_aside(record, record.refused)
        try:
            self.decoder.decode(record.text)
            if self.refuses_repeats:
                json.loads(record.text, object_pairs_hook=pairs_without_repeats)
            return record.text
        except msgspec.DecodeError as error:
            value = json.loads(record.text)
            extras = list(_take_extras(inspect.type_info(self.entity.record), value, record.pointer))
            if extras:
                cleaned = json.dumps(value, separators=(",", ":")).encode()
                try:
                    self.decoder.decode(cleaned)
                except msgspec.DecodeError:
                    pass
                else:
                    self.extras += [{"json_pointer": pointer, "value": json.dumps(extra)} for pointer, extra in extras]
                    return cleaned
            self._set_aside(record, str(error))
        except RepeatedKeyError as error:
            self._set_aside(record, str(error))
        return None

    def _set_aside(self, record: Record, reason: str) -> None:
        """Put a record into quarantine, with the path of what is wrong."""
        reason, _, inner = reason.partition(" - at `$")
        key = "" if record.key is None else f".{record.key}"
        place = key if self.entity.container is Container.ENTRIES else f"{key}[{record.index}]"
        self.quarantine.append(
            {
                "record_index": record.index,
                "record_pointer": record.pointer,
                "error": f"{reason} - at `${place}{inner.rstrip('`')}`",
                "value": record.text.decode() if record.row is None else json.dumps(record.row),
            }
        )


def _take_extras(kind: inspect.Type, value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    """Remove from `value` the keys that its type does not know, and yield their JSON pointers and values."""
    match kind, value:
        case inspect.Metadata(), _:
            yield from _take_extras(kind.type, value, pointer)
        case inspect.UnionType(), _:
            for option in kind.types:
                yield from _take_extras(option, value, pointer)
        case inspect.ListType(), list():
            for index, item in enumerate(value):
                yield from _take_extras(kind.item_type, item, f"{pointer}/{index}")
        case inspect.DictType(), dict():
            for key, item in value.items():
                yield from _take_extras(kind.value_type, item, f"{pointer}/{pointer_token(key)}")
        case inspect.StructType(array_like=True), list():
            for index, (struct_field, item) in enumerate(zip(kind.fields, value, strict=False)):
                yield from _take_extras(struct_field.type, item, f"{pointer}/{index}")
        case inspect.StructType(array_like=False), dict():
            known = {struct_field.encode_name: struct_field.type for struct_field in kind.fields}
            for key in [key for key in value if key not in known]:
                yield f"{pointer}/{pointer_token(key)}", value.pop(key)
            for key, item in value.items():
                yield from _take_extras(known[key], item, f"{pointer}/{pointer_token(key)}")


def _copy(entity: Entity, select: str, landed: Landed | None, parquet: Path) -> None:
    """Write the query's rows, each with its file and part, to `parquet`; a reader sees all of it or nothing."""
    source_file_id = rawtypes.literal(landed.source_file_id if landed else "")
    known_part = rawtypes.literal(landed.source_part) if landed and landed.source_part else "null"
    part = "record_key" if entity.container is Container.SPLITS else f"cast({known_part} as varchar)"
    temporary = parquet.with_name(f"{parquet.name}.{os.getpid()}.tmp")
    query = f"select {source_file_id} as source_file_id, {part} as source_part, * from ({select})"
    try:
        _connection().execute(f"copy ({query}) to {rawtypes.literal(temporary)} (format parquet, compression zstd)")
        temporary.replace(parquet)
    finally:
        temporary.unlink(missing_ok=True)


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    """DuckDB for this process: in memory, one thread, because files are landed side by side in processes."""
    con = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False})
    con.execute(NO_PROGRESS_BAR)
    return con
