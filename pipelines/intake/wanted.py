"""Files to download: each that the source.toml of a corpus lists, with its URLs, its place and how to know it."""

from __future__ import annotations

import hashlib
import re
import urllib.parse
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipelines.corpora.room import Corpus, SourceFile
from pipelines.errors import InputError
from pipelines.intake import file_kinds
from pipelines.intake.checksums import git_blob_hash
from pipelines.intake.generated import MARKER, holds_generated

LARGEST_UNLISTED = 2**28
"""Most bytes that are accepted of a file whose size is not listed."""


@dataclass(frozen=True)
class Wanted:
    """One listed file: where it comes from, and its place."""

    corpus: Corpus
    file: SourceFile
    urls: tuple[str, ...]
    """The addresses that have it, in the order in which they are asked."""
    target: Path

    @property
    def name(self) -> str:
        """The file's name in messages, `<corpus_id>/<path>`."""
        return f"{self.corpus.corpus_id}/{self.file.path}"

    @property
    def is_verifiable(self) -> bool:
        """Whether a checksum is listed."""
        return bool(self.file.sha256 or self.file.git_blob_sha1)

    @property
    def largest(self) -> int:
        """Most bytes that are accepted."""
        return LARGEST_UNLISTED if self.file.bytes is None else self.file.bytes

    def problem(self, path: Path) -> str | None:
        """Why a file on disk is not the listed one, with what was expected and observed; None when it is."""
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
    """Name the kind of file that stands in the place of a data file, such as a web page; JSON may be the data."""
    with path.open("rb") as stream:
        head = stream.read(file_kinds.HEAD)
    kind = file_kinds.other_kind(name, head) or (file_kinds.answer_kind(head) if is_other else None)
    return kind.name if kind else None


def plan(corpora: tuple[Corpus, ...], to: Path, mirror: str | None = None) -> list[Wanted]:
    """Every listed file of some corpora, with its URL and its place below `to`.

    Raises InputError for a path that leaves its folder, and for a folder that holds a generated release.
    """
    wanted = []
    for corpus in corpora:
        folder = to / corpus.corpus_id
        if holds_generated(folder):
            raise InputError(f"{folder} holds a generated release ({MARKER}): fetch --to another folder")
        for file in corpus.files:
            if not _stays_inside(file.path):
                raise InputError(f"{corpus.corpus_id}/source.toml: the path {file.path!r} leaves the corpus's folder")
            urls = (_below(mirror, f"{corpus.corpus_id}/{file.path}"),) if mirror else _listed_urls(corpus, file)
            wanted.append(Wanted(corpus, file, urls, folder / file.path))
    return wanted


def _listed_urls(corpus: Corpus, file: SourceFile) -> tuple[str, ...]:
    """The publisher's address of a file, then those of its mirrors, each once."""
    return tuple(dict.fromkeys((file.url, *file.mirrors, *(_below(base, file.path) for base in corpus.mirrors))))


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and path.isprintable() and not {"..", "/"} & set(parts) and not re.search(r"[\\:]", path)


def _below(base_url: str, name: str) -> str:
    base = urllib.parse.urlsplit(base_url)
    return base._replace(path=f"{base.path.rstrip('/')}/{urllib.parse.quote(name)}", fragment="").geturl()
