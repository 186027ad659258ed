"""Names of a release's files at a source, and the path in the release that each name belongs to.

A file is found under its path as published; with or without `.gz`, whichever the release does not use; in other letter
case; and below the folders of its URL, so that a copy or a clone of the publisher's repository is read unchanged. If
there are several candidates for one file, the first in this order is used: its own place before the publisher's folders
(shorter ones first), the same letter case before another, the same compression before another.
"""

from __future__ import annotations

import functools
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dialogue_warehouse.corpora.forms import SUFFIXES, Form
from dialogue_warehouse.corpora.release import Corpus, Entity, SourceFile

GZIP = ".gz"
NUMBERS = re.compile(r"\d+(?:\.\d+)*")
"""The part of a name that differs between versions of a file."""


class Name(NamedTuple):
    """The file of the release that a path at the source belongs to; the lowest rank is the best name."""

    path: str
    entity: Entity
    rank: tuple[int, bool, bool]


class ReleaseNames:
    """Names of the files of a corpus in its own form."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._spellings = {file.path.lower(): file.path for file in corpus.files}
        self._documentation = {file.path.lower() for file in corpus.files if file.is_documentation}
        self._documentation_names = {path.rsplit("/", 1)[-1] for path in self._documentation}
        data = [file.path for file in corpus.files if not file.is_documentation]
        self._versions = {NUMBERS.sub("#", _plain(path)): path for path in reversed(data)}
        inner = [path for path in data if "/" in path]
        numbers = Counter(_plain(path).rsplit("/", 1)[-1] for path in data)
        self._inner = {name: path for path in inner if numbers[name := _plain(path).rsplit("/", 1)[-1]] == 1}
        self.beginnings = _beginnings(data)
        """Matches the beginning of names that are checked further: those that begin like a listed file."""
        self.suffixes = tuple(dict.fromkeys(suffix_of(path) for path in data))
        folders = sorted({folder for file in corpus.files for folder in _publisher_folders(corpus, file)}, key=len)
        self._folders = [re.compile(folder, re.IGNORECASE) for folder in folders]
        patterns = "|".join(re.sub(r"\(\?P<\w+>", "(?:", entity.pattern) for entity in corpus.entities)
        self._filter = re.compile(f"(?:{'|'.join(folders)})?(?:{patterns})(?:\\.gz)?", re.IGNORECASE)

    def find(self, path: str) -> Name | None:
        """Return the file of the release that a path belongs to; None if there is none."""
        if not (self._filter.fullmatch(path) or self._filter.fullmatch(path + GZIP)):
            return None
        return min(self._candidates(path), key=lambda name: name.rank, default=None)

    def is_documentation(self, path: str) -> bool:
        """Return whether a path is listed as documentation."""
        if path.rsplit("/", 1)[-1].lower() not in self._documentation_names:
            return False
        return any(rest.lower() in self._documentation for _, rest in self._rests(path))

    def version_of(self, path: str) -> str:
        """Return the listed file that differs from a path only in numbers; empty if there is none."""
        return next(
            (self._versions[plain] for _, rest in self._rests(path) if (plain := _numberless(rest)) in self._versions),
            "",
        )

    def place_of(self, path: str) -> str:
        """Return the only listed file in a folder with the name of a file outside it; empty if there is none."""
        return next((self._inner[plain] for _, rest in self._rests(path) if (plain := _plain(rest)) in self._inner), "")

    def _candidates(self, path: str) -> Iterator[Name]:
        for depth, rest in self._rests(path):
            other = rest[: -len(GZIP)] if rest.lower().endswith(GZIP) else rest + GZIP
            for is_other, candidate in ((False, rest), (True, other)):
                spelling = self._spellings.get(candidate.lower(), candidate.lower())
                for is_respelled, name in ((False, candidate), (True, spelling)):
                    entity = self._corpus.entity_of(name)
                    if entity is not None and name.lower() not in self._documentation:
                        yield Name(name, entity, (depth, is_respelled, is_other))

    def _rests(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield the path, and the rest of it below each of the publisher's folders, with the length of that folder."""
        yield 0, path
        for folder in self._folders:
            if found := folder.match(path):
                yield found.end(), path[found.end() :]


