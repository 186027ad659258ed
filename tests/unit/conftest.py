"""Fixtures of the unit tests: what costs time is made once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection
from expectations.client import AuditProcess
from tests.unit.bench import Bench
from tests.unit.published import make_build


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    """A warehouse folder with one published build; its name holds what SQL and globs would trip on."""
    paths = WarehousePaths(tmp_path / "o'brien [1]*")
    make_build(paths)
    return paths


@pytest.fixture
def con(paths: WarehousePaths):
    """The published build, opened."""
    with connection.open_published(paths, raw=True) as con:
        yield con


@pytest.fixture
def bench(audit: AuditProcess, tmp_path: Path) -> Bench:
    """Three turns, one of them without a speaker, one with a strange one."""
    bench = Bench(audit, tmp_path)
    bench.execute(
        "create schema core",
        "create table core.fct_turns as from (values ('k0', 'A'), ('k1', null), ('k2', 'C')) as t (turn_key, speaker)",
    )
    return bench
