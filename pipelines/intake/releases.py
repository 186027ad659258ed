"""Releases on disk: which files of each corpus are at the source, which are missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipelines.corpora import registry
from pipelines.corpora.forms import SUFFIXES, Form, FormError
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
    """Look for a corpus in another form, below `source/<dataset>`; without that form it is an empty release.

    Raises InputError when a split is there twice, in two layouts or file formats, or lacks one of its shards.
    """
    if form is None:
        return Release(corpus, source, (), (), ())
    places = {path.relative_to(source).as_posix(): path for path in (source / form.dataset).rglob("*")}
    try:
        chosen = form.choose(places)
    except FormError as error:
        raise InputError(f"{corpus.corpus_id}/{error}") from error
    entities = {entity.name: entity for entity in corpus.entities}
    files = [(entities[file.table.entity], file.path) for split in chosen.values() for file in split]
    missing = [
        SourceFile(f"{form.stem(table, split)}{SUFFIXES[0]}", form.homepage)
        for table in form.tables
        for split in form.parts
        if (table.config, split) not in chosen
    ]
    read = {path for _, path in files}
    ignored = sorted(name for name, path in places.items() if path.is_file() and name not in read)
    return Release(corpus, source, tuple(files), tuple(missing), tuple(ignored), form)
