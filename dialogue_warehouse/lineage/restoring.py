"""Restoration: each upstream file is rebuilt, as JSON, from core tables alone.

A corpus's `restore.sql` has one query per entity, which returns the file, place and JSON of each record. The parts that
the columns cannot express are put back last, in this order: forms from `source_exceptions`, keys from `source_extras`,
whole records from `source_quarantine`. Memory holds two batches of files. No raw Parquet and no source is read.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from dialogue_warehouse.common.database import NO_PROGRESS_BAR, connect, literal, one_line
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container, Corpus, Entity
from dialogue_warehouse.corpora.sections import file_of, read_sections
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.lineage.restored_files import RestoredFile, SourceFile, pointer_of, put_back, restore_to
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.records import Record
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, ownership

BATCH_BYTES = 64 * 2**20
"""Bytes of source files that one query rebuilds, while the batch before it is compared."""
RESTORE_SQL = "restore.sql"
LACKING = "; if an older version made the published build, build again"
"""The advice for a table or a column that a query reads and core lacks."""


def restore_queries(corpus: Corpus) -> dict[str, str]:
    """Return the query of each entity from restore.sql. Raises CorpusError if one is missing."""
    queries = read_sections(file_of(corpus, RESTORE_SQL), "entity")
    lacking = [entity.name for entity in corpus.entities if entity.name not in queries]
    if lacking:
        raise registry.CorpusError(f"{corpus.corpus_id}/{RESTORE_SQL}: no query for {', '.join(lacking)}")
    return queries


def wrong_query(place: str, error: duckdb.Error) -> registry.CorpusError:
    """Return the error about a query of a corpus on core, in one line with its place."""
    is_lacking = isinstance(error, duckdb.BinderException | duckdb.CatalogException)
    return registry.CorpusError(f"{place}: {one_line(error)}{LACKING if is_lacking else ''}")


@contextlib.contextmanager
def open_core(database: Path, settings: Settings) -> Generator[duckdb.DuckDBPyConnection]:
    """Open a connection in memory with a build's core, read-only, as its default schema."""
    with connect(settings) as con:
        builds.serve(con, database)
        con.execute(f"attach {literal(database)} as dialogues (read_only)")
        _use_core(con)
        yield con


@contextlib.contextmanager
def open_published_core(paths: WarehousePaths, settings: Settings) -> Generator[tuple[str, duckdb.DuckDBPyConnection]]:
    """Open core of the published build, and yield the build's id with the connection.

    If a build is pruned while it is opened, another one has replaced it: then that one is opened.
    """
    with contextlib.ExitStack() as opened:
        while True:
            build_id, database = builds.published_build(paths)
            try:
                con = opened.enter_context(open_core(database, settings))
                break
            except (InputError, duckdb.Error):
                if builds.pointed_build(paths) == build_id:
                    raise
        yield build_id, con


