"""Damaged files: files of the releases, and files of the warehouse."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from dialogue_warehouse.corpora import registry
from tests.faults.scene import Outcome, Scene

Damage = Callable[[Path], object]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _replaced(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def _gone(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _a_folder(path: Path) -> None:
    _gone(path)
    path.mkdir()
    (path / "in it").touch()


def _a_pipe(path: Path) -> None:
    _gone(path)
    os.mkfifo(path)


def _a_link_to_itself(path: Path) -> None:
    _gone(path)
    path.symlink_to(path.name)


INPUTS: dict[str, Damage] = {
    "cut in half": _cut,
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "not JSON": lambda path: _replaced(path, b"This is not JSON."),
    "not UTF-8": lambda path: _replaced(path, b'[{"dialogue_id": "\xff\xfe"}]'),
    "a number": lambda path: _replaced(path, b"42"),
    "100,000 brackets": lambda path: _replaced(path, b"[" * 100_000),
    "missing": _gone,
    "a folder": _a_folder,
    "a pipe": _a_pipe,
    "a link to itself": _a_link_to_itself,
}
OWN: dict[str, Damage] = {
    "cut in half": _cut,
    "other bytes": lambda path: path.write_bytes(b"\x00garbage" * 64),
    "missing": _gone,
    "a folder": _a_folder,
}


def damaged_input(scene: Scene, times: int, keep_going: bool = True) -> Outcome:
    """Damage the largest file of each corpus in each way; one build stops and, with `keep_going`, another one goes on."""
    outcome = Outcome()
    cases = [(corpus, kind) for kind in INPUTS for corpus in registry.corpus_ids()]
    for corpus_id, kind in scene.rng.sample(cases, min(times, len(cases))):
        files = [path for path in (scene.source / corpus_id).rglob("*") if path.is_file() and path.suffix != ".txt"]
        largest = max((path for path in files if path.name != "SIMULATED.json"), key=lambda path: path.stat().st_size)
        INPUTS[kind](largest)
        what = f"{corpus_id}, {kind}"
        name = largest.relative_to(scene.source).as_posix()
        if kind == "missing":  # a release may lack files; a corpus may not
            _gone(scene.source / corpus_id)
            name = corpus_id
        ended = scene.build()
        scene.judge(outcome, ended, {2}, what)
        outcome.must(name in ended.stderr, f"{what}: the error does not name the file: {ended.stderr[:200]}")
        if keep_going:
            going = scene.build("--keep-going")
            outcome.must(going.status == 1, f"{what}, keep going: {going.stderr[-300:]}")
        _see_to_it_by_hand(corpus_id, scene)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def _see_to_it_by_hand(corpus_id: str, scene: Scene) -> None:
    """Restore the files, as a user who reads the error would."""
    shutil.rmtree(scene.source / corpus_id, ignore_errors=True)
    shutil.copytree(scene.kept / "source" / corpus_id, scene.source / corpus_id)


def damaged_own_file(scene: Scene, times: int) -> Outcome:
    """Damage one file of each kind in a warehouse in each way; then read, and build.

    Each build succeeds, except with a `dagster.yaml` that has other content: the file is the operator's, so no build
    replaces it.
    """
    outcome = Outcome()
    kinds: dict[str, Path] = {}
    for path in sorted(scene.paths.root.rglob("*")):
        if path.is_file():
            kinds.setdefault(_kind(path.relative_to(scene.paths.root)), path)
    cases = [(path, how) for path in kinds.values() for how in OWN]
    stride = max(1, len(cases) // times)
    for path, how in cases[::stride][:times]:
        what = f"{path.relative_to(scene.paths.root)}, {how}"
        mode = path.stat().st_mode
        path.chmod(mode | 0o200)
        OWN[how](path)
        read = scene.command("sql", "select count(*) from core.fct_turns")
        outcome.must(read.status in (0, 1, 2) and "Traceback" not in read.stderr, f"{what}: sql: {read.stderr[-300:]}")
        status = scene.command("status")
        is_reported = status.status in (0, 1) or (status.status == 2 and status.stderr.count("\n") == 1)
        outcome.must(is_reported, f"{what}: status: {status.stderr[-300:]}")
        ended = scene.build()
        is_of_operator = path == scene.paths.dagster_yaml
        scene.judge(outcome, ended, {0, 2} if is_of_operator else {0}, what)
        if ended.status == 2:  # restore the file by hand, as the error says
            shutil.copy(scene.kept / "warehouse" / path.relative_to(scene.paths.root), path)
        scene.recover(outcome, what)
        scene.restore()
    return outcome


def _kind(path: Path) -> str:
    """Return the kind of a file: its folder (two levels if the name begins with a dot), and the suffix of its name."""
    folder = path.parent.parts[: 2 if path.parts[0].startswith(".") else 1]
    return f"{'/'.join(folder) or path.name} {path.suffix}"
