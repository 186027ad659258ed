"""File systems without some features: commands work without the feature, or one line names the path and the feature.

System calls are made to fail by a library that the tests build and load before the C library (`refusing.c`).
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dialogue_warehouse.cli import main
from dialogue_warehouse.common.processes import can_share
from pipelines.ingestion import landing
from tests.integration.refusing import refusing
from tests.running import ALONE

CLI = (sys.executable, "-m", "dialogue_warehouse")


def run(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | variables
    return subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_folder_without_locks_is_rejected(code: int, tmp_path: Path) -> None:
    """NFS without its lock service has no locks. https://github.com/huggingface/datasets/issues/2618"""
    folder = tmp_path / "warehouse"
    ended = run(*CLI, "build", "--warehouse", folder, **refusing(folder, flock=code))
    lacks = f"its file system has no locks ({os.strerror(code)})"
    reported = f"error: {folder}: {lacks}; use another one, such as a local disk\n"
    assert (ended.returncode, ended.stderr) == (2, reported)


@pytest.mark.parametrize(
    ("command", "code", "named"),
    [
        (("simulate", "--to", "{to}", "--corpora", "bbai", "--scale", "0.001"), errno.EIO, "{to}/bbai/"),
        (("simulate", "--to", "{to}", "--corpora", "bbai", "--scale", "0.001"), errno.EFBIG, "{to}/bbai/"),
        (("restore", "--corpus", "bbai", "--to", "{to}", "--warehouse", "{sample}"), errno.EIO, "{to}/"),
        (
            ("sql", "select 1 as n", "--parquet", "{to}/n.parquet", "--warehouse", "{sample}"),
            errno.EIO,
            "{to}/n.parquet",
        ),
        (("report", "--to", "{to}/report", "--warehouse", "{sample}"), errno.EIO, "{to}/report"),
    ],
)
def test_file_that_cannot_be_written_is_named(
    command: tuple[str, ...], code: int, named: str, tmp_path: Path, sample_folder: Path
) -> None:
    """Regression: the system does not name the file in an error of `write`, which became an internal error."""
    to = tmp_path / "to"
    to.mkdir()
    places = {"to": to, "sample": sample_folder}
    ended = run(*CLI, *(part.format(**places) for part in command), **refusing(to, write=code))
    assert ended.returncode in (1, 2)
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, ended.stderr
    assert errors[0].startswith(f"error: {named.format(**places)}")
    assert errors[0].endswith(os.strerror(code))
    assert "internal" not in ended.stderr


def test_limit_of_file_sizes_is_reported_with_the_file(tmp_path: Path) -> None:
    """A real `ulimit -f`."""
    script = f"ulimit -f 1; exec {sys.executable} -m dialogue_warehouse simulate --to {tmp_path}/to --corpora bbai"
    ended = run("sh", "-c", script)
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith(f"error: {tmp_path}/to/bbai/")
    assert ended.stderr.splitlines()[-1].endswith(": File too large")


def test_processes_share_nothing_if_shared_memory_is_read_only(tmp_path: Path) -> None:
    """Some containers have it read-only. One process then does all the work."""
    assert can_share()
    script = "mount -t tmpfs -o ro tmpfs /dev/shm"
    if run(*ALONE, script).returncode:
        pytest.skip("nothing can be mounted here")
    simulate = f"{sys.executable} -m dialogue_warehouse simulate --to {tmp_path}/to --corpora bbai --scale 0.001"
    code = "from dialogue_warehouse.common.processes import can_fork, can_share; print(can_share(), can_fork())"
    ended = run(*ALONE, f"{script}; {simulate} && {sys.executable} -c '{code}'", DIALOGUE_PROCESSES="2")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "False False"
    folder = tmp_path / "warehouse"
    refused = run(*ALONE, f"{script}; {sys.executable} -m dialogue_warehouse build --warehouse {folder}")
    reported = "error: a build needs to write to /dev/shm: Read-only file system\n"
    assert (refused.returncode, refused.stderr) == (2, reported)
    assert not folder.exists()


def test_missing_temporary_folder_is_named(
    tmp_path: Path, sample_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Regression: readers named no file, and a build ended with an internal error."""

    def refuse() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    for command in (("sql", "select 1 as n", "--warehouse", sample_folder), ("build", "--warehouse", tmp_path / "new")):
        assert main.main(list(map(str, command))) == 2
        assert capsys.readouterr().err == (
            "error: no folder for temporary files can be written, such as /tmp; set TMPDIR to one\n"
        )
    assert not (tmp_path / "new").exists()


def test_warehouse_on_a_read_only_disk_is_read_and_verified(tmp_path: Path, sample_folder: Path) -> None:
    """Regression: `verify` records its result, and failed there."""
    mount = f"mount --bind {sample_folder} {tmp_path} && mount -o remount,ro,bind {tmp_path}"
    if run(*ALONE, mount).returncode:
        pytest.skip("nothing can be mounted here")
    cli = f"{sys.executable} -m dialogue_warehouse"
    for reading in ("status", "claims", "verify --corpora bbai"):
        ended = run(*ALONE, f"{mount} && {cli} {reading} --warehouse {tmp_path}")
        assert (ended.returncode, ended.stderr) == (0, ""), reading
    refused = run(*ALONE, f"{mount} && {cli} build --warehouse {tmp_path}")
    reported = f"error: {tmp_path}/.lock: cannot be written: Read-only file system\n"
    assert (refused.returncode, refused.stderr) == (2, reported)


def test_error_without_a_file_is_one_line(capsys: pytest.CaptureFixture) -> None:
    for error, reported in (
        (OSError(errno.EIO, "Input/output error"), "error: an unnamed file: Input/output error\n"),
        (OSError(errno.EXDEV, "Cross", "a", None, "b"), "error: a -> b: Cross\n"),
    ):
        assert main._status_of(error) == 2
        assert capsys.readouterr().err == reported


def test_long_path_of_a_source_file_gets_a_valid_name() -> None:
    """A name has at most 255 bytes; two long paths with the same beginning get two names."""
    names = {landing._one_name(f"{'folder/' * 100}ä{end}.json") for end in range(3)}
    assert len(names) == 3
    assert all(len(os.fsencode(name)) <= landing.LONGEST_NAME for name in names)
    assert landing._one_name("train/dialogues_001.json") == "train~dialogues_001.json"
