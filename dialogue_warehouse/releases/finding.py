"""Find releases at a source: the files of each corpus, the missing ones, and those that belong to no corpus."""

from __future__ import annotations

import difflib
import functools
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.forms import SUFFIXES, Form, FormError
from dialogue_warehouse.corpora.release import Corpus, Entity, SourceFile
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.file_names import FormNames, Name, ReleaseNames, names_of, repository_of
from dialogue_warehouse.releases.source_tree import (
    DOCUMENTATION,
    ENTRIES,
    MARKER,
    NO_CORPUS,
    OTHER_FORM,
    OWN_FILES,
    SYSTEM_NAMES,
    UNREADABLE,
    Entry,
    Ignored,
    IgnoredFile,
    Ignoring,
    describe,
    group_of,
    printable,
    walk,
)
from dialogue_warehouse.settings import FORMS, RELEASE_FORM, Settings

SHOWN_EXPECTED = 3
"""Number of expected paths that are named as examples."""


@dataclass(frozen=True)
class Release:
    """The files of a corpus at the source: data files, missing listed files, entries that are not read.

    `files` have their paths in the release. `found_as` has the name at the source if it differs.
    """

    corpus: Corpus
    folder: Path
    files: tuple[tuple[Entity, str], ...]
    missing: tuple[SourceFile, ...]
    unread: tuple[Entry, ...] = ()
    form: Form | None = None
    """The form of the files if it is not the release's own form."""
    found_as: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, str] = field(default_factory=dict)
    """Entries that are not read because another name for the same file is better; each with that name."""

    def place(self, path: str) -> Path:
        """Return the path of a file of the release on disk."""
        return self.folder / self.found_as.get(path, path)

    @property
    def marked(self) -> Path | None:
        """The folder with the mark of a generated release; None for a real release."""
        marks = [entry.path for entry in self.unread if entry.path.rsplit("/", 1)[-1] == MARKER]
        return (self.folder / min(marks, key=len)).parent if marks else None

    @property
    def listed(self) -> int:
        """The number of data files in a complete release."""
        if self.form is not None:
            return len(self.files) + len(self.missing)
        return sum(not file.is_documentation for file in self.corpus.files)

    @property
    def expected(self) -> tuple[str, ...]:
        """Examples of paths that are read, one per entity: of missing files, else of any."""
        if self.form is not None:
            stems = {table.entity: stem for table, stem in reversed(self.form.stems())}
            return tuple(f"{stem}{SUFFIXES[0]}" for stem in reversed(stems.values()))[:SHOWN_EXPECTED]
        listed = self.missing or [file for file in self.corpus.files if not file.is_documentation]
        entities = ((self.corpus.entity_of(file.path), file.path) for file in reversed(listed))
        examples = {entity.name if entity else path: path for entity, path in entities}
        return tuple(reversed(examples.values()))[:SHOWN_EXPECTED]

    def ignored_lines(self) -> Iterator[str]:
        """Describe the ignored files in one line; no line if all files are read."""
        yield from (f"{self.corpus.corpus_id}: {line}" for line in describe(self.ignored, self.expected))

    @cached_property
    def ignored(self) -> tuple[Ignored, ...]:
        """The ignored files of the folder, by kind."""
        names = FormNames(self.corpus, self.form) if self.form else names_of(self.corpus)
        read = [self.found_as.get(path, path) for _, path in self.files]
        return Ignoring(names, read, self.seconds).sort(self.unread)


class Places:
    """The paths at a source of the files that a build has read; it may be another source than that of the build."""

    def __init__(self, source: Path, found_as: Mapping[str, str]) -> None:
        """Store the source and the path at the source, by source_file_id, of files that had another name there."""
        self._source, self._found_as = source, found_as
        self._releases: dict[str, Release] = {}

    def find(self, corpus: Corpus, path: str) -> Path:
        """Return the path of a file of a release: as recorded, else under another name, else as published."""
        corpus_id = corpus.corpus_id
        recorded = self._source / corpus_id / self._found_as.get(f"{corpus_id}/{path}", path)
        if os.path.lexists(recorded):
            return recorded
        if corpus_id not in self._releases:
            self._releases[corpus_id] = find_release(corpus, self._source)
        return self._releases[corpus_id].place(path)


def source_folder(settings: Settings, paths: WarehousePaths) -> Path:
    """Return the folder of the releases: that of the settings, else that of the embedded sample."""
    return settings.source or paths.sample


def find(corpus: Corpus, settings: Settings, paths: WarehousePaths) -> Release:
    """Find the release of a corpus at the source of the settings, in the form of the settings."""
    if settings.source is None or settings.form == RELEASE_FORM:
        return find_release(corpus, source_folder(settings, paths))
    return find_form(corpus, settings.source, registry.load_form(corpus.corpus_id, settings.form))


