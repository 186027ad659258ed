"""A published build of one described table, for tests of code that reads builds."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import query

BUILD = "20200101T000000000000Z"

TURNS = [(0, "Hi", None), (1, "", "a"), (2, 'He said "x, y"\nand left', "b")]


def make_build(paths: WarehousePaths, build_id: str = BUILD) -> None:
    """Publish a build of one described table, with one raw table of two files."""
    paths.builds.mkdir(parents=True, exist_ok=True)
    paths.build_database(build_id).write_bytes(database())
    raw = {"fruit__apples": [write_raw(paths, "apples-1", [1]), write_raw(paths, "apples-2", [2, 3])]}
    manifest = {"build_id": build_id, "source": "/releases", "started_at": "2020-01-01T00:00:00", "raw": raw}
    paths.build_manifest(build_id).write_text(json.dumps(manifest))
    paths.pointer.write_text(json.dumps({"build_id": build_id}))


@functools.cache
def database() -> bytes:
    """Return the database of the build, made once for the hundreds of tests that use one."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "build.duckdb"
        with duckdb.connect(str(file)) as con:
            con.execute("create schema core")
            con.execute("create table core.fct_turns (turn_index integer, utterance varchar, note varchar)")
            con.executemany("insert into core.fct_turns values (?, ?, ?)", TURNS)
            con.execute("create table core.fct_frames (frame_index integer)")
            con.execute("comment on table core.fct_turns is 'One row per turn, e.g. an utterance. More of it.'")
            con.execute("comment on column core.fct_turns.utterance is 'What was said.'")
        return file.read_bytes()


def write_raw(paths: WarehousePaths, name: str, values: list[int]) -> str:
    """Write a raw Parquet file; return its path as in a manifest."""
    file = paths.raw / "fruit" / "apples" / f"{name}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table({"record_index": values}), file)
    return file.relative_to(paths.root).as_posix()


def run(con: duckdb.DuckDBPyConnection, text: str) -> list[tuple]:
    """Return the rows of a query."""
    return list(query.run_query(con, text).rows())


def snapshot(folder: Path) -> dict[Path, bytes]:
    """Return every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
