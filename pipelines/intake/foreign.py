"""Entries of a source that belong to no corpus, with the folder that was probably meant."""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path

from pipelines.corpora import registry
from pipelines.corpora.room import Corpus
from pipelines.intake import releases
from pipelines.intake.file_names import ReleaseNames, names_of, repository_of
from pipelines.intake.ignored import (
    DOCUMENTATION,
    ENTRIES,
    NO_CORPUS,
    OTHER_FORM,
    OWN_FILES,
    UNREADABLE,
    Ignored,
    IgnoredFile,
    describe,
    group_of,
    printable,
)
from pipelines.intake.source_tree import SYSTEM_NAMES
from pipelines.paths import WarehousePaths
from pipelines.settings import FORMS, RELEASE_FORM, Settings

BRANCH = re.compile(r"-(?:master|main|[0-9a-f]{7,40})")
"""What an archive of a repository adds to its name."""
LIKENESS = 0.9
"""How like a known name another one has to be, from 0 to 1, to be taken for a slip of the pen."""


def find_foreign(settings: Settings, paths: WarehousePaths) -> tuple[Ignored, ...]:
    """The entries of the settings' source that are no corpus' folder in the form asked for; none of the sample."""
    if settings.source is None:
        return ()
    own = _folders_of(settings.form)
    warehouse = _warehouse_below(settings.source, paths)
    groups: dict[str, list[IgnoredFile]] = {NO_CORPUS: [], OTHER_FORM: []}
    try:
        entries = _entries(settings.source)
    except OSError as error:  # what is in its folders may be read all the same
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
    """The folders of a source that are read."""
    if settings.form == RELEASE_FORM:
        return [f"{corpus.corpus_id}/" for corpus in registry.load_corpora(settings.only)]
    return sorted(f"{name}/" for name in _folders_of(settings.form))


def ignored_lines(settings: Settings, paths: WarehousePaths) -> Iterator[str]:
    """What lies at the source of these settings and is not read, a line a corpus and one for the rest."""
    for corpus in registry.load_corpora(settings.only):
        yield from releases.find(corpus, settings, paths).ignored_lines()
    yield from foreign_lines(settings, find_foreign(settings, paths))


def foreign_lines(settings: Settings, ignored: tuple[Ignored, ...]) -> Iterator[str]:
    """What belongs to no corpus, as a line for people."""
    yield from (f"{settings.source}: {line}" for line in describe(ignored, expected_folders(settings), ENTRIES))


def _entries(source: Path) -> list[tuple[str, bool]]:
    """Name, and if it is a folder, of each entry of a source but documentation and files of the system or our own."""
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
    """The entry of the source that the warehouse is or lies in, None where it lies elsewhere."""
    root, source = paths.root.resolve(), source.resolve()
    return root.relative_to(source).parts[0] if source in root.parents else None


@functools.cache
def _folders_of(form: str) -> frozenset[str]:
    """The names of the folders that a form of the releases has below a source."""
    if form == RELEASE_FORM:
        return frozenset(registry.corpus_ids())
    forms = (registry.load_form(corpus_id, form) for corpus_id in registry.corpus_ids())
    return frozenset(one.dataset for one in forms if one)


def _meant(name: str, is_folder: bool, form: str) -> str:
    """Find where an entry of a source in this form was probably meant to be; empty where that is not clear."""
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
    """The corpus that a folder is named after: by its id, title or repository, whatever stands behind the name."""
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
    """The names of the files of each corpus."""
    return tuple((corpus.corpus_id, names_of(corpus)) for corpus in registry.load_corpora())


@functools.cache
def _known_names() -> tuple[dict[str, str], dict[str, str]]:
    """The corpora by what they are called, in small letters and digits alone, and by their publishers' repositories."""
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
