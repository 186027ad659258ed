"""What a user is told when a query, a table name or a warehouse cannot be used: one line."""

from __future__ import annotations

import re

from pipelines.errors import InputError

ERROR_PLACE = re.compile(r"^(LINE (\d+): )(.*)\n( *)(\^+)", re.MULTILINE)
ERROR_HINT = re.compile(r"^(Did you mean .*|Candidate bindings: .*)$", re.MULTILINE)


class QueryError(InputError):
    """A query, a table name or a warehouse cannot be used; the message is one line."""


def one_line(error: BaseException, skipped_lines: int = 0) -> str:
    """DuckDB's message in one line: what, a hint where it gives one, and where in the query."""
    message = str(error).strip() or type(error).__name__
    if "File system LocalFileSystem has been disabled" in message:
        return "a query can neither read nor write files"
    line = message.splitlines()[0].strip()
    hint = ERROR_HINT.search(message)
    if hint:
        line = f"{line} {hint[1]}"
    place = ERROR_PLACE.search(message)
    if place:
        start = len(place[4]) - len(place[1])
        line = (
            f"{line} (line {int(place[2]) + skipped_lines}, at {place[3][start : start + len(place[5])] or 'its end'})"
        )
    return line
