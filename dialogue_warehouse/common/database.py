"""DuckDB: connections within the limits of the settings, quoted names and texts, errors in one line."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import temporary_folder
from dialogue_warehouse.settings import Settings, variable_of

NO_PROGRESS_BAR = "set enable_progress_bar = false"
"""DuckDB draws a bar on standard output for a query of two seconds or more, even into the middle of a result."""
GLOB_CHARACTERS = frozenset("*?[]{}")
"""Characters that DuckDB reads as a pattern in the path of a file."""
NO_PATH = "hive_partitioning = false"
"""Option to read no column from the path of a file: below `text=x`, DuckDB replaces the values of the column `text`."""


def literal(value: object) -> str:
    """Quote a value as an SQL text literal."""
    return "'" + str(value).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Quote an SQL name."""
    return '"' + name.replace('"', '""') + '"'


def hashed(columns: Mapping[str, str]) -> str:
    """Return the arguments of `hash` for the values of these columns, which are given with their types.

    The sizes of lists and maps are among them. DuckDB gives NULL the hash of an empty list, and an element that moves
    from the end of a list to the beginning of the next list changes nothing.
    """
    names = [identifier(name) for name in columns]
    names += [
        f"cardinality({identifier(name)})" for name, of in columns.items() if of.endswith("]") or of.startswith("MAP(")
    ]
    return ", ".join(names)


REFUSED = (
    "a query can neither read nor write files: select from the warehouse's tables, and save the result outside of SQL"
)
# These texts are matched in DuckDB's messages, because its errors have a class and no other field.
NO_FILES = "File system LocalFileSystem has been disabled"
OUT_OF_MEMORY = "Out of Memory Error"
"""DuckDB's message when its memory limit is reached. Arrow, which reads DuckDB's batches, repeats it in its error."""
NOT_NULL = re.compile(r"NOT NULL constraint failed: \w+\.(\w+)")
LOST = re.compile(r'No files found that match the pattern "(dialogue-warehouse://[^"]*)"')
"""DuckDB's message when a file of `dialogue_warehouse.storage.parquet_files` is missing."""
RAISED = re.compile(r"^[A-Za-z_][\w.]*: (.+)$", re.MULTILINE)
"""The message of an exception in a traceback; from Python 3.12 on, a traceback in DuckDB's message has source lines."""
ERROR_PLACE = re.compile(r"^(LINE (\d+): )(.*)\n( *)(\^+)", re.MULTILINE)
ERROR_HINT = re.compile(r"^(Did you mean .*|Candidate bindings: .*)$", re.MULTILINE)


class QueryError(InputError):
    """A query, a table name or a warehouse cannot be used. The message is one line."""

    place: tuple[int, str] | None = None
    """The line of the query that the message names, from 1, and the text at the place; None if it names none."""


def query_error(error: BaseException, skipped_lines: int = 0, hint: str | None = None) -> QueryError:
    """Return DuckDB's error about a query in one line, with its place; `hint` replaces that of DuckDB."""
    raised = QueryError(one_line(error, skipped_lines, hint))
    raised.place = _place(str(error), skipped_lines)
    return raised


def _place(message: str, skipped_lines: int) -> tuple[int, str] | None:
    """Return the line of the query that DuckDB's message shows, and the text that it marks there."""
    place = ERROR_PLACE.search(message)
    if place is None or int(place[2]) + skipped_lines <= 0:  # it is in the text that was put before the query
        return None
    start = len(place[4]) - len(place[1])
    return int(place[2]) + skipped_lines, place[3][start : start + len(place[5])]


def one_line(error: BaseException, skipped_lines: int = 0, hint: str | None = None) -> str:
    """Return DuckDB's message in one line: the problem, a hint if there is one, and the position in the query."""
    message = str(error).strip() or type(error).__name__
    if NO_FILES in message:
        return REFUSED
    if lost := LOST.search(message):
        return f"{lost[1]} is missing, a file of the build: build again"
    if message.startswith("Traceback "):  # raised by this project's file system
        return (RAISED.findall(message) or message.splitlines())[-1]  # an exception may have no message
    line = message.splitlines()[0].strip()
    found = ERROR_HINT.search(message)
    if hint := hint or (found[1] if found else None):
        line = f"{line} {hint}"
    if place := _place(message, skipped_lines):
        line = f"{line} (line {place[0]}, at {place[1] or 'its end'})"
    return line


_connections = itertools.count()


def limits(settings: Settings) -> dict[str, Any]:
    """Return the settings as DuckDB's own; also for a library that opens a database itself."""
    return {"memory_limit": settings.memory_limit, "threads": settings.threads}


def connect(
    settings: Settings, database: Path | None = None, read_only: bool = False, **options: Any
) -> duckdb.DuckDBPyConnection:
    """Open a database, or one in memory, with the limits of the settings and further options of DuckDB.

    Data that does not fit into memory is spilled beside the database. A database in memory spills to its own folder,
    not to the working folder, which is DuckDB's default. Raises QueryError for limits that DuckDB refuses.
    """
    config = limits(settings) | options
    if database is None:
        spill = f"dialogue-warehouse-{os.getpid()}-{next(_connections)}.spill"
        config["temp_directory"] = str(temporary_folder() / spill)
    try:
        con = duckdb.connect(str(database or ":memory:"), read_only=read_only, config=config)
    except duckdb.Error as error:
        if database is not None:
            raise
        raise QueryError(f"{' or '.join(map(variable_of, limits(settings)))}: {one_line(error)}") from error
    con.execute(NO_PROGRESS_BAR)
    return con
