"""The service of Dagster: a run, the daemon, or all of it is killed while a run builds."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from dialogue_warehouse.paths import WarehousePaths
from tests.faults.scene import PATIENCE, Outcome, Scene
from tests.integration.served import Served, left_of, served

ENDED = ("SUCCESS", "FAILURE", "CANCELED")
ALERTS = ([], ["failure", "recovery"])
"""The kinds of alerts that may be sent: none if the run had ended before the fault, else one of each."""
Kill = Callable[[WarehousePaths, Served], None]


def kill(numbers: list[int]) -> None:
    """Kill these processes."""
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def kill_run(paths: WarehousePaths, site: Served) -> None:
    """Kill the process of the run, which a code server has started, as the system does when memory runs out."""
    commands = left_of(paths)
    kill([number for number, text in commands.items() if "spawn_main" in text and _parent(number) in commands])


def kill_daemon(paths: WarehousePaths, site: Served) -> None:
    """Kill the daemon alone."""
    site.processes[0].kill()


def kill_all(paths: WarehousePaths, site: Served) -> None:
    """Kill each process that works for the warehouse, as a power cut does."""
    while left := left_of(paths):
        kill([*left])


def _parent(number: int) -> int:
    """Return the parent of a process; 0 if the process has ended."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def killed(what_is_killed: Kill) -> Callable[[Scene, int], Outcome]:
    """Return a fault of a service that builds: the next start, or the daemon, closes the run and builds what is due."""

    def happen(scene: Scene, times: int) -> Outcome:
        outcome = Outcome()
        for number in range(times):
            _happen(scene, outcome, what_is_killed, f"{what_is_killed.__name__} {number}")
            scene.restore()
        return outcome

    return happen


def _happen(scene: Scene, outcome: Outcome, what_is_killed: Kill, what: str) -> None:
    """Launch two equal runs, and kill at a random moment after the first has begun; then start the service again."""
    outcome.times += 1
    settings = {"DIALOGUE_SOURCE": str(scene.source), "DIALOGUE_VERIFY": "0", "DIALOGUE_QUIET_SECONDS": "1"}
    with served(scene.paths, scene.folder, **settings) as site:
        for _ in range(2):
            site.launch("everything")
        site.wait_for(lambda: any(run["status"] == "STARTED" for run in site.runs().values()), PATIENCE)
        time.sleep(scene.rng.uniform(0, scene.seconds * 1.5))
        what_is_killed(scene.paths, site)
        if what_is_killed is kill_run:
            _wait(site, scene, outcome, what)
    if what_is_killed is not kill_run:
        with served(scene.paths, scene.folder, **settings) as site:
            _wait(site, scene, outcome, what)
    outcome.must(not left_of(scene.paths), f"{what}: processes are left")
    scene.inspect(outcome, what)
    outcome.left[scene.left(outcome, what)] += 1


def _wait(site: Served, scene: Scene, outcome: Outcome, what: str) -> None:
    """Wait until all runs have ended and the alerts about them were sent."""
    site.wait_for(lambda: all(run["status"] in ENDED for run in site.runs().values()), PATIENCE)
    end = time.monotonic() + 120
    while (found := sent(scene.paths)) not in ALERTS and time.monotonic() < end:
        time.sleep(1)
    site.wait_for(lambda: all(run["status"] in ENDED for run in site.runs().values()), PATIENCE)
    outcome.must(found in ALERTS, f"{what}: alerts {found}")
    statuses = sorted(run["status"].lower() for run in site.runs().values())
    outcome.saw[f"runs: {', '.join(statuses)}; alerts: {', '.join(found) or 'none'}"] += 1


def sent(paths: WarehousePaths) -> list[str]:
    """Return the kinds of the alerts that were sent."""
    lines = paths.alerts.read_text().splitlines() if paths.alerts.exists() else []
    return [json.loads(line)["kind"] for line in lines]
