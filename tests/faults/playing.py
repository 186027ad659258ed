"""The player of a week: it causes the events, evaluates the triggers after each one, and writes what it finds.

Arguments: the file of the release that changes, a file of JSON with the ticks, a file for one line of JSON per tick, a
seed for the moments of kills. It does what Dagster's daemon does: it keeps the cursors of the sensors, runs one
requested run after the other, each in another process, and starts none twice with the same key. It does not know what
the ticks must cause.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import dagster as dg

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds, publication, retention
from pipelines.dagster_graph.instance import prepare
from pipelines.dagster_graph.jobs import EVERYTHING
from tests.faults.hooks import sitecustomize
from tests.faults.week import content_of, digest

QUIET = 0.2
"""Seconds between two ticks, and without a change after which a file counts as complete."""
LONGEST = 600
"""Most seconds that a run may take."""
LONGEST_THREAD = 10
"""Most seconds that a thread of the sensors may still run before a fork."""
SILENT = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
KEY = "week/run_key"
"""Tag of a run: the key of its request."""


class Player:
    """Plays the ticks of a week."""

    def __init__(self, file: Path, chance: random.Random) -> None:
        from pipelines.definitions import definitions

        self.paths = WarehousePaths(Path(os.environ["DIALOGUE_WAREHOUSE"]))
        self.file, self.whole, self.chance = file, file.read_bytes(), chance
        prepare(self.paths, lambda _: None)
        self.definitions = definitions()
        self.definitions.resolve_job_def(EVERYTHING)
        self.cursors: dict[str, str | None] = {}
        self.version = 0
        self.versions: dict[str, int] = {}
        """The version of a content of the file, by its hash."""
        self.seconds = 1.0
        """Seconds that the last run has taken."""

    def tick(self, action: str, killed: str, is_daily: bool) -> dict[str, Any]:
        """Play a tick, and return what is there afterwards."""
        self.act(action)
        time.sleep(QUIET)
        before = dict(self.cursors)
        requests = [*(self.daily() if is_daily else []), *self.ask("folder")]
        if killed != "daemon":  # a killed daemon has kept the cursors, and has started nothing
            for request in requests:
                self.run(request, killed)
        if killed == "service" and requests:  # it has kept nothing of this tick
            self.cursors = before
            prepare(self.paths, lambda _: None)
        else:
            while requests := self.ask("runs"):
                for request in requests:
                    self.run(request)
        return self.seen()

    def act(self, action: str) -> None:
        """Change the file, or roll back."""
        if action in ("part", "whole", "cut"):
            self.version += 1
            content = content_of(self.whole, self.version, action)
            self.versions[digest(content)] = self.version
            self.file.write_bytes(content)
        elif action == "touch":
            os.utime(self.file)
        elif action == "roll back":
            publication.roll_back(self.paths)

    def daily(self) -> list[dg.RunRequest]:
        """Evaluate the schedule."""
        return list(self.definitions.get_schedule_def("daily").evaluate_tick(dg.build_schedule_context()).run_requests)

    def ask(self, sensor: str) -> list[dg.RunRequest]:
        """Evaluate a sensor, keep its cursor, and return the requests whose key is new."""
        with self.instance() as instance:
            context = dg.build_sensor_context(cursor=self.cursors.get(sensor), instance=instance)
            ticked = self.definitions.get_sensor_def(sensor).evaluate_tick(context)
            self.cursors[sensor] = ticked.cursor
            return [
                request
                for request in ticked.run_requests or ()
                if not instance.get_run_records(dg.RunsFilter(tags={KEY: f"{sensor} {request.run_key}"}), limit=1)
                and request.tags.update({KEY: f"{sensor} {request.run_key}"}) is None
            ]

    def instance(self) -> dg.DagsterInstance:
        """Open the history of the warehouse."""
        return dg.DagsterInstance.local_temp(str(self.paths.dagster_home))

    def run(self, request: dg.RunRequest, killed: str = "") -> None:
        """Run a request in another process, and wait for its end; kill it at a random moment before it publishes."""
        wait_for_threads()
        began, held = time.monotonic(), {*self.locks()}
        number = os.fork()
        if number == 0:
            self._become_run(request, killed)
        moment = None
        while os.waitpid(number, os.WNOHANG) == (0, 0):
            now = time.monotonic()
            assert now - began < LONGEST, "the run does not end"
            if killed and moment is None and {*self.locks()} - held:  # it has begun
                moment = now + self.chance.uniform(0, self.seconds)
            if moment is not None and now > moment:
                (os.killpg if killed == "service" else os.kill)(number, signal.SIGKILL)
            time.sleep(0.05)
        if not killed:
            self.seconds = time.monotonic() - began

    def locks(self) -> list[Path]:
        """Return the files that runs hold."""
        return [*(self.paths.dagster_home / "storage").glob("*.lock")]

    def _become_run(self, request: dg.RunRequest, killed: str) -> None:
        """Run a request in this process, which has just been forked, and end."""
        try:
            os.setsid()
            if killed:  # at the latest before it publishes
                sitecustomize.STEP, sitecustomize.FROM = 1, self.paths.started_publication.name
                sys.addaudithook(sitecustomize.kill_at_step)
            with self.instance() as instance:
                self.definitions.resolve_job_def(request.job_name or EVERYTHING).execute_in_process(
                    run_config=SILENT, instance=instance, tags=dict(request.tags), raise_on_error=False
                )
        finally:
            os._exit(0)

    def seen(self) -> dict[str, Any]:
        """Return what is there: builds, alerts, runs that have not ended."""
        kept = retention.kept_builds(self.paths)
        published = builds.pointed_build(self.paths)
        lines = self.paths.alerts.read_text().splitlines() if self.paths.alerts.exists() else []
        with self.instance() as instance:
            unfinished = [
                record.dagster_run.status.value
                for record in instance.get_run_records()
                if not record.dagster_run.is_finished
            ]
        return {
            "builds": max((retention.publication_number(self.paths, build_id) for build_id in kept), default=0),
            "published": published and self.content(published),
            "kept": [self.content(build_id) for build_id in kept],
            "alerts": [json.loads(line)["kind"] for line in lines],
            "unfinished": unfinished,
        }

    def content(self, build_id: str) -> dict[str, Any]:
        """Return the version of the file in a build, and if a damaged file could not be used."""
        manifest = builds.read_manifest(self.paths, build_id)
        (version,) = {self.versions[file.sha256] for file in manifest.files if file.sha256 in self.versions}
        return {"version": version, "is_stale": bool(manifest.carried)}


def wait_for_threads() -> None:
    """Wait until this process has no other thread. A thread that has ended stays in the list for a moment."""
    end = time.monotonic() + LONGEST_THREAD
    while other := [task.name for task in Path("/proc/self/task").iterdir() if task.name != str(os.getpid())]:
        assert time.monotonic() < end, f"a fork would copy locks of the threads {', '.join(other)}"
        time.sleep(0.01)


def main(file: Path, ticks: Path, seen: Path, seed: str) -> None:
    """Play the ticks, and write what is seen after each one."""
    os.environ["DIALOGUE_QUIET_SECONDS"] = str(QUIET)
    player = Player(file, random.Random(seed))
    with seen.open("w") as out:
        for tick in json.loads(ticks.read_text()):
            print(json.dumps(player.tick(**tick)), file=out, flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main(*map(Path, sys.argv[1:4]), seed=sys.argv[4])
