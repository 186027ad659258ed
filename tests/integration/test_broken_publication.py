"""An interrupted publication is finished or undone, at whatever step its process was killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, publication, retention
from pipelines.building import fingerprint, publishing
from pipelines.building.state import Build
from tests.conftest import run_command

OLD, NEW = "20260101T000000000000Z", "20260102T000000000000Z"
GONE = "20250101T000000000000Z"
LAST = 25
"""The first step that only clears the scratch folder."""
PUBLISH = """
import os, shutil, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from pipelines.building import publishing
from pipelines.building.state import Build
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings

STEPS = ("os.rename", "os.chmod", "shutil.copyfile", "os.utime", "os.remove", "os.rmdir", "os.mkdir")

def publish(paths, step):
    steps = 0

    def kill_at_step(event, _arguments):
        nonlocal steps
        if event in STEPS:
            steps += 1
            if steps == step:
                os.kill(os.getpid(), signal.SIGKILL)

    publishing.refuse_unfit(paths.scratch_database, Settings())  # DuckDB's own files do not count
    publishing.refuse_unfit = lambda database, settings: None
    sys.addaudithook(kill_at_step)
    publishing.publish(Build("20260102T000000000000Z", "run", datetime.now(UTC), "source", ("toy",)), paths)
    publishing.tidy(paths, Settings())
    os._exit(0)

passed, folder, last = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
for step in (*range(1, last + 1), 1000):
    shutil.copytree(passed, folder / str(step))
    if os.fork() == 0:
        publish(WarehousePaths(folder / str(step)), step)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


@pytest.fixture
def passed(tmp_path: Path) -> WarehousePaths:
    """Return a warehouse with a published build, and another build that has passed but is not published yet."""
    return make_passed(tmp_path / "warehouse")


def make_passed(root: Path) -> WarehousePaths:
    """Make such a warehouse."""
    paths = WarehousePaths(root)
    paths.builds.mkdir(parents=True)
    paths.scratch.mkdir()
    for database in (paths.build_database(OLD), paths.scratch_database):
        with duckdb.connect(str(database)) as con:
            con.execute(f"create schema core; create table core.fct_turns as select '{database.name}' as a")
    paths.build_manifest(OLD).write_text(json.dumps({"raw": {}}))
    publication.publish(OLD, paths)
    return paths


def test_database_is_on_the_disk_before_readers_see_it(passed: WarehousePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier steps do not wait for the disk: DuckDB is configured not to while a build works (`fsync_mode`)."""
    synced = []

    def sync(file: int) -> None:
        synced.append((os.fstat(file).st_ino, passed.build_database(NEW).exists(), builds.pointed_build(passed)))
        os_fsync(file)

    os_fsync = os.fsync
    monkeypatch.setattr(os, "fsync", sync)
    publishing.publish(Build(NEW, "run", datetime.now(UTC), "source", ("toy",)), passed)
    assert (passed.build_database(NEW).stat().st_ino, False, OLD) in synced


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a warehouse for each step: the process that published there was killed before the step.

    The processes are forked from one that has imported the libraries. In the last warehouse, none was killed.
    """
    folder = tmp_path_factory.mktemp("killed")
    passed = make_passed(tmp_path_factory.mktemp("passed") / "warehouse")
    command = [sys.executable, "-c", PUBLISH, passed.root, folder, str(LAST)]
    ended = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=True)
    assert [int(status) for status in ended.stdout.split()] == [-signal.SIGKILL] * LAST + [0]
    return folder


@pytest.mark.parametrize("step", range(1, LAST))
def test_killed_publication_is_completed_or_undone(killed: Path, step: int) -> None:
    paths = WarehousePaths(killed / str(step))
    was_complete = not paths.started_publication.exists() and builds.pointed_build(paths) == NEW
    reported = publication.mend(paths)
    published = builds.pointed_build(paths)
    assert published in (OLD, NEW)
    assert builds.damage(paths, published) == []
    assert retention.kept_builds(paths) == ([OLD] if published == OLD else [OLD, NEW])
    assert sorted(path.stem for path in paths.builds.glob("*.json")) == sorted({OLD, published})
    assert not paths.started_publication.exists()
    assert list(paths.root.rglob("*.tmp")) == []
    if published == NEW and not was_complete:
        line = f"build {NEW} had passed its checks, but its publication was interrupted: it is finished now"
        assert reported == [line]
    assert publication.mend(paths) == []


def test_publication_was_killed_at_each_of_its_steps(killed: Path) -> None:
    """A new step is tested too; the later steps only clear the scratch folder."""
    paths = WarehousePaths(killed / str(LAST))
    assert builds.pointed_build(paths) == NEW
    assert builds.damage(paths, NEW) == []
    assert not paths.started_publication.exists()


def test_complete_publication_leaves_nothing_to_repair(killed: Path) -> None:
    paths = WarehousePaths(killed / "1000")
    assert builds.pointed_build(paths) == NEW
    assert publication.mend(paths) == []


