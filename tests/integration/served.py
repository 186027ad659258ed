"""Dagster's webserver and daemon for a warehouse, started like the units of `deploy/`, and the requests of its UI."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.settings import TELEMETRY_OFF
from pipelines.dagster_graph.instance import prepare

LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on InvalidSubsetError { message }
    ... on PythonError { message }
  }
}
"""
"""Request that the UI sends to launch a run."""
PLACE = {"repositoryLocationName": "pipelines.definitions", "repositoryName": "__repository__"}
"""Location of this project's graph in Dagster."""
LEFT_TO_END = 20
"""Seconds in which both processes must end after a request to end."""


@dataclass
class Served:
    """Webserver of Dagster that answers, and the daemon that starts launched runs."""

    url: str
    processes: tuple[subprocess.Popen[bytes], ...]
    logs: tuple[Path, ...]

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """Return the answer of GraphQL."""
        request = urllib.request.Request(
            f"{self.url}/graphql",
            json.dumps({"query": query, "variables": variables}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            reported = json.load(answer)
        assert "errors" not in reported, reported
        return reported["data"]

    def launch(self, job: str, **selection: Any) -> dict[str, Any]:
        """Launch a job, or the selected part of it, as the UI does."""
        params = {"selector": PLACE | {"pipelineName": job} | selection, "mode": "default", "runConfigData": {}}
        return self.ask(LAUNCH, params=params)["launchPipelineExecution"]

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return the status of each run, and its start and end, by its id."""
        reported = self.ask("{ runsOrError { ... on Runs { results { runId status startTime endTime } } } }")
        return {run["runId"]: run for run in reported["runsOrError"]["results"]}

    def latest_run(self, key: dict[str, Any]) -> dict[str, Any]:
        """Return the status of the last run of an asset, by which its page shows it as failed or not."""
        query = "query Latest($keys: [AssetKeyInput!]!) { assetsLatestInfo(assetKeys: $keys) { latestRun { status } } }"
        (found,) = self.ask(query, keys=[key])["assetsLatestInfo"]
        return found["latestRun"]

    def messages(self, run: str) -> list[str]:
        """Return the messages of a run's log."""
        query = (
            "query Log($run: ID!) { logsForRun(runId: $run) { ... on EventConnection { events { ... on MessageEvent "
            "{ message } } } } }"
        )
        return [event["message"] for event in self.ask(query, run=run)["logsForRun"]["events"] if event]

    def wait_for(self, what: Callable[[], Any], seconds: float) -> Any:
        """Wait until the condition is true; fail with the output of the processes if one of them ends or time is up."""
        end = time.monotonic() + seconds
        while not (found := what()):
            ended = [process.args for process in self.processes if process.poll() is not None]
            assert not ended, f"{ended}\n{self.said()}"
            assert time.monotonic() < end, self.said()
            time.sleep(0.3)
        return found

    def said(self) -> str:
        """Return the end of the output of the processes."""
        return "\n".join(log.read_text(errors="replace")[-3000:] for log in self.logs)


def command_of(unit: str, **replaced: str) -> list[str]:
    """Return the command that a unit of `deploy/` starts, with the programs of this environment."""
    text = (CLONE / "deploy" / unit).read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    program, *arguments = shlex.split(line.removeprefix("ExecStart="))
    return [
        str(Path(sys.executable).with_name(Path(program).name)),
        *(replaced.get(argument, argument) for argument in arguments),
    ]


@contextlib.contextmanager
def served(paths: WarehousePaths, logs: Path, **settings: str) -> Iterator[Served]:
    """Start both for this warehouse, on a free port of the loopback address; at the end, no process is left."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    prepare(paths)
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("DIALOGUE_", "DAGSTER_"))}
    environment |= TELEMETRY_OFF | settings
    environment |= {"DIALOGUE_WAREHOUSE": str(paths.root), "DAGSTER_HOME": str(paths.dagster_home)}
    commands = {
        "daemon": command_of("dialogue-warehouse-daemon.service"),
        "web": command_of("dialogue-warehouse-web.service", **{"3000": str(port)}),
    }
    processes: list[subprocess.Popen[bytes]] = []
    files = tuple(logs / f"{name}.log" for name in commands)
    try:
        for command, log in zip(commands.values(), files, strict=True):
            with log.open("wb") as stream:
                processes.append(
                    subprocess.Popen(
                        command,
                        cwd=CLONE,
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        stdout=stream,
                        stderr=stream,
                        start_new_session=True,
                    )
                )
        site = Served(f"http://127.0.0.1:{port}", tuple(processes), files)
        site.wait_for(lambda: _answers(site.url), 300)
        yield site
    finally:
        for process in processes:
            _end(process)
        end = time.monotonic() + LEFT_TO_END
        while (left := left_of(paths)) and time.monotonic() < end:  # code servers have their own process groups
            for number in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/server_info", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def left_of(paths: WarehousePaths) -> dict[int, str]:
    """Return the processes that work for this warehouse: their environment names its folder."""
    return processes_with(f"DIALOGUE_WAREHOUSE={paths.root}")


def processes_with(variable: str) -> dict[int, str]:
    """Return the command lines of the processes whose environment has this `NAME=value`."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable.encode() in folder.joinpath("environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = folder.joinpath("cmdline").read_text().replace("\0", " ").strip()
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and its children to end, as systemd does."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(LEFT_TO_END)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
