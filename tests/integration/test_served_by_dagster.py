"""Dagster's webserver and daemon: queued runs, a refused part of the graph, other sites, pictures, other builds."""

from __future__ import annotations

import contextlib
import functools
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.storage import builds, retention
from pipelines.building.state import PART_REFUSED
from tests.conftest import run_command
from tests.integration.browser import Browser, Visit
from tests.integration.served import Served, left_of, processes_with, served

MODEL, OTHER_MODEL = {"path": ["core", "fct_turns"]}, {"path": ["core", "fct_votes"]}
CHECK = {"assetKey": MODEL, "name": "sound_fct_turns"}
PUBLISHED = {"path": ["published", "dialogues"]}
ENDED = ("SUCCESS", "FAILURE", "CANCELED")
OBSERVED = """
query Observed($key: AssetKeyInput!) {
  assetOrError(assetKey: $key) { ... on Asset { assetObservations(limit: 9) { description runId } } }
}
"""
REEXECUTE = """
mutation Again($parent: String!) {
  launchRunReexecution(reexecutionParams: {parentRunId: $parent, strategy: FROM_FAILURE}) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
  }
}
"""
LONGEST = 500
"""Timeout in seconds for everything here, on a busy machine."""


@pytest.fixture(scope="module")
def paths(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> WarehousePaths:
    """Return a copy of the sample's warehouse."""
    return WarehousePaths(shutil.copytree(sample_folder, tmp_path_factory.mktemp("served") / "warehouse"))


@pytest.fixture(scope="module")
def site(paths: WarehousePaths, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return the page for that warehouse. It builds one corpus, which is faster."""
    with served(
        paths, tmp_path_factory.mktemp("logs"), DIALOGUE_ONLY="bbai", DIALOGUE_REPLACE="1", DIALOGUE_VERIFY="0"
    ) as site:
        yield site
    assert left_of(paths) == {}


@pytest.fixture(scope="module")
def launched(site: Served) -> tuple[str, str]:
    """Launch two runs of everything, one right after the other; return when the first has begun."""
    first, second = (site.launch("everything")["run"]["runId"] for _ in range(2))
    site.wait_for(lambda: site.runs()[first]["status"] not in ("QUEUED", "STARTING"), LONGEST)
    return first, second


@pytest.fixture
def browser(browser: Browser) -> Iterator[Browser]:
    """Return the browser. Its page is left afterwards: Dagster's keeps asking for news, and the server works on them."""
    yield browser
    browser.open("about:blank", 1280, "light")


def test_build_of_the_command_line_leaves_no_asset_stale(site: Served) -> None:
    """Regression: almost every asset had the reason "has a new dependency", for the build ran in another instance."""
    nodes = site.ask("{ assetNodes { assetKey { path } staleStatus staleCauses { reason } } }")["assetNodes"]
    assert {"/".join(MODEL["path"]), "published/dialogues"} <= {"/".join(node["assetKey"]["path"]) for node in nodes}
    assert [node for node in nodes if node["staleStatus"] != "FRESH"] == []


def test_second_run_waits_while_the_first_one_runs(site: Served, launched: tuple[str, str]) -> None:
    runs = site.runs()
    assert [runs[run]["status"] for run in launched] == ["STARTED", "QUEUED"]


@pytest.mark.parametrize("job", ["__ASSET_JOB", "everything"])
@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"assetSelection": [MODEL]}, id="one model"),
        pytest.param({"assetSelection": [MODEL, OTHER_MODEL]}, id="two models"),
        pytest.param({"assetSelection": [MODEL], "assetCheckSelection": [CHECK]}, id="a model and its check"),
        pytest.param({"assetSelection": [], "assetCheckSelection": [CHECK]}, id="one check"),
    ],
)
def test_part_of_the_models_and_a_check_alone_are_not_launched(site: Served, job: str, part: dict[str, Any]) -> None:
    before = site.runs().keys()
    refused = site.launch(job, **part)
    assert refused["__typename"] == "InvalidSubsetError"
    assert "AssetsDefinition 'models' contains" in refused["message"]
    assert site.runs().keys() == before


