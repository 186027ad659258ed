"""Names and texts inside SQL that this project writes: quoted, so that none ends the place it stands in."""

from __future__ import annotations


def literal(value: object) -> str:
    """An SQL text literal."""
    return "'" + str(value).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A quoted SQL name."""
    return '"' + name.replace('"', '""') + '"'
