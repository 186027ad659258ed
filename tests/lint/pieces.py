"""Pieces of SQL for the linter, and those of SQL files.

`toml_sql` finds SQL inside TOML, and `dbt_sql` finds the SQL that dbt renders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlfluff.core.templaters import TemplatedFile

SECTION = re.compile(r"^-- (?:entity|part): (\w+)\n", flags=re.MULTILINE)
"""The first line of each part of a file with the SQL of a corpus: one part per entity or query."""
MADE_BY_DBT = "target"
"""A folder of compiled copies."""


@dataclass(frozen=True)
class Piece:
    """SQL that is linted as one text, and the place of its first character."""

    path: str
    name: str
    """The name of the piece if its file has several: an entity, a part, a claim."""
    variants: tuple[TemplatedFile, ...]
    """Its text, once for each way to render it: with the other branch of an `if`, for example."""
    line: int = 1
    column: int = 1
    may_be_long: bool = False
    """True if its lines may be longer than a line of a query."""


@dataclass(frozen=True, order=True)
class Finding:
    """A problem, at the place that a person edits."""

    path: str
    line: int
    column: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.code} {self.message}"


def files_of(root: Path, suffix: str) -> Iterator[Path]:
    """Yield every file of the clone with this suffix, except compiled copies and those in hidden folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != MADE_BY_DBT)
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(suffix))


def pieces_of_file(path: str, text: str) -> Iterator[Piece]:
    """Yield the pieces of a SQL file: one, or one per entity or part. Text above the first one is linted too."""
    starts = [0, *(section.start() for section in SECTION.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        if end < len(text):
            # The blank lines before the next query are not the end of a file.
            part = part.rstrip("\n") + "\n"
        if part.strip():
            section = SECTION.match(part)
            name = section[1] if section else ""
            yield Piece(path, name, (TemplatedFile(part, path),), text.count("\n", 0, start) + 1)
