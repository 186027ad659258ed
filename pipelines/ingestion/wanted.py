"""Files to download: the list of source.toml, the place of each, and the part that an interrupted download left.

The next run continues `<name>.part` where that can be trusted.
"""

from __future__ import annotations

import enum
import gzip
import hashlib
import re
import urllib.parse
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.corpora.release import Corpus, SourceFile
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases import file_kinds
from dialogue_warehouse.releases.source_tree import MARKER, UNFINISHED, holds_generated
from dialogue_warehouse.releases.unpacking import git_blob_hash
from pipelines.ingestion.connections import CHUNK
from pipelines.ingestion.transport import Version, address_of

LARGEST_UNLISTED = 2**28
"""Largest size that is accepted of a file whose size is not listed."""


@dataclass(frozen=True)
class Wanted:
    """One listed file: its URLs and its place."""

    corpus: Corpus
    file: SourceFile
    urls: tuple[str, ...]
    """The URLs that have it, in the order in which they are tried."""
    target: Path

    @property
    def name(self) -> str:
        """The file's name in messages, `<corpus_id>/<path>`."""
        return f"{self.corpus.corpus_id}/{self.file.path}"

    @property
    def is_verifiable(self) -> bool:
        """True if a checksum is listed."""
        return bool(self.file.sha256 or self.file.git_blob_sha1)

    @property
    def largest(self) -> int:
        """Largest size that is accepted, in bytes."""
        return LARGEST_UNLISTED if self.file.bytes is None else self.file.bytes

    def problem(self, path: Path) -> str | None:
        """Return how a file on disk differs from the listed one (expected and observed value), or None."""
        difference = self._difference(path)
        if difference is None and self.is_verifiable:
            return None
        kind = None if self.file.is_documentation else _other_kind(self.file.path, path, bool(difference))
        return "; ".join(filter(None, (difference, kind and f"it is {kind}"))) or None

    def _difference(self, path: Path) -> str | None:
        size = path.stat().st_size
        if size > self.largest:
            return f"expected {'at most ' * (self.file.bytes is None)}{self.largest:,} bytes, observed more"
        if self.file.bytes not in (None, size):
            return f"expected {self.file.bytes:,} bytes, observed {size:,}"
        with path.open("rb") as stream:
            if self.file.sha256:
                kind, expected, digest = "sha256", self.file.sha256, hashlib.sha256()
            elif self.file.git_blob_sha1:
                kind, expected, digest = "git blob id", self.file.git_blob_sha1, git_blob_hash(size)
            else:
                return None
            observed = hashlib.file_digest(stream, lambda: digest).hexdigest()
        return None if observed == expected else f"expected {kind} {expected}, observed {observed}"


def _other_kind(name: str, path: Path, is_other: bool) -> str | None:
    """Return the kind of a file in the place of a data file, such as a web page; JSON may be the data."""
    with path.open("rb") as stream:
        head = stream.read(file_kinds.HEAD)
    kind = file_kinds.other_kind(name, head) or (file_kinds.answer_kind(head) if is_other else None)
    return kind.name if kind else None


class Outcome(enum.StrEnum):
    """The outcome of a listed file."""

    FETCHED = "fetched"
    PRESENT = "already there"
    FAILED = "failed"


@dataclass(frozen=True)
class Result:
    """The result of one listed file."""

    wanted: Wanted
    outcome: Outcome
    bytes: int = 0
    """Size of the downloaded file."""
    cause: str | None = None
    """The reason that it failed; the same text for each file that failed for the same cause."""
    helps_by_hand: bool = False
    """True if it can be downloaded in another way."""
    host: str | None = None
    """The host that sent it."""
    failed_before: tuple[str, ...] = ()
    """The reason that each URL before it failed."""


