"""The checksums that identify a publisher's files: SHA-256, and the id that git gives a file."""

from __future__ import annotations

import hashlib
from typing import Any


def sha256_of(data: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def git_blob_hash(size: int) -> Any:
    """The hash, to be fed with so many bytes, of which git makes a file's id: all that is known of some files."""
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