def test_no_check_can_be_executed_without_its_asset(site: Served) -> None:
    query = "{ assetNodes { assetChecksOrError { ... on AssetChecks { checks { name canExecuteIndividually } } } } }"
    nodes = site.ask(query)["assetNodes"]
    checks = [check for node in nodes for check in node["assetChecksOrError"].get("checks", [])]
    assert CHECK["name"] in {check["name"] for check in checks}
    assert {check["canExecuteIndividually"] for check in checks} == {"REQUIRES_MATERIALIZATION"}


# Requests that pages of other sites make

CHANGE = """mutation { reportRunlessAssetEvents(eventParams: {
  eventType: ASSET_MATERIALIZATION, assetKey: {path: ["reported", "%s"]}
}) { __typename } }"""
"""Mutation that adds an asset of this name to the history."""


def reported(site: Served) -> set[str]:
    """Return the names of the assets that were added by requests."""
    nodes = site.ask("{ assetsOrError { ... on AssetConnection { nodes { key { path } } } } }")["assetsOrError"][
        "nodes"
    ]
    return {node["key"]["path"][1] for node in nodes if node["key"]["path"][0] == "reported"}


def send(site: Served, method: str, name: str, *, is_in_address: bool = False, **headers: str | None) -> int:
    """Send the mutation; return the status of the answer. A header that is None is not sent."""
    query = CHANGE % name
    path = f"/graphql?query={urllib.parse.quote(query)}" if is_in_address else "/graphql"
    body = b"" if is_in_address else json.dumps({"query": query}).encode()
    given = {"Host": site.url.removeprefix("http://"), "Content-Length": str(len(body))} | {
        header.replace("_", "-"): value for header, value in headers.items()
    }
    con = http.client.HTTPConnection(site.url.removeprefix("http://"), timeout=60)
    with contextlib.closing(con):
        con.putrequest(method, path, skip_host=True)
        for header, value in given.items():
            if value is not None:
                con.putheader(header, value)
        con.endheaders(body)
        return con.getresponse().status


JSON_TYPE = {"Content_Type": "application/json"}
ATTACKS: dict[str, dict[str, Any]] = {
    "image": {"method": "GET", "is_in_address": True, "Accept": "image/*"},
    "other_origin": {"method": "POST", "Origin": "https://evil.example", **JSON_TYPE},
    "other_port": {"method": "POST", "Origin": "http://127.0.0.1:1", **JSON_TYPE},
    "no_origin_of_its_own": {"method": "POST", "Origin": "null", **JSON_TYPE},
    "other_host": {"method": "POST", "Host": "evil.example", **JSON_TYPE},
    "other_host_and_origin": {
        "method": "POST",
        "Host": "evil.example",
        "Origin": "http://evil.example",
        **JSON_TYPE,
    },
    "no_host": {"method": "POST", "Host": "", **JSON_TYPE},
    "form": {"method": "POST", "is_in_address": True, "Content_Type": "text/plain"},
    "form_with_json": {"method": "POST", "Content_Type": "text/plain; application/json"},
}


@pytest.mark.parametrize("name", ATTACKS)
def test_request_of_another_site_changes_nothing(site: Served, name: str) -> None:
    """Dagster's own webserver carries out each of them."""
    assert send(site, name=name, **ATTACKS[name]) in (400, 403)
    assert name not in reported(site)


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "own"}, {"Host": "localhost"}], ids=["program", "page", "localhost"]
)
def test_same_request_of_the_page_or_of_a_program_is_carried_out(site: Served, headers: dict[str, str]) -> None:
    own = headers | ({"Origin": site.url} if "Origin" in headers else {})
    name = "_".join(["allowed", *headers]).lower()
    assert send(site, "POST", name, **JSON_TYPE, **own) == 200
    assert name in reported(site)


SENDING = """
new Image().src = SITE + '/graphql?query=' + encodeURIComponent(CHANGE('image'));
const types = {'application/json': 'cors', 'text/plain': 'no-cors', 'text/plain; application/json': 'no-cors'};
const sent = Object.entries(types).map(([type, mode]) => fetch(SITE + '/graphql', {
    method: 'POST', mode, headers: {'Content-Type': type}, body: JSON.stringify({query: CHANGE('fetch ' + type)})
}).catch(() => {}));
const socket = new Promise((resolve) => {
    const opened = new WebSocket(SITE.replace('http', 'ws') + '/graphql', 'graphql-ws');
    opened.onopen = () => resolve('open');
    opened.onerror = () => resolve('refused');
});
Promise.all([socket, ...sent]).then(([socket]) => { document.title = socket; });
"""
"""Script that tries to send the mutation in several ways, and to open a websocket."""


