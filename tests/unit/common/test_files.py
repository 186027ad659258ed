"""Files: special and endless files are rejected, and files are written completely or not at all."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import LARGEST_FILE, read_regular, replacing, write_atomically, write_table
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases import records, source_tree
from dialogue_warehouse.releases.file_kinds import BROKEN_LINK
from dialogue_warehouse.releases.records import LandingError, read_settled
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import report
from dialogue_warehouse.storage import builds, landed
from pipelines.ingestion.landing import LandingTask, land_file
from tests.conftest import CLONE
from tests.unit.item_files import ITEM, ITEMS, land, make_corpus

SECONDS = 20
"""Timeout of tests that could wait for ever."""


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    def end(*_: object) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def sparse(path: Path) -> None:
    """Create a file of 5 GiB that takes no space."""
    with path.open("wb") as stream:
        stream.truncate(5 * 2**30)


TOO_LARGE = f"larger than {LARGEST_FILE:,} bytes, the limit for this file"
PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "not a regular file"),
    "folder": (lambda path: path.mkdir(), "not a regular file"),
    "zeros without end": (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), "not a regular file|No such device or address"),
    "link to nothing": (lambda path: path.symlink_to("nowhere"), BROKEN_LINK),
    "5 GiB": (sparse, TOO_LARGE),
}


@pytest.mark.parametrize(("make", "reported"), PLACES.values(), ids=list(PLACES))
def test_source_file_that_is_not_a_file_is_rejected_in_one_line(tmp_path: Path, make, reported: str) -> None:
    """Regression: a plain file of 5 GiB was read into memory, and a pipe waited for its other end."""
    place = tmp_path / "toy/train/items.json"
    place.parent.mkdir(parents=True)
    make(place)
    advised = "is a (?:folder|pipe or a device), .+: put the published file in its place"
    with pytest.raises(LandingError, match=rf"^toy/train/items\.json: (?:{reported}|{advised})$"):
        land_file(
            LandingTask(make_corpus(tmp_path, ITEMS), ITEMS, tmp_path / "toy", "train/items.json", tmp_path / "raw")
        )


@pytest.mark.parametrize(("make", "reported"), PLACES.values(), ids=list(PLACES))
def test_marker_that_is_not_a_file_is_rejected_in_one_line(tmp_path: Path, make, reported: str) -> None:
    """Regression: every build reads the marker of a generated release, and waited if it was a pipe."""
    marker = tmp_path / source_tree.MARKER
    make(marker)
    if not marker.exists():
        assert source_tree.read_marker(tmp_path) is None
        return
    with pytest.raises(InputError) as refused:
        source_tree.read_marker(tmp_path)
    reported = reported.replace(f"{LARGEST_FILE:,}", f"{source_tree.LARGEST_MARKER:,}")
    words = "cannot be read as the scale and seed of a generated release"
    assert any(str(refused.value) == f"{marker}: {words}: {one}" for one in reported.split("|"))


def test_large_marker_is_rejected(tmp_path: Path) -> None:
    (tmp_path / source_tree.MARKER).write_text('{"scale": 1, "seed": 0}' + " " * source_tree.LARGEST_MARKER)
    with pytest.raises(InputError, match=r"larger than 65,536 bytes"):
        source_tree.read_marker(tmp_path)


def test_file_of_proc_reports_no_size_and_is_read_as_empty() -> None:
    """A link to `/proc/kmsg` would wait for the next message of the kernel, for ever."""
    assert read_settled("toy/a.json", Path("/proc/self/environ"))[0] == b""
    assert read_regular(Path("/proc/self/environ")) == b""


def test_limit_applies_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345")
    assert read_regular(file, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(file, 4)


def test_file_that_becomes_a_pipe_before_it_is_opened_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"[]")
    opened = os.open

    def open_later(path: object, flags: int, *rest: int) -> int:
        file.unlink()
        os.mkfifo(file)
        return opened(file, flags, *rest)

    monkeypatch.setattr(files.os, "open", open_later)
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(file)


def test_pipes_in_a_warehouse_do_not_block_commands(tmp_path: Path) -> None:
    """In place of a landed file, a manifest, or a file of this project: it is made again, or rejected."""
    first = land(tmp_path, [ITEM], ITEMS)
    for file in (tmp_path / "raw" / first.parquet, (tmp_path / "raw" / first.parquet).with_suffix(".json")):
        file.unlink()
        os.mkfifo(file)
        assert land(tmp_path, [ITEM], ITEMS) == first
        assert file.is_file()
    os.mkfifo(tmp_path / "pointer")
    with pytest.raises(InputError, match="not a regular file"):
        files.read(tmp_path / "pointer", dict, "a pointer")


def test_pipe_in_place_of_a_file_that_was_read_is_a_change(tmp_path: Path) -> None:
    file = land(tmp_path, [ITEM], ITEMS)
    place = tmp_path / "toy/train/items.json"
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    assert [line.partition(":")[0] for line in landed.changes_since([file], tmp_path)] == ["toy/train/items.json"]


def test_limit_of_an_archive_also_applies_to_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of the open file is checked before any of its content is in memory."""
    monkeypatch.setattr(records, "TICK", 0)
    file = tmp_path / "a.json.gz"
    sparse(file)
    with file.open("r+b") as stream:
        stream.write(gzip.compress(json.dumps([ITEM]).encode()))
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: larger than 2,147,483,648 bytes"):
        read_settled("toy/a.json.gz", file)