def test_link_to_another_build_is_noticed_even_without_links(passed: WarehousePaths) -> None:
    shutil.copy(passed.build_database(OLD), passed.published.with_suffix(".copy"))
    passed.published.with_suffix(".copy").replace(passed.published)
    assert builds.damage(passed, OLD) == []
    content = bytearray(passed.published.read_bytes())
    content[-1] ^= 1
    passed.published.chmod(0o644)
    passed.published.write_bytes(content)
    assert builds.damage(passed, OLD) == [passed.published]
    (reported,) = publication.mend(passed)
    assert ": it is restored" in reported
    assert builds.damage(passed, OLD) == []


def test_build_after_an_interrupted_publication_repairs_and_reports_it(
    awkward_folder: Path, awkward_releases: Path, tmp_path: Path
) -> None:
    shutil.copytree(awkward_folder, tmp_path / "warehouse", copy_function=shutil.copy)
    paths = WarehousePaths(tmp_path / "warehouse")
    newest = builds.pointed_build(paths)
    assert newest is not None
    shutil.copyfile(paths.build_database(newest), paths.build_database("20200101T000000000000Z"))
    with duckdb.connect(str(paths.build_database("20200101T000000000000Z"))) as con:
        con.execute("drop table core.fct_turns")
    publication.publish("20200101T000000000000Z", paths)
    paths.pointer.write_text(json.dumps({"build_id": newest}))  # killed between pointer and link
    settings = Settings(source=awkward_releases, warehouse=paths.root)
    assert fingerprint.unchanged(Source(settings, paths)) is None
    again = run_command("build", "--source", awkward_releases, "--warehouse", paths.root)
    assert again.returncode == 0, again.stderr
    assert "nothing changed, still published" in again.stdout
    assert f"notice: {paths.published} was not the published build {newest}: it is restored\n" in again.stdout
    assert builds.damage(paths, newest) == []


def test_unchanged_build_repeats_the_notices(awkward_folder: Path, awkward_releases: Path, tmp_path: Path) -> None:
    shutil.copytree(awkward_folder, tmp_path / "warehouse", copy_function=shutil.copy)
    paths = WarehousePaths(tmp_path / "warehouse")
    manifest = json.loads(paths.build_manifest(builds.pointed_build(paths)).read_text())
    noticed = manifest["notices"]
    assert any("files are not there" in notice for notice in noticed)
    assert any("1 key that the schema does not know" in notice for notice in noticed)
    assert any("1 record refused, kept in core.source_quarantine: " in notice for notice in noticed)
    again = run_command("build", "--source", awkward_releases, "--warehouse", paths.root)
    assert again.returncode == 0, again.stderr
    assert "nothing changed" in again.stdout
    assert [line for line in again.stdout.splitlines() if line.startswith("notice: ")] == [
        f"notice: {notice}" for notice in noticed
    ]


@pytest.mark.parametrize(
    "command",
    [
        ("verify",),
        ("restore", "--corpus", "bbai", "--to", "restored"),
        ("sql", "select 1"),
        ("tables",),
        ("describe", "fct_turns"),
        ("claims",),
        ("violations",),
        ("trace", "sgd/dev/1_00000"),
        ("status",),
        ("report",),
    ],
    ids=lambda command: command[0],
)
def test_missing_build_is_reported_in_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path)
    paths.pointer.write_text(json.dumps({"build_id": GONE}))
    arguments = [str(tmp_path / argument) if argument == "restored" else argument for argument in command]
    refused = run_command(*arguments, "--warehouse", tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"error: {paths.pointer} names build {GONE}, but {paths.build_database(GONE)} is missing: build again\n"
    )


@pytest.mark.parametrize("command", ["build", "fetch", "verify", "claims", "violations"])
@pytest.mark.parametrize("listed", [",", "", " , "])
def test_empty_list_of_corpora_is_rejected(command: str, listed: str, tmp_path: Path) -> None:
    arguments = (command, "--warehouse", tmp_path)
    refused = run_command(*arguments, "--corpora", listed)
    assert (refused.returncode, refused.stderr) == (2, "error: --corpora: names no corpus\n")
    if listed:
        refused = run_command(*arguments, DIALOGUE_ONLY=listed)
        assert (refused.returncode, refused.stderr) == (2, "error: DIALOGUE_ONLY: names no corpus\n")


@pytest.mark.parametrize("command", ["build", "fetch", "verify", "claims", "violations", "status"])
def test_unknown_corpus_is_rejected(command: str, sample_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sample_folder, tmp_path / "warehouse")  # a build that is refused leaves an alert there
    source = () if command not in ("status", "build") else ("--source", folder / "sample")
    refused = run_command(command, *source, "--warehouse", folder, DIALOGUE_ONLY="sgd,missing")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: DIALOGUE_ONLY: missing: no such corpus; there are ")