def plan(corpora: tuple[Corpus, ...], to: Path, mirror: str | None = None) -> list[Wanted]:
    """Return every listed file of some corpora, with its URLs and its place below `to`.

    Raises InputError for a path that leaves its folder, and for a folder with a generated release.
    """
    wanted = []
    for corpus in corpora:
        folder = to / corpus.corpus_id
        if holds_generated(folder):
            raise InputError(f"{folder}: contains a generated release ({MARKER}); choose another folder with --to")
        for file in corpus.files:
            if not _stays_inside(file.path):
                raise InputError(f"{corpus.corpus_id}/source.toml: the path {file.path!r} leaves the corpus's folder")
            urls = (_below(mirror, f"{corpus.corpus_id}/{file.path}"),) if mirror else _listed_urls(corpus, file)
            wanted.append(Wanted(corpus, file, urls, folder / file.path))
    return wanted


def _listed_urls(corpus: Corpus, file: SourceFile) -> tuple[str, ...]:
    """Return the publisher's address of a file, then those of its mirrors, each once."""
    return tuple(dict.fromkeys((file.url, *file.mirrors, *(_below(base, file.path) for base in corpus.mirrors))))


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and path.isprintable() and not {"..", "/"} & set(parts) and not re.search(r"[\\:]", path)


def _below(base_url: str, name: str) -> str:
    base = urllib.parse.urlsplit(base_url)
    return base._replace(path=f"{base.path.rstrip('/')}/{urllib.parse.quote(name)}", fragment="").geturl()


class Part:
    """The part of an unfinished file that is there, with the version of the file that it belongs to."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.path = wanted.target.with_name(wanted.target.name + UNFINISHED)
        self._version_file = self.path.with_name(self.path.name + ".etag")
        self.is_resumable = True
        self.is_glued = False
        """True if it comes from several responses, which may be parts of different files."""

    @property
    def size(self) -> int:
        """Bytes that are there."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def version(self) -> Version | None:
        """The version of the file that it belongs to, if that is known."""
        try:
            return msgspec.json.decode(self._version_file.read_bytes(), type=Version)
        except (OSError, msgspec.MsgspecError):
            return None

    def etag(self, url: str) -> str | None:
        """Return the validator that the server sent for this URL."""
        version = self.version
        return version.etag if version and version.address == address_of(url) else None

    def offset(self, url: str) -> int:
        """Return the number of bytes that need not be requested from this URL.

        These are all bytes that are there, or 0 if they cannot be trusted. They can be trusted if a checksum can
        confirm the whole file, or if they are of the same version at this URL.
        """
        size = self.size
        trusted = self.is_resumable and (self.wanted.is_verifiable or self.etag(url))
        self.is_glued = bool(trusted and 0 < size <= self.wanted.largest)
        return size if self.is_glued else 0

    def is_continued_by(self, version: Version) -> bool:
        """Return whether the rest, of this version, may be appended to the bytes that are there."""
        begun, listed = self.version, self.wanted.file.bytes
        if listed is not None and version.total not in (None, listed):
            return False
        if begun is None or begun.address != version.address:
            return self.wanted.is_verifiable
        if None not in (begun.total, version.total) and begun.total != version.total:
            return False
        return version.etag == begun.etag or (self.wanted.is_verifiable and version.etag is None)

    def begin(self, version: Version) -> None:
        """Start again, with this version."""
        self.discard()
        if version.etag:
            self._version_file.write_bytes(msgspec.json.encode(version))
        self.path.touch()
        self.is_resumable, self.is_glued = True, False

    def discard(self) -> None:
        """Remove the part and the record of its version."""
        for file in (self._version_file, self.path):
            file.unlink(missing_ok=True)

    def unpack(self) -> bool:
        """Undo the gzip that a server put around the file.

        Return False if there is none, or if the content is too large.
        """
        plain = self.path.with_name(self.path.name + ".plain")
        try:
            with gzip.open(self.path) as packed, plain.open("wb") as stream:
                while chunk := packed.read(CHUNK):
                    stream.write(chunk)
                    if stream.tell() > self.wanted.largest:
                        return False
            plain.replace(self.path)
            return True
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return False
        finally:
            plain.unlink(missing_ok=True)

    def move(self, place: Path) -> None:
        """Rename it to its final name, flushed to the disk, and remove the rest."""
        files.flush(self.path)
        self.path.replace(place)
        self.discard()
