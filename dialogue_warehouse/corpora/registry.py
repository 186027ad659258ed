"""Find the folders of the corpora and read them. No other module knows which corpora there are.

A folder that cannot be read raises `CorpusError` with one line; `problems` lists every missing file.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import tomllib
from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import msgspec

from dialogue_warehouse import corpora
from dialogue_warehouse.corpora.forms import Form
from dialogue_warehouse.corpora.release import GOAL_KINDS, Corpus, SourceFile
from dialogue_warehouse.errors import InputError, first_line
from dialogue_warehouse.settings import is_mirror, read_variable, variable_of

REQUIRED_FILES = ("source.toml", "schema.py", "claims.toml", "simulate.py", "restore.sql")
"""The files that the folder of each corpus has."""


class CorpusError(InputError):
    """The folder of a corpus is incomplete or contradicts itself."""


def corpus_ids() -> tuple[str, ...]:
    """Return the ids of all corpora, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(corpora.__path__) if module.ispkg))


def corpus_folder(corpus_id: str) -> Path:
    """Return the folder of a corpus."""
    return Path(corpora.__path__[0]) / corpus_id


def problems(folder: Path) -> list[str]:
    """List the files that the folder of a corpus lacks, one line each; empty when it is complete."""
    return [f"{folder.name}: {name} is missing" for name in REQUIRED_FILES if not (folder / name).is_file()]


@functools.cache
def load_corpus(corpus_id: str) -> Corpus:
    """Read the folder of a corpus. Raises CorpusError when a file or a fact is missing."""
    folder = corpus_folder(corpus_id)
    if not corpus_id.isidentifier() or not folder.is_dir():  # a path could lead to another folder
        variables = [f"{variable_of(name)}: " for name in ("only", "refresh") if corpus_id in read_variable(name)]
        name = f"{''.join(variables[:1])}{corpus_id or repr(corpus_id)}"
        raise CorpusError(f"{name}: no such corpus; there are {', '.join(corpus_ids())}")
    lacking = problems(folder)
    if lacking:
        raise CorpusError("; ".join(lacking))
    place = f"{corpus_id}/source.toml"
    try:
        facts = tomllib.loads((folder / "source.toml").read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CorpusError(f"{place}: {error}") from error
    listed = facts.pop("files", None)
    if not isinstance(listed, list) or not listed:
        raise CorpusError(f"{place}: has no [[files]]")
    files = tuple(SourceFile(**_with_mirrors(corpus_id, _checked(place, SourceFile, file))) for file in listed)
    paths = [file.path for file in files]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise CorpusError(f"{place}: the file {twice} is listed twice")
    facts = _with_mirrors(corpus_id, _checked(place, Corpus, facts, ("files", "entities", "folder")))
    corpus = Corpus(**facts, files=files, entities=load_module(corpus_id, "schema", "ENTITIES").ENTITIES, folder=folder)
    if corpus.corpus_id != corpus_id:
        raise CorpusError(f"{corpus_id}/source.toml: corpus_id is '{corpus.corpus_id}'")
    if corpus.goal_kind not in GOAL_KINDS:
        raise CorpusError(
            f"{corpus_id}/source.toml: goal_kind is '{corpus.goal_kind}'; write one of {', '.join(GOAL_KINDS)}"
        )
    return corpus


def load_module(corpus_id: str, name: str, *needed: str) -> ModuleType:
    """Import a module of a corpus. Raises CorpusError for any error of its code, and if it lacks a needed name."""
    try:
        module = importlib.import_module(f"{corpora.__name__}.{corpus_id}.{name}")
    except Exception as error:  # anything that the code of a corpus may raise
        said = f"{type(error).__name__}: {first_line(error)}"
        raise CorpusError(f"{corpus_id}/{name}.py cannot be loaded: {said}") from error
    if lacking := [one for one in needed if not hasattr(module, one)]:
        raise CorpusError(f"{corpus_id}/{name}.py has no {lacking[0]}")
    return module


_types_of = functools.cache(get_type_hints)


def _checked(place: str, kind: type[Corpus | SourceFile], facts: Any, given: Sequence[str] = ()) -> dict[str, Any]:
    """Return facts of a corpus or a file.

    Raises CorpusError for a key that is unknown or missing, a needed text that is empty, or a wrong type. The code
    fills the fields in `given`; the mirrors are checked separately.
    """
    entry = f"{place}: {facts['path']}" if isinstance(facts, dict) and "path" in facts else place
    known = {field.name: field for field in fields(kind) if field.name not in given}
    if not isinstance(facts, dict):
        raise CorpusError(f"{entry}: an entry of 'files' is not a table")
    if unknown := sorted(facts.keys() - known.keys()):
        raise CorpusError(f"{entry}: unknown key '{unknown[0]}'; the keys are {', '.join(known)}")
    needed = [name for name, field in known.items() if field.default is MISSING]
    if lacking := [name for name in needed if name not in facts]:
        raise CorpusError(f"{entry}: '{lacking[0]}' is missing")
    if empty := [name for name in needed if isinstance(facts[name], str) and not facts[name].strip()]:
        raise CorpusError(f"{entry}: '{empty[0]}' is empty")
    types = _types_of(kind)
    for name in facts.keys() - {"mirrors"}:
        try:
            msgspec.convert(facts[name], types[name])
        except msgspec.ValidationError as error:
            raise CorpusError(f"{entry}: '{name}': {error}") from error
    return facts


def _with_mirrors(corpus_id: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts of a corpus or a file, with their mirrors as a tuple.

    Raises CorpusError for a mirror that is not a URL.
    """
    mirrors = facts.get("mirrors", [])
    if not isinstance(mirrors, list) or not all(isinstance(url, str) and is_mirror(url) for url in mirrors):
        named = f" of {facts['path']}" if "path" in facts else ""
        raise CorpusError(f"{corpus_id}/source.toml: mirrors{named}: not a list of URLs of http, https or file")
    return facts | {"mirrors": tuple(mirrors)}


@functools.cache
def load_form(corpus_id: str, name: str) -> Form | None:
    """Load a form of a corpus from its module `<name>.py`; None if the corpus has no such form. Raises CorpusError."""
    if not (corpus_folder(corpus_id) / f"{name}.py").is_file():
        return None
    return load_module(corpus_id, name, "FORM").FORM


def load_corpora(only: tuple[str, ...] = ()) -> tuple[Corpus, ...]:
    """Load all corpora, or the named ones, in the order of their ids."""
    return tuple(load_corpus(corpus_id) for corpus_id in (sorted(set(only)) or corpus_ids()))
