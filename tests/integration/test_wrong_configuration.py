"""A wrong `dagster.yaml`: `build`, `status`, webserver and daemon say in one line which file it is and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.storage import builds
from tests.conftest import run_command
from tests.faults.service import sent

WRONG = {
    "not YAML": "telemetry: [",
    "an unknown setting": "nonsense: 1",
    "a class that does not exist": "run_launcher: {module: no.such, class: Nothing}",
}


@pytest.fixture
def paths(tmp_path: Path, sample_folder: Path) -> WarehousePaths:
    return WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))


@pytest.mark.parametrize("name", WRONG)
def test_wrong_configuration_is_an_error_of_one_line_everywhere(paths: WarehousePaths, name: str) -> None:
    published = builds.pointed_build(paths)
    paths.dagster_home.mkdir(exist_ok=True)
    paths.dagster_yaml.write_text(WRONG[name])
    ended = [run_command(command, "--warehouse", paths.root) for command in ("build", "status")]
    assert f"published  build {published}" in ended[1].stdout  # what can be shown is shown
    starts = (("instance", str(paths.root)), ("web", "--port", "1"))  # `make dagster` and the units run both
    ended += [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-m", f"pipelines.dagster_graph.{module}", *arguments],
            capture_output=True,
            text=True,
            cwd=CLONE,
            env=os.environ | {"DIALOGUE_WAREHOUSE": str(paths.root)},
            check=False,
        )
        for module, *arguments in starts
    ]
    for one in ended:
        assert one.stderr.startswith(f"error: {paths.dagster_yaml}: "), one.args
        assert one.stderr.endswith("; correct the file, or remove it: the next start writes a new one\n")
        assert (one.returncode, one.stderr.count("\n")) == (2, 1), one.args
    assert paths.dagster_yaml.read_text() == WRONG[name]
    assert builds.pointed_build(paths) == published
    assert sent(paths) == ["failure"]  # of the build
