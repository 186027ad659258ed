"""Manifests of landed Parquet files, and the reason why a corpus falls back to its published files."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from dialogue_warehouse.common.files import BuildId, LandedPath, read_regular
from dialogue_warehouse.errors import quoted
from dialogue_warehouse.releases.records import FileState, LandingError, state_of
from dialogue_warehouse.releases.unpacking import sha256_of
from dialogue_warehouse.settings import RELEASE_FORM


@dataclass(frozen=True)
class Landed:
    """The result of landing one file: the manifest of its Parquet file."""

    corpus_id: str
    entity: str
    path: str
    source_part: str | None
    parts: list[str] | None
    bytes: int
    sha256: str
    verification: str
    record_count: int
    parquet: LandedPath
    extras: list[dict[str, Any]] = field(default_factory=list)
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    form: str = RELEASE_FORM
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Unusual properties of the file's bytes that lose nothing of its text."""
    parquet_bytes: int = 0
    parquet_sha256: str = ""
    """The checksum of the Parquet file when it was written. It is reused only while the checksum matches."""
    state: FileState | None = field(default=None, compare=False)
    """The state of the source file when it was read."""
    found_as: str | None = None
    """The path of the file at the source, if it differs from `path`, which is the path in the release."""

    @property
    def source_file_id(self) -> str:
        """`<corpus_id>/<path>`."""
        return f"{self.corpus_id}/{self.path}"

    @property
    def place(self) -> str:
        """The path of the file below the source."""
        path = self.found_as or self.path
        return f"{self.corpus_id}/{path}" if self.form == RELEASE_FORM else path


class Cause(enum.StrEnum):
    """The reason why a corpus falls back to its published files."""

    NOT_ASKED_FOR = "not_asked_for"
    ABSENT = "absent"
    DAMAGED = "damaged"
    """Its files are refused, or rows made from them fail a check."""


REASONS = {
    Cause.NOT_ASKED_FOR: "this build does not land it",
    Cause.ABSENT: "the source has none of its files",
}
"""The causes in words. For a damaged corpus the text is the error."""
FORMER_WORDS = "the run is not about it"
"""The only sign of a corpus that is not damaged in manifests from before the cause was stored. It never changes."""


class Fallback(msgspec.Struct, frozen=True):
    """The reason why a corpus fell back to its published files, and the build that they are from."""

    build_id: BuildId
    """The build that landed its files."""
    cause: Cause = Cause.DAMAGED
    error: str = msgspec.field(default="", name="reason")
    """The error that describes the damage."""
    since: str = ""
    """The time of the first build in which it fell back; empty if another version recorded it."""

    def __post_init__(self) -> None:
        """Set the cause for a manifest that has only the text."""
        if self.error == FORMER_WORDS:
            msgspec.structs.force_setattr(self, "cause", Cause.NOT_ASKED_FOR)

    @property
    def reason(self) -> str:
        """The cause in words."""
        return REASONS.get(self.cause, self.error)

    @property
    def is_damaged(self) -> bool:
        """True if the files for this build were damaged or absent."""
        return self.cause is not Cause.NOT_ASKED_FOR

    def describe(self, corpus_id: str) -> str:
        """Describe the fallback to users in one line."""
        return f"{corpus_id} falls back to build {self.build_id}: {self.reason}"

    def describe_as_stale(self, corpus_id: str) -> str:
        """Describe a stale corpus to users in one line."""
        since = f" since {self.since}" if self.since else ""
        return f"{corpus_id} is stale{since}: its rows are those of build {self.build_id}, because {self.reason}"


def data_version(files: Iterable[Landed]) -> str:
    """Return a hash that identifies the landed data: the bytes of each file, how they were verified, and the schema."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.parquet} {file.sha256} {file.verification}\n".encode())
    return digest.hexdigest()[:16]


def places_of(files: Iterable[Landed]) -> dict[str, str]:
    """Map the id of each file that was found under another name to its path in the source folder."""
    return {file.source_file_id: file.found_as for file in files if file.found_as}


def refuse_unknown(landed: Landed) -> None:
    """Raise LandingError if a key or a record of the file was set aside."""
    for extra in landed.extras:
        raise LandingError(
            f"{landed.source_file_id}: the schema does not know the key at {quoted(extra['json_pointer'])}; "
            "a build without --strict keeps it in core.source_extras"
        )
    for record in landed.quarantine:
        raise LandingError(
            f"{landed.source_file_id}: {quoted(record['error'])}; "
            "a build without --strict keeps the record in core.source_quarantine"
        )


def changes_since(files: Iterable[Landed], source: Path) -> Iterator[str]:
    """Yield one line per file that changed at the source since it was read. A file with another state is read again."""
    for file in files:
        path = source / file.place
        now = state_of(path)
        if now == file.state:
            continue
        if now is None:
            yield f"{file.source_file_id}: removed after it was read; the build contains the old file"
        elif not _holds(path, file):
            yield f"{file.source_file_id}: changed after it was read; the build contains the old file: build again"


def _holds(path: Path, file: Landed) -> bool:
    """Return whether the file still has the bytes that were read, regardless of its times."""
    try:
        return path.stat().st_size == file.bytes and sha256_of(read_regular(path)) == file.sha256
    except OSError:
        return False
