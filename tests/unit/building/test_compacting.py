"""A database that has grown by rebuilding is compacted, and has the same content afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import ownership
from pipelines.building import compacting
from pipelines.building.state import Build, new_build
from tests.unit.published import BUILD, make_build

SETTINGS = Settings()
FACTS = {
    "columns": "schema_name, table_name, column_name, data_type, is_nullable, comment from duckdb_columns()",
    "tables": "schema_name, table_name, comment from duckdb_tables()",
    "macros": "schema_name, function_name, parameters, macro_definition, comment from duckdb_functions()",
}


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    """Return a warehouse with a published build, and a scratch database of which more than half is free space."""
    paths = WarehousePaths(tmp_path / "warehouse")
    ownership.claim(paths)
    make_build(paths)
    paths.scratch.mkdir()
    with duckdb.connect() as con:
        con.execute(f"attach '{paths.scratch_database}' as built (storage_version 'v1.5.0')")
        con.execute("use built; create schema core; create schema analytics; create schema quality")
        rows = (
            "select cast(uuid() as varchar) as turn_key, range as turn_index, [range, null] as parts from range(60_000)"
        )
        con.execute(f"create table core.dropped as {rows}")
        con.execute(
            "create table core.fct_turns (turn_key varchar not null using compression zstd, "
            "turn_index bigint not null, parts bigint[])"
        )
        con.execute(f"insert into core.fct_turns {rows}")
        con.execute("create table quality.violations (rule_id varchar)")
        con.execute("comment on table core.fct_turns is 'One row per turn; it''s an utterance.'")
        con.execute("comment on column core.fct_turns.parts is 'Parts.'")
        con.execute("create macro core.turns(n) as table select * from core.fct_turns where turn_index < n")
        con.execute("comment on macro table core.turns is 'The first turns.'")
        con.execute("create macro core.twice(value) as (select 2 * count(*) from core.turns(value))")
        con.execute("comment on macro core.twice is 'Two times.'")
        con.execute("checkpoint")
        con.execute("drop table core.dropped")
        con.execute("use memory; detach built")
    return paths


def partial_build() -> Build:
    """Return a build that has reused a table."""
    return replace(new_build(SETTINGS, "x"), reused=("core.fct_turns",))


def set_size_before(paths: WarehousePaths, size: int) -> None:
    """Record the size of the published build when it was last written as a whole."""
    manifest = json.loads(paths.build_manifest(BUILD).read_text()) | {"whole_bytes": size}
    paths.build_manifest(BUILD).write_text(json.dumps(manifest))


def content(paths: WarehousePaths) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything that readers see of the scratch database."""
    with duckdb.connect(str(paths.scratch_database), read_only=True) as con:
        found = {
            name: con.execute(f"select {query} where not internal order by all").fetchall()
            for name, query in FACTS.items()
        }
        rows = con.execute("from core.fct_turns").fetchall()
        compression = con.execute(
            "select distinct compression from pragma_storage_info('core.fct_turns') "
            "where column_name = 'turn_key' and segment_type = 'VARCHAR'"
        ).fetchall()
        first = con.execute("select count(*) from core.turns(2)").fetchall()
    return found | {"rows": rows, "compression": compression, "first": first}


def test_grown_database_is_compacted_and_keeps_its_content(paths: WarehousePaths) -> None:
    before, size = content(paths), paths.scratch_database.stat().st_size
    set_size_before(paths, int(size / 1.2))
    whole = compacting.compact(partial_build(), paths, SETTINGS)
    assert whole == paths.scratch_database.stat().st_size < size * 0.7
    after = content(paths)
    assert after == before
    assert (after["compression"], after["first"]) == ([("ZSTD",)], [(2,)])
    assert [file.name for file in paths.scratch.iterdir()] == [paths.scratch_database.name]


def test_database_that_has_hardly_grown_stays(paths: WarehousePaths) -> None:
    state = paths.scratch_database.stat()
    set_size_before(paths, int(state.st_size / 1.05))
    assert compacting.compact(partial_build(), paths, SETTINGS) == int(state.st_size / 1.05)
    assert paths.scratch_database.stat().st_ino == state.st_ino


@pytest.mark.parametrize("kind", ["made as a whole", "published by another version", "damaged manifest"])
def test_database_without_a_size_to_compare_with_stays(paths: WarehousePaths, kind: str) -> None:
    state = paths.scratch_database.stat()
    build = partial_build()
    if kind == "made as a whole":
        set_size_before(paths, 1)
        build = replace(build, reused=())
    elif kind == "damaged manifest":
        paths.build_manifest(BUILD).write_text("{")
    assert compacting.compact(build, paths, SETTINGS) == state.st_size
    assert paths.scratch_database.stat().st_ino == state.st_ino


def test_database_that_cannot_be_compacted_stays(paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example on a full disk: here the new database gets no space at all."""
    set_size_before(paths, 1)
    state = paths.scratch_database.stat()
    monkeypatch.setattr(compacting, "write_again", lambda *_: Path("/dev/full").write_bytes(b"x"))
    assert compacting.compact(partial_build(), paths, SETTINGS) == 1
    assert paths.scratch_database.stat().st_ino == state.st_ino
