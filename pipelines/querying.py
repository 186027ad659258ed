"""Reading what was published: a connection that can only read it, and one query at a time.

Here: opening the published build and running one SELECT or EXPLAIN. Not here: how a result is shown
(`pipelines.printing`), what tables there are (`pipelines.catalog`), the commands themselves (`pipelines.cli`).

The fence around a query is DuckDB's, not a filter of words. In DuckDB 2.0 a SELECT can hold a COPY TO (as a CTE), and
`enable_external_access=false` goes on allowing the files of an attached database: such a SELECT overwrites them. So
`disabled_filesystems` is set once the database is open, after which no path can be opened at all; raw Parquet is read
by pyarrow, from outside. https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet

from pipelines.errors import InputError
from pipelines.landing import NO_PROGRESS_BAR
from pipelines.paths import WarehousePaths
from pipelines.rawtypes import literal
from pipelines.settings import Settings

Connection = duckdb.DuckDBPyConnection
BATCH_ROWS = 10_000
LOCKS = (
    "set temp_directory = ''",
    "set allow_persistent_secrets = false",
    "set allow_community_extensions = false",
    "set autoload_known_extensions = false",
    "set autoinstall_known_extensions = false",
    "set global python_enable_replacements = false",
    "set enable_external_access = false",
    # Last but one: with the file system gone, `enable_external_access` itself can no longer be set.
    "set disabled_filesystems = 'LocalFileSystem'",
    "set lock_configuration = true",
)
"""What shuts the connection, in the order that DuckDB 2.0.0 accepts."""
ERROR_PLACE = re.compile(r"^(LINE (\d+): )(.*)\n( *)(\^+)", re.MULTILINE)
ERROR_HINT = re.compile(r"^(Did you mean .*|Candidate bindings: .*)$", re.MULTILINE)


class QueryError(InputError):
    """A query, a table name or a warehouse cannot be used; the message is one line."""


def open_published(paths: WarehousePaths, raw: bool = False, settings: Settings | None = None) -> Connection:
    """Open the published build read-only and sandboxed; `core.fct_turns` resolves, and with `raw` also `raw.<table>`.

    The connection reads the published build and, with `raw`, exactly the Parquet files that its manifest names. It
    opens no other file, writes none, loads no extension and changes no setting. A cursor of it does not see `raw`.

    Raises QueryError when nothing is published or what is published cannot be read.
    """
    settings = settings or Settings()
    build_id, database = _published_build(paths)
    con = duckdb.connect(":memory:")
    try:
        for name, value in (("memory_limit", settings.memory_limit), ("threads", settings.threads)):
            try:
                con.execute(f"set {name} = {literal(str(value))}")
            except duckdb.Error as error:
                raise QueryError(f"DIALOGUE_{name.upper()}: {one_line(error)}") from error
        try:
            con.execute(NO_PROGRESS_BAR)
            con.execute(f"attach {literal(str(database))} as dialogues (read_only)")
            con.execute("use dialogues")
        except duckdb.Error as error:
            raise QueryError(f"{database} cannot be opened: {one_line(error)}") from error
        if raw:
            _add_raw(con, paths, build_id)
        con.execute("detach memory")
        for lock in LOCKS:
            con.execute(lock)
    except BaseException:
        con.close()
        raise
    return con


def _published_build(paths: WarehousePaths) -> tuple[str, Path]:
    try:
        build_id = paths.published_build()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QueryError(f"{paths.pointer} does not name the published build: {error}") from error
    if build_id is None:
        raise QueryError(f"no warehouse at {paths.root}: run `dialogue-warehouse build`")
    database = paths.build_database(build_id)
    if not database.is_file():
        raise QueryError(f"{paths.pointer} names build {build_id}, but {database} is missing: build again")
    return build_id, database


def _add_raw(con: Connection, paths: WarehousePaths, build_id: str) -> None:
    con.execute("attach ':memory:' as raw")
    for table, files in sorted(raw_files(paths, build_id).items()):
        try:
            con.register(table, pyarrow.dataset.dataset([str(file) for file in files], format="parquet"))
            con.execute(f"create view raw.main.{identifier(table)} as select * from temp.main.{identifier(table)}")
        except (OSError, pyarrow.ArrowException, duckdb.Error) as error:
            raise QueryError(f"raw table {table} of build {build_id}: {one_line(error)}") from error


def raw_files(paths: WarehousePaths, build_id: str) -> dict[str, list[Path]]:
    """The Parquet files of each raw table of a build, as its manifest names them."""
    manifest = paths.build_manifest(build_id)
    try:
        named = json.loads(manifest.read_text(encoding="utf-8"))["raw"]
        return {table: [paths.root / file for file in files] for table, files in named.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise QueryError(f"{manifest} does not name the raw files: {one_line(error)}") from error


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


def identifier(text: str) -> str:
    """A quoted SQL name."""
    return '"' + text.replace('"', '""') + '"'
