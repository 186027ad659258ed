"""The SQL inside TOML: its place, its entry in the file, and a check that no SQL is overlooked."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator

from sqlfluff.core.templaters import TemplatedFile

from tests.lint.pieces import Finding, Piece

QUERIES = ("sql", "unexpected_rows")
"""The keys that always have a query."""
STATEMENT = re.compile(
    r"\s*(?:select\s.*\bfrom\s|with\s+\w+\s+as\s*\(|insert\s+into\s+\S|update\s+\w+\.|delete\s+from\s+\S)",
    flags=re.IGNORECASE | re.DOTALL,
)
"""The beginning of SQL, as opposed to a sentence, under any other key."""
ASSIGNMENT = re.compile(r"""^\s*([\w-]+)\s*=\s*(\"{3}|'{3}|\"|'|)""")
HEADER = re.compile(r"^\s*\[{1,2}[^\[\],=]+\]{1,2}\s*(?:#.*)?$")
PLACE = re.compile(r"{(\w+)}")
"""A word that is replaced later, such as the table: `{table}`."""


def sql_in_toml(path: str, text: str) -> Iterator[Piece | Finding]:
    """Return every piece of SQL in a TOML file, and a finding for each whose line cannot be found."""
    lines = text.splitlines(keepends=True)
    unplaced = Counter(_sql_values(tomllib.loads(text)))
    entry, index = "", 0
    while index < len(lines):
        if HEADER.match(lines[index]):
            entry = ""
        assignment = ASSIGNMENT.match(lines[index])
        if not assignment:
            index += 1
            continue
        value, following = _value_at(lines, index)
        if assignment[1] == "id":
            entry = str(value)
        if isinstance(value, str) and _is_sql(assignment[1], value):
            unplaced[assignment[1], value] -= 1
            yield _piece(path, entry or assignment[1], assignment, value, index)
        index = following
    for key, value in unplaced.elements():
        first = next((line for line in value.splitlines() if line.strip()), "")
        place = next((number for number, line in enumerate(lines, 1) if first in line), 1)
        yield Finding(path, place, 1, "TOML", f"begin a line with this SQL's key, `{key} = `, so that it can be linted")


def _value_at(lines: list[str], index: int) -> tuple[object, int]:
    """Return the value assigned at this line, and the line after it."""
    for following in range(index + 1, len(lines) + 1):
        try:
            (value,) = tomllib.loads("".join(lines[index:following])).values()
        except tomllib.TOMLDecodeError:
            continue
        return value, following
    raise AssertionError("the whole file was read before, so every value ends")


def _sql_values(node: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string that is SQL, with its key, at any depth."""
    match node:
        case dict():
            for name, value in node.items():
                yield from _sql_values(value, name)
        case list():
            for value in node:
                yield from _sql_values(value, key)
        case str() if _is_sql(key, node):
            yield key, node


def _is_sql(key: str, value: str) -> bool:
    return key in QUERIES or STATEMENT.match(value) is not None


def _piece(path: str, name: str, assignment: re.Match[str], value: str, index: int) -> Piece:
    """Return the value as a piece; a word that is replaced later becomes an identifier of the same length."""
    is_block = len(assignment[2]) > 1
    text = PLACE.sub(r"_\1_", value) + ("" if is_block else "\n")
    template = (TemplatedFile(text, path),)
    if is_block and assignment.string[assignment.end() :].isspace():
        return Piece(path, name, template, index + 2)
    # A statement that spoils data for a test is a datum of that test, one line of a long list of its kind.
    return Piece(path, name, template, index + 1, assignment.end() + 1, may_be_long=assignment[1] not in QUERIES)