class Source:
    """The source of a build, searched once: checks, landing and the report all use the same result."""

    def __init__(self, settings: Settings, paths: WarehousePaths) -> None:
        """Search nothing yet: the embedded sample may not exist yet."""
        self.settings, self.paths = settings, paths
        self._releases: dict[str, Release] = {}

    @property
    def folder(self) -> Path:
        """The folder of the releases, also of the embedded sample."""
        return source_folder(self.settings, self.paths)

    def release(self, corpus: Corpus) -> Release:
        """Return the release of a corpus at the source, in the form of the settings."""
        if corpus.corpus_id not in self._releases:
            self._releases[corpus.corpus_id] = find(corpus, self.settings, self.paths)
        return self._releases[corpus.corpus_id]

    def search_again(self) -> None:
        """Forget what was found, because the files have changed: the embedded sample is generated by a build."""
        self._releases.clear()
        self.__dict__.pop("foreign", None)

    def releases(self) -> list[Release]:
        """Return the release of each corpus of the settings at the source."""
        return [self.release(corpus) for corpus in registry.load_corpora(self.settings.only)]

    @cached_property
    def foreign(self) -> tuple[Ignored, ...]:
        """The entries of the source that belong to no corpus."""
        return find_foreign(self.settings, self.paths)

    def ignored_lines(self) -> Iterator[str]:
        """Describe the files that are not read, one line per corpus and one for the rest."""
        for release in self.releases():
            yield from release.ignored_lines()
        yield from self.foreign_lines()

    def foreign_lines(self) -> Iterator[str]:
        """Describe the entries that belong to no corpus, in one line."""
        yield from foreign_lines(self.settings, self.foreign)


def find_release(corpus: Corpus, source: Path) -> Release:
    """Find a corpus below `source/<corpus_id>`; a missing folder is an empty release.

    A file may have another name than in the release, as described in `file_names`; the best of several is read. If a
    folder or a broken link is at the path of a file, the file counts as present, and landing refuses it.
    """
    folder = source / corpus.corpus_id
    names = names_of(corpus)
    found: dict[str, list[tuple[Name, Entry]]] = {}
    unread: list[Entry] = []
    for entry in walk(folder):
        is_data = not entry.is_folder or corpus.entity_of(entry.path) is not None
        name = names.find(entry.path) if is_data else None
        if name is not None:
            found.setdefault(name.path, []).append((name, entry))
        elif not entry.is_folder or entry.problem:
            unread.append(entry)
    files, found_as, seconds = [], {}, {}
    for path in sorted(found):
        best, *others = sorted(found[path], key=lambda one: (one[0].rank, one[1].path))
        files.append((best[0].entity, path))
        if best[1].path != path:
            found_as[path] = best[1].path
        seconds |= {entry.path: best[1].path for _, entry in others}
        unread += [entry for _, entry in others]
    missing = tuple(file for file in corpus.files if file.path not in found and not file.is_documentation)
    return Release(corpus, folder, tuple(files), missing, tuple(unread), found_as=found_as, seconds=seconds)


def find_form(corpus: Corpus, source: Path, form: Form | None) -> Release:
    """Find a corpus in another form, below `source/<dataset>`; without that form it is an empty release.

    Raises InputError if a split exists twice, in two layouts or file formats, or lacks one of its shards.
    """
    if form is None:
        return Release(corpus, source, (), ())
    entries = [entry._replace(path=f"{form.dataset}/{entry.path}") for entry in walk(source / form.dataset)]
    try:
        chosen = form.choose(entry.path for entry in entries)
    except FormError as error:
        raise InputError(f"{corpus.corpus_id}/{error}") from error
    entities = {entity.name: entity for entity in corpus.entities}
    files, missing = [], []
    for table, split in itertools.product(form.tables, form.parts):
        found = chosen.get((table.config, split), [])
        files += [(entities[table.entity], file.path) for file in found]
        if not found:
            missing.append(SourceFile(f"{form.stem(table, split)}{SUFFIXES[0]}", form.homepage))
    read = {path for _, path in files}
    unread = [entry for entry in entries if entry.path not in read and (entry.problem or not entry.is_folder)]
    return Release(corpus, source, tuple(files), tuple(missing), tuple(unread), form)


BRANCH = re.compile(r"-(?:master|main|[0-9a-f]{7,40})")
"""The suffix that an archive of a repository adds to its name."""
LIKENESS = 0.9
"""Similarity, from 0 to 1, above which a name counts as a misspelling of a known name."""