def tried(browser: Browser, site: Served, page: str, prefix: str) -> str:
    """Open a page, run the script there, and return what happened to its websocket."""
    browser.open(page, 1280, "light")
    change = "(name) => " + json.dumps(CHANGE % "NAME") + f".replace('NAME', '{prefix} ' + name)"
    browser.evaluate(f"{{ const SITE = '{site.url}', CHANGE = {change}; {SENDING} }}")
    end = time.monotonic() + 60
    while (title := browser.evaluate("document.title")) not in ("open", "refused"):
        assert time.monotonic() < end
        time.sleep(0.2)
    return title


def test_page_of_another_site_in_a_browser_changes_nothing(site: Served, browser: Browser, tmp_path: Path) -> None:
    """The same script works in a page of the site itself, except for what only forms and images send."""
    (tmp_path / "index.html").write_text("<!DOCTYPE html><title>another site</title>")
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        assert tried(browser, site, f"http://127.0.0.1:{other.server_port}/", "foreign") == "refused"
        other.shutdown()
    assert tried(browser, site, f"{site.url}/server_info", "own") == "open"
    assert {name for name in reported(site) if name.startswith(("foreign", "own"))} == {"own fetch application/json"}


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, *args: object) -> None:
        """Print nothing."""


# What the page shows


def look(browser: Browser, site: Served, path: str, *texts: str) -> Visit:
    """Open a page and wait until it shows all of these texts."""
    visit = browser.open(f"{site.url}{path}", 1280, "light")
    end = time.monotonic() + 60
    while missing := [text for text in texts if text not in browser.evaluate("document.body.innerText")]:
        assert time.monotonic() < end, (missing, browser.evaluate("document.body.innerText")[:2000])
        time.sleep(0.2)
    return visit


def picture(browser: Browser, to: Path) -> None:
    """Take a picture of the page; a picture of an empty page has only a few kilobytes."""
    browser.screenshot(to)
    assert to.read_bytes().startswith(b"\x89PNG")
    assert to.stat().st_size > 20_000


def button(text: str, of: str = "document") -> str:
    """Return JavaScript for the button with this text."""
    return f"[...{of}.querySelectorAll('button')].find((button) => button.innerText.trim() === '{text}')"


def in_sight(element: str) -> str:
    """Return JavaScript that says if an element is visible and not covered."""
    return (
        f"(() => {{ const found = {element}, box = found.getBoundingClientRect(); return found.contains("
        "document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)); })()"
    )


def test_runs_are_shown_and_no_request_is_sent_elsewhere(
    site: Served, launched: tuple[str, str], browser: Browser, tmp_path: Path
) -> None:
    visit = look(browser, site, "/runs", *(run[:8] for run in launched), "Manually launched", "In progress")
    picture(browser, tmp_path / "runs.png")
    assert [url for url in visit.requests if not url.startswith((f"{site.url}/", "data:", "blob:"))] == []


def test_log_of_a_run_comes_over_a_websocket_while_it_runs(
    site: Served, launched: tuple[str, str], browser: Browser, tmp_path: Path
) -> None:
    """The page shows only the part of the log that is in sight."""
    visit = look(browser, site, f"/runs/{launched[0]}", "EVENT TYPE", "STEP_")
    picture(browser, tmp_path / "log.png")
    assert any('"id":' in message and "pipelineRunLogs" in message for message in visit.messages)


