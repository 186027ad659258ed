"""What the user gave a build, checked before anything is done."""

from __future__ import annotations

import os
from pathlib import Path

from pipelines.building import narrowing, space
from pipelines.cluster import choosing
from pipelines.commands import command
from pipelines.corpora import registry
from pipelines.corpora.room import Corpus
from pipelines.errors import InputError
from pipelines.intake import foreign, ownership, releases
from pipelines.intake.file_names import repository_path
from pipelines.intake.ignored import ENTRIES, describe
from pipelines.intake.sql_text import GLOB_CHARACTERS
from pipelines.paths import WarehousePaths
from pipelines.settings import FORMS, RELEASE_FORM, Settings
from pipelines.visible import visible

LONGEST_PATH = 400
"""Bytes of a warehouse's path: SQLite opens files of 512, and what Dagster keeps there has a name of its own below."""


def check_before_building(settings: Settings, paths: WarehousePaths) -> None:
    """Check all that is checked before a build begins, however it was started; the warehouse's lock is held.

    Raises InputError for input that cannot be used and for less that would replace more, BuildError for a full disk.
    """
    check_input(settings, paths)
    narrowing.refuse_less(settings, paths)
    space.refuse_full_disk(settings, paths)


def check_input(settings: Settings, paths: WarehousePaths) -> None:
    """Raise InputError before anything is done."""
    if (length := len(os.fsencode(paths.root))) > LONGEST_PATH:
        raise InputError(f"{paths.root}: the path has {length} bytes; that of a warehouse can have {LONGEST_PATH}")
    if GLOB_CHARACTERS & set(str(paths.root)):
        raise InputError(f"{paths.root}: the path of a warehouse cannot have any of * ? [ ] {{ }}")
    ownership.refuse_foreign(paths)
    choosing.check(settings)
    corpora = registry.load_corpora(settings.only)
    if settings.form != RELEASE_FORM:
        _check_form(settings, paths, corpora)
        return
    if settings.source is None:
        return
    download = f"`{command('fetch', '--to', settings.source)}` downloads the releases"
    if not settings.source.is_dir():
        raise InputError(f"{settings.source}: no such folder ({download})")
    if not any(releases.find_release(corpus, settings.source).files for corpus in corpora):
        raise InputError(
            f"{settings.source}: {_why_nothing_is_read(settings.source, corpora, settings, paths, download)}"
        )


def _why_nothing_is_read(
    source: Path, corpora: tuple[Corpus, ...], settings: Settings, paths: WarehousePaths, download: str
) -> str:
    """What is wrong with a source of which nothing would be read."""
    if form := _form_of(source, corpora):
        return f"holds files of the form {form}, which `--form {form}` reads"
    parent = source.parent
    if any(releases.find_release(corpus, parent).files for corpus in corpora):
        return f"is the folder of one corpus, or none; the releases stand below --source {parent}"
    places = ", ".join(f"{corpus.corpus_id}/" for corpus in corpora)
    if corpus_id := _corpus_of(source, corpora):
        return f"holds the files of {corpus_id}; put it at FOLDER/{corpus_id} and give --source FOLDER"
    return (
        f"no data file of {places.replace('/', '')}; expected below {places} "
        f"({download}, `{command('status')}` lists where they come from){_what_is_there(settings, paths)}"
    )


def _what_is_there(settings: Settings, paths: WarehousePaths) -> str:
    """What lies in the source and is not read, behind a sentence; empty where nothing lies there."""
    corpora = registry.load_corpora(settings.only)
    lines = [line for corpus in corpora for line in releases.find(corpus, settings, paths).ignored_lines()]
    lines += describe(foreign.find_foreign(settings, paths), nouns=ENTRIES)
    return "".join(f". {visible(line)}" for line in lines)


def _form_of(source: Path, corpora: tuple[Corpus, ...]) -> str | None:
    """Find the form other than the release's own that a folder has files of."""
    for name in FORMS:
        forms = {corpus: registry.load_form(corpus.corpus_id, name) for corpus in corpora if name != RELEASE_FORM}
        if any(form and releases.find_form(corpus, source, form).files for corpus, form in forms.items()):
            return name
    return None


def _corpus_of(source: Path, corpora: tuple[Corpus, ...]) -> str | None:
    """The corpus whose files lie in a folder itself, as published or in a clone of the publisher's repository."""
    counts = {
        corpus.corpus_id: sum(
            any((source / path).is_file() for path in {file.path, repository_path(corpus, file)})
            for file in corpus.files
            if not file.is_documentation
        )
        for corpus in corpora
    }
    best = max(counts, key=lambda corpus_id: counts[corpus_id])
    return best if counts[best] else None


def _check_form(settings: Settings, paths: WarehousePaths, corpora: tuple[Corpus, ...]) -> None:
    """Raise InputError when the source has nothing of the form asked for."""
    forms = {corpus: registry.load_form(corpus.corpus_id, settings.form) for corpus in corpora}
    datasets = sorted({f"{form.dataset}/{table.config}/" for form in forms.values() if form for table in form.tables})
    if not datasets:
        raise InputError(f"{settings.form}: no form of {', '.join(corpus.corpus_id for corpus in corpora)}")
    if settings.source is None:
        raise InputError(f"--form {settings.form} reads a --source with {', '.join(datasets)}")
    if not settings.source.is_dir():
        raise InputError(f"{settings.source}: no such folder")
    if not any(releases.find_form(corpus, settings.source, form).files for corpus, form in forms.items()):
        parent = settings.source.parent
        if any(form and form.dataset == settings.source.name for form in forms.values()):
            raise InputError(f"{settings.source}: is the folder of one data set, give --source {parent}")
        raise InputError(
            f"{settings.source}: no data file of the form {settings.form}; "
            f"expected <split>.parquet or <split>.jsonl below {', '.join(datasets)}{_what_is_there(settings, paths)}"
        )