def find_foreign(settings: Settings, paths: WarehousePaths) -> tuple[Ignored, ...]:
    """Return the entries of the settings' source that are not corpus folders of this form; none for the sample."""
    if settings.source is None:
        return ()
    own = _folders_of(settings.form)
    warehouse = _warehouse_below(settings.source, paths)
    groups: dict[str, list[IgnoredFile]] = {NO_CORPUS: [], OTHER_FORM: []}
    try:
        entries = _entries(settings.source)
    except OSError as error:  # the files in its folders may still be readable
        return (group_of(UNREADABLE, [IgnoredFile("", problem=error.strerror or str(error))]),)
    for name, is_folder in entries:
        if name in own or name == warehouse:
            continue
        shown = printable(name) + ("/" if is_folder else "")
        if is_folder and any(name in _folders_of(form) for form in FORMS):
            groups[OTHER_FORM].append(IgnoredFile(shown))
        else:
            groups[NO_CORPUS].append(IgnoredFile(shown, _meant(name, is_folder, settings.form)))
    return tuple(group_of(kind, files) for kind, files in groups.items() if files)


def expected_folders(settings: Settings) -> list[str]:
    """List the folders of a source that are read."""
    if settings.form == RELEASE_FORM:
        return [f"{corpus.corpus_id}/" for corpus in registry.load_corpora(settings.only)]
    return sorted(f"{name}/" for name in _folders_of(settings.form))


def foreign_lines(settings: Settings, ignored: tuple[Ignored, ...]) -> Iterator[str]:
    """Describe the files that belong to no corpus, in one line."""
    yield from (f"{settings.source}: {line}" for line in describe(ignored, expected_folders(settings), ENTRIES))


def _entries(source: Path) -> list[tuple[str, bool]]:
    """List the entries of a source as name and `is_folder`, without documents, system and own files."""
    with os.scandir(source) as found:
        entries = [(entry.name, _is_folder(entry)) for entry in found]
    return [
        (name, is_folder)
        for name, is_folder in entries
        if not (SYSTEM_NAMES.fullmatch(name) or OWN_FILES.fullmatch(name))
        and (is_folder or not DOCUMENTATION.fullmatch(name))
    ]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _warehouse_below(source: Path, paths: WarehousePaths) -> str | None:
    """Return the entry of the source that is or contains the warehouse; None if the warehouse is elsewhere."""
    root, source = paths.root.resolve(), source.resolve()
    return root.relative_to(source).parts[0] if source in root.parents else None


@functools.cache
def _folders_of(form: str) -> frozenset[str]:
    """Return the names of the folders that a form of the releases has below a source."""
    if form == RELEASE_FORM:
        return frozenset(registry.corpus_ids())
    forms = (registry.load_form(corpus_id, form) for corpus_id in registry.corpus_ids())
    return frozenset(one.dataset for one in forms if one)


def _meant(name: str, is_folder: bool, form: str) -> str:
    """Return the probable intended path of an entry of a source in this form; empty if that is not clear."""
    if is_folder:
        corpus_id = _corpus_meant(name)
        if form == RELEASE_FORM:
            return f"{corpus_id}/" if corpus_id else ""
        other = registry.load_form(corpus_id, form) if corpus_id else None
        return f"{other.dataset}/" if other else ""
    if form != RELEASE_FORM:
        return ""
    found = {corpus_id: names.find(name) for corpus_id, names in _names() if names.beginnings.match(name)}
    places = [f"{corpus_id}/{one.path}" for corpus_id, one in found.items() if one]
    return places[0] if len(places) == 1 else ""


def _corpus_meant(name: str) -> str:
    """Return the corpus that a folder is named after: its id, title or repository, with any suffix."""
    known, repositories = _known_names()
    if corpus_id := repositories.get(BRANCH.sub("", name.lower())):
        return corpus_id
    parts = re.findall(r"[^\W\d_]+|\d+", name.lower())
    for count in range(len(parts), 0, -1):
        if corpus_id := known.get("".join(parts[:count])):
            return corpus_id
    near = [one for one in known if one[0] == name[0].lower()]
    like = difflib.get_close_matches("".join(parts), near, n=1, cutoff=LIKENESS)
    return known[like[0]] if like and re.findall(r"\d", like[0]) == re.findall(r"\d", name) else ""


@functools.cache
def _names() -> tuple[tuple[str, ReleaseNames], ...]:
    """Return the file names of each corpus."""
    return tuple((corpus.corpus_id, names_of(corpus)) for corpus in registry.load_corpora())


@functools.cache
def _known_names() -> tuple[dict[str, str], dict[str, str]]:
    """Map the corpora by their names, as small letters and digits only, and by their publishers' repositories."""
    called: dict[str, str] = {}
    repositories: dict[str, str] = {}
    for corpus in registry.load_corpora():
        called |= dict.fromkeys(filter(None, map(_bare, _titles(corpus))), corpus.corpus_id)
        if repository := repository_of(corpus):
            repositories[repository.lower()] = corpus.corpus_id
    return called, repositories


def _titles(corpus: Corpus) -> Iterator[str]:
    yield corpus.corpus_id
    yield re.split(r"[(:]", corpus.title)[0]
    yield from re.findall(r"\((.*?)\)", corpus.title)


def _bare(name: str) -> str:
    return "".join(re.findall(r"[^\W\d_]+|\d+", name.lower()))