class FormNames:
    """Names of the files of a corpus in another form: exactly those that the form declares."""

    suffixes = SUFFIXES

    def __init__(self, corpus: Corpus, form: Form) -> None:
        self._form = form
        self.beginnings = _beginnings([stem for _, stem in form.stems()])
        self._entities = {entity.name: entity for entity in corpus.entities}

    def find(self, path: str) -> Name | None:
        """Return the file of the form at a path; None if there is none."""
        try:
            table, _ = self._form.place(path)
        except ValueError:
            return None
        return Name(path, self._entities[table.entity], (0, False, False))

    def is_documentation(self, path: str) -> bool:
        """Return False: a form lists no documentation."""
        return False

    def version_of(self, path: str) -> str:
        """Return an empty text: files of a form have no version in their names."""
        return ""

    def place_of(self, path: str) -> str:
        """Return an empty text: a form has no equal names in several folders."""
        return ""


@functools.cache
def names_of(corpus: Corpus) -> ReleaseNames:
    """Return the names of a corpus's files in its own form."""
    return ReleaseNames(corpus)


def suffix_of(path: str) -> str:
    """Return the suffix of a path including a compression suffix, such as `.json.gz`."""
    name = path.rsplit("/", 1)[-1]
    found = re.search(r"\.[A-Za-z]\w*(?:\.gz)?$", name)
    return found[0] if found else ""


def repository_of(corpus: Corpus) -> str | None:
    """Return the name of the publisher's repository, from the URL of a file; None if there is none."""
    for file in corpus.files:
        parts = _address(file)
        if corpus.release in parts[3:]:  # after host, owner and repository; a publisher's own site has none
            return parts[parts.index(corpus.release) - 1]
    return None


def repository_path(corpus: Corpus, file: SourceFile) -> str:
    """Return the path of a file in the publisher's repository, else its path in the release."""
    parts = _address(file)
    inner = parts[parts.index(corpus.release) + 1 :] if corpus.release in parts else []
    return "/".join((*inner, file.path))


def _publisher_folders(corpus: Corpus, file: SourceFile) -> Iterator[str]:
    """Yield regular expressions for the folders around a file: the end of its URL, or a clone of the repository.

    `host/owner/repository/<commit>/data/a.json` gives `data/`, `<commit>/data/` and so on, and `repository/data/`, with
    a branch or commit after the name of the repository, as in an archive of it. Some programs unpack such an archive
    into one more folder of the same name.
    """
    parts = _address(file)
    for first in range(len(parts)):
        yield re.escape("/".join(parts[first:]) + "/")
    if corpus.release in parts[1:]:
        at = parts.index(corpus.release)
        inner = "".join(f"{part}/" for part in parts[at + 1 :])
        yield rf"(?:{re.escape(parts[at - 1])}(?:-[\w.-]+)?/){{1,2}}{re.escape(inner)}"


def _address(file: SourceFile) -> list[str]:
    """Return the host and folders of a file's URL, without its path in the release."""
    url = urllib.parse.urlsplit(file.url)
    address = f"{url.netloc}{urllib.parse.unquote(url.path)}"
    if not address.endswith(f"/{file.path}"):
        return []
    return [part for part in address.removesuffix(file.path).split("/") if part]


def _beginnings(paths: Iterable[str]) -> re.Pattern[str]:
    words = {re.match(r"[^\W\d_]*", path.rsplit("/", 1)[-1].lower()) for path in paths}
    listed = "|".join(sorted({re.escape(word[0]) for word in words if word}))
    return re.compile(rf"(?:copy of |[.#])?(?:{listed})", re.IGNORECASE)


def _plain(path: str) -> str:
    return path.lower().removesuffix(GZIP)


def _numberless(path: str) -> str:
    return NUMBERS.sub("#", _plain(path))
