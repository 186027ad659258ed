"""Webserver, daemon and a run are killed during a build; the next start closes the run and builds what is due.

A machine that is switched off leaves the run as started, and all runs behind it wait:
https://github.com/dagster-io/dagster/issues/4319
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from pathlib import Path

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds, retention
from pipelines.dagster_graph.instance import DEAD
from tests.integration.served import Served, left_of, served

LONGEST = 500
"""Timeout in seconds for everything here, on a busy machine."""
SETTINGS = {"DIALOGUE_ONLY": "bbai", "DIALOGUE_REPLACE": "1", "DIALOGUE_VERIFY": "0"}


def kill_everything(paths: WarehousePaths) -> None:
    """Kill each process that works for the warehouse, as a power cut does."""
    while left := left_of(paths):
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def ended(site: Served, number: int) -> bool:
    """Return whether this number of runs exists, and all of them have ended."""
    runs = site.runs().values()
    return len(runs) == number and all(run["status"] in ("SUCCESS", "FAILURE", "CANCELED") for run in runs)


def test_build_that_was_killed_with_its_service_is_made_once_after_the_next_start(
    sample_folder: Path, tmp_path: Path
) -> None:
    """Two equal runs: the first is killed in its steps, the other waits. One build results, and one alert of each kind."""
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    before = builds.pointed_build(paths)
    with served(paths, tmp_path, **SETTINGS) as site:
        killed, _ = (site.launch("everything")["run"]["runId"] for _ in range(2))
        site.wait_for(lambda: paths.scratch_state.exists() and paths.scratch_state.stat().st_size, LONGEST)
        kill_everything(paths)
    with served(paths, tmp_path, **SETTINGS) as site:
        assert site.runs()[killed]["status"] == "FAILURE"  # closed before the daemon started
        site.wait_for(lambda: ended(site, 3), LONGEST)  # the killed one was repeated
        runs = site.runs()
        assert sorted(run["status"] for run in runs.values()) == ["FAILURE", "SUCCESS", "SUCCESS"]
        older, newest = retention.kept_builds(paths)
        assert (older, builds.pointed_build(paths)) == (before, newest)
        site.wait_for(lambda: paths.alerts.exists() and len(paths.alerts.read_text().splitlines()) == 2, LONGEST)
    sent = [json.loads(line) for line in paths.alerts.read_text().splitlines()]
    assert [alert["kind"] for alert in sent] == ["failure", "recovery"]
    assert sent[0]["text"].splitlines()[1] == DEAD
    assert left_of(paths) == {}
