"""One SELECT or EXPLAIN on an open build: checked, then run in batches, within a time limit.

DuckDB checks for signals only between two steps of a query, if at all. So the query runs in a thread, and the main
thread waits for its end, for Ctrl-C or for the timeout.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb
from duckdb import sqltypes

from dialogue_warehouse.common.database import OUT_OF_MEMORY, QueryError, literal, one_line, query_error
from dialogue_warehouse.errors import require_extra
from dialogue_warehouse.reading import catalogue, values
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.values import distinct

if TYPE_CHECKING:
    import pyarrow


Result = TypeVar("Result")
HEED = 0.3
"""Seconds that an interrupted query has to stop. A query that does not stop is abandoned and ends with the process."""


class StoppedError(QueryError):
    """A query took longer than its time limit."""


class Patience:
    """Waits for the steps of one query, together for at most this many seconds; None means no limit."""

    def __init__(self, con: duckdb.DuckDBPyConnection, seconds: float | None = None) -> None:
        self._con, self._seconds = con, seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def wait_for(self, step: Callable[[], Result]) -> Result:
        """Return the result of a step, or raise its error. Raises QueryError at the timeout, and KeyboardInterrupt."""
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
            raise StoppedError(
                f"stopped after {self._seconds:g} seconds; DIALOGUE_QUERY_TIMEOUT, or --timeout of `sql`, allows more"
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
    """A query that DuckDB has accepted. It runs when its rows are read, in batches."""

    con: Connection
    statement: str
    skipped_lines: int
    """Lines of the text before the statement begins."""
    columns: tuple[str, ...]
    """The unique names of the columns: `a` and `a_2` if the query has two columns of one name."""
    is_explain: bool
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The values of `$name` in the query; the command line gives texts."""
    timeout: float | None = None
    """Seconds before a run is canceled."""
    types: tuple[sqltypes.DuckDBPyType, ...] = ()
    """The types of the columns; empty for an EXPLAIN."""

    def rows(self) -> Generator[tuple[Any, ...], None, None]:
        """Run the query. Values are exact, dates and times are text. Raises QueryError if it fails."""
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
            with contextlib.suppress(duckdb.Error):  # a query that ignores the interrupt is still busy
                self.con.abort()  # unread rows would keep the connection busy

    def batches(self) -> Generator[pyarrow.RecordBatch, None, None]:
        """Run the query and yield its rows as Arrow, at least one batch for the schema. Raises QueryError.

        Types that Parquet does not support are cast to types that it does.
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
        """Describe in one line why a run failed; if memory ran out, name the setting that raises the limit."""
        before = values.LINES_BEFORE if statement != self.statement else 0
        refused = query_error(error, self.skipped_lines - before)
        if before and (found := values.TOO_LONG.search(str(refused))):
            column = f"column {self.columns[int(found['index'])]}: " if found["index"] else ""
            return QueryError(f"{column}{found['value']} has more than the 38 digits of Parquet: cast it to varchar")
        if OUT_OF_MEMORY in str(error):
            return QueryError(f"{refused}; DIALOGUE_QUERY_MEMORY_LIMIT allows more")
        return refused

    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the query as DuckDB's relation."""
        return self._relation(self.statement)

    def _relation(self, statement: str) -> duckdb.DuckDBPyRelation:
        return self.con.sql(statement, params=self.parameters) if self.parameters else self.con.sql(statement)

    def count(self) -> int | None:
        """Count the rows of the query in a separate run; None if that fails."""
        try:
            count = self.relation().aggregate("count(*)")
            return Patience(self.con, self.timeout).wait_for(count.fetchall)[0][0]
        except (duckdb.Error, QueryError):
            return None


def run_query(
    con: Connection, text: str, parameters: Mapping[str, Any] | None = None, timeout: float | None = None
) -> QueryResult:
    """Accept exactly one SELECT or EXPLAIN. Raises QueryError for anything else, or if DuckDB cannot bind it."""
    statement, skipped_lines = _trimmed(text)
    is_explain = _is_explain(con, statement, text)
    result = QueryResult(con, statement, skipped_lines, (), is_explain, dict(parameters or {}), timeout)
    if is_explain:
        return replace(result, columns=("explain_key", "explain_value"))
    try:
        relation = result.relation()
        return replace(result, columns=distinct(relation.columns), types=tuple(relation.types))
    except duckdb.Error as error:
        for name, value in result.parameters.items():
            if _is_refused(con, value):
                raise QueryError(f"{name}: {one_line(error)}") from error
        placed = error if parameters else _with_place(con, statement, error)
        raise query_error(placed, skipped_lines, _hint(con, statement, error)) from error


