"""Files written so that a reader sees all of one or nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
from collections.abc import Generator, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pipelines.errors import is_lacking, naming
from pipelines.intake import folder_use
from pipelines.intake.sql_text import literal

READ_ONLY = 0o444
"""The mode of a published file: whoever connects to it without saying read-only is refused, not locked in."""
LEFTOVER = re.compile(r"\.(.+?)\.(?:[0-9]+\.)?[0-9]+\.(?:tmp|old)")
"""The name of what a process writes beside a file or a folder, or has put aside."""


def beside(path: Path, suffix: str) -> Path:
    """Give a name beside `path` that no other attempt, process or container has."""
    return path.with_name(f".{path.name}.{secrets.randbelow(10**15)}.{suffix}")


def leftover(name: str) -> str | None:
    """Read from the name of such a file what it would become; None for any other name."""
    found = LEFTOVER.fullmatch(name)
    return found[1] if found else None


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A place beside `path` to write to, which becomes `path` in one step when the block ends without an error.

    No two attempts of a process share a place: DuckDB may remove the file of a failed COPY after it has told of the
    failure, from a thread of its own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(path, "tmp")
    with folder_use.writing_into(path.parent):
        try:
            with naming(path):
                yield temporary
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def flush(file: Path) -> None:
    """Have the system put what a file holds on its disk, where the file system can be asked for that."""
    try:
        with naming(file), file.open("rb") as written:
            os.fsync(written.fileno())
    except OSError as error:
        if not is_lacking(error):
            raise


def make_read_only(file: Path) -> None:
    """Let no one write to a file, where the file system has modes."""
    try:
        file.chmod(READ_ONLY)
    except OSError as error:
        if not is_lacking(error):
            raise


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file of these bytes."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def write_table(path: Path, columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as Parquet; each has every column, and what else it has is left out.

    `columns` have the names of DuckDB's types, with [] behind that of a list's elements. Raises KeyError for a row that
    lacks a column, duckdb.Error for a value that cannot be made one of its type.
    """
    from pipelines.intake.databases import connect
    from pipelines.settings import Settings

    types = {name: [kind[:-2]] if kind.endswith("[]") else kind for name, kind in columns.items()}
    values = json.dumps([{name: row[name] for name in columns} for row in rows], default=datetime.isoformat)
    unnested = f"unnest(from_json_strict($rows, {literal(json.dumps([types]))}), max_depth := 2)"
    with replacing(path) as temporary, connect(Settings.from_environment()) as con:
        con.execute(f"copy (select {unnested}) to {literal(temporary)} (format parquet)", {"rows": values})
