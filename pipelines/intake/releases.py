"""Releases on disk: which files of each corpus are at the source, which are missing, and which are not read."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pipelines.corpora import registry
from pipelines.corpora.forms import SUFFIXES, Form, FormError
from pipelines.corpora.room import Corpus, Entity, SourceFile
from pipelines.errors import InputError
from pipelines.intake.file_names import FormNames, Name, names_of
from pipelines.intake.generated import MARKER
from pipelines.intake.ignored import Ignored, Ignoring, describe
from pipelines.intake.source_tree import Entry, walk
from pipelines.paths import WarehousePaths
from pipelines.settings import RELEASE_FORM, Settings

SHOWN_EXPECTED = 3
"""Paths that are named as examples of what is expected."""


@dataclass(frozen=True)
class Release:
    """What of a corpus is at the source: data files, listed files that are missing, entries that are not read.

    `files` have their paths in the release. Where a file has another name at the source, `found_as` has it.
    """

    corpus: Corpus
    folder: Path
    files: tuple[tuple[Entity, str], ...]
    missing: tuple[SourceFile, ...]
    unread: tuple[Entry, ...] = ()
    form: Form | None = None
    """The form of the files, where it is not the release's own."""
    found_as: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, str] = field(default_factory=dict)
    """Entries not read because a better name for the same file is there, each with that name."""

    def place(self, path: str) -> Path:
        """Where a file of the release lies."""
        return self.folder / self.found_as.get(path, path)

    @property
    def marked(self) -> Path:
        """The folder that says if the release was generated: its own, or the one below it that has the mark."""
        marks = [entry.path for entry in self.unread if entry.path.rsplit("/", 1)[-1] == MARKER]
        return (self.folder / min(marks, key=len)).parent if marks else self.folder

    @property
    def listed(self) -> int:
        """Number of data files that a complete release has."""
        if self.form is not None:
            return len(self.files) + len(self.missing)
        return sum(not file.is_documentation for file in self.corpus.files)

    @property
    def expected(self) -> tuple[str, ...]:
        """Examples of the paths that are read, one an entity: of files that are missing, else of any."""
        if self.form is not None:
            stems = {table.entity: stem for table, stem in reversed(self.form.stems())}
            return tuple(f"{stem}{SUFFIXES[0]}" for stem in reversed(stems.values()))[:SHOWN_EXPECTED]
        listed = self.missing or [file for file in self.corpus.files if not file.is_documentation]
        entities = ((self.corpus.entity_of(file.path), file.path) for file in reversed(listed))
        examples = {entity.name if entity else path: path for entity, path in entities}
        return tuple(reversed(examples.values()))[:SHOWN_EXPECTED]

    def ignored_lines(self) -> Iterator[str]:
        """What is not read, as a line for people; nothing where all is."""
        yield from (f"{self.corpus.corpus_id}: {line}" for line in describe(self.ignored, self.expected))

    @cached_property
    def ignored(self) -> tuple[Ignored, ...]:
        """What lies in the folder and is not read, by kind."""
        names = FormNames(self.corpus, self.form) if self.form else names_of(self.corpus)
        read = [self.found_as.get(path, path) for _, path in self.files]
        return Ignoring(names, read, self.seconds).sort(self.unread)


class Places:
    """Where the files that a build has read lie at a source, which may be another source than that of the build."""

    def __init__(self, source: Path, found_as: Mapping[str, str]) -> None:
        """`found_as` has the path at the source, by source_file_id, of files that had another name there."""
        self._source, self._found_as = source, found_as
        self._releases: dict[str, Release] = {}

    def find(self, corpus: Corpus, path: str) -> Path:
        """Where a file of a release lies: in the place recorded, else under another name; its own where it is not."""
        corpus_id = corpus.corpus_id
        recorded = self._source / corpus_id / self._found_as.get(f"{corpus_id}/{path}", path)
        if os.path.lexists(recorded):
            return recorded
        if corpus_id not in self._releases:
            self._releases[corpus_id] = find_release(corpus, self._source)
        return self._releases[corpus_id].place(path)


def find(corpus: Corpus, settings: Settings, paths: WarehousePaths) -> Release:
    """What of a corpus is at the source of the settings, in the form that they say."""
    if settings.source is None or settings.form == RELEASE_FORM:
        return find_release(corpus, settings.source or paths.sample)
    return find_form(corpus, settings.source, registry.load_form(corpus.corpus_id, settings.form))


def find_release(corpus: Corpus, source: Path) -> Release:
    """Look for a corpus below `source/<corpus_id>`; a folder that is not there is an empty release.

    A file may have another name than in the release, as `file_names` says; of several the best is read. What stands in
    the place of a file and cannot be read as one, such as a folder or a link to nothing, is there: landing refuses it.
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
    """Look for a corpus in another form, below `source/<dataset>`; without that form it is an empty release.

    Raises InputError when a split is there twice, in two layouts or file formats, or lacks one of its shards.
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