def _is_refused(con: Connection, value: object) -> bool:
    """Return whether the value of a parameter is none that DuckDB can take, such as a path or a set."""
    try:
        con.sql("select $value", params={"value": value})
    except duckdb.Error:
        return True
    return False


def _hint(con: Connection, statement: str, error: duckdb.Error) -> str | None:
    """Return what the query probably means: a landed table, one with a similar name, or a text in wrong quotes."""
    if isinstance(error, duckdb.CatalogException):
        tables = catalogue.table_names(con)
        with contextlib.suppress(duckdb.Error):
            is_raw = any(map(_is_landed, con.get_table_names(statement, qualified=True)))
            if is_raw and not any(map(_is_landed, tables)):
                return "`sql --raw` adds the landed files."
            for name in sorted(con.get_table_names(statement)):
                if near := catalogue.near_tables(name, tables):
                    return f"Did you mean {near}?"
    if isinstance(error, duckdb.BinderException):
        found = con.execute("select distinct lower(column_name) from duckdb_columns()").fetchall()
        columns = {name for (name,) in found}
        unknown = [name for name in _quoted(statement) if name.lower() not in columns and f'"{name}"' in str(error)]
        return f"A text has single quotes: {literal(unknown[0])}." if unknown else None
    return None


def _is_landed(name: str) -> bool:
    return name.lower().startswith("raw.")


def _quoted(statement: str) -> list[str]:
    """Return the names in double quotes, in their order."""
    data = statement.encode()
    starts = [start for start, kind in duckdb.tokenize(statement) if kind is duckdb.token_type.identifier]
    return [found[1].decode() for start in starts if (found := re.match(rb'"([^"]+)"', data[start:]))]


def _with_place(con: Connection, statement: str, error: duckdb.Error) -> duckdb.Error:
    """Return the error of `execute` for the same statement: unlike a relation's error it names the line."""
    try:
        con.execute(statement)
    except duckdb.Error as placed:
        return placed
    return error


def _is_explain(con: Connection, statement: str, text: str) -> bool:
    """Return whether the statement is an EXPLAIN of a SELECT. Raises QueryError if it is neither that nor a SELECT."""
    kind = outer = _kind(con, text)
    if outer == "EXPLAIN":
        # EXPLAIN ANALYZE runs the explained statement.
        kind = _kind(con, _explained(statement))
    if kind == "MULTI":
        raise QueryError("a PIVOT must list its values: PIVOT … ON column IN (…)")
    if kind != "SELECT":
        raise QueryError(f"only SELECT and EXPLAIN can be run here, not {kind}")
    return outer == "EXPLAIN"


def _kind(con: Connection, text: str) -> str:
    try:
        statements = con.extract_statements(text)
    except duckdb.Error as error:
        raise query_error(error) from error
    if not statements:
        raise QueryError("the query is empty")
    if len(statements) > 1:
        raise QueryError(f"only one statement can be run at a time, not {len(statements)}")
    return statements[0].type.name


def _trimmed(text: str) -> tuple[str, int]:
    """Return the text without comments and semicolons around it, and the number of lines removed at its beginning.

    DuckDB's relations accept no semicolon, and after leading lines its binder reports wrong positions.
    """
    try:
        data = text.encode()  # tokens are counted in bytes
    except UnicodeEncodeError as error:
        raise QueryError("the query is not valid UTF-8") from error
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


def is_ended(text: str) -> bool:
    """Return whether a query ends with a semicolon; one inside a text, a name or a comment does not end it."""
    try:
        data = text.encode()  # tokens are counted in bytes
    except UnicodeEncodeError:  # running it says what is wrong
        return text.rstrip().endswith(";")
    words = [start for start, kind in duckdb.tokenize(text) if kind is not duckdb.token_type.comment]
    return bool(words) and data[words[-1] : words[-1] + 1] == b";"


def _explained(statement: str) -> str:
    """Return the explained statement: the text after EXPLAIN, ANALYZE and the options in brackets."""
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
    """Return the position after `(FORMAT …)`; None if the bracket contains a query instead."""
    inside = words[position + 1] if position + 1 < len(words) else b""
    if not inside.startswith((b"FORMAT", b"ANALYZE", b"ANALYSE")):
        return None
    while position < len(words) and not words[position].startswith(b")"):
        position += 1
    return position + 1