OWN_CODE = {
    "dialogue_warehouse/corpora/claims.py",
    "dialogue_warehouse/corpora/left_over.py",
    "dialogue_warehouse/corpora/registry.py",
    "dialogue_warehouse/corpora/scores.py",
    "dialogue_warehouse/corpora/sections.py",
    "dialogue_warehouse/corpora/starting.py",
    "dialogue_warehouse/exporting/losses.py",
    "dialogue_warehouse/reading/descriptions.py",
    "dialogue_warehouse/site/drawing.py",
    "dialogue_warehouse/site/pictures.py",
    "dialogue_warehouse/site/rendering.py",
    "pipelines/building/dbt.py",
    "pipelines/building/dbt_docs.py",
    "pipelines/building/fingerprint.py",
    "pipelines/building/pieces.py",
    "pipelines/building/reusing.py",
}
"""Modules that read files of this project's own code, of libraries, or that the user names to be read."""
OWN_WRITING = {
    "dialogue_warehouse/exporting/chat.py",
    "dialogue_warehouse/exporting/preference.py",
    "dialogue_warehouse/corpora/column_types.py",
    "dialogue_warehouse/common/files.py",
    "pipelines/cluster/session.py",
    "pipelines/ingestion/landing.py",
    "pipelines/ingestion/transport.py",
    "pipelines/ingestion/wanted.py",
}
"""Modules that read what they have just written, or that check first if it is a file."""
READING = re.compile(r"\.read_bytes\(\)|\.read_text\(|\.open\((?:\"rb?\")?\)")


def test_files_of_sources_and_warehouses_are_read_by_one_function() -> None:
    """A new place that reads a file uses `common.files`, or is added to one of these lists."""
    found = {
        path.relative_to(CLONE).as_posix()
        for folder in ("dialogue_warehouse", "pipelines")
        for path in (CLONE / folder).rglob("*.py")
        if READING.search(path.read_text(encoding="utf-8"))
    }
    assert found == OWN_CODE | OWN_WRITING


@pytest.mark.parametrize("text", ["file.read_bytes()", 'x = a.read_text(encoding="ascii")', 'a.open("rb")', "a.open()"])
def test_place_that_reads_a_file_is_found(text: str) -> None:
    assert READING.search(text)


def test_pipe_in_place_of_a_report_or_a_state_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "index.html")
    os.mkfifo(tmp_path / "state")
    assert not report.is_about("20260101T000000000000Z", tmp_path)
    with pytest.raises(OSError, match="not a regular file"):
        builds.describe_file(tmp_path / "state")


def names_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_file_is_written_to_a_new_folder(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a" / "b", b"new")
    assert (tmp_path / "a" / "b").read_bytes() == b"new"
    assert names_below(tmp_path) == ["a/b"]


def test_reader_sees_the_old_file_until_the_new_one_is_complete(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"old")
    with replacing(place) as temporary:
        temporary.write_bytes(b"new")
        assert place.read_bytes() == b"old"
    assert place.read_bytes() == b"new"


def test_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(RuntimeError), replacing(tmp_path / "file") as temporary:
        temporary.write_bytes(b"ne")
        raise RuntimeError
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names_below(tmp_path) == ["file"]


def test_attempts_write_to_different_files(tmp_path: Path) -> None:
    """DuckDB may still work on the file of a failed COPY, so the next one must use another file."""
    places = []
    for _ in range(2):
        with pytest.raises(RuntimeError), replacing(tmp_path / "file") as temporary:
            places.append(temporary)
            raise RuntimeError
    assert len(set(places)) == 2


def test_table_has_the_columns_of_its_schema_and_no_others(tmp_path: Path) -> None:
    columns = {"name": "varchar", "count": "integer", "at": "timestamp", "words": "varchar[]"}
    rows = [{"count": 1, "more": 2, "name": "a", "at": None, "words": ["b", None]}]
    write_table(tmp_path / "table.parquet", columns, rows, Settings())
    table = pq.read_table(tmp_path / "table.parquet")
    assert table.schema.equals(
        pa.schema(
            [
                ("name", pa.string()),
                ("count", pa.int32()),
                ("at", pa.timestamp("us")),
                ("words", pa.list_(pa.string())),
            ]
        )
    )
    assert table.to_pylist() == [{"name": "a", "count": 1, "at": None, "words": ["b", None]}]


def test_row_without_a_column_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="count"):
        write_table(tmp_path / "table.parquet", {"name": "varchar", "count": "integer"}, [{"name": "a"}], Settings())
    assert names_below(tmp_path) == []


