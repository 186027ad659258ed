"""Other forms of a release: how a room declares one, and the pieces that its functions are made of.

A form is a republication of the same records in another shape, such as the tables of a dataset hub. A room declares
each form of its corpus in a module `<form>.py`, as a `Form` named FORM: the columns of its tables, a function that
turns a row back into the release's own record, and what the form has lost. The record then passes the room's schema
like any other, so that nothing behind landing knows of forms. Reading the files is `pipelines.intake.form_files`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".parquet", ".jsonl")


class FormError(ValueError):
    """A file's columns or one of its rows are not as the form has them; the message says where in the file."""


@dataclass(frozen=True)
class Table:
    """One table of a form: the rows of an entity, one file a split.

    `undo` makes a row the release's record again, and raises FormError for one that it cannot; `redo` makes that record
    the row that it came from. `class_names` are the names behind the numbers of a column, by its path in the row.
    `losses` say in a sentence each what no one can know again from the form, or only by a rule.
    """

    entity: str
    config: str
    columns: pa.Schema
    undo: Callable[[dict[str, Any]], dict[str, Any]]
    redo: Callable[[dict[str, Any]], dict[str, Any]]
    losses: tuple[str, ...]
    class_names: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Form:
    """A form of a corpus, in files `<dataset>/<config>/<split>` and one of SUFFIXES.

    `parts` has the release's own word for each split.
    """

    name: str
    dataset: str
    homepage: str
    parts: Mapping[str, str]
    tables: tuple[Table, ...]

    def stem(self, table: Table, split: str) -> str:
        """The path of a file of the form, without its suffix."""
        return f"{self.dataset}/{table.config}/{split}"

    def stems(self) -> list[tuple[Table, str]]:
        """Every file of the form: its table and its path without the suffix."""
        return [(table, self.stem(table, split)) for table in self.tables for split in self.parts]

    def place(self, path: str) -> tuple[Table, str]:
        """The table that a file of the form belongs to, and the release's word for its part."""
        for table in self.tables:
            for split, part in self.parts.items():
                if path in {f"{self.stem(table, split)}{suffix}" for suffix in SUFFIXES}:
                    return table, part
        raise ValueError(f"{path} is no file of {self.dataset}")


def together(lists: Mapping[str, Sequence[Any]], pointer: str) -> list[dict[str, Any]]:
    """A dict of parallel lists as the list of dicts that it was made from."""
    lengths = {name: len(items) for name, items in lists.items()}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise FormError(f"lists of different length at {pointer}: {counted}")
    return [dict(zip(lists, items, strict=True)) for items in zip(*lists.values(), strict=True)]


def mapping(names: Sequence[str], values: Sequence[Any], pointer: str) -> dict[str, Any]:
    """Parallel lists of names and values as the object that they were made from."""
    pairs = together({"names": names, "values": values}, pointer)
    members = {pair["names"]: pair["values"] for pair in pairs}
    if len(members) != len(pairs):
        raise FormError(f"a name stands twice at {pointer}: {', '.join(names)}")
    return members


def apart(items: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """A list of dicts as a dict of parallel lists: what `together` takes apart."""
    return {name: [item[name] for item in items] for name in names}


def class_name(names: Sequence[str], number: int, pointer: str) -> str:
    """The name of a class id."""
    if not 0 <= number < len(names):
        raise FormError(f"class id {number} at {pointer}, there are {len(names)} classes")
    return names[number]


def single_precision(value: float) -> float:
    """The nearest number that 32 bits can hold; infinity beyond them."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def shortest(value: float) -> float:
    """The number with the fewest digits that 32 bits hold as this one: 0.3 for 0.30000001192092896."""
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next((short for short in candidates if single_precision(short) == value), value)
