"""What the user gave a build, checked before anything is done."""

from __future__ import annotations

import os

from pipelines.cluster import choosing
from pipelines.commands import command
from pipelines.corpora import registry
from pipelines.corpora.room import Corpus
from pipelines.errors import InputError
from pipelines.intake import releases
from pipelines.intake.sql_text import GLOB_CHARACTERS
from pipelines.paths import WarehousePaths
from pipelines.settings import RELEASE_FORM, Settings

LONGEST_PATH = 400
"""Bytes of a warehouse's path: SQLite opens files of 512, and what Dagster keeps there has a name of its own below."""


def check_input(settings: Settings, paths: WarehousePaths) -> None:
    """Raise InputError before anything is done."""
    if (length := len(os.fsencode(paths.root))) > LONGEST_PATH:
        raise InputError(f"{paths.root}: the path has {length} bytes; that of a warehouse can have {LONGEST_PATH}")
    if GLOB_CHARACTERS & set(str(paths.root)):
        raise InputError(f"{paths.root}: the path of a warehouse cannot have any of * ? [ ] {{ }}")
    choosing.check(settings)
    corpora = registry.load_corpora(settings.only)
    if settings.form != RELEASE_FORM:
        _check_form(settings, corpora)
        return
    if settings.source is None:
        return
    download = f"`{command('fetch', '--to', settings.source)}` downloads the releases"
    if not settings.source.is_dir():
        raise InputError(f"{settings.source}: no such folder ({download})")
    if not any(releases.find_release(corpus, settings.source).files for corpus in corpora):
        parent = settings.source.parent
        if any(releases.find_release(corpus, parent).files for corpus in corpora):
            raise InputError(
                f"{settings.source}: is the folder of one corpus, or none; the releases stand below --source {parent}"
            )
        places = ", ".join(f"{corpus.corpus_id}/" for corpus in corpora)
        raise InputError(
            f"{settings.source}: no data file of {places.replace('/', '')}; expected below {places} "
            f"({download}, `{command('status')}` lists where they come from)"
        )


def _check_form(settings: Settings, corpora: tuple[Corpus, ...]) -> None:
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
        raise InputError(
            f"{settings.source}: no data file of the form {settings.form}; "
            f"expected <split>.parquet or <split>.jsonl below {', '.join(datasets)}"
        )
