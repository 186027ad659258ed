"""The Makefile: any path of a warehouse is one word of its commands, and `make clean` knows all files of a build."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from dialogue_warehouse.paths import CLONE, WarehousePaths


@pytest.mark.parametrize("target", ["warehouse", "dagster", "pictures", "bench-pages", "bench-scores"])
def test_folder_of_any_name_is_one_argument(target: str) -> None:
    """Regression: a blank or a quote in its path ended these commands with an error of the shell, or of an argument."""
    folder = """/srv/it's "a" folder, of us"""
    command = ["make", "--no-print-directory", "--dry-run", target, f"WAREHOUSE={folder}"]
    shown = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=True).stdout
    words = {word.removeprefix("DIALOGUE_WAREHOUSE=") for line in shown.splitlines()[-2:] for word in shlex.split(line)}
    assert folder in words


def test_everything_that_a_build_writes_is_removed_by_clean() -> None:
    """Regression: files of later versions were left, such as the time of the last check. Downloads stay."""
    makefile = (CLONE / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    listed = re.findall(r"^BUILT = (.*)$", makefile, flags=re.MULTILINE)
    paths = WarehousePaths(Path("warehouse"))
    assert sorted(listed[0].split()) == sorted(place.name for place in paths.places if place != paths.landing)


def test_no_file_keeps_a_listed_command_from_running() -> None:
    """Regression: with a file or folder of that name in the clone, `make editor` did nothing."""
    makefile = (CLONE / "Makefile").read_text(encoding="utf-8")
    phony = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    assert sorted(re.findall(r"^([a-z-]+):.*##", makefile, flags=re.MULTILINE)) == sorted(phony[0].split())
