"""CSV files whose first line names the columns: a record is an object of texts.

A value in quotes may have separators and line breaks, and two quotes mean one. The values of a file that ends with
`.tsv` are separated by tabs.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

LINE_BREAK = re.compile(r"\r\n|\n|\r")


class Row(NamedTuple):
    """A record of a table."""

    line: int
    """Number of its first line, from 1."""
    content: dict[str, str] | str
    """The values by their columns; the text of a record that is refused."""
    refused: str | None = None
    """The reason why it is refused."""


class HeaderError(ValueError):
    """The first line does not name the columns."""


def separator_of(path: str) -> str:
    """Return the character between two values of a file."""
    return "\t" if path.removesuffix(".gz").endswith(".tsv") else ","


def read_table(text: str, separator: str) -> Iterator[Row]:
    """Yield the records below the first line. Raises HeaderError; there are none in an empty text.

    A line with a wrong quote is refused alone, so that the next line is read as a record.
    """
    if not text.strip():
        return
    header, position = _cells(text, 0, separator)
    if header is None or not any(header):
        raise HeaderError("line 1 does not name the columns")
    if repeated := [name for name in header if header.count(name) > 1]:
        raise HeaderError(f"line 1 has two columns with the name '{repeated[0]}'")
    line, end_of_text = 1 + _line_breaks(text[:position]), len(text.rstrip("\r\n "))
    while position < end_of_text:
        cells, end = _cells(text, position, separator)
        piece = text[position:end]
        if cells is None:
            refused = "a quote that is not closed, or text after the closing quote"
        elif len(cells) == 1 and not piece.strip():
            refused = "the line is blank"
        else:
            refused = None if len(cells) == len(header) else f"{len(cells)} values for {len(header)} columns"
        if refused is None and cells is not None:
            yield Row(line, dict(zip(header, cells, strict=True)))
        else:
            yield Row(line, piece.rstrip("\r\n"), refused)
        line += _line_breaks(piece)
        position = end


def write_table(records: Iterable[bytes], names: Iterable[str], separator: str) -> Iterator[bytes]:
    """Yield the lines of records as JSON. The first object has the columns; `names` are those of a table without one.

    A record that is a text was refused, and is written as it is.
    """
    refused: list[str] = []
    header: list[str] = []
    for record in map(json.loads, records):
        if not header and isinstance(record, dict):
            header = list(record)
            yield _line(header, separator)
            yield from (f"{text}\n".encode() for text in refused)
        if isinstance(record, dict):
            yield _line([record.get(name, "") for name in header], separator)
        elif header:
            yield f"{record}\n".encode()
        else:
            refused.append(record)
    if not header:
        yield _line(names, separator)
        yield from (f"{text}\n".encode() for text in refused)


def _line(values: Iterable[Any], separator: str) -> bytes:
    """Return values as a line."""
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    needs_quotes = re.compile(rf'["\r\n{separator}]|^\s|\s$')
    cells = ['"' + text.replace('"', '""') + '"' if needs_quotes.search(text) else text for text in texts]
    return ((separator.join(cells) or '""') + "\n").encode()


@functools.cache
def _cell(separator: str) -> re.Pattern[str]:
    """Return the pattern of a value, with quotes around it or without, and what follows it."""
    return re.compile(rf'(?:"((?:[^"]|"")*+)"|((?!")[^{separator}\r\n]*+))({separator}|\r\n|\n|\r|\Z)')


def _cells(text: str, position: int, separator: str) -> tuple[list[str] | None, int]:
    """Return the values of the record at a position, and the position after it; None if they cannot be separated."""
    cells: list[str] = []
    at = position
    while found := _cell(separator).match(text, at):
        quoted, plain, follows = found.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"'))
        at = found.end()
        if follows != separator:
            return cells, at
    after = LINE_BREAK.search(text, position)
    return None, after.end() if after else len(text)


def _line_breaks(text: str) -> int:
    return sum(1 for _ in LINE_BREAK.finditer(text))
