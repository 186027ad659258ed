"""Rollback between the builds that are kept, and a pinned build that is never removed."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pytest
from msgspec import structs

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.errors import BuildError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import report
from dialogue_warehouse.storage import builds, ownership, publication, retention
from dialogue_warehouse.storage.publication import pin, roll_back
from dialogue_warehouse.terminal.status import read_status
from pipelines.building import state
from pipelines.building.session import open_session
from tests.conftest import run_command
from tests.integration.test_mending import make_build, shown

BUILDS = [f"2026010{day}T000000000000Z" for day in (1, 2, 3)]


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    """Return a warehouse with three builds, the last one published."""
    paths = WarehousePaths(tmp_path / "warehouse")
    paths.root.mkdir()
    for build_id in BUILDS:
        make_build(paths, build_id)
    return paths


def test_rollback_publishes_the_earlier_build_and_can_be_undone(paths: WarehousePaths) -> None:
    first, second, third = BUILDS
    assert roll_back(paths) == (third, second)
    assert shown(paths) == second
    assert builds.damage(paths, second) == []
    assert roll_back(paths) == (second, first)
    assert roll_back(paths, third) == (first, third)
    assert shown(paths) == third
    assert roll_back(paths, third) == (third, third)
    assert retention.kept_builds(paths) == BUILDS
    assert publication.mend(paths) == []


def test_build_after_a_rollback_is_the_newest(paths: WarehousePaths) -> None:
    roll_back(paths, BUILDS[0])
    make_build(paths, "20260104T000000000000Z")
    assert shown(paths) == "20260104T000000000000Z"
    assert roll_back(paths)[1] == BUILDS[2]


@pytest.mark.parametrize(
    ("started", "build_id"),
    [
        (datetime(2026, 1, 3), "20260103T000000000001Z"),
        (datetime(2025, 6, 1), "20260103T000000000001Z"),
        (datetime(2026, 6, 1), "20260601T000000000000Z"),
    ],
    ids=["stopped", "set back", "right"],
)
def test_new_build_has_the_largest_id(
    paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch, started: datetime, build_id: str
) -> None:
    """Regression: after the clock was set back, the report and the pages took an earlier build for the published one.

    Only a used id gave the next one.
    """

    class Stopped(datetime):
        @classmethod
        def now(cls, tz=None):
            return started.replace(tzinfo=tz)

    monkeypatch.setattr(state, "datetime", Stopped)
    with open_session(Settings(warehouse=paths.root), paths, Reporter(quiet=True)) as session:
        begun = state.begin(session, "another run")
    assert begun.build_id == build_id


@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize(("base", "before"), [(BUILDS[0], BUILDS[0]), ("20250101T000000000000Z", BUILDS[1])])
def test_build_before_is_the_one_that_was_published_then(
    paths: WarehousePaths, base: str, before: str, is_lost: bool
) -> None:
    """After a rollback that is not the rejected build, which has the number before."""
    third = BUILDS[2]
    manifest = structs.replace(builds.read_manifest(paths, third), base_build_id=base)
    paths.build_manifest(third).write_bytes(builds.encode_manifest(manifest))
    assert retention.one_before(paths, third) == before
    if is_lost:
        for file in (paths.published, paths.build_database(third)):
            file.unlink()
    assert roll_back(paths) == (third, before)
    assert shown(paths) == before


@pytest.mark.parametrize(
    ("named", "reported"),
    [
        ("2026", "2026: matches more than one kept build; the kept builds are 20260103T"),
        ("", "'': is not a kept build; the kept builds are 20260103T"),
        ("20270101T000000000000Z", "20270101T000000000000Z: is not a kept build; the kept builds are 20260103T"),
    ],
)
def test_unknown_build_is_rejected_with_a_list_of_kept_builds(paths: WarehousePaths, named: str, reported: str) -> None:
    with pytest.raises(InputError) as refused:
        roll_back(paths, named)
    assert str(refused.value).startswith(reported)
    assert shown(paths) == BUILDS[2]
    assert roll_back(paths, "20260102")[1] == BUILDS[1]


def test_first_build_cannot_be_rolled_back(paths: WarehousePaths) -> None:
    roll_back(paths, BUILDS[0])
    with pytest.raises(InputError, match="the oldest of the kept builds"):
        roll_back(paths)


def test_rollback_to_a_changed_build_is_rejected(paths: WarehousePaths) -> None:
    database = paths.build_database(BUILDS[1])
    database.chmod(0o644)
    database.write_bytes(database.read_bytes()[:100])
    with pytest.raises(InputError, match="has changed since publishing"):
        roll_back(paths)
    assert shown(paths) == BUILDS[2]


@pytest.mark.parametrize("content", ["", "[]", None])
def test_rollback_needs_no_pointer(paths: WarehousePaths, content: str | None) -> None:
    paths.pointer.unlink()
    if content is not None:
        paths.pointer.write_text(content)
    repairs: list[str] = []
    assert roll_back(paths, BUILDS[2], repairs.append)[1] == BUILDS[2]
    assert [str(paths.pointer) in repair for repair in repairs] == [True]
    assert shown(paths) == BUILDS[2]


def test_rollback_from_a_lost_build_publishes_the_one_before(paths: WarehousePaths) -> None:
    """Regression: it published the one before that."""
    for file in (paths.published, paths.build_database(BUILDS[2])):
        file.chmod(0o644)
        file.write_bytes(b"")
    assert roll_back(paths) == (BUILDS[2], BUILDS[1])
    assert shown(paths) == BUILDS[1]


def test_rollback_does_not_wait_for_a_build(paths: WarehousePaths) -> None:
    with ownership.exclusive(paths), pytest.raises(BuildError, match="another build is running"):
        roll_back(paths)
    assert shown(paths) == BUILDS[2]


def test_pinned_build_is_kept_and_does_not_count(paths: WarehousePaths) -> None:
    assert pin(paths, BUILDS[0]) == BUILDS[0]
    retention.prune(paths, 1)
    assert retention.kept_builds(paths) == [BUILDS[0], BUILDS[2]]
    assert [build.is_pinned for build in read_status(paths, Settings(warehouse=paths.root)).builds] == [False, True]
    pin(paths, BUILDS[0], is_pinned=False)
    retention.prune(paths, 1)
    assert retention.kept_builds(paths) == [BUILDS[2]]


def write_index(folder: Path, build_id: str) -> None:
    """Write the first page of a report about this build, with a page that only code of its version writes."""
    folder.mkdir()
    meta = f'<meta name="{report.BUILD_META}" content="{build_id}">'
    (folder / "index.html").write_text(f"{report.MARK}<html><head>{meta}</head></html>")
    (folder / "claims.html").write_text(build_id)


def test_report_of_an_older_version_is_shown_again(paths: WarehousePaths) -> None:
    """Code of this version could not write it: tables that it shows are missing in the older build."""
    first, second, third = BUILDS
    write_index(paths.build_report(first), first)
    write_index(paths.build_report(second), third)  # damaged: it is about another build
    write_index(paths.reports, third)
    assert report.show_again(paths, third) is None  # none was kept
    assert report.show_again(paths, second) is None
    assert (paths.reports / "claims.html").read_text() == third
    assert report.show_again(paths, first) == paths.reports / "index.html"
    assert report.is_about(first, paths.reports)
    assert (paths.reports / "claims.html").read_text() == first
    assert report.is_about(first, paths.build_report(first))  # it can be shown as often as needed
    assert [file.name for file in paths.root.iterdir() if file.name.startswith(".reports")] == []
    (paths.reports / "mine.txt").touch()
    with pytest.raises(InputError, match=r"contains something other than a report \(mine.txt\)"):
        report.show_again(paths, first)


def test_documentation_of_dbt_is_that_of_its_build(paths: WarehousePaths) -> None:
    """Regression: after a rollback the dashboard and a new report had dbt's documentation of the newer build."""
    first, second, third = BUILDS
    kept = {build_id: paths.build_report(build_id) / report.DBT_DOCS for build_id in BUILDS}
    for page, build_id in ((paths.dbt_docs, third), (kept[first], first), (kept[second], third)):
        page.parent.mkdir(parents=True)
        page.write_text(f"<html><head>{report.build_meta(build_id)}</head></html>")
    assert report.dbt_docs_of(third, paths) == paths.dbt_docs
    assert report.dbt_docs_of(second, paths) is None
    assert report.dbt_docs_of(first, paths) == kept[first]


