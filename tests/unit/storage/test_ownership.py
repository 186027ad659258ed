"""A folder with foreign files is never a warehouse, and the folders of earlier versions still are."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.cli.main import main
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, IS_CLONE, WarehousePaths
from dialogue_warehouse.storage import ownership
from tests.unit.published import BUILD, make_build, snapshot

POINTER = f'{{"build_id": "{BUILD}"}}'


def write(file: Path, text: str = "mine") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


FOREIGN: dict[str, Callable[[Path], object]] = {
    "a document": lambda folder: write(folder / "thesis.txt"),
    "raw data": lambda folder: write(folder / "raw" / "day=1" / "part.parquet"),
    "a hidden folder": lambda folder: write(folder / ".scratch" / "draft.json"),
    "Spark's folder": lambda folder: write(folder / ".spark" / "conf"),
    "a copy of before": lambda folder: write(folder / ".notes.old"),
    "a database of that name": lambda folder: write(folder / "dialogues.duckdb"),
    "all of these names": lambda folder: [
        write(folder / name) for name in ("raw/a/b/c.parquet", "sample/x", ".scratch/x", "builds/mine.duckdb")
    ],
    "a pointer of another program": lambda folder: write(folder / "published.json", '{"build_id": "42"}'),
    "a pointer that leads out": lambda folder: write(folder / "published.json", '{"build_id": "../../victim/x"}'),
    "a lock of another program": lambda folder: write(folder / ".lock", "pid 4"),
    "a lock beside work of others": lambda folder: (write(folder / ".lock", ""), write(folder / ".scratch" / "x")),
    "a mark that is a folder": lambda folder: write(folder / ".dialogue-warehouse" / "x"),
    "a mark that is a link": lambda folder: (folder / ".dialogue-warehouse").symlink_to(__file__),
    "downloads of other data": lambda folder: write(folder / "landing" / "images" / "a.png"),
    "another dbt project": lambda folder: (
        write(folder.parent / "dbt_project" / "dbt_project.yml", "name: shop\n") and write(folder / "README.md")
    ),
}
"""Foreign content of a folder."""


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_folder_is_rejected_and_unchanged(tmp_path: Path, kind: str) -> None:
    """Regression: `build --warehouse FOLDER` removed raw/, .scratch/ and *.old there, and replaced dialogues.duckdb."""
    folder = tmp_path / "warehouse"
    folder.mkdir()
    FOREIGN[kind](folder)
    before = snapshot(folder)
    with pytest.raises(InputError, match=r"^[^\n]*/warehouse: is not empty and is not a warehouse [^\n]*--warehouse$"):
        ownership.claim(WarehousePaths(folder))
    assert snapshot(folder) == before
    assert not ownership.is_warehouse(WarehousePaths(folder))


OURS: dict[str, Callable[[WarehousePaths], object]] = {
    "a folder that is not there": lambda paths: None,
    "an empty folder": lambda paths: paths.root.mkdir(),
    "a new disk": lambda paths: (paths.root / "lost+found").mkdir(parents=True),
    "a folder that git keeps": lambda paths: write(paths.root / ".gitkeep", ""),
    "a marked one": lambda paths: (ownership.claim(paths), write(paths.root / "notes.txt")),
    "a damaged mark": lambda paths: (write(paths.mark, ""), write(paths.root / "notes.txt")),
    "published by an earlier version": lambda paths: (make_build(paths), write(paths.root / "notes.txt")),
    "its pointer is damaged": lambda paths: (make_build(paths), write(paths.pointer, "{")),
    "its builds are lost": lambda paths: write(paths.pointer, POINTER),
    "its first publication was interrupted": lambda paths: write(paths.started_publication, POINTER),
    "its first build was interrupted": lambda paths: (
        [write(place / "x") for place in (paths.dbt_target, paths.dagster_home, paths.raw, paths.sample)],
        write(paths.root / ".reports.12.tmp"),
        write(paths.lock, ""),
    ),
    "its first build failed": lambda paths: [write(file, "") for file in (paths.lock, paths.trouble, paths.alerts)],
    "Dagster's webserver was looked at": lambda paths: [
        write(place / "x") for place in (paths.dagster_home, paths.dbt_target)
    ],
    "an earlier version has fetched": lambda paths: write(paths.landing / registry.corpus_ids()[0] / "a.json"),
    "that of a clone": lambda paths: [
        write(paths.root / "dictionary.md"),
        write(paths.root.parent / "dbt_project" / "dbt_project.yml", "name: dialogue_warehouse\n"),
    ],
}
"""Content of a folder that is a warehouse."""


@pytest.mark.parametrize("kind", OURS)
def test_earlier_warehouse_folder_gets_the_mark(tmp_path: Path, kind: str) -> None:
    paths = WarehousePaths(tmp_path / "warehouse")
    OURS[kind](paths)
    before = snapshot(paths.root)
    ownership.claim(paths)
    ownership.claim(paths)
    assert paths.mark.read_bytes() == b'{"format":1}\n'
    assert ownership.is_warehouse(paths)
    assert snapshot(paths.root) == before | {paths.mark: paths.mark.read_bytes()}


def test_folder_of_the_clone_is_a_warehouse(tmp_path: Path) -> None:
    """Its documents are there from the start, with any files that were fetched or built into it."""
    assert IS_CLONE
    clone = tmp_path / "clone"
    write(clone / ownership.PROJECT, (CLONE / ownership.PROJECT).read_text())
    shutil.copytree(CLONE / "warehouse", clone / "warehouse", ignore=shutil.ignore_patterns(".*", "raw", "builds"))
    ownership.claim(WarehousePaths(clone / "warehouse"))


def test_folder_of_a_newer_version_is_rejected(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path)
    write(paths.mark, '{"format": 2}')
    with pytest.raises(InputError, match=r"is a warehouse of format 2, which needs a newer version"):
        ownership.claim(paths)


def test_root_home_file_and_dead_link_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "link to home").symlink_to(tmp_path / "home")
    (tmp_path / "dead link").symlink_to(tmp_path / "nowhere")
    write(tmp_path / "file")
    for place, why in {
        Path("/"): "cannot be a warehouse",
        Path("/tmp/.."): "cannot be a warehouse",
        tmp_path / "home": "cannot be a warehouse",
        tmp_path / "link to home": "cannot be a warehouse",
        tmp_path / "dead link": "is a broken link",
        tmp_path / "file": "is not a folder",
        tmp_path / "file" / "below": "cannot be a warehouse",
    }.items():
        with pytest.raises(InputError, match=rf"^{place}: {why}[^\n]*$"):
            ownership.claim(WarehousePaths(place))
    assert list((tmp_path / "home").iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "place",
    [
        *("raw", "raw/sgd", "raw/sgd/dialogues", "builds", f"builds/{BUILD}.duckdb", "sample", "sample/sgd"),
        *(".scratch", ".spark", ".dagster", "reports", ".lock", "published.json", "dialogues.duckdb", "alerts.jsonl"),
    ],
)
def test_link_inside_a_warehouse_is_rejected_by_its_name(tmp_path: Path, place: str) -> None:
    """Regression: landed files were removed from the folder that the link `raw` led to."""
    paths = WarehousePaths(tmp_path / "warehouse")
    ownership.claim(paths)
    precious = write(tmp_path / "precious" / "a.parquet")
    (paths.root / place).parent.mkdir(parents=True, exist_ok=True)
    (paths.root / place).symlink_to(precious.parent)
    with pytest.raises(InputError, match=rf"^{paths.root / place}: is a link, [^\n]*$"):
        ownership.claim(paths)
    assert precious.exists()


def test_warehouse_itself_may_be_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "large disk").mkdir()
    (tmp_path / "warehouse").symlink_to(tmp_path / "large disk")
    ownership.claim(WarehousePaths(tmp_path / "warehouse"))
    assert ownership.is_warehouse(WarehousePaths(tmp_path / "large disk"))
    write(tmp_path / "theirs" / "notes.txt")
    (tmp_path / "other").symlink_to(tmp_path / "theirs")
    with pytest.raises(InputError, match="is not empty and is not a warehouse"):
        ownership.claim(WarehousePaths(tmp_path / "other"))


def test_simultaneous_builds_in_an_empty_folder_all_own_it(tmp_path: Path) -> None:
    """No build takes the mark of another, or a file that another writes next, for a foreign file."""
    for number in range(50):
        paths, failed = WarehousePaths(tmp_path / str(number)), []
        barrier = threading.Barrier(4)

        def begin(paths: WarehousePaths, barrier: threading.Barrier, failed: list[Exception]) -> None:
            barrier.wait()
            try:
                ownership.claim(paths)
                write(paths.root / "raw" / f"{threading.get_ident()}", "")
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=begin, args=(paths, barrier, failed)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert ownership.is_warehouse(paths)


def test_home_of_dagster_can_be_the_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster writes there before it loads the definitions."""
    write(tmp_path / "history" / "runs.db")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with pytest.raises(InputError):
        ownership.claim(WarehousePaths(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    ownership.claim(WarehousePaths(tmp_path))


def test_warehouse_of_a_file_is_found(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path / "warehouse")
    make_build(paths)
    (tmp_path / "link").symlink_to(paths.builds)
    for file in (paths.raw / "a.parquet", paths.published, paths.build_database(BUILD), tmp_path / "link" / "x"):
        assert ownership.warehouse_of(file) == Path(os.path.realpath(paths.root))
    for file in (paths.root / "mine.parquet", tmp_path / "raw" / "a.parquet"):
        assert ownership.warehouse_of(file) is None


def test_warehouse_itself_is_rejected(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path / "warehouse")
    make_build(paths)
    (tmp_path / "link").symlink_to(paths.root)
    for folder in (paths.root, tmp_path / "link"):
        with pytest.raises(InputError, match=r"(warehouse|link) is a warehouse: choose a path outside of it$"):
            ownership.refuse_owned(folder)


def test_folder_inside_a_warehouse_is_rejected(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path / "warehouse")
    make_build(paths)
    with pytest.raises(InputError, match=r"sample/sgd belongs to the warehouse [^\n]*: choose a path outside of it$"):
        ownership.refuse_owned(paths.sample / "sgd")
    ownership.refuse_owned(tmp_path / "training")
    for arguments in (
        ("restore", "--corpus", "sgd"),
        ("export", "--form", "chat"),
        ("score", "--corpus", "sgd", "--example"),
        ("simulate",),
        ("fetch", "--corpora", "bbai"),
    ):
        option = () if arguments[-1] == "--example" else ("--to",)
        assert main([*arguments, *option, str(paths.raw / "x"), "--warehouse", str(paths.root)]) == 2
    with dw.open(paths.root) as warehouse, pytest.raises(InputError, match="belongs to the warehouse"):
        warehouse.export("chat", paths.builds / "x")
    assert not [path for path in (paths.raw / "x", paths.builds / "x") if path.exists()]


@pytest.mark.parametrize("command", ["tables", "status", "status --alert", "build", "verify"])
def test_warehouse_of_another_user_is_named_in_one_line(
    open_folder: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regression: `tables` named a folder that is not there, and `status --alert` said "is not a warehouse"."""
    closed = open_folder / "closed"
    closed.mkdir()
    closed.chmod(0)
    assert main([*command.split(), "--warehouse", str(closed)]) == 2
    closed.chmod(0o777)
    said = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(
        rf"error: {re.escape(str(closed))}(/published\.json)?: (cannot be read[a-z ]*: )?Permission denied", said
    )
