"""Finds the corpus rooms and says what one lacks. No other module knows which corpora there are.

A room that cannot be read raises `RoomError` with one line; `problems` lists every missing piece of furniture.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import tomllib
from pathlib import Path
from typing import Any

from dialogue_warehouse import corpora
from dialogue_warehouse.corpora.forms import Form
from dialogue_warehouse.corpora.release import Corpus, SourceFile
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.settings import is_mirror

FURNITURE = ("source.toml", "schema.py", "claims.toml", "simulate.py", "restore.sql")


class RoomError(InputError):
    """A corpus room is incomplete or contradicts itself."""


def corpus_ids() -> tuple[str, ...]:
    """The ids of all rooms, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(corpora.__path__) if module.ispkg))


def room_folder(corpus_id: str) -> Path:
    """The folder of a room."""
    return Path(corpora.__path__[0]) / corpus_id


def problems(folder: Path) -> list[str]:
    """What the room in this folder lacks, one line each; empty when it is complete."""
    return [f"{folder.name}: {name} is missing" for name in FURNITURE if not (folder / name).is_file()]


@functools.cache
def load_corpus(corpus_id: str) -> Corpus:
    """Read one room. Raises RoomError when furniture is missing or a fact is."""
    folder = room_folder(corpus_id)
    if not folder.is_dir():
        raise RoomError(f"{corpus_id}: no such corpus; there are {', '.join(corpus_ids())}")
    lacking = problems(folder)
    if lacking:
        raise RoomError("; ".join(lacking))
    facts = tomllib.loads((folder / "source.toml").read_text(encoding="utf-8"))
    schema = importlib.import_module(f"{corpora.__name__}.{corpus_id}.schema")
    try:
        files = tuple(SourceFile(**_with_mirrors(corpus_id, file)) for file in facts.pop("files"))
        facts = _with_mirrors(corpus_id, facts)
        corpus = Corpus(**facts, files=files, entities=schema.ENTITIES, folder=folder)
    except (KeyError, TypeError) as error:
        raise RoomError(f"{corpus_id}/source.toml: {error}") from error
    if corpus.corpus_id != corpus_id:
        raise RoomError(f"{corpus_id}/source.toml: corpus_id is '{corpus.corpus_id}'")
    return corpus


def _with_mirrors(corpus_id: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Facts of a corpus or a file, with their mirrors as a tuple. Raises RoomError for a mirror that is not a URL."""
    mirrors = facts.get("mirrors", [])
    if not isinstance(mirrors, list) or not all(isinstance(url, str) and is_mirror(url) for url in mirrors):
        named = "".join(f" of {facts[name]}" for name in ("path",) if name in facts)
        raise RoomError(f"{corpus_id}/source.toml: mirrors{named}: not a list of URLs of http, https or file")
    return facts | {"mirrors": tuple(mirrors)}


@functools.cache
def load_form(corpus_id: str, name: str) -> Form | None:
    """The room's form of this name, from its module `<name>.py`; None when the corpus is not offered in it."""
    if not (room_folder(corpus_id) / f"{name}.py").is_file():
        return None
    return importlib.import_module(f"{corpora.__name__}.{corpus_id}.{name}").FORM


def load_corpora(only: tuple[str, ...] = ()) -> tuple[Corpus, ...]:
    """All rooms, or the named ones, in the order of their ids."""
    return tuple(load_corpus(corpus_id) for corpus_id in (sorted(set(only)) or corpus_ids()))