@pytest.mark.parametrize("in_the_way", ["b", "a/deeper"])
def test_nothing_is_moved_if_a_file_is_where_a_folder_is_needed(tmp_path: Path, in_the_way: str) -> None:
    """Regression: the files before it were moved."""
    scratch, folder = tmp_path / "scratch", tmp_path / "folder"
    paths = ["a/1.json", "a/deeper/2.json", "b/3.json"]
    for path in paths:
        write_atomically(scratch / path, b"new")
    write_atomically(folder / in_the_way, b"mine")
    with pytest.raises(InputError, match=rf"^{folder / in_the_way}: is a file, [^\n]*; nothing was written$"):
        files.move_all(scratch, folder, paths, True, "new")
    assert {path.read_bytes() for path in folder.rglob("*") if path.is_file()} == {b"mine"}


@pytest.mark.parametrize(
    ("more", "reported"), [(0, "new file; "), (1, "as does 1 more file; "), (2, "as do 2 more files; ")]
)
def test_files_that_differ_are_counted(tmp_path: Path, more: int, reported: str) -> None:
    paths = [f"{number}.json" for number in range(more + 1)]
    for path in paths:
        write_atomically(tmp_path / "scratch" / path, b"new")
        write_atomically(tmp_path / "folder" / path, b"mine")
    with pytest.raises(InputError, match=reported):
        files.move_all(tmp_path / "scratch", tmp_path / "folder", paths, False, "new")


def test_nothing_is_moved_if_a_folder_cannot_be_written(open_folder: Path) -> None:
    """Regression: the files of the folders before it were moved."""
    paths = ["a/1.json", "b/2.json"]
    for path in paths:
        write_atomically(open_folder / "scratch" / path, b"new")
    (open_folder / "folder" / "b").mkdir(parents=True)
    (open_folder / "folder" / "b").chmod(0o555)
    with pytest.raises(InputError, match=r"folder/b: Permission denied; nothing was written$"):
        files.move_all(open_folder / "scratch", open_folder / "folder", paths, False, "new")
    assert not [path for path in (open_folder / "folder").rglob("*") if path.is_file()]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a second file system")
def test_nothing_is_moved_if_a_folder_is_on_another_file_system(tmp_path: Path) -> None:
    """Regression: the files of the folders before it were moved."""
    paths = ["a/1.json", "b/2.json"]
    for path in paths:
        write_atomically(tmp_path / "scratch" / path, b"new")
    (tmp_path / "folder").mkdir()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        if Path(elsewhere).stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("needs a second file system")
        (tmp_path / "folder" / "b").symlink_to(elsewhere)
        with pytest.raises(InputError, match=r"^\S+/folder/b: is on another file system than [^\n]+; nothing was "):
            files.move_all(tmp_path / "scratch", tmp_path / "folder", paths, False, "new")
    assert not [path for path in (tmp_path / "folder").rglob("*") if path.is_file()]


@pytest.mark.parametrize("mode", [0o000, 0o444, 0o111])
def test_folder_that_cannot_be_read_is_refused(open_folder: Path, mode: int) -> None:
    """Regression: a build named a file that is not there."""
    closed = open_folder / "closed"
    closed.mkdir()
    files.refuse_no_folder(closed)
    closed.chmod(mode)
    with pytest.raises(InputError, match=r"/closed: Permission denied$"):
        files.refuse_no_folder(closed)
    closed.chmod(0o777)


@pytest.mark.parametrize(("mode", "kept"), [(0o644, 0o444), (0o640, 0o440), (0o600, 0o400)])
def test_read_only_file_is_read_by_no_one_else(tmp_path: Path, mode: int, kept: int) -> None:
    """Regression: a published database was open to every user, whatever the umask of the build was."""
    file = tmp_path / "file"
    file.touch()
    file.chmod(mode)
    files.make_read_only(file)
    assert file.stat().st_mode & 0o777 == kept


def test_folder_that_was_made_for_a_failed_command_is_removed_with_those_above_it(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    for folder in (there, there / "new", there / "new/below"):
        with pytest.raises(ZeroDivisionError), files.folder_made(folder):
            assert folder.is_dir()
            1 / 0  # noqa: B018
        assert list(tmp_path.rglob("*")) == [there]


def test_folder_that_has_a_file_by_now_is_not_removed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), files.folder_made(tmp_path / "new/below"):
        (tmp_path / "new/file").touch()
        1 / 0  # noqa: B018
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "file"]


def test_folder_that_cannot_be_made_leaves_none_above_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="too long"), files.folder_made(tmp_path / "new" / ("x" * 300)):
        pass
    assert list(tmp_path.iterdir()) == []
