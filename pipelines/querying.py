"""Reading what was published: a connection that can only read it, one query at a time, and what stands there.

Here: opening the published build, running one SELECT or EXPLAIN, writing its result as a table, JSON, CSV or Parquet,
the catalog, and the state of a warehouse folder. Not here: the commands themselves (`pipelines.cli`), and anything
that writes to the warehouse.

The fence around a query is DuckDB's, not a filter of words. In DuckDB 2.0 a SELECT can hold a COPY TO (as a CTE), and
`enable_external_access=false` goes on allowing the files of an attached database: such a SELECT overwrites them. So
`disabled_filesystems` is set once the database is open, after which no path can be opened at all; raw Parquet is read
by pyarrow, from outside. https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview
"""

from __future__ import annotations

import datetime
import difflib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pipelines.paths import WarehousePaths
from pipelines.registry import load_corpora
from pipelines.settings import Settings

DISPLAYED_ROWS = 200
"""Rows that a table on the terminal shows."""
DISPLAYED_CHARACTERS = 1_000
"""Characters of a cell that are handed to the terminal's own cutting."""
DISPLAYED_MISSING = 5
"""Missing files of a corpus that the status names one by one."""
BATCH_ROWS = 10_000
PARQUET_MAGIC = b"PAR1"

LOCKS = (
    "set temp_directory = ''",
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


class QueryError(ValueError):
    """A query, a table name or a warehouse cannot be used; the message is one line."""


# Opening


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
                con.execute(f"set {name} = {_literal(str(value))}")
            except duckdb.Error as error:
                raise QueryError(f"DIALOGUE_{name.upper()}: {_one_line(error)}") from error
        try:
            con.execute(f"attach {_literal(str(database))} as dialogues (read_only)")
            con.execute("use dialogues")
        except duckdb.Error as error:
            raise QueryError(f"{database} cannot be opened: {_one_line(error)}") from error
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
    for table, files in sorted(_raw_files(paths, build_id).items()):
        try:
            con.register(table, pyarrow.dataset.dataset([str(file) for file in files], format="parquet"))
            con.execute(f"create view raw.main.{_identifier(table)} as select * from temp.main.{_identifier(table)}")
        except (OSError, pyarrow.ArrowException, duckdb.Error) as error:
            raise QueryError(f"raw table {table} of build {build_id}: {_one_line(error)}") from error


def _raw_files(paths: WarehousePaths, build_id: str) -> dict[str, list[Path]]:
    """The Parquet files of each raw table of a build, as its manifest names them."""
    manifest = paths.build_manifest(build_id)
    try:
        named = json.loads(manifest.read_text(encoding="utf-8"))["raw"]
        return {table: [paths.root / file for file in files] for table, files in named.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise QueryError(f"{manifest} does not name the raw files: {_one_line(error)}") from error


# Running


@dataclass(frozen=True)
class QueryResult:
    """The result of a query that has begun to run; its rows can be read once, and before the next query."""

    con: Connection
    statement: str
    columns: tuple[str, ...]
    is_explain: bool

    @property
    def unique_columns(self) -> tuple[str, ...]:
        """The column names, a repeated one with `_2`, `_3` behind it: for formats that need them distinct."""
        return _distinct(self.columns)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, as they come. Raises QueryError when the query fails on the way."""
        while rows := self._fetch():
            yield from rows

    def count(self) -> int | None:
        """How many rows the query has, counted by running it again; None where that cannot be told."""
        try:
            counted = self.con.sql(self.statement).aggregate("count(*)").fetchall()
        except duckdb.Error:
            return None
        return counted[0][0]

    def _fetch(self) -> list[tuple[Any, ...]]:
        try:
            return self.con.fetchmany(BATCH_ROWS)
        except duckdb.Error as error:
            raise QueryError(_one_line(error)) from error


def run_query(con: Connection, text: str) -> QueryResult:
    """Run exactly one SELECT or EXPLAIN. Raises QueryError for anything else, and for DuckDB's errors."""
    statement, is_explain = _checked(con, text)
    try:
        con.execute(statement)
    except duckdb.Error as error:
        raise QueryError(_one_line(error)) from error
    return QueryResult(con, statement, tuple(column[0] for column in con.description), is_explain)


def write_parquet(con: Connection, text: str, file: Path) -> int:
    """Run one query into a Parquet file and return its number of rows; the file appears whole or not at all.

    An existing Parquet file is replaced, any other file is refused, so that no database is overwritten by mistake.
    """
    statement, _ = _checked(con, text)
    if file.is_dir() or not file.parent.is_dir():
        raise QueryError(f"{file}: no file can be written there")
    if file.exists() and not _is_parquet(file):
        raise QueryError(f"{file} exists and is no Parquet file: not overwritten")
    partial = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with con.sql(statement).to_arrow_reader(BATCH_ROWS * 10) as reader:
            schema = pyarrow.schema(map(pyarrow.Field.with_name, reader.schema, _distinct(reader.schema.names)))
            rows = 0
            with pyarrow.parquet.ParquetWriter(partial, schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema))
                    rows += batch.num_rows
        partial.replace(file)
    except (duckdb.Error, pyarrow.ArrowException, OSError) as error:
        raise QueryError(f"{file}: {_one_line(error)}") from error
    finally:
        partial.unlink(missing_ok=True)
    return rows


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def _checked(con: Connection, text: str) -> tuple[str, bool]:
    """The one statement in `text`, without what stands behind it, and whether it is an EXPLAIN."""
    statement = _without_end(text)
    kind = _kind(con, statement)
    if kind == "EXPLAIN":
        # EXPLAIN ANALYZE runs what it explains.
        kind = _kind(con, _explained(statement))
        if kind == "SELECT":
            return statement, True
    if kind == "SELECT":
        return statement, False
    if kind == "MULTI":
        raise QueryError("a PIVOT needs its values here: PIVOT … ON column IN (…)")
    raise QueryError(f"only SELECT and EXPLAIN can be run here, not {kind}")


def _kind(con: Connection, text: str) -> str:
    try:
        statements = con.extract_statements(text)
    except duckdb.Error as error:
        raise QueryError(_one_line(error)) from error
    if not statements:
        raise QueryError("the query is empty")
    if len(statements) > 1:
        raise QueryError(f"one statement at a time: these are {len(statements)}")
    return statements[0].type.name


def _without_end(text: str) -> str:
    """The text without the semicolons and comments at its end; DuckDB's tokens count bytes."""
    data = text.encode()
    end = len(data)
    for start, kind in reversed(duckdb.tokenize(text)):
        if kind is not duckdb.token_type.comment and data[start:end].strip() != b";":
            break
        end = start
    return data[:end].decode().strip()


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
    if not words[position + 1 : position + 2] or not words[position + 1].startswith((b"FORMAT", b"ANALYZE", b"ANALYSE")):
        return None
    while position < len(words) and not words[position].startswith(b")"):
        position += 1
    return position + 1


def _one_line(error: BaseException) -> str:
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
        line = f"{line} (line {place[2]}, at {place[3][start : start + len(place[5])] or 'its end'})"
    return line


# Formats


def render_table(result: QueryResult, console: Console, limit: int = DISPLAYED_ROWS) -> None:
    """Print the first rows as a table that fits the terminal, and below it how many there are in all."""
    if result.is_explain:
        for _, plan in result.rows():
            console.print(Text(plan), soft_wrap=True)
        return
    rows = []
    for row in result.rows():
        rows.append(row)
        if len(rows) > limit:
            break
    table = Table(show_edge=False, header_style="bold")
    for position, column in enumerate(result.columns):
        is_number = any(isinstance(row[position], int | float | Decimal) for row in rows[:1])
        table.add_column(Text(_visible(column)), no_wrap=True, justify="right" if is_number else "left")
    for row in rows[:limit]:
        table.add_row(*(_cell(value) for value in row))
    console.print(table)
    console.print(Text(_footer(result, len(rows), limit), style="dim"), soft_wrap=True)


def _footer(result: QueryResult, fetched: int, limit: int) -> str:
    if fetched <= limit:
        return f"{fetched:,} row{'' if fetched == 1 else 's'}"
    count = result.count()
    all_rows = "more" if count is None else f"{count:,} rows, {count - limit:,} more not shown"
    return f"first {limit:,} of {all_rows}: --json, --csv and --parquet give them all"


def write_json(result: QueryResult, stream: TextIO) -> int:
    """Write the rows as a JSON array of objects, one a line, and return their number."""
    names = result.unique_columns
    count = 0
    stream.write("[")
    for row in result.rows():
        record = {name: _plain(value) for name, value in zip(names, row, strict=True)}
        stream.write(",\n" if count else "\n")
        stream.write(json.dumps(record, ensure_ascii=False, allow_nan=False))
        count += 1
    stream.write("\n]\n" if count else "]\n")
    return count


def write_csv(result: QueryResult, stream: TextIO) -> int:
    """Write a header and the rows as RFC 4180 has them, and return their number.

    NULL is an empty field and '' is `""`; lists and maps are JSON. A NULL that is alone in its row is written `""`
    too, because readers skip an empty line.
    """
    stream.write(_csv_line(result.columns))
    count = 0
    for row in result.rows():
        stream.write(_csv_line(row))
        count += 1
    return count


def _csv_line(values: Iterable[Any]) -> str:
    return (",".join(_csv_field(value) for value in values) or '""') + "\r\n"


def _csv_field(value: Any) -> str:
    if value is None:
        return ""
    text = _text(value)
    if text and not any(character in text for character in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _cell(value: Any) -> Text:
    return Text("NULL", style="dim italic") if value is None else Text(_visible(_text(value)[:DISPLAYED_CHARACTERS]))


def _visible(text: str) -> str:
    """The text on one line, its control characters written out: none reaches the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def _text(value: Any) -> str:
    plain = value if isinstance(value, Decimal | float) else _plain(value)
    match plain:
        case str():
            return plain
        case bool():
            return "true" if plain else "false"
        case list() | dict():
            return json.dumps(plain, ensure_ascii=False)
        case _:
            return str(plain)


def _plain(value: Any) -> Any:
    """The value as JSON can hold it: maps and structs as objects, lists as arrays, times in ISO 8601."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case list() | tuple():
            return [_plain(element) for element in value]
        case dict():
            return {_text(key): _plain(element) for key, element in value.items()}
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case _:
            return str(value)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    distinct: list[str] = []
    for name in names:
        candidate, occurrence = name, 1
        while candidate in distinct:
            occurrence += 1
            candidate = f"{name}_{occurrence}"
        distinct.append(candidate)
    return tuple(distinct)


# The catalog


@dataclass(frozen=True)
class TableSummary:
    """One table that can be queried."""

    schema: str
    table: str
    rows: int
    summary: str
    """The first sentence of its description."""


@dataclass(frozen=True)
class ColumnDescription:
    """One column of a table."""

    column: str
    type: str
    comment: str | None


@dataclass(frozen=True)
class TableDescription:
    """A table with all its columns."""

    schema: str
    table: str
    comment: str | None
    columns: tuple[ColumnDescription, ...]


def list_tables(con: Connection) -> list[TableSummary]:
    """Every table and view, with its exact number of rows, by schema and name."""
    tables = _catalog(con)
    if not tables:
        return []
    counts = con.execute(" union all ".join(f"select {n}, count(*) from {t.address}" for n, t in enumerate(tables)))
    rows = dict(counts.fetchall())
    return [TableSummary(t.schema, t.table, rows[n], _first_sentence(t.comment)) for n, t in enumerate(tables)]


def describe_table(con: Connection, name: str) -> TableDescription:
    """The columns of `fct_turns` or `core.fct_turns`. Raises QueryError, with near names, when there is none."""
    tables = _catalog(con)
    wanted = name.strip().replace('"', "").lower()
    found = [t for t in tables if wanted in (t.table.lower(), f"{t.schema}.{t.table}".lower())]
    if len(found) > 1:
        raise QueryError(f"'{name}' is {' and '.join(f'{t.schema}.{t.table}' for t in found)}: say which")
    if not found:
        raise QueryError(f"there is no table '{name}'{_near(wanted, tables)}")
    table = found[0]
    columns = con.execute(
        """
        select column_name, data_type, comment
        from duckdb_columns()
        where database_name = ? and schema_name = ? and table_name = ?
        order by column_index
        """,
        [table.database, table.database_schema, table.table],
    ).fetchall()
    described = tuple(ColumnDescription(*column) for column in columns)
    return TableDescription(table.schema, table.table, table.comment, described)


@dataclass(frozen=True)
class _CatalogTable:
    database: str
    database_schema: str
    table: str
    comment: str | None

    @property
    def schema(self) -> str:
        """The schema as a query names it: the raw tables lie in a database of that name."""
        return "raw" if self.database == "raw" else self.database_schema

    @property
    def address(self) -> str:
        return ".".join(_identifier(part) for part in (self.database, self.database_schema, self.table))


def _catalog(con: Connection) -> list[_CatalogTable]:
    found = con.execute(
        """
        select database_name, schema_name, table_name, comment
        from duckdb_tables()
        where database_name in ('dialogues', 'raw') and not internal
        union all
        select database_name, schema_name, view_name, comment
        from duckdb_views()
        where database_name in ('dialogues', 'raw') and not internal
        order by 1, 2, 3
        """
    ).fetchall()
    return [_CatalogTable(*row) for row in found]


def _near(wanted: str, tables: list[_CatalogTable]) -> str:
    names = {f"{table.schema}.{table.table}".lower(): f"{table.schema}.{table.table}" for table in tables}
    by_table = {table.table.lower(): f"{table.schema}.{table.table}" for table in tables}
    candidates = by_table | names
    near = difflib.get_close_matches(wanted, candidates, n=4, cutoff=0.6)
    suggested = list(dict.fromkeys(candidates[name] for name in near))[:3]
    return f"; did you mean {' or '.join(suggested)}?" if suggested else "; `tables` lists what there is"


def _first_sentence(comment: str | None) -> str:
    text = " ".join((comment or "").split())
    sentence = re.match(r".+?[.!?](?=\s+[^a-z\s]|$)", text)
    return sentence[0] if sentence else text


def render_tables(tables: list[TableSummary], console: Console) -> None:
    """Print the list of tables."""
    grid = Table(show_edge=False, header_style="bold")
    grid.add_column("table", no_wrap=True)
    grid.add_column("rows", justify="right", no_wrap=True)
    grid.add_column("what it holds")
    for table in tables:
        grid.add_row(f"{table.schema}.{table.table}", f"{table.rows:,}", Text(table.summary))
    console.print(grid)


def render_description(description: TableDescription, console: Console) -> None:
    """Print a table's description and its columns."""
    console.print(Text(f"{description.schema}.{description.table}", style="bold"))
    if description.comment:
        console.print(Text(description.comment))
    grid = Table(show_edge=False, header_style="bold")
    grid.add_column("column", no_wrap=True)
    grid.add_column("type", no_wrap=True)
    grid.add_column("what it holds")
    for column in description.columns:
        grid.add_row(Text(column.column), Text(column.type), Text(column.comment or ""))
    console.print(grid)


# The state of a warehouse folder


@dataclass(frozen=True)
class BuildStatus:
    """One build on disk. What its manifest does not say is None."""

    build_id: str
    is_published: bool
    finished_at: str | None
    source: str | None
    database_bytes: int
    raw_bytes: int
    """Bytes of the raw Parquet that it was made from; builds of the same files share them."""


@dataclass(frozen=True)
class MissingFile:
    """A file of a release that is not at the source."""

    path: str
    url: str
    put_at: str


@dataclass(frozen=True)
class CorpusStatus:
    """What of a corpus's release is at the source; documentation files are not counted."""

    corpus_id: str
    present: int
    listed: int
    missing: tuple[MissingFile, ...]


@dataclass(frozen=True)
class Status:
    """What a warehouse folder holds, and what could be built into it."""

    warehouse: str
    published_build: str | None
    builds: tuple[BuildStatus, ...]
    database_bytes: int
    raw_bytes: int
    """Bytes of all landed Parquet, also of builds that are gone."""
    source: str | None
    """None stands for the embedded sample, of which nothing can be missing."""
    corpora: tuple[CorpusStatus, ...]


def status(paths: WarehousePaths, settings: Settings) -> Status:
    """The builds kept, newest first, and how complete each corpus is at the source."""
    try:
        published = paths.published_build()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QueryError(f"{paths.pointer} does not name the published build: {error}") from error
    databases = sorted(paths.builds.glob("*.duckdb"), key=lambda database: database.stem, reverse=True)
    builds = tuple(_build_status(paths, database, published) for database in databases)
    corpora = load_corpora(settings.corpora) if settings.source else ()
    return Status(
        warehouse=str(paths.root),
        published_build=published,
        builds=builds,
        database_bytes=sum(build.database_bytes for build in builds),
        raw_bytes=sum(file.stat().st_size for file in paths.raw.rglob("*.parquet")),
        source=str(settings.source) if settings.source else None,
        corpora=tuple(_corpus_status(corpus, settings.source) for corpus in corpora),
    )


def _build_status(paths: WarehousePaths, database: Path, published: str | None) -> BuildStatus:
    build_id = database.stem
    try:
        manifest = json.loads(paths.build_manifest(build_id).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = {}
    manifest = manifest if isinstance(manifest, dict) else {}
    try:
        files = {file for files in _raw_files(paths, build_id).values() for file in files}
    except QueryError:
        files = set()
    return BuildStatus(
        build_id=build_id,
        is_published=build_id == published,
        finished_at=_said(manifest, "finished_at") or _said(manifest, "started_at"),
        source=_said(manifest, "source"),
        database_bytes=database.stat().st_size,
        raw_bytes=sum(file.stat().st_size for file in files if file.is_file()),
    )


def _said(manifest: dict[str, Any], key: str) -> str | None:
    value = manifest.get(key)
    return None if value is None else str(value)


def _corpus_status(corpus: Any, source: Path) -> CorpusStatus:
    listed = [file for file in corpus.files if not file.is_documentation]
    folder = source / corpus.corpus_id
    missing = tuple(
        MissingFile(file.path, file.url, str(folder / file.path))
        for file in listed
        if not (folder / file.path).is_file()
    )
    return CorpusStatus(corpus.corpus_id, len(listed) - len(missing), len(listed), missing)


def render_status(found: Status, console: Console) -> None:
    """Print the state of a warehouse folder."""
    console.print(Text(f"warehouse  {found.warehouse}"), soft_wrap=True)
    if found.published_build is None:
        console.print("published  nothing yet: run `dialogue-warehouse build`", markup=False, soft_wrap=True)
    if found.builds:
        grid = Table(show_edge=False, header_style="bold")
        for heading in ("build", "finished", "source", "database", "raw"):
            grid.add_column(heading, no_wrap=heading == "build", justify="right" if heading in ("database", "raw") else "left")
        for build in found.builds:
            grid.add_row(
                Text(f"{build.build_id}{' (published)' if build.is_published else ''}"),
                Text(build.finished_at or "?"),
                Text(build.source or "?"),
                _size(build.database_bytes),
                _size(build.raw_bytes),
            )
        console.print(grid)
    console.print(f"on disk    {_size(found.database_bytes)} databases, {_size(found.raw_bytes)} raw", highlight=False)
    if found.source is None:
        console.print("source     the embedded sample, made when it is built", highlight=False)
        return
    console.print(Text(f"source     {found.source}"), soft_wrap=True)
    for corpus in found.corpora:
        console.print(Text(f"  {corpus.corpus_id}: {corpus.present} of {corpus.listed} files present"), soft_wrap=True)
        for file in corpus.missing[:DISPLAYED_MISSING]:
            console.print(Text(f"    missing {file.path}: fetch {file.url} to {file.put_at}"), soft_wrap=True)
        if len(corpus.missing) > DISPLAYED_MISSING:
            console.print(f"    and {len(corpus.missing) - DISPLAYED_MISSING} more", highlight=False)


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1_000:
            break
        size /= 1_000
    else:
        unit = "TB"
    return f"{size:,.0f} {unit}" if unit == "B" or size >= 100 else f"{size:,.1f} {unit}"


Connection = duckdb.DuckDBPyConnection


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
