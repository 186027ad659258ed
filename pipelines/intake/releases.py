"""Releases on disk: which files of each corpus are at the source, which are missing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pipelines.corpora import registry
from pipelines.corpora.forms import SUFFIXES, Form
from pipelines.corpora.room import Corpus, Entity, SourceFile
from pipelines.errors import InputError
from pipelines.paths import WarehousePaths
from pipelines.settings import RELEASE_FORM, Settings


@dataclass(frozen=True)
class Release:
    """What of a corpus is at the source: data files, listed files that are missing, files that are none of ours."""

    corpus: Corpus
    folder: Path
    files: tuple[tuple[Entity, str], ...]
    missing: tuple[SourceFile, ...]
    ignored: tuple[str, ...]
    form: Form | None = None
    """The form of the files, where it is not the release's own."""


def find(corpus: Corpus, settings: Settings, paths: WarehousePaths) -> Release:
    """What of a corpus is at the source of the settings, in the form that they say."""
    if settings.source is None or settings.form == RELEASE_FORM:
        return find_release(corpus, settings.source or paths.sample)
    return find_form(corpus, settings.source, registry.load_form(corpus.corpus_id, settings.form))


def find_release(corpus: Corpus, source: Path) -> Release:
    """Look for a corpus below `source/<corpus_id>`; a folder that is not there is an empty release.

    What stands in the place of a file and is none, such as a folder or a link to nothing, is there: landing refuses it.
    """
    folder = source / corpus.corpus_id
    places = {path: path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    present = sorted(name for path, name in places.items() if path.is_file() or corpus.entity_of(name) is not None)
    documentation = {file.path for file in corpus.files if file.is_documentation}
    files, ignored = [], []
    for path in present:
        entity = corpus.entity_of(path)
        if entity is None or path in documentation:
            ignored.append(path)
        else:
            files.append((entity, path))
    missing = tuple(file for file in corpus.files if file.path not in present and not file.is_documentation)
    return Release(corpus, folder, tuple(files), missing, tuple(ignored))


def find_form(corpus: Corpus, source: Path, form: Form | None) -> Release:
    """Look for a corpus in another form, below `source/<dataset>/<config>`; without that form it is an empty release.

    Raises InputError when a table is there twice, as Parquet and as JSON lines.
    """
    files, missing = [], []
    for table, stem in form.stems() if form else ():
        entity = next(entity for entity in corpus.entities if entity.name == table.entity)
        present = [f"{stem}{suffix}" for suffix in SUFFIXES if os.path.lexists(source / f"{stem}{suffix}")]
        if len(present) > 1:
            raise InputError(f"{corpus.corpus_id}/{present[0]}: {present[1]} is there too, give one of them")
        files += [(entity, path) for path in present]
        if form and not present:
            missing.append(SourceFile(f"{stem}{SUFFIXES[0]}", form.homepage))
    return Release(corpus, source, tuple(files), tuple(missing), (), form)