def another(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return another connection to the same core, for a thread. Tables in `memory` are those of both."""
    cursor = con.cursor()
    cursor.execute(NO_PROGRESS_BAR)
    _use_core(cursor)
    return cursor


def _use_core(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("set search_path = 'dialogues.core,memory.main'")


def restore_published(
    paths: WarehousePaths, settings: Settings, corpus_id: str, folder: Path, force: bool = False
) -> list[Path]:
    """Write a corpus's files from the published build.

    Raises InputError if the build has none of them, if an existing file differs and `force` is off, or for a folder
    inside a warehouse.
    """
    ownership.refuse_owned(folder)
    corpus = registry.load_corpus(corpus_id)
    with (
        open_published_core(paths, settings) as (_, con),
        contextlib.closing(Restorer(con).files([corpus])) as files,
    ):
        written = restore_to(folder, files, force)
    if not written:
        raise InputError(f"{corpus_id}: the published build has no files of this corpus")
    return written


class Restorer:
    """Rebuilds the files of a published build. `con` has core of that build as its default schema."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        con.execute("create or replace temp table batch (source_file_id varchar)")

    def files(self, corpora: Iterable[Corpus]) -> Generator[RestoredFile]:
        """Yield every file of these corpora, rebuilt, by entity. Read each file before you request the next.

        Raises CorpusError if the SQL of a corpus is wrong.

        While one batch is read, a thread rebuilds the records of the next. So nothing else may use the connection
        before this generator is closed.
        """
        batches = [
            (corpus, entity, queries[entity.name], batch)
            for corpus in corpora
            for queries in [restore_queries(corpus)]
            for entity in corpus.entities
            for batch in self._batches(corpus, entity)
        ]
        with ThreadPoolExecutor(1) as ahead:
            try:
                rebuilt = [ahead.submit(self._rebuild, *one[1:]) for one in batches[:1]]
                for number, (corpus, entity, _, batch) in enumerate(batches, start=1):
                    try:
                        rows = rebuilt.pop().result()
                    except (duckdb.ProgrammingError, duckdb.DataError) as error:
                        raise wrong_query(f"{corpus.corpus_id}/{RESTORE_SQL}: {entity.name}", error) from error
                    rebuilt = [ahead.submit(self._rebuild, *one[1:]) for one in batches[number : number + 1]]
                    yield from _restored(corpus, entity, batch, rows)
            except BaseException:  # the reader stopped: cancel the rebuild
                self.con.interrupt()
                raise

    def _batches(self, corpus: Corpus, entity: Entity) -> Iterator[list[SourceFile]]:
        """Yield the files of an entity in groups that fit into memory."""
        try:
            rows = self.con.execute(
                "select source_file_id, path, parts, bytes, sha256, release_form from dim_source_files "
                "where corpus_id = ? and entity = ? order by path",
                [corpus.corpus_id, entity.name],
            ).fetchall()
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            raise wrong_query(f"{corpus.corpus_id}: the list of its files", error) from error
        batch: list[SourceFile] = []
        for source_file_id, path, parts, size, sha256, form in rows:
            file = SourceFile(source_file_id, path, None if parts is None else tuple(parts), size, sha256, form)
            if batch and sum(each.bytes for each in batch) + size > BATCH_BYTES:
                yield batch
                batch = []
            batch.append(file)
        if batch:
            yield batch

    def _rebuild(self, entity: Entity, query: str, batch: list[SourceFile]) -> list[tuple[str, int, str | None, str]]:
        """Return file, place, key and JSON of each record of a batch, in the order of its files, with one query."""
        self.con.execute("delete from batch")
        names = ", ".join(f"({literal(file.source_file_id)})" for file in batch)
        self.con.execute(f"insert into batch values {names}")
        self._add_what_is_put_back(batch)
        place = "files.path"
        if entity.container is Container.SPLITS:
            place = "list_position(files.parts, restored.record_key)"
        return self.con.execute(
            f"""
            select restored.source_file_id, restored.record_index, restored.record_key, restored.record::varchar
            from ({query}) as restored
            inner join dim_source_files as files on restored.source_file_id = files.source_file_id
            order by restored.source_file_id, {place}, restored.record_index
            """
        ).fetchall()

    def _add_what_is_put_back(self, batch: list[SourceFile]) -> None:
        """Read the exceptions, extras and refused records of the batch's files."""
        files = {file.source_file_id: file for file in batch}
        for name, columns in (
            ("source_exceptions", "json_pointer, form"),
            ("source_extras", "json_pointer, value"),
            ("source_quarantine", "record_index, record_pointer, value"),
        ):
            rows = self.con.execute(
                f"select source_file_id, {columns} from {name} semi join batch using (source_file_id)"
            ).fetchall()
            for source_file_id, *values in rows:
                file = files[source_file_id]
                match name, values:
                    case "source_exceptions", [pointer, form]:
                        file.exceptions.append((pointer, form))
                    case "source_extras", [pointer, value]:
                        file.extras.append((pointer, msgspec.Raw(value.encode())))
                    case _, [index, pointer, value]:
                        file.quarantine.append((index, pointer, value.encode()))


def _restored(
    corpus: Corpus, entity: Entity, batch: list[SourceFile], rows: list[tuple[str, int, str | None, str]]
) -> Iterator[RestoredFile]:
    """Yield the files of a batch with their records; `rows` are in the order of the files."""
    grouped = itertools.groupby(rows, key=lambda row: row[0])
    found, records = next(grouped, (None, iter(())))
    for file in sorted(batch, key=lambda file: file.source_file_id):
        own: Iterator[Any] = iter(())
        if found == file.source_file_id:
            own = records
        plain = (Record(row[1], row[2], pointer_of(entity, row[1], row[2]), row[3].encode()) for row in own)
        form = registry.load_form(corpus.corpus_id, file.form)
        table = form.place(file.path)[0] if form else None
        yield RestoredFile(corpus, entity, file, put_back(entity, file, plain), table)
        if found == file.source_file_id:
            for _ in own:  # records that the reader did not read
                pass
            found, records = next(grouped, (None, iter(())))
