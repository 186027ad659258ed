"""Fixtures of the unit tests: slow ones are made once per session."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection
from expectations.client import AuditProcess
from tests.running import without_rights_of_root
from tests.unit.bench import Bench
from tests.unit.published import make_build


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    """Return a warehouse folder with one published build; its name has characters that SQL and globs treat specially."""
    paths = WarehousePaths(tmp_path / "o'brien [1]*")
    make_build(paths)
    return paths


@pytest.fixture
def con(paths: WarehousePaths):
    """Return the published build, opened."""
    with connection.open_published(paths, raw=True) as con:
        yield con


@pytest.fixture
def bench(audit: AuditProcess, tmp_path: Path) -> Bench:
    """Return three turns, one without a speaker and one with an unknown speaker."""
    bench = Bench(audit, tmp_path)
    bench.execute(
        "create schema core",
        "create table core.fct_turns as from (values ('k0', 'A'), ('k1', null), ('k2', 'C')) as t (turn_key, speaker)",
    )
    return bench


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that each user can write to; root has the rights of another user."""
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        Path(folder).chmod(0o777)
        with without_rights_of_root():
            yield Path(folder)