def test_page_offers_a_model_only_with_all_others(
    site: Served, launched: tuple[str, str], browser: Browser, tmp_path: Path
) -> None:
    look(browser, site, "/assets/core/fct_turns", "Materialize", "One row per turn")
    assert browser.evaluate(in_sight(button("Materialize")))
    picture(browser, tmp_path / "asset.png")
    runs = site.runs().keys()
    browser.evaluate(f"{button('Materialize')}.click()")
    end = time.monotonic() + 60
    while "Additional assets will be materialized" not in (output := browser.evaluate("document.body.innerText")):
        assert time.monotonic() < end, output
        time.sleep(0.2)
    picture(browser, tmp_path / "asked.png")
    assert "does not support subsetting" in output
    for other in ("core / fct_actions", "core / fct_votes", "analytics / split_leakage"):
        assert other in output
    browser.evaluate(f"{button('Cancel')}.click()")
    assert site.runs().keys() == runs


# The result; last, because it takes longest


def test_second_of_two_equal_runs_publishes_nothing(
    site: Served, launched: tuple[str, str], paths: WarehousePaths, sample_folder: Path
) -> None:
    """Runs that wait in the queue do not fill the kept builds with copies: each compares when it starts."""

    assert [ended(site, run) for run in launched] == ["SUCCESS", "SUCCESS"], site.said()
    runs = site.runs()
    first, second = (runs[run] for run in launched)
    assert first["startTime"] < first["endTime"] <= second["startTime"] < second["endTime"]
    before = builds.pointed_build(WarehousePaths(sample_folder))
    older, newest = retention.kept_builds(paths)
    assert (builds.pointed_build(paths), older) == (newest, before)
    assert builds.read_manifest(paths, newest).corpora == ("bbai",)
    assert "removed" in builds.read_manifest(paths, newest).changed
    observed = site.ask(OBSERVED, key=PUBLISHED)["assetOrError"]["assetObservations"]
    reason = f"nothing has changed since build {newest}"
    assert [(one["description"], one["runId"]) for one in observed] == [(reason, launched[1])]
    assert site.latest_run(PUBLISHED)["status"] == "SUCCESS"
    assert not paths.alerts.exists()


@pytest.fixture(scope="module")
def canceled(site: Served, launched: tuple[str, str]) -> str:
    """Launch the published warehouse alone, as "Materialize" on its page; return the run when it has ended."""
    run = site.launch("__ASSET_JOB", assetSelection=[PUBLISHED])["run"]["runId"]
    assert ended(site, run) == "CANCELED"
    return run


def test_part_of_the_graph_is_canceled_with_a_reason(site: Served, canceled: str, paths: WarehousePaths) -> None:
    """No asset is shown as failed afterwards. For other parts, `test_automation.py` runs the graph itself."""
    assert PART_REFUSED in site.messages(canceled)
    assert site.latest_run(PUBLISHED)["status"] == "CANCELED"
    assert not paths.alerts.exists()


def test_reexecution_from_failure_is_canceled_with_a_reason(site: Served, canceled: str, paths: WarehousePaths) -> None:
    """The steps that had succeeded would not be run again; `All steps` on the same page builds."""
    again = site.ask(REEXECUTE, parent=canceled)["launchRunReexecution"]
    run = again["run"]["runId"]
    assert ended(site, run) == "CANCELED"
    assert PART_REFUSED in site.messages(run)
    assert not paths.alerts.exists()


def test_health_checks_of_webserver_and_daemon_are_true(
    site: Served, launched: tuple[str, str], paths: WarehousePaths
) -> None:
    port = site.url.rpartition(":")[2]
    site.wait_for(paths.watched.exists, LONGEST)
    assert health(paths, "web", "--port", port) == (0, f"web works; build {builds.pointed_build(paths)} is published")
    assert health(paths, "daemon")[0] == 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        status, line = health(paths, "web", "--port", str(free.getsockname()[1]))
    assert (status, "does not respond" in line) == (1, True)


def health(paths: WarehousePaths, *arguments: str) -> tuple[int, str]:
    """Return the exit status of a health check, and its line."""
    ended = subprocess.run(
        [sys.executable, "-m", "pipelines.dagster_graph.health", *arguments],
        env=os.environ | {"DIALOGUE_WAREHOUSE": str(paths.root)},
        capture_output=True,
        text=True,
        cwd=CLONE,
        check=False,
    )
    return ended.returncode, (ended.stdout or ended.stderr).strip()


def ended(site: Served, run: str) -> str:
    """Return the status with which a run has ended."""
    return site.wait_for(lambda: (status := site.runs()[run]["status"]) in ENDED and status, LONGEST)