def test_rollback_without_a_report_says_that_the_one_shown_is_about_another_build(paths: WarehousePaths) -> None:
    write_index(paths.reports, BUILDS[2])
    done = run_command("rollback", "--warehouse", paths.root)
    assert done.returncode == 0
    notice = done.stdout.splitlines()[-1]
    assert notice.startswith(f"no report of build {BUILDS[1]}: ")
    assert notice.endswith(f"; {paths.reports / 'index.html'} is about another build")


def test_report_is_removed_with_its_build(paths: WarehousePaths) -> None:
    write_index(paths.build_report(BUILDS[0]), BUILDS[0])
    write_index(paths.build_report(BUILDS[2]), BUILDS[2])
    lost = paths.build_report("20200101T000000000000Z")  # its build was removed while it was written
    write_index(lost, "20200101T000000000000Z")
    publication.mend(paths)
    assert not lost.exists()
    assert paths.build_report(BUILDS[0]).exists()
    retention.prune(paths, 1)
    assert not paths.build_report(BUILDS[0]).exists()
    assert paths.build_report(BUILDS[2]).exists()


def test_commands_list_published_and_kept_builds(tmp_path: Path, awkward_folder: Path) -> None:
    folder = shutil.copytree(awkward_folder, tmp_path / "warehouse")
    (first,) = retention.kept_builds(WarehousePaths(folder))
    index = folder / "reports" / "index.html"
    index.write_text(index.read_text().replace(f'content="{first}"', 'content="later"'))
    alone = run_command("rollback", "--warehouse", folder)
    assert (alone.returncode, alone.stderr) == (
        2,
        f"error: build {first} is the oldest of the kept builds, so there is none before it\n",
    )
    make_build(WarehousePaths(folder), BUILDS[0])
    back = run_command("rollback", "--warehouse", folder)
    published, renewed = back.stdout.splitlines()
    assert published == f"published  build {first}, before {BUILDS[0]}"
    assert renewed == f"the report was about another build: {index} is that of build {first} again"
    assert f"<p>Build <code>{first}</code>, " in index.read_text()
    pinned = run_command("keep", "--warehouse", folder)
    assert pinned.stdout.startswith(f"build {first} is kept until `")
    assert pinned.stdout.endswith(f"dialogue-warehouse keep {first} --no-longer --warehouse {folder}`\n")
    reported = [line.split() for line in run_command("status", "--warehouse", folder).stdout.splitlines()]
    (place,) = [number for number, words in enumerate(reported) if words[:1] == [first]]
    assert reported[place + 1][:2] == ["(published,", "pinned)"]
    nothing = run_command("keep", "--warehouse", tmp_path / "none")
    assert (nothing.returncode, nothing.stderr.startswith(f"error: no warehouse at {tmp_path / 'none'}: ")) == (2, True)


def test_missing_copy_of_the_published_build_is_restored(paths: WarehousePaths) -> None:
    for lost in (paths.published, paths.build_database(BUILDS[2])):
        lost.unlink()
        assert publication.mend(paths) == [f"{lost} was missing: it is restored"]
    assert builds.damage(paths, BUILDS[2]) == []


def test_restored_warehouse_gets_what_is_in_no_backup(tmp_path: Path, awkward_folder: Path) -> None:
    paths = WarehousePaths(shutil.copytree(awkward_folder, tmp_path / "warehouse"))
    (build_id,) = retention.kept_builds(paths)
    paths.published.unlink()
    shutil.rmtree(paths.reports)
    restored = run_command("rollback", build_id, "--warehouse", paths.root)
    index = paths.reports / "index.html"
    assert restored.stdout.splitlines() == [
        f"{paths.published} was missing: it is restored",
        f"published  build {build_id}, as it was",
        f"the report was missing: {index} is that of build {build_id} again",
    ]
    assert index.is_file()
