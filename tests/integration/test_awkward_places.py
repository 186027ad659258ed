"""Places of a warehouse: any path that no library treats as a pattern, and (read-only) another user's folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import build_warehouse, run_command


def test_folder_of_any_name_is_built_and_read(tmp_path: Path, awkward_releases: Path) -> None:
    """Regression: SQLite decoded `%20` to a blank and wrote into another folder, and a colon broke dagster.yaml."""
    name = 'a: b%20c it\'s "q" #&'
    folder = build_warehouse(tmp_path / name, "--source", awkward_releases, "--corpora", "bbai")
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]
    counted = run_command("sql", "select count(*) > 0 as any_turn from core.fct_turns", "--json", "--warehouse", folder)
    assert json.loads(counted.stdout) == [{"any_turn": True}]
    again = run_command("build", "--source", awkward_releases, "--corpora", "bbai", "--warehouse", folder)
    assert "nothing changed" in again.stdout


def test_folder_whose_name_is_a_pattern_is_rejected_in_one_line(tmp_path: Path) -> None:
    """DuckDB would read all files that match the pattern."""
    refused = run_command("build", "--warehouse", tmp_path / "wh[1]")
    reported = f"error: {tmp_path}/wh[1]: the path of a warehouse cannot have any of * ? [ ] {{ }}\n"
    assert (refused.returncode, refused.stderr) == (2, reported)


def test_spark_builds_no_folder_whose_name_has_a_backslash(tmp_path: Path) -> None:
    """Regression: Spark wrote to another folder, because it reads a backslash as the beginning of an escape."""
    refused = run_command("build", "--engine", "spark", "--warehouse", tmp_path / r"a\nb")
    reported = f"error: {tmp_path}/a\\nb: the path of a warehouse that Spark builds cannot have a backslash\n"
    assert (refused.returncode, refused.stderr) == (2, reported)
    assert list(tmp_path.iterdir()) == []


def test_warehouse_of_another_user_can_be_read_and_verified_but_not_written(
    tmp_path: Path, awkward_folder: Path, awkward_releases: Path
) -> None:
    """Regression: `verify` and `build` ended in an internal error."""
    folder = shutil.copytree(awkward_folder, tmp_path / "theirs", symlinks=True)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    without_rights = ["unshare", "--user"]  # root may write everywhere, unless it is root of another name space
    if subprocess.run([*without_rights, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user name space can be had here")

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [*without_rights, sys.executable, "-m", "dialogue_warehouse", *map(str, arguments)]
        return subprocess.run(
            [*command, "--warehouse", str(folder)], capture_output=True, text=True, check=False, env=dict(os.environ)
        )

    for reading in (("status",), ("verify", "--source", awkward_releases), ("claims",), ("sql", "select 1")):
        assert (run(*reading).returncode, run(*reading).stderr) == (0, ""), reading
    for writing, place in ((("build",), ".lock"), (("report",), "reports")):
        ended = run(*writing)
        assert ended.returncode in (1, 2)
        assert ended.stderr.startswith(f"error: {folder / place}: ")
        assert ended.stderr.endswith(" cannot be written: Permission denied\n")
        assert ended.stderr.count("\n") == 1
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
