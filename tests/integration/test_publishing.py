"""Publishing: a published build is complete, movable and readable by old clients; a failed build changes nothing."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, publication, retention
from dialogue_warehouse.storage.builds import BuildManifest, encode_manifest
from pipelines.building import publishing, state
from tests.benchmarks.compare_builds import compare
from tests.conftest import run_command
from tests.integration.clones import build_with, copy_with_unknown_split
from tests.integration.test_incremental import data_versions

OF_THE_BUILD = {"quality.builds", "quality.build_changes", "quality.expectation_results"}
"""Tables about the builds themselves."""


@pytest.fixture
def published(awkward_folder: Path, tmp_path: Path) -> WarehousePaths:
    """Return a copy of a warehouse with one published build, including its links."""
    shutil.copytree(awkward_folder, tmp_path / "warehouse", copy_function=shutil.copy)
    paths = WarehousePaths(tmp_path / "warehouse")
    publication.publish(builds.pointed_build(paths), paths)
    return paths


def what_a_reader_sees(paths: WarehousePaths) -> tuple[object, ...]:
    """Return all content of a warehouse that a reader may open."""
    return (
        paths.pointer.read_bytes(),
        paths.published.stat().st_ino,
        paths.published.read_bytes(),
        retention.kept_builds(paths),
    )


def test_published_file_has_the_published_schemas_and_no_view(awkward_folder: Path) -> None:
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        schemas = con.execute("select distinct schema_name from duckdb_tables() order by all").fetchall()
        views = con.execute("select count(*) from duckdb_views() where not internal").fetchall()
    assert schemas == [("analytics",), ("core",), ("quality",)]
    assert views == [(0,)]


def test_published_file_has_the_storage_of_duckdb_1_5_and_can_be_moved(awkward_folder: Path, tmp_path: Path) -> None:
    moved = shutil.copy(awkward_folder / "dialogues.duckdb", tmp_path / "elsewhere.duckdb")
    with duckdb.connect(str(moved), read_only=True) as con:
        (tags,) = con.execute("select tags from duckdb_databases() where database_name = 'elsewhere'").fetchall()[0]
        tables = con.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
        for (table,) in tables:
            con.execute(f"select * from {table}").fetchall()
    assert tags["storage_version"].startswith("v1.5")
    assert len(tables) > 35


def test_published_file_is_the_build_that_the_pointer_names(awkward_folder: Path) -> None:
    paths = WarehousePaths(awkward_folder)
    build = builds.published_build(paths)[1]
    assert build is not None
    assert build.read_bytes() == paths.published.read_bytes()
    assert build.stat().st_ino != paths.published.stat().st_ino
    assert {file.stat().st_mode & 0o222 for file in (build, paths.published)} == {0}
    manifest = json.loads(paths.build_manifest(build.stem).read_text())
    assert manifest["build_id"] == build.stem
    assert all((awkward_folder / file).exists() for files in manifest["raw"].values() for file in files)
    assert not paths.scratch_database.exists()


def test_rejected_file_leaves_the_published_build(
    published: WarehousePaths, awkward_releases: Path, tmp_path: Path
) -> None:
    shutil.copytree(awkward_releases, tmp_path / "releases")
    broken = tmp_path / "releases/sgd/dev/dialogues_001.json"
    broken.write_bytes(broken.read_bytes()[:30])
    before = what_a_reader_sees(published)
    failed = run_command("build", "--source", tmp_path / "releases", "--warehouse", published.root, "--quiet")
    assert failed.returncode == 2
    assert (
        failed.stderr
        == "error: sgd/dev/dialogues_001.json: not JSON, cut off at its end, byte 30, line 1, column 31: download it again\n"
    )
    assert what_a_reader_sees(published) == before


def test_failed_test_blocks_and_names_a_failing_row(
    published: WarehousePaths, awkward_releases: Path, tmp_path: Path
) -> None:
    """No published data make a test of the models fail: the fault is planted in a model."""
    before = what_a_reader_sees(published)
    project = copy_with_unknown_split(tmp_path / "clone", "abcd")
    failed = build_with(project, published.root, "--source", str(awkward_releases), "--quiet")
    assert failed.returncode == 1
    reported = "test sound_dim_dialogues: 1 row fails, the first: broken=unknown word, column_name=split, "
    assert reported + "value=holdout, first_row=abcd/train/" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert what_a_reader_sees(published) == before


def test_killed_build_leaves_the_published_build_and_the_next_one_works(
    published: WarehousePaths, awkward_releases: Path
) -> None:
    before, versions = what_a_reader_sees(published), data_versions(published)
    command = [
        sys.executable,
        "-m",
        "dialogue_warehouse",
        "build",
        "--source",
        awkward_releases,
        "--warehouse",
        published.root,
        "--force",
    ]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=CLONE)
    deadline = time.monotonic() + 120
    while not published.scratch_database.exists() and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    assert what_a_reader_sees(published) == before

    with duckdb.connect(str(builds.published_build(published)[1]), read_only=True) as reader:
        options = ("--quiet", "--force", "--verify")
        again = run_command("build", "--source", awkward_releases, "--warehouse", published.root, *options)
        assert again.returncode == 0, again.stderr
        assert reader.execute("select count(*) from quality.builds").fetchall() == [(1,)]
    assert len(retention.kept_builds(published)) == 2
    with duckdb.connect(str(published.published), read_only=True) as con:
        assert con.execute("select count(*) from quality.builds").fetchall() == [(2,)]
        assert con.execute("select count(distinct build_id) from quality.expectation_results").fetchall() == [(2,)]
        differing = con.execute("select count(distinct fingerprint) from quality.builds").fetchall()
    assert differing == [(1,)]
    one, two = map(published.build_database, retention.kept_builds(published))
    reported = compare(one, two)  # the same files give the same rows
    assert {table for table, lines in reported.items() if lines} <= OF_THE_BUILD
    assert len(reported) > 50
    assert data_versions(published) == versions


def test_second_build_at_the_same_time_is_rejected(published: WarehousePaths) -> None:
    with published.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = run_command("build", "--warehouse", published.root, "--quiet")
    assert refused.returncode == 1
    assert refused.stderr == f"error: {published.root}: another build is running\n"


def test_database_with_a_view_or_a_strange_schema_is_not_published(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path)
    paths.scratch.mkdir()
    for statement in ("create view core.v as select 1", "create table main.t as select 1 as a"):
        paths.scratch_database.unlink(missing_ok=True)
        with duckdb.connect(str(paths.scratch_database)) as con:
            con.execute("create schema core; create table core.fct_turns as select 1 as a")
            con.execute(statement)
        with pytest.raises(state.BuildError, match="not published"):
            publishing.refuse_unfit(paths.scratch_database, Settings())


def test_oldest_builds_are_pruned_with_their_raw_files(tmp_path: Path) -> None:
    """Foreign files beside the builds and below `raw/` stay, whatever their suffix."""
    paths = WarehousePaths(tmp_path)
    names = [f"2026010{number}T000000000000Z" for number in range(1, 5)]
    items, stems = paths.raw / "toy" / "items", [f"{number}-0123456789abcdef-0123456789ab" for number in range(1, 5)]
    foreign = [
        paths.builds / "mine.duckdb",
        paths.builds / "mine.json",
        items / "mine.parquet",
        paths.raw / "a.parquet",
    ]
    for folder in (paths.builds, items):
        folder.mkdir(parents=True)
    for file in (*foreign, *(items / f"{stem}.{suffix}" for stem in stems for suffix in ("parquet", "json"))):
        file.write_bytes(b"{}")
    for name, stem in zip(names, stems, strict=True):
        paths.build_database(name).write_bytes(b"")
        raw = {"toy__items": [f"raw/toy/items/{stem}.parquet"]}
        manifest = BuildManifest(build_id=name, started_at="2026-01-01", source="/releases", raw=raw)
        paths.build_manifest(name).write_bytes(encode_manifest(manifest))
    publication.publish(names[0], paths)
    retention.prune(paths, builds_kept=2)
    assert retention.kept_builds(paths) == [names[0], names[2], names[3]]
    left = {file for file in items.iterdir() if file not in foreign}
    assert left == {items / f"{stems[index]}.{suffix}" for index in (0, 2, 3) for suffix in ("parquet", "json")}
    assert [file for file in foreign if not file.exists()] == []


def test_builds_are_pruned_by_age(tmp_path: Path) -> None:
    """The published build and pinned builds stay, and one whose age is unknown."""
    paths, now = WarehousePaths(tmp_path), datetime.now(UTC)
    paths.builds.mkdir()
    started = [*(str(now - timedelta(days=days)) for days in (2.1, 2.1, 2.1, 1.9)), "some day"]
    names = [f"2026010{number}T000000000000Z" for number in range(1, 6)]
    for name, at in zip(names, started, strict=True):
        paths.build_database(name).write_bytes(b"")
        manifest = BuildManifest(build_id=name, started_at=at, source="/", raw={}, is_pinned=name == names[1])
        paths.build_manifest(name).write_bytes(encode_manifest(manifest))
    publication.publish(names[0], paths)
    retention.prune(paths, 9)
    assert retention.kept_builds(paths) == names
    retention.prune(paths, 9, days=2)
    assert retention.kept_builds(paths) == [names[0], names[1], names[3], names[4]]
