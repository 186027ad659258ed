"""Other forms of a release: the types that declare one, and helpers for its functions.

A form is a republication of the same records in another shape, such as the tables of a dataset hub. A corpus declares
each of its forms in a module `<form>.py`, as a `Form` named FORM: the columns of its tables, a function that turns a
row back into the release's own record, and what the form has lost. The record then passes the corpus's schema like any
other, so that no step after landing depends on forms. `dialogue_warehouse.releases.form_files` reads the files.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".parquet", ".jsonl")


class FormError(ValueError):
    """A file's columns or one of its rows do not match the form; the message has the place in the file."""


@dataclass(frozen=True)
class Table:
    """One table of a form: the rows of an entity, in one file per split or in several shards.

    `schema` makes the columns; it imports pyarrow when it is called. `undo` turns a row back into the release's record,
    and raises FormError for a row where that is impossible; `redo` turns that record into its row. `class_names` are
    the names of the numbers in a column, by its path in the row. Each of `losses` is a sentence about information that
    the form has lost, or that only a rule can restore.
    """

    entity: str
    config: str
    schema: Callable[[], pa.Schema]
    undo: Callable[[dict[str, Any]], dict[str, Any]]
    redo: Callable[[dict[str, Any]], dict[str, Any]]
    losses: tuple[str, ...]
    class_names: Mapping[str, tuple[str, ...]]

    @functools.cached_property
    def columns(self) -> pa.Schema:
        """The columns of the files. Needs pyarrow."""
        return self.schema()


@dataclass(frozen=True)
class FormFile:
    """A file of a form, as its path describes it: a whole split, or one of its shards."""

    path: str
    table: Table
    split: str
    layout: str
    """The path with `*` for the part that distinguishes shards: files of one layout belong together."""
    shard: int | None
    """The number of the shard; None for a file that is the whole split."""
    shards: int | None
    """The number of shards, if the path contains it."""
    is_cut: bool
    """True if the Hub converted only the first rows of the split."""


@dataclass(frozen=True)
class Form:
    """A form of a corpus, in files below `<dataset>`, in any of the layouts of the Hugging Face Hub.

    The layouts are `<config>/<split>.parquet`, `<config>/<split>-00000-of-00002.parquet` (push_to_hub, which calls the
    folder `data` where there is one config) and `<config>/<split>/0000.parquet` (the Hub's conversion of every
    dataset); JSON lines alike. https://huggingface.co/docs/dataset-viewer/parquet describes the last one, and
    `partial-<split>` for a split that is cut. `parts` has the release's own word for each split.
    """

    name: str
    dataset: str
    homepage: str
    parts: Mapping[str, str]
    tables: tuple[Table, ...]

    def stem(self, table: Table, split: str) -> str:
        """Return the path of a file of the form, without its suffix."""
        return f"{self.dataset}/{table.config}/{split}"

    def stems(self) -> list[tuple[Table, str]]:
        """Return every file of the form: its table and its path without the suffix."""
        return [(table, self.stem(table, split)) for table in self.tables for split in self.parts]

    def place(self, path: str) -> tuple[Table, str]:
        """Return the table of a file of the form, and the release's word for its part. Raises ValueError."""
        file = self.file(path)
        if file is None:
            raise ValueError(f"{path} is not a file of {self.dataset}")
        return file.table, self.parts[file.split]

    def losses(self, path: str) -> tuple[str, ...]:
        """Return the losses of a file of the form: sentences about information that it has lost."""
        cut = self.cut(path)
        return (*self.place(path)[0].losses, *((cut,) if cut else ()))

    def cut(self, path: str) -> str | None:
        """Describe what is missing from a file that has only the first rows of a split; None for any other file."""
        file = self.file(path)
        if file is None or not file.is_cut:
            return None
        return f"{file.layout} has only the first rows of {file.split}, because the Hub did not convert the others"

    def file(self, path: str) -> FormFile | None:
        """Return the file of the form that has this path; None for another path."""
        for table in self.tables:
            found = re.fullmatch(self._pattern(table), path)
            if found:
                digits = found["shard"] or found["numbered"]
                start, end = found.span("shard" if found["shard"] else "numbered")
                return FormFile(
                    path=path,
                    table=table,
                    split=found["split"] or found["folder"],
                    layout=f"{path[:start]}*{path[end:].replace(found['hash'] or '', '')}" if digits else path,
                    shard=int(digits) if digits else None,
                    shards=int(found["shards"]) if found["shards"] else None,
                    is_cut=found["partial"] is not None,
                )
        return None

    def _pattern(self, table: Table) -> str:
        """Return the pattern of the paths of a table's files."""
        dataset, config = re.escape(self.dataset), re.escape(table.config)
        folders = f"(?:{config}/|data/|default/)?" if len(self.tables) == 1 else f"{config}/"
        splits = "|".join(map(re.escape, self.parts))
        suffixes = "|".join(map(re.escape, SUFFIXES))
        return (
            rf"{dataset}/{folders}(?:"
            rf"(?:{dataset}-)?(?P<split>{splits})(?:-(?P<shard>\d{{5}})-of-(?P<shards>\d{{5}})(?P<hash>-[0-9a-f]{{16}})?)?"
            rf"|(?P<partial>partial-)?(?P<folder>{splits})/(?P<numbered>\d{{4}}))(?:{suffixes})"
        )

    def choose(self, paths: Iterable[str]) -> dict[tuple[str, str], list[FormFile]]:
        """Return the files of each table and split, in the order of their rows.

        Raises FormError for a split that is there twice, and for a split with a missing shard.
        """
        chosen: dict[tuple[str, str], list[FormFile]] = {}
        for file in filter(None, map(self.file, sorted(paths, key=lambda path: (path.endswith(SUFFIXES[1:]), path)))):
            chosen.setdefault((file.table.config, file.split), []).append(file)
        for files in chosen.values():
            _refuse_doubles(files)
            _refuse_gaps(files)
        return chosen