def test_page_does_not_offer_a_check_alone(
    site: Served, launched: tuple[str, str], browser: Browser, tmp_path: Path
) -> None:
    """While nothing runs: a check that is already running cannot be started either.

    The page shows its last result, or "Skipped" after a run that was canceled or built nothing.
    """
    site.wait_for(lambda: not {"STARTED", "QUEUED"} & {run["status"] for run in site.runs().values()}, LONGEST)
    look(browser, site, "/assets/core/fct_turns?view=checks", "sound_fct_turns", "Execute all", "Evaluation result")
    picture(browser, tmp_path / "checks.png")
    for text in ("Execute", "Execute all"):
        assert browser.evaluate(f"{button(text)}.disabled"), text


# Builds of the command line, meanwhile

HOOKS = CLONE / "tests" / "faults" / "hooks"
IN_THE_GRAPH = {"FAULT_FROM": ".scratch/build.json", "FAULT_STEP": "20"}
"""The build is killed some files after its first step has saved its state."""
IN_THE_REPORT = {"FAULT_FROM": "history/runs/index.db", "FAULT_STEP": "40"}
"""The build is killed when Dagster has opened its history as often: some events are written then."""
LAST = """
query Last($key: AssetKeyInput!) {
  assetOrError(assetKey: $key) {
    ... on Asset { assetMaterializations(limit: 1) { timestamp metadataEntries { label ... on TextMetadataEntry { text } } } }
  }
}
"""


def last_published(site: Served) -> str:
    """Return the build that the page shows as published last."""
    (made,) = site.ask(LAST, key={"path": ["published", "dialogues"]})["assetOrError"]["assetMaterializations"]
    return next(entry["text"] for entry in made["metadataEntries"] if entry["label"] == "build_id")


def raw_materializations(paths: WarehousePaths) -> int:
    """Return how often the assets of the landed files are materialized in the history."""
    about = "dagster_event_type = 'ASSET_MATERIALIZATION' and asset_key like '[\"raw%'"
    with contextlib.closing(sqlite3.connect(paths.dagster_home / "history" / "runs" / "index.db")) as con:
        return con.execute(f"select count(*) from event_logs where {about}").fetchone()[0]


def build_beside(paths: WarehousePaths, **fault: str) -> int:
    """Build with the command; return its exit status. A process that it has started ends with it."""
    path, own = f"{HOOKS}{os.pathsep}{CLONE}", uuid.uuid4().hex
    build = ("build", "--corpora", "bbai", "--replace", "--force", "--quiet")
    ended = run_command(*build, PYTHONPATH=path, DIALOGUE_WAREHOUSE=str(paths.root), STARTED_BY=own, **fault)
    assert ended.stderr == ""
    until = time.monotonic() + 10
    while (left := processes_with(f"STARTED_BY={own}")) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == {}
    return ended.returncode


def test_build_beside_the_daemon_is_shown_and_a_killed_one_leaves_nothing(site: Served, paths: WarehousePaths) -> None:
    """A build is killed in its graph, the next one while it reports; the third one repairs and reports.

    The history of runs is shared with a running daemon, which needs no restart.
    """
    before, runs, raw = builds.pointed_build(paths), site.runs(), raw_materializations(paths)
    assert before is not None
    assert last_published(site) == before
    assert build_beside(paths, **IN_THE_GRAPH) == -signal.SIGKILL
    assert (builds.pointed_build(paths), builds.damage(paths, before), last_published(site)) == (before, [], before)
    assert raw_materializations(paths) == raw
    assert build_beside(paths, **IN_THE_REPORT) == -signal.SIGKILL
    unreported = builds.pointed_build(paths)
    assert unreported != before
    assert last_published(site) == before
    assert raw_materializations(paths) > raw
    assert build_beside(paths) == 0
    now = builds.pointed_build(paths)
    assert now is not None
    assert now != unreported
    assert (builds.damage(paths, now), last_published(site)) == ([], now)
    assert [path.name for path in paths.root.rglob("*.tmp")] == []
    assert [path for path in paths.scratch.iterdir() if path != paths.dbt_target] == []
    assert site.runs() == runs
    assert [process.poll() for process in site.processes] == [None, None]
