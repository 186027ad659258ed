"""What is written into SQL by hand: names and texts, quoted so that none ends the place it stands in, and a switch."""

from __future__ import annotations

NO_PROGRESS_BAR = "set enable_progress_bar = false"
"""DuckDB draws one on standard output, terminal or not, for whatever takes two seconds: into the midst of a result."""
GLOB_CHARACTERS = frozenset("*?[]{}")
"""What DuckDB takes for a pattern in the path of a file that it reads."""


def literal(value: object) -> str:
    """An SQL text literal."""
    return "'" + str(value).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A quoted SQL name."""
    return '"' + name.replace('"', '""') + '"'
