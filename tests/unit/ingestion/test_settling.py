"""A run waits for files that are still being copied, and not for ever."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from pipelines.ingestion import settling

QUIET = 0.4
LONG = 30.0


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "toy").mkdir()
    return tmp_path


def waited(source: Path, quiet: float = QUIET, most: float = LONG) -> tuple[str | None, list[str], float]:
    """Return the notice, the lines before it, and the seconds that it took."""
    lines: list[str] = []
    began = time.monotonic()
    notice = settling.wait(source, quiet, most, lines.append)
    return notice, lines, time.monotonic() - began


def test_nothing_to_wait_for(source: Path) -> None:
    for folder in (source, source / "absent"):
        assert waited(folder)[:2] == (None, [])
    (source / "toy" / "a.json").write_text("[]")
    (source / "toy" / "A.json").symlink_to("absent.json")
    time.sleep(QUIET)
    assert waited(source)[:2] == (None, [])


def test_file_that_has_just_changed_is_waited_for_until_it_is_quiet(source: Path) -> None:
    file = source / "toy" / "a.json"
    file.write_text("[")
    growing = threading.Thread(target=grow, args=(file, 5))
    growing.start()
    notice, lines, seconds = waited(source)
    growing.join(LONG)
    assert notice is None
    assert lines == [f"{file} has just changed: waiting until no file changes for {QUIET:g} seconds"]
    assert file.read_text() == "[....."
    assert seconds >= 5 * QUIET / 4


@pytest.mark.parametrize("name", ["warehouse", "link"])
def test_warehouse_below_the_source_is_not_waited_for(source: Path, name: str) -> None:
    """Its lock, and Dagster's history in it, change during every run."""
    (source / "toy" / "a.json").write_text("[]")
    time.sleep(QUIET)
    (source / "warehouse").mkdir()
    (source / "warehouse" / "a.json").write_text("[]")
    (source / "link").symlink_to("warehouse")
    lines: list[str] = []
    assert settling.wait(source, QUIET, LONG, lines.append, source / name) is None
    assert lines == []


def test_copy_that_sets_its_time_back_is_noticed(source: Path) -> None:
    """As `cp --archive` and `rsync` do it."""
    other, file = source / "other", source / "toy" / "a.json"
    other.write_text("[]")
    os.utime(other, (0, 0))
    time.sleep(QUIET)
    shutil.move(other, file)
    shutil.copy2(file, source / "toy" / "b.json")
    assert (source / "toy" / "b.json").stat().st_mtime == 0
    _, (line,), _ = waited(source)
    assert line.startswith(f"{source}/toy/b.json has just changed")


def test_clock_of_another_machine_that_is_ahead_does_not_make_it_wait(source: Path) -> None:
    file = source / "toy" / "a.json"
    file.write_text("[]")
    os.utime(file, (time.time() + 9999,) * 2)
    notice, _, seconds = waited(source)
    assert notice is None
    assert QUIET <= seconds < LONG


def test_file_is_waited_for_beside_one_whose_time_is_ahead(source: Path) -> None:
    """The newest time of all files stays the same while another file grows."""
    other, file = source / "toy" / "a.json", source / "toy" / "b.json"
    other.write_text("[]")
    os.utime(other, (time.time() + 9999,) * 2)
    file.write_text("[")
    growing = threading.Thread(target=grow, args=(file, 8))
    growing.start()
    notice, _, _ = waited(source)
    written = file.read_text()
    growing.join(LONG)
    assert notice is None
    assert written == "[........"


def test_file_that_never_stops_changing_is_read_after_a_limit_with_a_notice(source: Path) -> None:
    file = source / "toy" / "a.json"
    file.write_text("[")
    growing = threading.Thread(target=grow, args=(file, 20))
    growing.start()
    notice, _, seconds = waited(source, quiet=LONG, most=2 * QUIET)
    growing.join(LONG)
    assert notice == (
        f"{file}: is still being written after {2 * QUIET:g} seconds (DIALOGUE_PATIENCE); the files are read as they are"
    )
    assert seconds < LONG


def grow(file: Path, times: int) -> None:
    """Write a file slowly, with pauses that are shorter than the time after which it counts as complete."""
    for _ in range(times):
        time.sleep(QUIET / 4)
        with file.open("a") as stream:
            stream.write(".")
