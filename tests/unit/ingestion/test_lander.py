"""Source files that change during a build: the landed bytes are those that were hashed, and changes are reported."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.releases import records
from dialogue_warehouse.releases.finding import Release
from dialogue_warehouse.releases.records import LandingError
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import landed as landing_results
from pipelines.ingestion import landing
from pipelines.ingestion.lander import Lander
from pipelines.ingestion.landing import LandingTask, land_file
from tests.unit.item_files import ITEM, ITEMS, make_corpus, read

PATH = "train/items.json"


@pytest.fixture
def task(tmp_path: Path) -> LandingTask:
    """Return a file of two items to land."""
    (tmp_path / "toy/train").mkdir(parents=True)
    (tmp_path / "toy" / PATH).write_text(json.dumps([ITEM, ITEM]))
    return LandingTask(make_corpus(tmp_path, ITEMS), ITEMS, tmp_path / "toy", PATH, tmp_path / "raw")


def items(text: str, count: int) -> bytes:
    return json.dumps([ITEM | {"text": text}] * count).encode()


def replace_in_one_step(file: Path, content: bytes) -> None:
    beside = file.with_suffix(".new")
    beside.write_bytes(content)
    beside.replace(file)


@pytest.mark.parametrize("change", ["replaced", "overwritten", "appended to", "cut", "deleted", "forged"])
def test_file_that_changes_between_hashing_and_reading_is_landed_as_it_was_hashed(
    task: LandingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Regression: DuckDB read the other file, and its rows were published under the checksum of the first."""
    file = tmp_path / "toy" / PATH
    before = items("was hashed", 3)
    file.write_bytes(before)
    read_then = file.stat()
    copy = landing._copy
    reads = []

    def copy_after_the_change(*arguments: object) -> None:
        if not reads:
            match change:
                case "replaced":
                    replace_in_one_step(file, items("came later", 3))
                case "overwritten":
                    file.write_bytes(items("came later", 3))
                case "appended to":
                    file.write_bytes(items("was hashed", 4))
                case "cut":
                    file.write_bytes(items("was hashed", 2))
                case "deleted":
                    file.unlink()
                case "forged":
                    file.write_bytes(items("came later", 3))
                    os.utime(file, ns=(read_then.st_atime_ns, read_then.st_mtime_ns))
        reads.append(arguments[1])
        copy(*arguments)

    monkeypatch.setattr(landing, "_copy", copy_after_the_change)
    landed = land_file(task)
    assert len(reads) == 2, "the change was not seen"
    assert [row["text"] for row in read(tmp_path, landed)] == ["was hashed"] * 3
    assert landed.record_count == 3
    assert landed.sha256 == landing.sha256_of(before)


