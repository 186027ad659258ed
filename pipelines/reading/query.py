"""One SELECT or EXPLAIN on an open build: accepted, then run batch by batch. How a result is shown is `printing`."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import duckdb

from pipelines.reading.connection import Connection
from pipelines.reading.query_errors import QueryError, one_line

BATCH_ROWS = 10_000


@dataclass(frozen=True)
class QueryResult:
    """A query that DuckDB has accepted; it runs when its rows are read, which they are one batch after another."""

    con: Connection
    statement: str
    skipped_lines: int
    """Lines of the query's text before the statement begins."""
    columns: tuple[str, ...]
    is_explain: bool

    def rows(self) -> Generator[tuple[Any, ...], None, None]:
        """Run the query. Raises QueryError when it fails, also on the way."""
        try:
            self.con.execute(self.statement)
            while batch := self.con.fetchmany(BATCH_ROWS):
                yield from batch
        except duckdb.Error as error:
            raise QueryError(one_line(error, self.skipped_lines)) from error
        finally:
            self.con.abort()  # what was not read would keep the connection busy

    def count(self) -> int | None:
        """How many rows the query has, counted in a run of its own; None where that cannot be told."""
        try:
            return self.con.sql(self.statement).aggregate("count(*)").fetchall()[0][0]
        except duckdb.Error:
            return None


def run_query(con: Connection, text: str) -> QueryResult:
    """Accept exactly one SELECT or EXPLAIN. Raises QueryError for anything else, and for what DuckDB cannot bind."""
    statement, skipped_lines = _trimmed(text)
    is_explain = _is_explain(con, statement, text)
    if is_explain:
        return QueryResult(con, statement, skipped_lines, ("explain_key", "explain_value"), is_explain)
    try:
        columns = tuple(con.sql(statement).columns)
    except duckdb.Error as error:
        raise QueryError(one_line(_with_place(con, statement, error), skipped_lines)) from error
    return QueryResult(con, statement, skipped_lines, columns, is_explain)


def _with_place(con: Connection, statement: str, error: duckdb.Error) -> duckdb.Error:
    """The same error as `execute` raises it, with the line: a relation's error has none."""
    try:
        con.execute(statement)
    except duckdb.Error as placed:
        return placed
    return error


def _is_explain(con: Connection, statement: str, text: str) -> bool:
    """Whether the statement is an EXPLAIN of a SELECT. Raises QueryError when it is neither that nor a SELECT."""
    kind = outer = _kind(con, text)
    if outer == "EXPLAIN":
        # EXPLAIN ANALYZE runs what it explains.
        kind = _kind(con, _explained(statement))
    if kind == "MULTI":
        raise QueryError("a PIVOT needs its values here: PIVOT … ON column IN (…)")
    if kind != "SELECT":
        raise QueryError(f"only SELECT and EXPLAIN can be run here, not {kind}")
    return outer == "EXPLAIN"


def _kind(con: Connection, text: str) -> str:
    try:
        statements = con.extract_statements(text)
    except duckdb.Error as error:
        raise QueryError(one_line(error)) from error
    if not statements:
        raise QueryError("the query is empty")
    if len(statements) > 1:
        raise QueryError(f"one statement at a time: these are {len(statements)}")
    return statements[0].type.name


def _trimmed(text: str) -> tuple[str, int]:
    """The text without comments and semicolons around its statements, and how many lines went at its beginning.

    DuckDB's relations accept no semicolon, and its binder counts from the wrong place behind a leading line.
    """
    try:
        data = text.encode()  # tokens are counted in bytes
    except UnicodeEncodeError as error:
        raise QueryError("the query is no valid UTF-8") from error
    tokens = duckdb.tokenize(text)
    ends = [*(start for start, _ in tokens[1:]), len(data)]
    words = [
        (start, end)
        for (start, kind), end in zip(tokens, ends, strict=False)
        if kind is not duckdb.token_type.comment and data[start:end].strip() != b";"
    ]
    if not words:
        return "", 0
    return data[words[0][0] : words[-1][1]].decode().rstrip(), data[: words[0][0]].count(b"\n")


def _explained(statement: str) -> str:
    """What an EXPLAIN explains: the text behind EXPLAIN, ANALYZE and its options in brackets."""
    data = statement.encode()
    starts = [start for start, kind in duckdb.tokenize(statement) if kind is not duckdb.token_type.comment]
    words = [data[start:end].strip().upper() for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    position = 1
    while position < len(words) and words[position].startswith((b"ANALYZE", b"ANALYSE", b"(")):
        if words[position].startswith(b"("):
            behind = _behind_options(words, position)
            if behind is None:
                break
            position = behind
        else:
            position += 1
    return data[starts[position] :].decode() if position < len(starts) else ""


def _behind_options(words: list[bytes], position: int) -> int | None:
    """The position behind `(FORMAT …)`; None where the bracket holds a query instead."""
    inside = words[position + 1] if position + 1 < len(words) else b""
    if not inside.startswith((b"FORMAT", b"ANALYZE", b"ANALYSE")):
        return None
    while position < len(words) and not words[position].startswith(b")"):
        position += 1
    return position + 1
