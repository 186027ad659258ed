"""The words of a selection in Python."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from typing import Literal

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading.selection import DEFECTS, Selection

Names = str | Iterable[str] | None
"""One name, or several; None and none at all do not limit the selection."""
Defects = Literal["here", "from-then-on"]
"""Leaves out dialogues with a turn that has a defect, or also those with one that carries a defect on."""


def selection_of(
    corpus: Names,
    split: Names,
    where: str | None,
    without_defects: Defects | None,
    without_leaks: bool,
    licenses: Names,
    sample: int | None,
    seed: int,
) -> Selection:
    """Return the selection of these words. Raises InputError for a wrong one that a command would refuse, too."""
    refuse_other("without_defects", without_defects, DEFECTS)
    if sample is not None and (not isinstance(sample, int) or sample < 1):
        raise InputError(f"sample: {sample!r} is not a number of dialogues")
    return Selection(
        corpora=words(corpus, "corpus"),
        splits=words(split, "split"),
        where=where,
        without_defects=without_defects,
        without_leaks=without_leaks,
        licenses=words(licenses, "license"),
        sample=sample,
        seed=seed,
    )


@contextlib.contextmanager
def in_words_of_python() -> Generator[None]:
    """Name an argument as in Python in an error that names the option of a command."""
    try:
        yield
    except InputError as error:
        for option, argument in (("--corpora", "corpus"), ("--licenses", "license"), ("--", "")):
            if str(error).startswith(option):
                raise type(error)(argument + str(error).removeprefix(option)) from error
        raise


def words(given: Names, what: str) -> tuple[str, ...]:
    """Return names as a tuple. Raises InputError for one that is not a text."""
    names = (given,) if isinstance(given, str) else tuple(given or ())
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"{what}: {wrong[0]!r} is not a text")
    return names


def refuse_other(argument: str, value: str | None, known: Iterable[str]) -> None:
    """Raise InputError for a value that is not one of these; None is none."""
    if value is not None and value not in known:
        raise InputError(f"{argument}: {value!r} is not one of {', '.join(map(repr, known))}")
