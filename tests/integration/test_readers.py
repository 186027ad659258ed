"""Readers see one complete published build or another, however often it changes in the meantime."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds, retention
from dialogue_warehouse.storage.publication import roll_back
from tests.conftest import build_warehouse
from tests.faults.reading import A_SECOND, READERS, start_readers, stop_readers

SECONDS = 20
QUERIES = (
    "select count(*) from core.fct_turns",
    "select count(distinct corpus_id) from core.dim_corpora",
    "select max(build_id) from quality.builds",
)


@pytest.fixture
def paths(tmp_path: Path, sample_folder: Path) -> WarehousePaths:
    """Return a warehouse with two builds of different rows."""
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    build_warehouse(paths.root, "--corpora", "bbai,mutualfriends", "--replace")
    return paths


def test_readers_never_fail_and_never_see_a_mix_of_builds(paths: WarehousePaths) -> None:
    """Half of them use this project's connection, half open the published file like any client of DuckDB."""
    whole = {}
    for build_id in retention.kept_builds(paths):
        with duckdb.connect(str(paths.build_database(build_id)), read_only=True) as con:
            whole[json.dumps([con.execute(query).fetchall()[0][0] for query in QUERIES])] = build_id
    assert len(whole) == 2
    halt = paths.root.parent / "halt"
    readers = start_readers(paths, halt, QUERIES)
    changes, until = 0, time.monotonic() + SECONDS
    while time.monotonic() < until:
        first, second = retention.kept_builds(paths)
        roll_back(paths, first if builds.pointed_build(paths) == second else second)
        changes += 1
        time.sleep(0.3)
    told = stop_readers(readers, halt)
    assert [one["failures"] for one in told] == [[]] * READERS
    assert changes > SECONDS  # published again more than once a second
    assert sum(one["queries"] for one in told) > READERS * A_SECOND * SECONDS * 0.5
    for one in told:
        assert set(one["seen"]) == set(whole), "a mix of builds, or only one build"
