"""One SELECT or EXPLAIN on an open build: accepted, then run batch by batch, within a time limit.

DuckDB checks for signals between two steps of a query, if at all. So the query runs in a thread, and this one waits for
it, for Ctrl-C or for the end of the time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
from duckdb import sqltypes

from dialogue_warehouse.common.database import OUT_OF_MEMORY, QueryError, one_line
from dialogue_warehouse.errors import require_extra
from dialogue_warehouse.reading import values
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.values import distinct

if TYPE_CHECKING:
    import pyarrow


Result = TypeVar("Result")
HEED = 0.3
"""Seconds that a query has to heed an interrupt; what does not is left behind, and ends with the process."""


class Patience:
    """Waits for the steps of one query, all together so many seconds; None stands for ever."""

    def __init__(self, con: duckdb.DuckDBPyConnection, seconds: float | None = None) -> None:
        self._con, self._seconds = con, seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def wait_for(self, step: Callable[[], Result]) -> Result:
        """What a step gives or raises. Raises QueryError when time is up, KeyboardInterrupt at once when it comes."""
        given: list[Any] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                given.append(step())
            except BaseException as error:
                raised.append(error)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        try:
            worker.join(None if self._end is None else max(0.0, self._end - time.monotonic()))
        except KeyboardInterrupt:
            self._stop(worker)
            raise
        if worker.is_alive():
            self._stop(worker)
            raise QueryError(
                f"given up after {self._seconds:g} seconds; --timeout SECONDS or DIALOGUE_QUERY_TIMEOUT gives it more"
            )
        if raised:
            raise raised[0]
        return given[0]

    def _stop(self, worker: threading.Thread) -> None:
        self._con.interrupt()
        worker.join(HEED)


BATCH_ROWS = 10_000


@dataclass(frozen=True)
class QueryResult:
    """A query that DuckDB has accepted; it runs when its rows are read, which they are one batch after another."""

    con: Connection
    statement: str
    skipped_lines: int
    """Lines of the query's text before the statement begins."""
    columns: tuple[str, ...]
    """The names of its columns, each once: `a` and `a_2` where the query has two of one name."""
    is_explain: bool
    parameters: Mapping[str, str] = field(default_factory=dict)
    """The values of the query's `$name`s, each a text."""
    timeout: float | None = None
    """Seconds after which a run of it is given up."""
    types: tuple[sqltypes.DuckDBPyType, ...] = ()
    """The types of its columns; none of an EXPLAIN."""

    def rows(self) -> Generator[tuple[Any, ...], None, None]:
        """Run the query; its values are exact, dates and times are texts. Raises QueryError when it fails."""
        patience = Patience(self.con, self.timeout)
        carriers = [values.carrier(kind) for kind in self.types]
        statement = values.statement(self.statement, carriers, self.columns)
        read = values.reader(carriers)
        try:
            patience.wait_for(lambda: self.con.execute(statement, self.parameters or None))
            while batch := patience.wait_for(lambda: self.con.fetchmany(BATCH_ROWS)):
                yield from map(read, batch)
        except duckdb.Error as error:
            raise self._refused(error, statement) from error
        finally:
            with contextlib.suppress(duckdb.Error):  # a query that heeds nothing is busy still
                self.con.abort()  # what was not read would keep the connection busy

    def batches(self) -> Generator[pyarrow.RecordBatch, None, None]:
        """Run the query and give its rows as Arrow, at least one batch, to have the schema. Raises QueryError.

        Types that Parquet does not hold are cast to those that it does.
        """
        require_extra("arrow", "Parquet as a result")
        import pyarrow

        patience = Patience(self.con, self.timeout)
        carriers = [values.carrier(kind, values.IN_PARQUET) for kind in self.types]
        statement = values.statement(self.statement, carriers, self.columns)
        try:
            reader = patience.wait_for(lambda: self._relation(statement).to_arrow_reader(BATCH_ROWS * 10))
            with reader:
                yield pyarrow.RecordBatch.from_pylist([], schema=reader.schema)
                while (batch := patience.wait_for(lambda: next(reader, None))) is not None:
                    yield batch
        except (duckdb.Error, pyarrow.ArrowException) as error:
            raise self._refused(error, statement) from error

    def _refused(self, error: Exception, statement: str) -> QueryError:
        """Say in one line why a run of it failed; where memory did not suffice, what gives it more."""
        before = values.LINES_BEFORE if statement != self.statement else 0
        line = one_line(error, self.skipped_lines - before)
        return QueryError(f"{line}; DIALOGUE_QUERY_MEMORY_LIMIT gives it more" if OUT_OF_MEMORY in line else line)

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The query as DuckDB's own object."""
        return self._relation(self.statement)

    def _relation(self, statement: str) -> duckdb.DuckDBPyRelation:
        return self.con.sql(statement, params=self.parameters) if self.parameters else self.con.sql(statement)

    def count(self) -> int | None:
        """How many rows the query has, counted in a run of its own; None where that cannot be told."""
        try:
            count = self.relation().aggregate("count(*)")
            return Patience(self.con, self.timeout).wait_for(count.fetchall)[0][0]
        except (duckdb.Error, QueryError):
            return None


def run_query(
    con: Connection, text: str, parameters: Mapping[str, str] | None = None, timeout: float | None = None
) -> QueryResult:
    """Accept exactly one SELECT or EXPLAIN. Raises QueryError for anything else, and for what DuckDB cannot bind.

    `parameters` are the values of `$name` in it; a run is given up after `timeout` seconds.
    """
    statement, skipped_lines = _trimmed(text)
    is_explain = _is_explain(con, statement, text)
    result = QueryResult(con, statement, skipped_lines, (), is_explain, dict(parameters or {}), timeout)
    if is_explain:
        return replace(result, columns=("explain_key", "explain_value"))
    try:
        relation = result.relation()
        return replace(result, columns=distinct(relation.columns), types=tuple(relation.types))
    except duckdb.Error as error:
        placed = error if parameters else _with_place(con, statement, error)
        raise QueryError(one_line(placed, skipped_lines)) from error


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