def _refuse_doubles(files: list[FormFile]) -> None:
    """Raise FormError for two layouts of one split, and for two files of one shard."""
    first = files[0]
    for file in files[1:]:
        if file.layout != first.layout:
            raise FormError(f"{first.path}: {file.path} exists too; keep only one of them")
    files.sort(key=lambda file: file.shard or 0)
    for file, other in itertools.pairwise(files):
        if file.shard == other.shard:
            raise FormError(f"{file.path}: {other.path} exists too; keep only one of them")


def _refuse_gaps(files: list[FormFile]) -> None:
    """Raise FormError for a split with a missing shard."""
    last = files[-1]
    if last.shard is None:
        return
    count = last.shards if last.shards is not None else last.shard + 1
    if last.shard >= count:
        raise FormError(f"{last.path}: has a number beyond the {count} shards of the split, which start at 0")
    missing = sorted(set(range(count)) - {file.shard for file in files})
    if missing:
        numbers = ", ".join(f"{number}" for number in missing[:5]) + (", …" if len(missing) > 5 else "")
        raise FormError(
            f"{last.layout}: only {len(files)} of {count} shards exist, missing are {numbers}; add all of them"
        )


def together(lists: Mapping[str, Sequence[Any]], pointer: str) -> list[dict[str, Any]]:
    """Turn a dict of parallel lists back into the list of dicts that it was made from. Raises FormError."""
    lengths = {name: len(items) for name, items in lists.items()}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise FormError(f"lists of different length at {pointer}: {counted}")
    return [dict(zip(lists, items, strict=True)) for items in zip(*lists.values(), strict=True)]


def mapping(names: Sequence[str], values: Sequence[Any], pointer: str) -> dict[str, Any]:
    """Turn parallel lists of names and values back into the object that they were made from. Raises FormError."""
    pairs = together({"names": names, "values": values}, pointer)
    members = {pair["names"]: pair["values"] for pair in pairs}
    if len(members) != len(pairs):
        raise FormError(f"a name occurs twice at {pointer}: {', '.join(names)}")
    return members


def apart(items: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Turn a list of dicts into a dict of parallel lists: the reverse of `together`."""
    return {name: [item[name] for item in items] for name in names}


def class_name(names: Sequence[str], number: int, pointer: str) -> str:
    """Return the name of a class id. Raises FormError if there is none."""
    if not 0 <= number < len(names):
        raise FormError(f"class id {number} at {pointer}, but there are only {len(names)} classes")
    return names[number]


def single_precision(value: float) -> float:
    """Return the nearest number that 32 bits can hold; infinity beyond them."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def shortest(value: float) -> float:
    """Return the number with the fewest digits that rounds to this one in 32 bits: 0.3 for 0.30000001192092896."""
    candidates = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next((short for short in candidates if single_precision(short) == value), value)
