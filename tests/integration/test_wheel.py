"""The wheel works whole: installed outside the clone it builds, answers and reports, and writes where it is called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from dialogue_warehouse.paths import CLONE

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("DIALOGUE_", "PYTHON"))}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command; what it printed. Fails with its errors."""
    ended = subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT | {"HOME": str(cwd)}, capture_output=True, text=True, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    return ended


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command line of an environment in which the wheel is installed, beside the libraries of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    clone = folder / "clone"
    clone.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CLONE / name, clone)
    for name in ("dialogue_warehouse", "pipelines", "expectations", "dbt_project"):
        shutil.copytree(CLONE / name, clone / name, ignore=shutil.ignore_patterns("__pycache__", "target", "logs"))
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, clone, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    environment_folder = folder / "environment"
    venv.create(environment_folder, symlinks=True)
    (site_packages,) = environment_folder.glob("lib/python*/site-packages")
    # A folder named in a .pth file is searched, but what lies in it of editable installations is not read.
    (site_packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = environment_folder / "bin" / "python"
    run(*pip, "--python", python, "install", "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=folder)
    shutil.rmtree(clone)
    return environment_folder / "bin" / "dialogue-warehouse"


def test_wheel_builds_answers_and_reports_outside_the_clone(command: Path, tmp_path: Path) -> None:
    python = command.with_name("python")
    place = run(
        python, "-c", "import dialogue_warehouse.paths; print(dialogue_warehouse.paths.CLONE)", cwd=tmp_path
    ).stdout.strip()
    assert Path(place).is_relative_to(command.parent.parent)
    installed = sorted(Path(place).rglob("*"))
    built = run(command, "build", cwd=tmp_path).stdout
    assert f"published {tmp_path}/warehouse/dialogues.duckdb" in built
    answer = run(command, "sql", "--csv", "select count(distinct corpus_id) as n from core.fct_turns", cwd=tmp_path)
    assert int(answer.stdout.splitlines()[1]) > 1
    shutil.rmtree(tmp_path / "warehouse/reports")
    run(command, "report", cwd=tmp_path)
    assert (tmp_path / "warehouse/reports/index.html").is_file()
    assert (tmp_path / "warehouse/reports/dbt.html").is_file()
    left = [path for path in sorted(Path(place).rglob("*")) if "__pycache__" not in path.parts]
    assert left == [path for path in installed if "__pycache__" not in path.parts]
