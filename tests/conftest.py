"""Fixtures that every test may use: warehouses built by the real command, once a session."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.integration.disturbed_release import disturb

CLONE = Path(__file__).resolve().parent.parent
FIXTURES = Path(__file__).parent / "fixtures"
SOURCES = ("sample", "disturbed", "real")
REAL_CORPORA = Path(os.environ.get("DIALOGUE_CORPORA") or CLONE.parent / "shared" / "corpora")


def run_command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `dialogue-warehouse` as a user would; never raises."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("DIALOGUE_")}
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=CLONE,
        env=settings | environment,
        check=False,
    )


def build_warehouse(warehouse: Path, *arguments: object) -> Path:
    """Build a warehouse with the command and return its folder; a failed build fails the test."""
    completed = run_command("build", "--warehouse", warehouse, *arguments)
    assert completed.returncode == 0, completed.stderr
    return warehouse


@pytest.fixture(scope="session")
def sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a warehouse built from the embedded sample."""
    return build_warehouse(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="session")
def sample_warehouse(sample_folder: Path) -> Path:
    """The database published from the embedded sample; copy it before you change it."""
    return sample_folder / "dialogues.duckdb"


@pytest.fixture(scope="session")
def disturbed_folder(tmp_path_factory: pytest.TempPathFactory, sample_folder: Path) -> Path:
    """The folder of a warehouse built from the disturbed sample, its releases in `releases`."""
    folder = tmp_path_factory.mktemp("disturbed")
    return build_warehouse(folder, "--source", disturb(sample_folder / "sample", folder / "releases"))


@pytest.fixture(scope="session")
def awkward_releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-written releases of tests/fixtures, ABCD's object zipped as the publisher zips it."""
    folder = tmp_path_factory.mktemp("awkward")
    for room in sorted(path for path in FIXTURES.iterdir() if path.is_dir()):
        shutil.copytree(room, folder / room.name)
    plain = folder / "abcd" / "abcd_v1.1.json"
    plain.with_suffix(".json.gz").write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()
    return folder


@pytest.fixture(scope="session")
def awkward_folder(tmp_path_factory: pytest.TempPathFactory, awkward_releases: Path) -> Path:
    """The folder of a warehouse built from the hand-written releases."""
    return build_warehouse(tmp_path_factory.mktemp("warehouse"), "--source", awkward_releases)


@pytest.fixture(scope="session")
def real_corpora() -> Path:
    """Folder with a real part of each release."""
    if not REAL_CORPORA.is_dir():
        pytest.skip(f"no real data: neither DIALOGUE_CORPORA nor {REAL_CORPORA} is there")
    return REAL_CORPORA


@pytest.fixture(scope="session")
def real_folder(tmp_path_factory: pytest.TempPathFactory, real_corpora: Path) -> Path:
    """The folder of a warehouse built from the real data."""
    return build_warehouse(tmp_path_factory.mktemp("real"), "--source", real_corpora)


@pytest.fixture(scope="session")
def real_warehouse(real_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the warehouse built from the real data."""
    with duckdb.connect(str(real_folder / "dialogues.duckdb"), read_only=True) as con:
        yield con


@pytest.fixture(scope="module", params=SOURCES)
def source(request: pytest.FixtureRequest) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """A warehouse, and the releases that it was built from."""
    folder = request.getfixturevalue(f"{request.param}_folder")
    releases = {"sample": folder / "sample", "disturbed": folder / "releases"}.get(request.param)
    with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
        yield con, releases or request.getfixturevalue("real_corpora")
