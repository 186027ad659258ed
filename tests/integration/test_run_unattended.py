"""The page about running it unattended: every command in it works, in its order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.paths import CLONE, WarehousePaths
from pipelines.settings import Settings

PAGE = (CLONE / "docs" / "run_it_unattended.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, re.M | re.S)


def test_commands_of_the_page_work(generated_sample: Path, tmp_path: Path) -> None:
    """But for the variables, which name other folders here."""
    paths = WarehousePaths(tmp_path / "warehouse")
    script = "set -e\n" + "".join(block for block in BLOCKS if not block.startswith("export "))
    assert {"dg launch --job everything", "dialogue-warehouse build --keep-going"} <= set(script.splitlines())
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DIALOGUE_", "DAGSTER_"))}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DIALOGUE_WAREHOUSE": str(paths.root),
        "DIALOGUE_SOURCE": str(generated_sample),
        "DIALOGUE_FORCE": "1",  # so that there are two builds of the same files
        "DAGSTER_HOME": str(paths.dagster_home),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    subprocess.run([sys.executable, "-m", "pipelines.building.instance", paths.root], cwd=CLONE, check=True)
    ran = subprocess.run(
        ["bash", "-c", script], cwd=CLONE, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    for told in ("All definitions loaded successfully", "weekly_fetch", "published  build 20", "nothing differs"):
        assert told in ran.stdout
    assert ran.stdout.count("published  build 20") == 2  # by `status` and by `rollback`
    assert "is not pinned any more" in ran.stdout


@pytest.mark.parametrize("name", sorted(set(re.findall(r"DIALOGUE_[A-Z_]+", PAGE))))
def test_variable_of_the_page_is_a_setting(name: str) -> None:
    assert hasattr(Settings(), name.removeprefix("DIALOGUE_").lower())


def test_what_the_page_says_is_there_is_there() -> None:
    from pipelines.jobs import EVERYTHING, FETCH
    from pipelines.schedules import build_schedules
    from pipelines.sensors import build_sensors

    rows = re.findall(r"^\| (schedule|sensors?) (.*?) \| (.*?) \|", PAGE, re.M)
    named = {name for kind, names, _ in rows for name in re.findall(r"`(\w+)`", names)}
    started = {name for *_, job in rows for name in re.findall(r"job `(\w+)`", job)}
    assert named == {one.name for one in (*build_schedules(Settings()), *build_sensors())}
    assert started == {EVERYTHING, FETCH}
