"""The words of a selection in Python."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from typing import Literal

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading.selection import DEFECTS, Selection

Names = str | Iterable[str]
"""One name, or several."""
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
    refuse_unknown_defects(without_defects)
    if sample is not None and sample < 1:
        raise InputError(f"sample: {sample} is not a number of dialogues")
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


def refuse_unknown_defects(without_defects: str | None) -> None:
    """Raise InputError for another word than those of `Defects`."""
    if without_defects is not None and without_defects not in DEFECTS:
        raise InputError(f"without_defects: {without_defects!r} is not one of {', '.join(map(repr, DEFECTS))}")


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
    names = (given,) if isinstance(given, str) else tuple(given)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"{what}: {wrong[0]!r} is not a text")
    return names
