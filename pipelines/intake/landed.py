"""What landing one file came to: the manifest row of its Parquet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pipelines.intake.records import LandingError
from pipelines.settings import RELEASE_FORM


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
    form: str = RELEASE_FORM
    losses: list[str] = field(default_factory=list)

    @property
    def source_file_id(self) -> str:
        """`<corpus_id>/<path>`."""
        return f"{self.corpus_id}/{self.path}"


def data_version(files: Iterable[Landed]) -> str:
    """Identifies what was landed: the bytes of each file, what they were checked against, and the schema."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.parquet} {file.sha256} {file.verification}\n".encode())
    return digest.hexdigest()[:16]


def refuse_what_is_unknown(landed: Landed) -> None:
    """Raise LandingError when something of the file was set aside."""
    for extra in landed.extras:
        raise LandingError(f"{landed.source_file_id}: the schema does not know the key at {extra['json_pointer']}")
    for record in landed.quarantine:
        raise LandingError(f"{landed.source_file_id}: {record['error']}")
