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
PUBLISH = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from pipelines.building import publishing
from pipelines.building.state import Build
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings

paths, step = WarehousePaths(Path(sys.argv[1])), int(sys.argv[2])
STEPS = ("os.rename", "os.chmod", "shutil.copyfile", "os.utime", "os.remove", "os.rmdir", "os.mkdir")
steps = 0

def kill_at_step(event, _arguments):
    global steps
    if event in STEPS:
        steps += 1
        if steps == step:
            os.kill(os.getpid(), signal.SIGKILL)

publishing.refuse_unfit(paths.scratch_database, Settings())  # DuckDB's own files do not count
publishing.refuse_unfit = lambda database, settings: None
sys.addaudithook(kill_at_step)
publishing.publish(Build("20260102T000000000000Z", "run", datetime.now(UTC), "source", ("toy",)), paths)
publishing.tidy(paths, Settings())
"""


@pytest.fixture
def passed(tmp_path: Path) -> WarehousePaths:
    """Return a warehouse with a published build, and another build that has passed but is not published yet."""
    paths = WarehousePaths(tmp_path / "warehouse")
    paths.builds.mkdir(parents=True)
    paths.scratch.mkdir()
    for database in (paths.build_database(OLD), paths.scratch_database):
        with duckdb.connect(str(database)) as con:
            con.execute(f"create schema core; create table core.fct_turns as select '{database.name}' as a")
    paths.build_manifest(OLD).write_text(json.dumps({"raw": {}}))
    publication.publish(OLD, paths)
    return paths


def publish(paths: WarehousePaths, step: int) -> int:
    """Publish in a process that is killed before this step; return its exit status."""
    command = [sys.executable, "-c", PUBLISH, str(paths.root), str(step)]
    return subprocess.run(command, cwd=CLONE, check=False).returncode


def test_database_is_on_the_disk_before_anybody_sees_it(
    passed: WarehousePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier steps do not wait for the disk: DuckDB is configured not to while a build works (`fsync_mode`)."""
    synced = []

    def sync(file: int) -> None:
        synced.append((os.fstat(file).st_ino, passed.build_database(NEW).exists(), builds.pointed_build(passed)))
        os_fsync(file)

    os_fsync = os.fsync
    monkeypatch.setattr(os, "fsync", sync)
    publishing.publish(Build(NEW, "run", datetime.now(UTC), "source", ("toy",)), passed)
    assert (passed.build_database(NEW).stat().st_ino, False, OLD) in synced


@pytest.mark.parametrize("step", range(1, 21))
def test_killed_publication_is_finished_or_undone(passed: WarehousePaths, step: int) -> None:
    assert publish(passed, step) == -signal.SIGKILL
    was_complete = not passed.started_publication.exists() and builds.pointed_build(passed) == NEW
    told = publication.mend(passed)
    published = builds.pointed_build(passed)
    assert published in (OLD, NEW)
    assert builds.damage(passed, published) == []
    assert retention.kept_builds(passed) == ([OLD] if published == OLD else [OLD, NEW])
    assert sorted(path.stem for path in passed.builds.glob("*.json")) == sorted({OLD, published})
    assert not passed.started_publication.exists()
    assert list(passed.root.rglob("*.tmp")) == []
    if published == NEW and not was_complete:
        assert told == [f"build {NEW} had passed, but its publication was broken off: it is finished now"]
    assert publication.mend(passed) == []


def test_every_step_of_a_publication_is_one_at_which_it_was_killed(passed: WarehousePaths) -> None:
    """A new step is tested too; the steps after the twentieth only clear the scratch folder."""
    assert publish(passed, 21) == -signal.SIGKILL
    assert builds.pointed_build(passed) == NEW
    assert builds.damage(passed, NEW) == []
    assert not passed.started_publication.exists()


def test_publication_that_is_killed_nowhere_leaves_nothing_to_mend(passed: WarehousePaths) -> None:
    assert publish(passed, 1000) == 0
    assert builds.pointed_build(passed) == NEW
    assert publication.mend(passed) == []


def test_link_that_is_another_build_is_seen_also_where_there_are_no_links(passed: WarehousePaths) -> None:
    shutil.copy(passed.build_database(OLD), passed.published.with_suffix(".copy"))
    passed.published.with_suffix(".copy").replace(passed.published)
    assert builds.damage(passed, OLD) == []
    content = bytearray(passed.published.read_bytes())
    content[-1] ^= 1
    passed.published.chmod(0o644)
    passed.published.write_bytes(content)
    assert builds.damage(passed, OLD) == [passed.published]
    (told,) = publication.mend(passed)
    assert "is published: it is again" in told
    assert builds.damage(passed, OLD) == []


def test_build_after_a_broken_publication_mends_it_and_says_so(
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
    assert f"notice: {paths.published} was not build {newest}, which is published: it is again\n" in again.stdout
    assert builds.damage(paths, newest) == []


def test_unchanged_build_repeats_what_was_noticed(awkward_folder: Path, awkward_releases: Path, tmp_path: Path) -> None:
    shutil.copytree(awkward_folder, tmp_path / "warehouse", copy_function=shutil.copy)
    paths = WarehousePaths(tmp_path / "warehouse")
    manifest = json.loads(paths.build_manifest(builds.pointed_build(paths)).read_text())
    noticed = manifest["notices"]
    assert any("files are not there" in notice for notice in noticed)
    assert any("1 key that the schema does not know" in notice for notice in noticed)
    assert any("1 record refused" in notice for notice in noticed)
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
def test_build_that_is_gone_is_told_in_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
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
def test_list_of_corpora_that_names_none_is_refused(command: str, listed: str, tmp_path: Path) -> None:
    arguments = (command, "--warehouse", tmp_path)
    refused = run_command(*arguments, "--corpora", listed)
    assert (refused.returncode, refused.stderr) == (2, "error: --corpora: names no corpus\n")
    if listed:
        refused = run_command(*arguments, DIALOGUE_ONLY=listed)
        assert (refused.returncode, refused.stderr) == (2, "error: DIALOGUE_ONLY: names no corpus\n")


@pytest.mark.parametrize("command", ["build", "fetch", "verify", "claims", "violations", "status"])
def test_corpus_that_there_is_not_is_refused(command: str, sample_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sample_folder, tmp_path / "warehouse")  # a build that is refused leaves an alert there
    source = () if command not in ("status", "build") else ("--source", folder / "sample")
    refused = run_command(command, *source, "--warehouse", folder, DIALOGUE_ONLY="sgd,nobody")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: nobody: no such corpus; there are ")
