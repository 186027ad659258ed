"""The page about unattended runs: every command in it works, in its order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.settings import TELEMETRY_OFF, Settings
from pipelines.dagster_graph import instance
from tests.integration.test_pages_of_docs import blocks

PAGE = (CLONE / "docs" / "run_it_unattended.md").read_text(encoding="utf-8")
BLOCKS = blocks("run_it_unattended", "")


def test_commands_of_the_page_work(generated_sample: Path, tmp_path: Path) -> None:
    """Except for the variables, which name other folders here, and one corpus, which is built in less time."""
    paths = WarehousePaths(tmp_path / "warehouse")
    script = "set -e\n" + "".join(block for block in BLOCKS if not block.startswith("export "))
    assert {"dg launch --job everything", "dialogue-warehouse build --keep-going"} <= set(script.splitlines())
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DIALOGUE_", "DAGSTER_"))}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DIALOGUE_WAREHOUSE": str(paths.root),
        "DIALOGUE_SOURCE": str(generated_sample),
        "DIALOGUE_ONLY": "bbai",
        "DIALOGUE_QUIET_SECONDS": "0.01",
        "DIALOGUE_FORCE": "1",  # so that there are two builds of the same files
        "DAGSTER_HOME": str(paths.dagster_home),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    subprocess.run([sys.executable, "-m", "pipelines.dagster_graph.instance", paths.root], cwd=CLONE, check=True)
    ran = subprocess.run(
        ["bash", "-c", script], cwd=CLONE, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    for reported in ("All definitions loaded successfully", "weekly_fetch", "published  build 20", "nothing differs"):
        assert reported in ran.stdout
    assert ran.stdout.count("published  build 20") == 3  # twice by `status`, and by `rollback`
    assert "is no longer pinned" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ((), "error: the following arguments are required: warehouse\n"),
        (("",), "error: warehouse: names no folder\n"),
        (("--hlep",), "error: the following arguments are required: warehouse\n"),
        (('"/srv/x"',), 'error: warehouse: "/srv/x" is in quotation marks; write it without them\n'),
    ],
)
def test_start_of_the_daemon_without_a_warehouse_is_refused(
    arguments: tuple[str, ...],
    reported: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Regression: the daemon's unit without DIALOGUE_WAREHOUSE named the clone, and an option made a folder."""
    monkeypatch.chdir(tmp_path)
    try:
        status: object = instance.main([*arguments])
    except SystemExit as ended:
        status = ended.code
    assert (status, list(tmp_path.iterdir())) == (2, [])
    assert capsys.readouterr().err.endswith(reported)


def test_start_of_the_daemon_with_a_wrong_setting_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Regression: the daemon started, and its code location failed with a traceback."""
    monkeypatch.setenv("DIALOGUE_CRON", "61 * * * *")
    assert (instance.main([str(tmp_path / "made")]), list(tmp_path.iterdir())) == (2, [])
    assert capsys.readouterr().err == "error: DIALOGUE_CRON: '61 * * * *' is not a time that can occur\n"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"DIALOGUE_[A-Z_]+", PAGE))))
def test_variable_of_the_page_is_a_setting(name: str) -> None:
    assert hasattr(Settings(), name.removeprefix("DIALOGUE_").lower())


def test_files_that_the_page_names_exist() -> None:
    from pipelines.dagster_graph.jobs import EVERYTHING, FETCH, build_jobs, build_schedules
    from pipelines.dagster_graph.sensors import build_sensors

    rows = re.findall(r"^\| (schedule|sensors?) (.*?) \| (.*?) \|", PAGE, re.M)
    named = {name for kind, names, _ in rows for name in re.findall(r"`(\w+)`", names)}
    started = {name for *_, job in rows for name in re.findall(r"job `(\w+)`", job)}
    assert named == {one.name for one in (*build_schedules(Settings()), *build_sensors(build_jobs(())))}
    assert started == {EVERYTHING, FETCH}


# The files of deploy/


def test_units_are_valid_for_systemd(tmp_path: Path) -> None:
    """With the paths of this clone, so that systemd finds the programs."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd here")
    units = [path for kind in ("service", "timer") for path in sorted((CLONE / "deploy").glob(f"*.{kind}"))]
    assert len(units) == 4
    for unit in units:
        text = unit.read_text(encoding="utf-8")
        for place, here in (
            ("/opt/dialogue-warehouse/.venv/bin", str(Path(sys.executable).parent)),
            ("/opt/dialogue-warehouse", str(CLONE)),
            ("/etc/dialogue-warehouse.env", str(CLONE / "deploy" / "dialogue-warehouse.env")),
            ("User=dialogue-warehouse", "User=root"),
        ):
            text = text.replace(place, here)
        (tmp_path / unit.name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / unit.name) for unit in units]
    found = subprocess.run([analyze, "verify", "--man=no", *files], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    broken = tmp_path / units[0].name
    broken.write_text(broken.read_text().replace("ExecStart=/", "ExecStart=/nothing/"))
    found = subprocess.run([analyze, "verify", "--man=no", broken], capture_output=True, text=True, check=False)
    assert "/nothing/" in found.stderr


def test_units_expose_little_of_the_machine(tmp_path: Path) -> None:
    """systemd rates a unit from 0, closed, to 10, open; without its restrictions a unit is above the threshold."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd here")

    def exposed(unit: Path) -> bool:
        rated = [analyze, "security", "--offline=true", "--no-pager", "--threshold=30", unit]
        return bool(subprocess.run(rated, capture_output=True, check=False).returncode)

    for unit in sorted((CLONE / "deploy").glob("*.service")):
        assert not exposed(unit), unit.name
        open_unit = tmp_path / unit.name
        open_unit.write_text(
            re.sub(r"(?m)^(Protect|Private|Restrict|Cap|System).*\n", "", unit.read_text(encoding="utf-8"))
        )
        assert exposed(open_unit), unit.name


def test_variables_of_the_units_are_settings_or_switch_telemetry_off() -> None:
    lines = (CLONE / "deploy" / "dialogue-warehouse.env").read_text(encoding="utf-8").splitlines()
    variables = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert TELEMETRY_OFF.items() <= variables.items()
    for name in variables.keys() - TELEMETRY_OFF.keys() - {"DAGSTER_HOME"}:
        assert hasattr(Settings(), name.removeprefix("DIALOGUE_").lower()), name
    assert variables["DAGSTER_HOME"] == str(WarehousePaths(Path(variables["DIALOGUE_WAREHOUSE"])).dagster_home)
