"""Files with one value in each line: values of CSV, or whole lines in a file whose name ends with `.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from dialogue_warehouse.common.text import split_lines

LINE = re.compile(
    r"""[ \t]*+(?:"(?P<quoted>(?:[^"\r]|"")*+)"|(?P<plain>[^",\r]*+))[ \t]*+  # one value
    (?P<commas>(?:,[ \t]*+(?:"")?+[ \t]*+)*+)  # empty columns behind it""",
    re.VERBOSE,
)
NEEDS_QUOTES = re.compile(r'[",\r\n]|^[ \t]|[ \t]$')


class Line(NamedTuple):
    """A line of the file."""

    content: dict[str, Any] | str
    """The record; the text of a line that is refused."""
    refused: str | None
    """The reason why it is refused."""
    column: int
    """The column of the value, or of the error, from 0."""


def is_plain(path: str) -> bool:
    """Return whether each line of the file is a value as it is, without the quotes and commas of CSV."""
    return path.removesuffix(".gz").endswith(".txt")


def read_lines(path: str, text: bytes) -> Iterator[Line]:
    """Yield the lines of the file `path`. One that is not a single value of CSV is refused with its original text."""
    for line in map(bytes.decode, split_lines(text)):
        if is_plain(path):
            yield Line({"value": line}, None, 0)
            continue
        found = LINE.match(line)
        if found and found.end() == len(line) and line.strip():
            quoted = found["quoted"]
            value = found["plain"].rstrip(" \t") if quoted is None else quoted.replace('""', '"')
            yield Line({"value": value}, None, found.start("plain" if quoted is None else "quoted"))
        else:
            column = found.end() if found and line.strip() else 0
            yield Line(line, _why_refused(line, column), column)


def _why_refused(line: str, at: int) -> str:
    """Describe the problem of a line that is one value up to position `at`."""
    if not line.strip():
        return "the line is blank"
    match line[at]:
        case '"':
            return "a quote that is not closed, or a quote inside an unquoted value"
        case "\r":
            return "a carriage return inside the line"
        case _ if line[:at].rstrip(" \t").endswith(","):
            return "a second column"
    return "text after the closing quote"


def write_line(value: str, path: str) -> str:
    """Write a value as a line of the file `path` that `read_lines` reads as the same value."""
    if is_plain(path):
        return f"{value}\n"
    if NEEDS_QUOTES.search(value):
        value = '"' + value.replace('"', '""') + '"'
    return f"{value},\n"
