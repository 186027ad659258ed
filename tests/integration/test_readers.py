"""Readers see one complete published build or another, however often it changes in the meantime."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.cli.main import main
from dialogue_warehouse.lineage import tracing
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import open_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, health, ownership, publication, retention
from dialogue_warehouse.storage.publication import roll_back
from tests.faults.reading import READERS, start_readers, stop_readers

CHANGES = 25
"""Number of times that another build is published."""
QUERIES = (
    "select count(*) from core.fct_turns",
    "select count(*) from core.fct_slots",
    "select max(build_id) from quality.builds",
)


@pytest.fixture
def paths(tmp_path: Path, sample_folder: Path, disturbed_folder: Path) -> WarehousePaths:
    """Return a warehouse with two builds of different rows, one of them from another warehouse."""
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    other = WarehousePaths(disturbed_folder)
    build_id, database = builds.published_build(other)
    shutil.copy2(database, paths.builds)
    shutil.copy2(other.build_manifest(build_id), paths.builds)
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
    for _ in range(CHANGES):
        first, second = retention.kept_builds(paths)
        roll_back(paths, first if builds.pointed_build(paths) == second else second)
        time.sleep(0.3)
    reported = stop_readers(readers, halt)
    assert [one["failures"] for one in reported] == [[]] * READERS
    assert min(one["queries"] for one in reported) > CHANGES
    for one in reported:
        assert set(one["seen"]) == set(whole), "a mix of builds, or only one build"


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize(
    "command",
    [("restore", "--corpus", "bbai"), ("export", "--form", "chat", "--corpora", "bbai"), ("score", "--corpus", "bbai")],
)
def test_writer_opens_the_next_build_if_its_own_is_removed_meanwhile(
    paths: WarehousePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], step: int
) -> None:
    """Regression: the command ended with an error about a missing file, or asked to be run again."""
    before, after = sorted(retention.kept_builds(paths), key=lambda one: one != builds.pointed_build(paths))
    published, asked = builds.published_build, []

    def removed_meanwhile(place: WarehousePaths) -> tuple[str, Path]:
        found = published(place)
        asked.append(found)
        if len(asked) == step and found[0] == before:
            roll_back(paths, after)
            paths.build_database(before).unlink()
        return found

    monkeypatch.setattr(builds, "published_build", removed_meanwhile)
    to = ("--split", "test", "--example") if command[0] == "score" else ("--to",)
    assert main([*command, *to, str(tmp_path / "written"), "--warehouse", str(paths.root)]) == 0
    assert any((tmp_path / "written").rglob("*.json*"))


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("command", ["verify", "trace"])
def test_reader_uses_one_build_if_another_one_is_published_meanwhile(
    paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch, command: str, step: int
) -> None:
    """Regression: `verify` opened a file that was removed, and `trace` looked for a key in the source of another build."""
    before, after = sorted(retention.kept_builds(paths), key=lambda one: one != builds.pointed_build(paths))
    with open_published(paths) as con:
        key = con.execute("select dialogue_key from core.dim_dialogues where corpus_id = 'bbai'").fetchall()[0][0]
    published, source_of, asked, sources = builds.published_build, builds.source_of, [], []

    def removed_meanwhile(place: WarehousePaths) -> tuple[str, Path]:
        asked.append(published(place))
        if len(asked) == step and asked[-1][0] == before:
            roll_back(paths, after)
            paths.build_database(before).unlink()
        return asked[-1]

    def remembered(place: WarehousePaths, build_id: str) -> Path:
        sources.append(build_id)
        return source_of(place, build_id)

    monkeypatch.setattr(builds, "published_build", removed_meanwhile)
    monkeypatch.setattr(builds, "source_of", remembered)
    if command == "trace":
        tracing.trace(paths, Settings(), key)
    else:
        assert main(["verify", "--corpora", "bbai", "--warehouse", str(paths.root)]) == 0
    opened = [build_id for build_id, _ in asked][-1]
    assert sources == [opened]


def test_publication_is_not_seen_as_damage(paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: between its two steps, `status` and its alert said that the published build is damaged."""
    copy, seen = publication.copy, []

    def copied(database: Path, to: Path) -> None:
        seen.append((health.damage_of(paths, database.stem), health.damage_of(paths, before)))
        copy(database, to)

    before, after = sorted(retention.kept_builds(paths), key=lambda one: one != builds.pointed_build(paths))
    monkeypatch.setattr(publication, "copy", copied)
    roll_back(paths, after)
    assert seen == [((), ())]
    assert health.damage_of(paths, after) == ()


def test_publication_that_ends_meanwhile_is_not_seen_as_damage(
    paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: `status` saw the file of the build before, and then that the lock was released."""
    damage, seen = builds.damage, []

    def before_the_end(place: WarehousePaths, build_id: str) -> list[Path]:
        seen.append(build_id)
        return [place.published] if len(seen) == 1 else damage(place, build_id)

    monkeypatch.setattr(builds, "damage", before_the_end)
    assert health.damaged_files(paths, builds.published_build(paths)[0]) == []
    assert len(seen) == 2


def test_first_publication_is_not_seen_as_damage(paths: WarehousePaths) -> None:
    build_id, _ = builds.published_build(paths)
    for other in retention.kept_builds(paths):
        if other != build_id:
            retention.remove(paths, other)
    paths.published.unlink()
    with ownership.exclusive(paths):
        assert health.damage_of(paths, build_id) == (paths.published,)
        publication.write_pointer(paths.started_publication, build_id)
        assert health.damage_of(paths, build_id) == ()
    assert health.damage_of(paths, build_id) == (paths.published,), "a killed build"


def test_damage_during_a_build_is_seen(paths: WarehousePaths) -> None:
    build_id, database = builds.published_build(paths)
    for file in (paths.published, database):
        file.chmod(0o644)
        with file.open("r+b") as stream:
            stream.write(b"changed")
    with ownership.exclusive(paths):
        assert health.damage_of(paths, build_id) == (paths.published, database)
