"""Hand-made builds whose tables are Parquet."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection
from dialogue_warehouse.settings import PARQUET_TABLES, Settings
from dialogue_warehouse.storage import builds
from pipelines.building import publishing, state
from pipelines.building.parquet_tables import write
from tests.unit.published import BUILD, make_build

NULL_PARTITION = "corpus_id=__HIVE_DEFAULT_PARTITION__"
TYPES = """
    create schema core; create schema analytics; create schema quality;
    create table core.fct_slots (
        slot_key varchar not null, corpus_id varchar not null, n integer, big bigint, share double, is_so boolean,
        moment timestamp, names varchar[], places integer[], entity map(varchar, varchar)
    );
    insert into core.fct_slots values
        ('b/2', 'b', 2, 20, 0.5, true, '2020-01-01 00:00:00.123456', ['x', null], [], map {'a': 'b'}),
        ('b/1', 'b', null, null, null, null, null, null, null, null),
        ('a/1', 'a', 1, 10, 1.5, false, '1969-12-31', [], [1, 2], map {});
    create table core.fct_frames (frame_key varchar not null, corpus_id varchar not null, requested_slots varchar[]);
    create table analytics.corpus_overview (corpus_id varchar not null, dialogue_count integer not null);
    insert into analytics.corpus_overview values ('b', 2), ('a', 1);
    create table quality.build_changes (build_id varchar not null, corpus_id varchar, first_keys varchar[]);
    insert into quality.build_changes values ('x', null, ['k']), ('x', 'a', []), ('y', null, null);
    create table quality.builds (build_id varchar not null, started_at timestamp);
    create macro core.key_of(key) as table select slot_key from core.fct_slots where slot_key = key;
    create macro core.any_key(key) as (select any_value(slot_key) from core.key_of(key));
    comment on table core.fct_slots is 'One row per slot''s value.';
    comment on column core.fct_slots.n is 'A "number".';
"""
"""Every type that a contract has, a table without rows of each kind, rows without a corpus, comments and macros."""


def make_database(file: Path, statements: str = TYPES) -> Path:
    """Create a database as dbt would build it."""
    with duckdb.connect(str(file)) as con:
        con.execute(statements)
    return file


def as_parquet(built: Path, folder: Path, build_id: str = BUILD, settings: Settings | None = None) -> Path:
    """Write the tables of a database as Parquet into a folder; return the database that describes them."""
    folder.mkdir(parents=True, exist_ok=True)
    catalog = folder / f"{build_id}.duckdb"
    write(built, catalog, settings or Settings())
    return catalog


def make_parquet_build(paths: WarehousePaths) -> None:
    """Return the published build of `tests.unit.published`, with its tables as Parquet."""
    make_build(paths)
    built = paths.build_database(BUILD).rename(paths.root / "built.duckdb")
    as_parquet(built, paths.builds)
    built.unlink()


def publish(paths: WarehousePaths, build_id: str, form: str = PARQUET_TABLES) -> None:
    """Publish a small build in a form; its only turn names the build."""
    paths.root.mkdir(exist_ok=True)
    state.clear_scratch(paths)
    make_database(
        paths.scratch_database,
        f"create schema core; create table core.fct_turns as select '{build_id}' as name, 'toy' as corpus_id",
    )
    build = state.Build(build_id, "run", datetime.now(UTC), "source", ("toy",), tables=form)
    publishing.publish(build, paths, Settings())


def shown(paths: WarehousePaths) -> str:
    """Return the build that a reader reads."""
    with connection.open_published(paths) as con:
        return con.execute("select name from core.fct_turns").fetchall()[0][0]


def parquet_of(paths: WarehousePaths, build_id: str) -> Path:
    """Return the only Parquet file of a small build."""
    (file,) = builds.files_below(paths.build_tables(build_id))
    return file