def test_file_that_stays_is_read_once(task: LandingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the changes: DuckDB reads the source file itself, and nothing is landed again."""
    copy, reads = landing._copy, []
    monkeypatch.setattr(landing, "_copy", lambda *arguments: (reads.append(arguments[1]), copy(*arguments)))
    assert len(read(tmp_path, land_file(task))) == 2
    assert len(reads) == 1
    assert str(tmp_path / "toy" / PATH) in reads[0]


def test_file_that_is_replaced_all_the_time_is_landed_as_one_of_its_states(task: LandingTask, tmp_path: Path) -> None:
    """Regression: in 16 of 30 landings of an exchanged file, the rows of one had the checksum of the other."""
    file = tmp_path / "toy" / PATH
    contents = {landing.sha256_of(items(text, 1000)): text for text in ("first", "second")}
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for text in contents.values():
                replace_in_one_step(file, items(text, 1000))
                time.sleep(0.03)

    replace_in_one_step(file, items("first", 1000))
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(10):
            landed = land_file(LandingTask(task.corpus, ITEMS, task.source, PATH, task.target, force=True))
            parquet = tmp_path / "raw" / landed.parquet
            found = duckdb.sql(f"select distinct text, count(*) from '{parquet}' group by all").fetchall()
            assert found == [(contents[landed.sha256], 1000)]
    finally:
        stop.set()
        swapper.join()


def test_file_that_changes_at_every_read_is_rejected(task: LandingTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is read while it is written has no definite state."""
    file, attempts = task.source / PATH, []

    def touch_and_look(path: Path) -> records.FileState | None:
        attempts.append(path)
        file.write_bytes(items("longer and longer", len(attempts)))
        return state_of(path)

    state_of = records.state_of
    monkeypatch.setattr(records, "state_of", touch_and_look)
    with pytest.raises(LandingError, match=r"^toy/train/items\.json: changed while it was read$"):
        land_file(task)
    assert attempts == [file] * records.ATTEMPTS


def test_file_that_changed_once_while_it_was_read_is_read_again(
    task: LandingTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_of, attempts = records.state_of, []

    def change_the_first_time(path: Path) -> records.FileState | None:
        attempts.append(path)
        if len(attempts) == 1:
            path.write_bytes(items("whole", 5))
        return state_of(path)

    monkeypatch.setattr(records, "state_of", change_the_first_time)
    assert [row["text"] for row in read(tmp_path, land_file(task))] == ["whole"] * 5


def test_two_changes_within_a_tick_are_two_states(tmp_path: Path) -> None:
    """Fails if a state can be recorded so soon after a change that the next state has the same times."""
    file = tmp_path / "file"
    for number in range(20):
        file.write_bytes(b"%03d" % number)
        data, state = records.read_settled("toy/file", file)
        with file.open("r+b") as stream:
            stream.write(b"xyz")
        assert (data, records.state_of(file) == state) == (b"%03d" % number, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.unlink(), "removed after it was read; the build contains the old file"),
        (lambda file: file.write_bytes(b"[]"), "changed after it was read; "),
        (lambda file: file.write_bytes(file.read_bytes().replace(b"hi", b"ho")), "changed after it was read; "),
        (lambda file: replace_in_one_step(file, file.read_bytes() + b" "), "changed after it was read; "),
        (lambda file: replace_in_one_step(file, file.read_bytes()), None),
        (lambda file: file.touch(), None),
        (lambda file: None, None),
    ],
    ids=["deleted", "cut", "overwritten", "appended to", "replaced by the same", "touched", "left alone"],
)
def test_file_that_has_changed_at_the_end_is_reported(task: LandingTask, change, message: str | None) -> None:
    """Regression: a build with a file that was truncated or deleted in the meantime succeeded silently."""
    landed = land_file(task)
    change(task.source / PATH)
    found = list(landing_results.changes_since([landed], task.source.parent))
    assert [notice.startswith(f"toy/{PATH}: {message}") for notice in found] == ([True] if message else [])


def test_killed_process_is_reported_in_one_line(task: LandingTask, tmp_path: Path) -> None:
    """Regression: it was an internal error, also in the alert."""
    release = Release(task.corpus, task.source, ((ITEMS, PATH),), (), ())
    with Lander(tmp_path / "raw", Settings()) as lander:
        future = lander._started[task.source_file_id] = Future()
        future.set_exception(BrokenProcessPool("terminated abruptly"))
        with pytest.raises(CheckError, match=r"^a process that lands files was killed, .* DIALOGUE_PROCESSES$"):
            lander.land(release)


def test_file_that_is_missing_when_it_is_read_is_rejected_in_one_line(task: LandingTask, tmp_path: Path) -> None:
    """The file was found when the folder was listed, and deleted before it was read."""
    release = Release(task.corpus, task.source, ((ITEMS, PATH), (ITEMS, "dev/items.json")), (), ())
    with (
        Lander(tmp_path / "raw", Settings()) as lander,
        pytest.raises(LandingError, match=r"^toy/dev/items\.json: No such file or directory$"),
    ):
        lander.land(release)
