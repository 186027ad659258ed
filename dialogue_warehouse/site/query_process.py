"""The process of one query of a user: it opens the build, waits for the query, writes the answer, and ends.

DuckDB may ignore a request to stop, so the process is killed instead (`forking`). The server asks for one in advance,
which has opened the build when a query comes. Both sides write a line of JSON first: this process its build when it is
ready, the server the query and its form, this process the columns or the error. The rows of a download follow in parts,
each after its length; after a length of 0 comes a last line, which says if the rows are complete.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import socket
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import build_of, open_published
from dialogue_warehouse.reading.query import QueryResult, run_query
from dialogue_warehouse.reading.result_files import stream_parquet, write_csv, write_json
from dialogue_warehouse.reading.values import cut, text_of
from dialogue_warehouse.settings import Settings

SHOWN = 1_000
"""Rows of an answer that a page shows."""
SHOWN_CHARACTERS = 2_000_000
"""Characters of an answer that a page shows."""
PAGE = "page"
FORMS = ("csv", "json", "parquet")
PART = 1 << 16
"""Bytes of a part of a download."""
LENGTH = 4
"""Bytes of the length of a part."""


class Question(msgspec.Struct):
    """A query, and the form of its answer."""

    query: str
    form: str = PAGE


class Answer(msgspec.Struct):
    """The first line of an answer: its columns, or the error. A download has a last line, too."""

    error: str | None = None
    place: tuple[int, str] | None = None
    """The line of the query that the error names, and the text there."""
    columns: list[str] = []
    is_number: list[bool] = []
    """True for each column whose shown values are all numbers."""
    rows: list[list[str | None]] = []
    is_more: bool = False
    """True if the answer has more rows than these."""


def answer(result: QueryResult) -> Answer:
    """Run a query and return its first rows, as many as a page shows."""
    with contextlib.closing(result.rows()) as rows:
        first = list(itertools.islice(rows, SHOWN + 1))
    shown: list[list[str | None]] = []
    size = 0
    for row in first[:SHOWN]:
        texts = [None if value is None else text_of(value) for value in row]
        shown.append([text if text is None else cut(text) for text in texts])
        size += sum(len(text) for text in shown[-1] if text is not None)
        if size > SHOWN_CHARACTERS:
            break
    numbers = [all(map(_is_number, values)) for values in zip(*first[: len(shown)], strict=True)]
    return Answer(columns=list(result.columns), is_number=numbers, rows=shown, is_more=len(first) > len(shown))


def _is_number(value: Any) -> bool:
    if value is None:
        return True
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and math.isfinite(value)


def serve_one(stream: socket.socket, memory_limit: str, scores: Path | None) -> None:
    """Answer the one question that comes through a socket."""
    settings = replace(Settings.from_environment(), memory_limit=memory_limit, threads=1)
    out = stream.makefile("wb")
    try:
        con = open_published(WarehousePaths(settings.warehouse), settings=settings, scores=scores)
    except InputError as error:
        _write_line(out, {"build": None, "error": str(error)})
        return
    _write_line(out, {"build": build_of(con)})
    with stream.makefile("rb") as asked:
        line = asked.readline()
    if not line:
        return
    question = msgspec.json.decode(line, type=Question)
    download = _Download(out)
    try:
        result = run_query(con, question.query, timeout=settings.query_timeout)
        if question.form == PAGE:
            _write_line(out, answer(result))
        else:
            _write_rows(result, question.form, download)
            download.end(Answer())
    except InputError as error:
        download.end(Answer(error=str(error), place=error.place if isinstance(error, QueryError) else None))


def _write_rows(result: QueryResult, form: str, stream: _Download) -> None:
    """Write the rows of a download. The first rows are read before, so that an error is an error."""
    if form == "parquet":
        stream_parquet(result, stream)
        return
    text = io.TextIOWrapper(io.BufferedWriter(stream, PART), encoding="utf-8", newline="")
    {"csv": write_csv, "json": write_json}[form](result, text)
    text.flush()


class _Download(io.RawIOBase, BinaryIO):
    """The rows of a download, in parts. They begin with the line of an answer without an error."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._is_begun, self._position = out, False, 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        """Write bytes."""
        if not self._is_begun:
            self._is_begun = True
            _write_line(self._out, Answer())
        data = memoryview(data).cast("B")
        for start in range(0, len(data), PART):
            part = data[start : start + PART]
            self._out.write(len(part).to_bytes(LENGTH))
            self._out.write(part)
        self._position += len(data)
        return len(data)

    def end(self, last: Answer) -> None:
        """Write the line that says if the rows are complete, or why there are none."""
        if self._is_begun:
            self._out.write((0).to_bytes(LENGTH))
        _write_line(self._out, last)

    def tell(self) -> int:
        """Return the number of bytes so far, which Parquet needs."""
        return self._position


def _write_line(out: BinaryIO, value: object) -> None:
    out.write(msgspec.json.encode(value) + b"\n")
    out.flush()
