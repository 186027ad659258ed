"""The health of a warehouse: the last attempt to build, the last check of the source, and the problems."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds, checked, health, ownership
from dialogue_warehouse.storage.health import Attempt, Trouble
from tests.unit.published import BUILD, make_build

NOW = datetime.now(UTC)
LATER = "20300101T000000000000Z"


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    """Return a warehouse with one published build."""
    paths = WarehousePaths(tmp_path / "warehouse")
    ownership.claim(paths)
    make_build(paths)
    return paths


def begin(paths: WarehousePaths, build_id: str, started_at: str) -> None:
    """Write the state of a build that has begun."""
    paths.scratch.mkdir(exist_ok=True)
    paths.scratch_state.write_text(json.dumps({"build_id": build_id, "started_at": started_at, "run_id": "x"}))


def fail(paths: WarehousePaths, at: str, is_in_part: bool = False) -> None:
    """Write the record of a failed build."""
    trouble = Trouble(text="sgd: x\nsgd: y", since="2020-01-01T00:00:00+00:00", at=at, is_in_part=is_in_part)
    paths.trouble.write_bytes(msgspec.json.encode(trouble))


def kinds(paths: WarehousePaths) -> list[str]:
    """Return the kinds of the problems."""
    return [problem.kind for problem in health.find_problems(paths)]


def test_published_build_without_a_failure_is_healthy(paths: WarehousePaths) -> None:
    assert health.last_attempt(paths) == Attempt("published", "2020-01-01T00:00:00")
    assert kinds(paths) == []
    checked.record_check(paths)
    last = checked.last_check(paths)
    assert last is not None
    assert NOW - timedelta(seconds=1) <= last <= datetime.now(UTC)
    assert health.last_attempt(paths) == Attempt("published", last.isoformat())


def test_failed_build_is_a_problem_with_its_first_line(paths: WarehousePaths) -> None:
    fail(paths, "2021-01-01T00:00:00+00:00")
    attempt = health.last_attempt(paths)
    assert attempt == Attempt("failed", "2021-01-01T00:00:00+00:00", "2020-01-01T00:00:00+00:00", "sgd: x\nsgd: y")
    (problem,) = health.find_problems(paths)
    assert (problem.kind, problem.text) == (
        "build_failed",
        "the last build failed at 2021-01-01T00:00:00+00:00: sgd: x",
    )
    fail(paths, "2021-01-01T00:00:00+00:00", is_in_part=True)
    assert kinds(paths) == []  # the build was published; the manifest says which corpus is stale


def test_failure_of_another_version_is_understood(paths: WarehousePaths) -> None:
    paths.trouble.write_text('{"text": "sgd: x", "since": "2020-01-01T00:00:00+00:00"}')
    assert kinds(paths) == ["build_failed"]
    assert "2020-01-01T00:00:00+00:00: sgd: x" in next(health.find_problems(paths)).text


@pytest.mark.parametrize("is_failed_before", [True, False])
def test_killed_build_is_a_problem(paths: WarehousePaths, is_failed_before: bool) -> None:
    """A process that is killed cannot record that it failed: the state that it leaves says so."""
    if is_failed_before:
        fail(paths, "2021-01-01T00:00:00+00:00")
    begin(paths, LATER, "2022-01-01T00:00:00+00:00")
    assert health.last_attempt(paths) == Attempt("interrupted", "2022-01-01T00:00:00+00:00")
    assert kinds(paths) == ["build_interrupted"]
    assert next(health.find_problems(paths)).text.endswith(" was interrupted: build again")
    fail(paths, "2023-01-01T00:00:00+00:00")  # the next build cannot begin
    assert kinds(paths) == ["build_failed"]


def test_build_that_fails_within_a_second_has_failed(paths: WarehousePaths) -> None:
    """Regression: a file that was refused at once left "was interrupted", because failures have whole seconds."""
    begin(paths, LATER, "2022-01-01T00:00:00.377647Z")
    fail(paths, "2022-01-01T00:00:00+00:00")
    assert kinds(paths) == ["build_failed"]


def test_running_build_is_not_a_problem(paths: WarehousePaths) -> None:
    begin(paths, LATER, "2022-01-01T00:00:00+00:00")
    with ownership.exclusive(paths):
        assert health.last_attempt(paths) == Attempt("running", "2022-01-01T00:00:00+00:00")
        assert kinds(paths) == []
    assert kinds(paths) == ["build_interrupted"]


def test_state_of_a_published_build_is_not_an_interruption(paths: WarehousePaths) -> None:
    begin(paths, BUILD, "2022-01-01T00:00:00+00:00")
    assert kinds(paths) == []
    begin(paths, LATER, "2022-01-01T00:00:00+00:00")
    checked.record_check(paths)  # a later check has found that nothing has changed
    assert kinds(paths) == []


def test_build_waits_for_a_reader_that_tests_the_lock(paths: WarehousePaths) -> None:
    """`status` tests the lock with a shared lock: a build that starts at this moment is not refused."""
    with ownership.exclusive(paths):
        pass
    descriptor = os.open(paths.lock, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    threading.Timer(0.05, os.close, [descriptor]).start()
    with ownership.exclusive(paths):
        begin(paths, LATER, "2022-01-01T00:00:00+00:00")
        assert kinds(paths) == []  # it runs


@pytest.mark.parametrize("content", ["{", "[]", '{"at": "yesterday"}', '{"at": 1}', ""])
def test_damaged_time_of_a_check_counts_as_none(paths: WarehousePaths, content: str) -> None:
    paths.checked.write_text(content)
    assert checked.last_check(paths) is None


def test_source_that_is_not_checked_is_overdue(paths: WarehousePaths) -> None:
    checked.record_check(paths)
    last = checked.last_check(paths)
    assert last is not None
    assert health.overdue(paths, 48, last + timedelta(hours=47)) is None
    problem = health.overdue(paths, 48, last + timedelta(hours=49))
    assert problem is not None
    assert problem.text == f"no check of the source has finished since {last.isoformat()}"
    assert problem.kind == "no_check"


def test_before_the_first_check_the_time_counts_from_the_beginning(tmp_path: Path, paths: WarehousePaths) -> None:
    new = WarehousePaths(tmp_path / "new")
    assert health.overdue(new, 1) is None
    ownership.claim(new)
    assert health.overdue(new, 1) is None
    os.utime(new.mark, (0, 0))
    problem = health.overdue(new, 1)
    assert problem is not None
    assert problem.text == "no check of the source has ever finished, since 1970-01-01T00:00:00+00:00"
    of_a_build = health.overdue(paths, 1)
    assert of_a_build is not None
    assert "2020-01-01T00:00:00+00:00" in of_a_build.text


def test_nothing_published_is_a_problem(paths: WarehousePaths) -> None:
    paths.pointer.unlink()
    assert kinds(paths) == ["nothing_published"]
    assert builds.pointed_build(paths) is None
