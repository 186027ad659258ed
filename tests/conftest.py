"""Fixtures for all tests: warehouses built by the real command, once per session."""

from __future__ import annotations

import gc
import gzip
import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import filelock
import pytest
import xdist

from dialogue_warehouse.common.processes import collect_seldom
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import ownership
from expectations import client
from expectations.client import AuditProcess
from pipelines.ingestion.simulating import SAMPLE_SCALE, simulate
from tests import fixtures, forked

CLONE = Path(__file__).resolve().parent.parent
SOURCES = ("disturbed", "real")
SLOWEST = ("test_spark.py", "test_new_corpus.py", "test_week.py", "test_goal_kinds.py", "test_served_by_dagster.py")
"""Files that take minutes. They run first, so that no process works on one of them when the others have ended."""
collect_ignore = ["bargain"]  # a made-up corpus; its tests run in the copy of the clone that test_goal_kinds.py makes
REAL_CORPORA = Path(os.environ.get("DIALOGUE_CORPORA") or CLONE.parent / "shared" / "corpora")


def run_command(*arguments: object, clone: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `dialogue-warehouse` as a user would, with dbt's project of a copied clone if one is given; never raises.

    If the variables contain only settings of this project, the process is forked from one that has already imported
    the libraries.
    """
    if all(name.startswith("DIALOGUE_") for name in environment) and (server := forked.server()) is not None:
        copied = {} if clone is None else {forked.CLONED: str(clone)}
        return server.run([*map(str, arguments)], environment | copied | forked.audits())
    assert clone is None, f"these variables have changed: {forked.changed() | environment.keys()}"
    return subprocess.run(
        [sys.executable, "-m", "dialogue_warehouse", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=CLONE,
        env=forked.variables() | environment,
        check=False,
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the tests of one corpus."""
    parser.addoption("--corpus", metavar="NAME", help="run what concerns this corpus, on warehouses of it alone")


def concerns(item: pytest.Item, corpus_id: str) -> bool:
    """Return whether a test is about a corpus: its name or parameter has the corpus, or it is about all corpora."""
    is_named = re.search(rf"(?<![A-Za-z0-9]){corpus_id}(?![A-Za-z0-9-])", item.nodeid)
    return bool(is_named) or item.get_closest_marker("all_corpora") is not None


def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than processors, since many tests wait for a server, a browser or a lock; at most five.

    On two processors, all tests took 28 minutes with three processes, and about 35 with two. A container may have many
    processors and the time of two.
    """
    processors = len(os.sched_getaffinity(0))
    with suppress(OSError, ValueError):  # no limit
        quota, period = map(int, Path("/sys/fs/cgroup/cpu.max").read_text().split())
        processors = min(processors, max(quota // period, 1))
    return min(processors, 4) + 1


def pytest_configure() -> None:
    """Look for garbage as seldom as the command does: the tests and the libraries are a million objects that stay."""
    collect_seldom()


def pytest_collection_finish() -> None:
    """Leave what is there before the first test out of all looks for garbage, until the process ends."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let Python find all garbage again, or DuckDB's binding reports the objects that are left as leaks."""
    gc.unfreeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the slowest files first, and deselect the tests that are not about the corpus of `--corpus`."""
    items.sort(key=lambda item: item.path.name not in SLOWEST)
    if corpus_id := config.getoption("--corpus"):
        others = [item for item in items if not concerns(item, corpus_id)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if concerns(item, corpus_id)]


@pytest.fixture(scope="session")
def only(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return the options that limit a build to the corpus of `--corpus`."""
    corpus_id = request.config.getoption("--corpus")
    return ("--corpora", corpus_id) if corpus_id else ()


def pytest_sessionfinish() -> None:
    """End the process that commands are forked from."""
    forked.end()


def pytest_sessionstart() -> None:
    """Answer signals before the first process is started."""
    answer_signals()


@pytest.fixture(scope="module", autouse=True)
def same_process() -> Iterator[None]:
    """Restore what libraries change in this process: Spark sets variables, and Dagster sets signal handlers."""
    with mock.patch.dict(os.environ):
        yield
    answer_signals()


def answer_signals() -> None:
    """Let interrupts and terminations end this process and its children, which inherit ignored signals.

    A shell ignores interrupts in the background. A run of Dagster in this process then ignores terminations too: it
    gives them the handler of interrupts.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture(scope="module")
def forked_audits() -> Iterator[None]:
    """Fork the audits of builds in this process, too."""
    with mock.patch.object(client, "command", forked.audit_command):
        yield


@pytest.fixture(scope="session")
def audit() -> Iterator[AuditProcess]:
    """Return one audit process for all tests, forked from the process that has imported Great Expectations."""
    process = AuditProcess(timeout=300)
    with mock.patch.object(client, "command", forked.audit_command):
        process.start()
    yield process
    process.close()


def build_warehouse(warehouse: Path, *arguments: object) -> Path:
    """Build a warehouse with the command and return its folder; a failed build fails the test."""
    completed = run_command("build", "--warehouse", warehouse, *arguments)
    assert completed.returncode == 0, completed.stderr
    return warehouse


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    return con.execute(query).fetchall()


Once = Callable[[str, Callable[[Path], object]], Path]
"""Function that returns the folder of this name; the first process of the session that calls it fills the folder."""


@pytest.fixture(scope="session")
def once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Return a function that makes something once for all processes of the tests (`-n`).

    A pytest that a test starts inherits the variables of xdist, but it is a separate session.
    """
    session = tmp_path_factory.getbasetemp()
    session = session.parent if xdist.is_xdist_worker(request) else session

    def once(name: str, fill: Callable[[Path], object]) -> Path:
        folder, filled = session / name, session / f"{name}.filled"
        with filelock.FileLock(session / f"{name}.lock"):
            if not filled.exists():
                shutil.rmtree(folder, ignore_errors=True)  # left by a failed attempt
                folder.mkdir()
                fill(folder)
                filled.touch()
        return folder

    return once


@pytest.fixture(scope="session")
def sample_folder(once: Once, only: tuple[str, ...]) -> Path:
    """Return the folder of a warehouse built from the embedded sample."""
    return once("sample", lambda folder: build_warehouse(folder, *only))


@pytest.fixture(scope="session")
def sample_warehouse(sample_folder: Path) -> Path:
    """Return the database published from the embedded sample. Copy it before you change it."""
    return sample_folder / "dialogues.duckdb"


@pytest.fixture(scope="session")
def disturbed_folder(once: Once, sample_folder: Path, only: tuple[str, ...]) -> Path:
    """Return the folder of a warehouse built from the disturbed sample, with its releases in `releases`.

    Rare cases are frequent in the disturbed sample. Generated dialogues follow every guideline and say every value,
    so that many columns of an answer would contain only zeros. No edit changes the structure of a release.
    """

    def disturb(folder: Path) -> None:
        ownership.claim(WarehousePaths(folder))  # otherwise the folder with files is refused
        releases = folder / "releases"
        shutil.copytree(sample_folder / "sample", releases, ignore=shutil.ignore_patterns("SIMULATED.json"))
        for corpus_id in fixtures.having("disturb.py"):
            if (releases / corpus_id).is_dir():
                fixtures.load(corpus_id, "disturb").disturb(releases / corpus_id, random.Random(f"{corpus_id}/20"))
        build_warehouse(folder, "--source", releases, *only)

    return once("disturbed", disturb)


@pytest.fixture(scope="session")
def generated_sample(once: Once, only: tuple[str, ...]) -> Path:
    """Return all releases at the scale of the embedded sample."""
    return once("generated", lambda folder: simulate(folder, SAMPLE_SCALE, corpora=only[1:]))


@pytest.fixture(scope="session")
def scale_1_release(once: Once, only: tuple[str, ...]) -> Path:
    """Return all releases, generated at scale 1, once for all tests. Tests must not change them."""
    return once("scale_1", lambda folder: simulate(folder, 1, corpora=only[1:], processes=2))


@pytest.fixture(scope="session")
def edited_folder(once: Once, generated_sample: Path, only: tuple[str, ...]) -> Path:
    """Return the folder of a warehouse of generated releases, in `releases`, in which cases that matter to the metrics
    are frequent."""

    def edit(folder: Path) -> None:
        ownership.claim(WarehousePaths(folder))
        releases = folder / "releases"
        shutil.copytree(generated_sample, releases, ignore=shutil.ignore_patterns("SIMULATED.json"))
        for corpus_id, maker in fixtures.load_all("predictions").items():
            if (releases / corpus_id).is_dir():
                maker.edit_gold(releases / corpus_id, 7)
        build_warehouse(folder, "--source", releases, *only)

    return once("edited", edit)


@pytest.fixture(scope="session")
def awkward_releases(once: Once) -> Path:
    """Return the hand-written releases of tests/fixtures; files that the publisher zips are zipped here."""
    return once("awkward", _put_awkward_releases)


def _put_awkward_releases(folder: Path) -> None:
    for corpus in registry.load_corpora():
        release = folder / corpus.corpus_id
        shutil.copytree(fixtures.release_of(corpus.corpus_id), release)
        for file in corpus.files:
            plain = release / file.path.removesuffix(".gz")
            if file.path.endswith(".gz") and plain.is_file():
                (release / file.path).write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
                plain.unlink()


@pytest.fixture(scope="session")
def awkward_folder(once: Once, awkward_releases: Path, only: tuple[str, ...]) -> Path:
    """Return the folder of a warehouse built from the hand-written releases, each file restored and compared."""
    options = ("--source", awkward_releases, "--verify", *only)
    return once("awkward_warehouse", lambda folder: build_warehouse(folder, *options))


@pytest.fixture(scope="session")
def defective_releases(once: Once) -> Path:
    """Return releases in which each rule is broken once, and nearly broken once."""
    from tests.integration import defective_release  # one missing corpus must not stop every test

    return once("defective", defective_release.write)


@pytest.fixture(scope="session")
def defective_folder(once: Once, defective_releases: Path, only: tuple[str, ...]) -> Path:
    """Return the folder of a warehouse built from the defective releases."""
    options = ("--source", defective_releases, *only)
    return once("defective_warehouse", lambda folder: build_warehouse(folder, *options))


@pytest.fixture(scope="session")
def awkward_warehouse(awkward_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a read-only connection to the warehouse built from the hand-written releases."""
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        yield con


@pytest.fixture(scope="session")
def real_corpora(only: tuple[str, ...]) -> Path:
    """Return the folder with a real part of each release."""
    if not REAL_CORPORA.is_dir():
        pytest.skip(f"no real data: neither DIALOGUE_CORPORA nor {REAL_CORPORA} is there")
    if only and not (REAL_CORPORA / only[1]).is_dir():
        pytest.skip(f"no real data of this corpus: {REAL_CORPORA / only[1]} is missing")
    return REAL_CORPORA


@pytest.fixture
def official(real_corpora: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Path, Any, Any]]:
    """Return a function that finds the real release of a corpus, a maker of predictions, and their official values.

    The values are those of the publisher's own script.
    """
    scores = real_corpora.parent / "score"
    monkeypatch.syspath_prepend(scores)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def find(corpus_id: str, maker: str, name: str | None = None) -> tuple[Path, Any, Any]:
        values = scores / f"{name or corpus_id}_expected.json"
        for path in (real_corpora / corpus_id, values):
            if not path.exists():
                pytest.skip(f"no values of the official script, or no data for them: {path} is missing")
        return real_corpora / corpus_id, importlib.import_module(maker), json.loads(values.read_bytes())

    return find


@pytest.fixture(scope="session")
def real_folder(once: Once, real_corpora: Path, only: tuple[str, ...]) -> Path:
    """Return the folder of a warehouse built from the real data."""
    return once("real", lambda folder: build_warehouse(folder, "--source", real_corpora, *only))


@pytest.fixture(scope="session")
def real_warehouse(real_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a read-only connection to the warehouse built from the real data."""
    with duckdb.connect(str(real_folder / "dialogues.duckdb"), read_only=True) as con:
        yield con


@pytest.fixture(scope="module", params=SOURCES)
def source(request: pytest.FixtureRequest) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Return a warehouse, and the releases that it was built from."""
    folder = request.getfixturevalue(f"{request.param}_folder")
    with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
        yield con, folder / "releases" if request.param == "disturbed" else request.getfixturevalue("real_corpora")
