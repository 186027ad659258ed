"""What a user is told when a query, a table name or a warehouse cannot be used: one line."""

from __future__ import annotations

import re

from pipelines.errors import InputError

REFUSED = "a query can neither read nor write files"
LOST = re.compile(r'No files found that match the pattern "(dialogue-warehouse://[^"]*)"')
"""How DuckDB says that a file of `pipelines.reading.parquet_files` is not there."""
ERROR_PLACE = re.compile(r"^(LINE (\d+): )(.*)\n( *)(\^+)", re.MULTILINE)
ERROR_HINT = re.compile(r"^(Did you mean .*|Candidate bindings: .*)$", re.MULTILINE)


class QueryError(InputError):
    """A query, a table name or a warehouse cannot be used; the message is one line."""


def one_line(error: BaseException, skipped_lines: int = 0) -> str:
    """DuckDB's message in one line: what, a hint where it gives one, and where in the query."""
    message = str(error).strip() or type(error).__name__
    if "File system LocalFileSystem has been disabled" in message or REFUSED in message:
        return REFUSED
    if lost := LOST.search(message):
        return f"{lost[1]} is missing, a file of the build: build again"
    if message.startswith("Traceback "):  # what our own file system raised, as DuckDB tells it
        message = message.splitlines()[-1].partition(": ")[2]
    line = message.splitlines()[0].strip()
    hint = ERROR_HINT.search(message)
    if hint:
        line = f"{line} {hint[1]}"
    place = ERROR_PLACE.search(message)
    if place and int(place[2]) + skipped_lines > 0:  # else it is in what was put before the query
        start = len(place[4]) - len(place[1])
        line = (
            f"{line} (line {int(place[2]) + skipped_lines}, at {place[3][start : start + len(place[5])] or 'its end'})"
        )
    return line
