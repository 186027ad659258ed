"""The checksums that identify a publisher's files: SHA-256, and the id that git gives a file; comparing with them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pipelines.corpora.room import Corpus
from pipelines.intake.file_kinds import GZIP
from pipelines.intake.generated import is_in_generated
from pipelines.intake.unpacking import unpack


def sha256_of(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def git_blob_hash(size: int) -> Any:
    """The hash, to be fed with so many bytes, of which git makes a file's id: all that is known of some files."""
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)


def verification_of(corpus: Corpus, source: Path, path: str, found_as: str | None, data: bytes, sha256: str) -> str:
    """Compare a file's bytes with what source.toml lists: `simulated`, `unlisted`, `verified` or `mismatch`.

    The listed checksum of a plain file is that of its text, however it is compressed at the source. That of a gzip
    archive says nothing of its text, which may be compressed in many ways.
    """
    if is_in_generated(source, found_as or path):
        return "simulated"
    listed = corpus.listed(path)
    if listed is None or not (listed.sha256 or listed.git_blob_sha1):
        return "unlisted"
    is_packed = data.startswith(GZIP)
    if path.endswith(".gz") and not is_packed:
        return "unlisted"
    if is_packed and not path.endswith(".gz"):
        data = unpack(f"{corpus.corpus_id}/{path}", data).content
        sha256 = sha256_of(data)
    if listed.sha256:
        return "verified" if listed.sha256 == sha256 else "mismatch"
    blob = git_blob_hash(len(data))
    blob.update(data)
    return "verified" if listed.git_blob_sha1 == blob.hexdigest() else "mismatch"
