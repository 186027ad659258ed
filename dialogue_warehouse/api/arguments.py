"""The arguments of the Python API: a selection, values that are checked, and errors that name them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import duckdb

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import CheckError, InputError, first_line
from dialogue_warehouse.paths import absolute, refuse_root
from dialogue_warehouse.reading.selection import DEFECTS, Selection
from dialogue_warehouse.settings import Settings, folder_named, variable_of
from dialogue_warehouse.storage import ownership

Names = str | Iterable[str] | None
"""One name, or several; None does not limit the selection."""
ARGUMENTS = (
    (r"--corpora\b", "corpus"),
    (r"--licenses\b", "license"),
    (r"--sample N --seed S", "sample=N and seed=S"),
    (r"--force (overwrites|removes)", r"force=True \1"),
    (r"--form (\w+):", r"form '\1':"),
    (r"--fuzzy (\w+):", r"fuzzy '\1':"),
    (r"\b(\w+), or --timeout of `sql`,", r"the variable \1"),
    (r"--(across|without)-(turn|defects|leaks)\b", r"\1_\2"),
    (r"--(keys|split|where|sample|seed)\b", r"\1"),
    (r"DIALOGUE_QUERY_MEMORY_LIMIT allows more", "memory_limit of open allows more"),
    (r"`sql --raw` adds", "open(…, raw=True) adds"),
    (r"`trace` shows where it comes from", "sql('from core.source_of($key)', key=…) shows where it comes from"),
    (r"`[^`]*violations --rules[^`]*` lists", "violations(summary=True) lists"),
    (r"`[^`]*dialogue-warehouse claims[^`]*` lists", "claims() lists"),
    (r"`[^`]*dialogue-warehouse tables[^`]*` lists", "tables() lists"),
    (r"run the same command again", "call it again"),
)
"""The words of a command in an error, and those of Python. An error may quote a long text, so none may backtrack."""


def selection_of(
    keys: Names,
    corpus: Names,
    split: Names,
    where: str | None,
    without_defects: str | None,
    without_leaks: bool,
    licenses: Names,
    sample: int | None,
    seed: int,
) -> Selection:
    """Return the selection of these arguments. Raises InputError for one that is not valid."""
    refuse_other("without_defects", without_defects, DEFECTS)
    if sample is not None:
        number("sample", sample, "a number of dialogues")
    if where is not None:
        text("where", where)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise InputError(f"seed: {seed!r} is not a number")
    if seed and sample is None:
        raise InputError("seed: has no effect without sample=N")
    return Selection(
        corpora=words(corpus, "corpus"),
        splits=words(split, "split"),
        where=where,
        without_defects=without_defects,
        without_leaks=flag("without_leaks", without_leaks),
        licenses=words(licenses, "license"),
        sample=sample,
        seed=seed,
        keys=words(keys, "keys"),
    )


@contextlib.contextmanager
def in_words_of_python() -> Generator[None]:
    """Replace the option or command that an error names with the argument or method of the Python API.

    An error of the system, such as a folder that cannot be written, is raised as CheckError, and so is one of DuckDB
    about memory or a file.
    """
    try:
        yield
    except InputError as error:
        said = str(error)
        for pattern, word in ARGUMENTS:
            said = re.sub(pattern, word, said)
        if said != str(error):
            raise type(error)(said) from error
        raise
    except OSError as error:
        raise CheckError(f"{error.filename or 'a file'}: {error.strerror or error}") from error
    except duckdb.OutOfMemoryException as error:
        raise CheckError("DuckDB needs more memory than it may use: memory_limit of open allows more") from error
    except duckdb.IOException as error:
        raise CheckError(first_line(error)) from error


def words(given: Names, what: str) -> tuple[str, ...]:
    """Return names as a tuple. Raises InputError for one that is not a string, and for an empty list."""
    if given is None or isinstance(given, str):
        return () if given is None else (given,)
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InputError(f"{what}: {given!r} is not a string")
    if not (named := tuple(text(what, name) for name in given)):
        raise InputError(f"{what}: the list is empty; use None for no limit")
    return named


def text(argument: str, value: object) -> str:
    """Return a text. Raises InputError for anything else, and for one that cannot be printed."""
    if not isinstance(value, str):
        raise InputError(f"{argument}: {value!r} is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{argument}: {value!r} is not valid Unicode text") from None
    return value


def flag(argument: str, value: object) -> bool:
    """Return True or False; None is False. Raises InputError for anything else, such as the text `no`."""
    refuse_other(argument, value, (False, True))
    return bool(value)


def number(argument: str, value: object, noun: str = "a number from 1 on") -> int:
    """Return a number from 1 on. Raises InputError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{argument}: {value!r} is not {noun}")
    return value


def path(argument: str, value: Any) -> Path:
    """Return an absolute path. Raises InputError for anything else."""
    if not _is_path(value) or not str(value):
        raise InputError(f"{argument}: {value!r} is not a path")
    return absolute(Path(value))


def _is_path(value: Any) -> bool:
    """Return whether a value is a path that the system accepts, but not one of bytes, which pathlib refuses."""
    named = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    try:
        return isinstance(named, str) and b"\0" not in os.fsencode(named)
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def folder(argument: str, value: Any) -> Path:
    """Return an absolute path at which there is a folder, or at which one can be made. Raises InputError.

    A URL, the root of the file system and a folder inside a warehouse are refused, too.
    """
    found = path(argument, value)
    folder_named(str(value), argument)
    refuse_root(found)
    with in_words_of_python():
        for place in (found, *found.parents):
            if place.exists() and not place.is_dir():
                raise InputError(f"{argument}: {place} is a file, not a folder")
        ownership.refuse_owned(found)
    return found


def corpora(given: Names) -> tuple[str, ...]:
    """Return the ids of corpora. Raises InputError for one that this project does not know."""
    named = words(given, "corpus")
    if unknown := [name for name in named if name not in registry.corpus_ids()]:
        raise InputError(f"corpus: there is no corpus {unknown[0]!r}; there are {', '.join(registry.corpus_ids())}")
    return named


def place(given: Any) -> str | Path:
    """Return the place of a warehouse. Raises InputError for anything else."""
    if not _is_path(given) or not str(given).strip():
        raise InputError(f"place: {given!r} is neither a path nor a URL")
    return given if isinstance(given, str) else Path(given)


def settings_of(memory_limit: Any, threads: Any) -> Settings:
    """Return the settings of the environment with these limits for queries. Raises InputError for a wrong one."""
    given = {}
    for argument, setting, value in (
        ("memory_limit", "query_memory_limit", memory_limit),
        ("threads", "threads", threads),
    ):
        if value is not None:
            given[setting] = str(value)
            try:
                Settings.from_environment(**given)
            except InputError as error:
                raise InputError(str(error).replace(variable_of(setting), argument, 1)) from error
    return Settings.from_environment(**given).for_queries()


def refuse_other(argument: str, value: object, known: Iterable[object]) -> None:
    """Raise InputError for a value that is not one of these; None is accepted."""
    if value is not None and value not in tuple(known):
        raise InputError(f"{argument}: {value!r} is not one of {', '.join(map(repr, known))}")
