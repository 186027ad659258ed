"""Health checks of Dagster: `python -m pipelines.dagster_graph.health web|daemon`, for compose and systemd.

A process that responds is not enough: when the graph cannot be loaded, webserver and daemon still run, but no schedule
and no alert works. The check of the webserver requests the graph from it, that of the daemon reads the time of the
last evaluation of the sensor `runs`; both check the published build. This module does not import Dagster, to be fast.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import sys
import time

from dialogue_warehouse.common.text import HOST, visible
from dialogue_warehouse.errors import InputError, first_line
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, health

PORT = 3000
"""The default port of Dagster's webserver."""
LONGEST_SILENCE = 180
"""Seconds without an evaluation of the sensor `runs`, which is evaluated several times a minute."""
SECONDS = 20
"""Seconds in which the webserver must respond."""
LOCATIONS = """
{ workspaceOrError {
  __typename
  ... on PythonError { message }
  ... on Workspace { locationEntries { name locationOrLoadError { __typename ... on PythonError { message } } } }
} }
"""


class UnhealthyError(Exception):
    """The service does not work; one line."""


def check_web(port: int) -> None:
    """Raise UnhealthyError unless the webserver on this machine responds and has loaded the graph."""
    try:
        with contextlib.closing(http.client.HTTPConnection(HOST, port, timeout=SECONDS)) as page:
            page.request("POST", "/graphql", json.dumps({"query": LOCATIONS}), {"Content-Type": "application/json"})
            found = json.load(page.getresponse())["data"]["workspaceOrError"]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
        raise UnhealthyError(f"Dagster's webserver on port {port} does not respond: {first_line(error)}") from error
    if "locationEntries" not in found:
        raise UnhealthyError(f"Dagster's webserver has no graph: {found.get('message')}")
    for entry in found["locationEntries"]:
        loaded = entry["locationOrLoadError"] or {}
        if loaded.get("__typename") != "RepositoryLocation":
            lines = [line for line in str(loaded.get("message", "it is being loaded")).splitlines() if line.strip()]
            raise UnhealthyError(f"the graph {entry['name']} cannot be loaded: {lines[-1].strip()}")
    if not found["locationEntries"]:
        raise UnhealthyError("Dagster's webserver has no graph")


def check_daemon(paths: WarehousePaths) -> None:
    """Raise UnhealthyError unless the daemon has evaluated the sensor `runs` lately, for which it loads the graph."""
    try:
        silence = time.time() - paths.watched.stat().st_mtime
    except OSError:
        raise UnhealthyError("the daemon has not evaluated the sensor `runs` yet") from None
    if silence > LONGEST_SILENCE:
        raise UnhealthyError(
            f"the daemon has not evaluated the sensor `runs` for {silence:.0f} seconds: it does not run, "
            "it cannot load the graph, or the sensor is off"
        )


def check_published(paths: WarehousePaths) -> str:
    """Return what is published. Raises UnhealthyError where its files are damaged."""
    build_id = builds.pointed_build(paths)
    if build_id is None:
        return "nothing is published yet"
    for damaged in health.damage_of(paths, build_id):
        raise UnhealthyError(f"{damaged}: is damaged; the next build repairs it")
    return f"build {build_id} is published"


def main(arguments: list[str] | None = None) -> int:
    """Print one line about the service. Return 0 if it works, else 1."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.dagster_graph.health", description=main.__doc__)
    parser.add_argument("service", choices=("web", "daemon"))
    parser.add_argument("--port", type=int, default=PORT, help="port of Dagster's webserver (default: %(default)s)")
    given = parser.parse_args(arguments)
    try:
        paths = WarehousePaths(Settings.from_environment().warehouse)
        if given.service == "web":
            check_web(given.port)
        else:
            check_daemon(paths)
        print(f"{given.service} works; {check_published(paths)}")
    except (UnhealthyError, InputError) as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
