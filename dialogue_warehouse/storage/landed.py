"""What landing one file came to: the manifest row of its Parquet."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from dialogue_warehouse.common.files import BuildId, LandedPath, read_regular
from dialogue_warehouse.releases.records import FileState, LandingError, state_of
from dialogue_warehouse.releases.unpacking import sha256_of
from dialogue_warehouse.settings import RELEASE_FORM


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
    parquet: LandedPath
    extras: list[dict[str, Any]] = field(default_factory=list)
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    form: str = RELEASE_FORM
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is unusual about the file's bytes, though nothing of its text is lost."""
    parquet_bytes: int = 0
    parquet_sha256: str = ""
    """What the Parquet was when it was written: it is used again only as long as it is that."""
    state: FileState | None = field(default=None, compare=False)
    """The state of the source file when it was read."""
    found_as: str | None = None
    """The file's path at the source, where it is another than `path`, which is that in the release."""

    @property
    def source_file_id(self) -> str:
        """`<corpus_id>/<path>`."""
        return f"{self.corpus_id}/{self.path}"

    @property
    def place(self) -> str:
        """The file's path below the source."""
        path = self.found_as or self.path
        return f"{self.corpus_id}/{path}" if self.form == RELEASE_FORM else path


class Cause(enum.StrEnum):
    """Why a corpus falls back to its published files."""

    NOT_ASKED_FOR = "not_asked_for"
    ABSENT = "absent"
    DAMAGED = "damaged"
    """Its files are refused, or rows made from them fail a check."""


REASONS = {
    Cause.NOT_ASKED_FOR: "the run is not about it",
    Cause.ABSENT: "none of its files is at the source",
}
"""The causes in words; a damaged corpus has the words of the error."""
FORMER_WORDS = "the run is not about it"
"""The only mark of a corpus that is not damaged in manifests written before they had the cause. It never changes."""


class Fallback(msgspec.Struct, frozen=True):
    """Why a corpus stayed as it was published, and since when."""

    build_id: BuildId
    """The build that landed its files."""
    cause: Cause = Cause.DAMAGED
    error: str = msgspec.field(default="", name="reason")
    """The error that says what is damaged."""

    def __post_init__(self) -> None:
        """Read the cause from a manifest that has only words."""
        if self.error == FORMER_WORDS:
            msgspec.structs.force_setattr(self, "cause", Cause.NOT_ASKED_FOR)

    @property
    def reason(self) -> str:
        """The cause in words."""
        return REASONS.get(self.cause, self.error)

    @property
    def is_damaged(self) -> bool:
        """Whether something is wrong with what it would have been built from."""
        return self.cause is not Cause.NOT_ASKED_FOR

    def describe(self, corpus_id: str) -> str:
        """What people are told, in one line."""
        return f"{corpus_id} falls back to build {self.build_id}: {self.reason}"


def data_version(files: Iterable[Landed]) -> str:
    """Identifies what was landed: the bytes of each file, what they were checked against, and the schema."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.parquet} {file.sha256} {file.verification}\n".encode())
    return digest.hexdigest()[:16]


def places_of(files: Iterable[Landed]) -> dict[str, str]:
    """The path at the source, by source_file_id, of each file that has another name there than in its release."""
    return {file.source_file_id: file.found_as for file in files if file.found_as}


def refuse_unknown(landed: Landed) -> None:
    """Raise LandingError when something of the file was set aside."""
    for extra in landed.extras:
        raise LandingError(f"{landed.source_file_id}: the schema does not know the key at {extra['json_pointer']}")
    for record in landed.quarantine:
        raise LandingError(f"{landed.source_file_id}: {record['error']}")


def changes_since(files: Iterable[Landed], source: Path) -> Iterator[str]:
    """What of these files is no longer at the source as it was read, a line each; reads those of another state."""
    for file in files:
        path = source / file.place
        now = state_of(path)
        if now == file.state:
            continue
        if now is None:
            yield f"{file.source_file_id}: no longer there; what is built is the file as it was read"
        elif not _holds(path, file):
            yield f"{file.source_file_id}: changed since it was read; what is built is the file as it was: build again"


def _holds(path: Path, file: Landed) -> bool:
    """Whether the file still has the bytes that were read, whatever its times say."""
    try:
        return path.stat().st_size == file.bytes and sha256_of(read_regular(path)) == file.sha256
    except OSError:
        return False
