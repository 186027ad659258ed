"""Dagster's own webserver and daemon: queued runs, a refused part of the graph, and pictures of the page."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds, retention
from tests.integration.browser import Browser, Visit, find_chromium
from tests.integration.served import Served, left_of, served

MODEL, OTHER_MODEL = {"path": ["core", "fct_turns"]}, {"path": ["core", "fct_votes"]}
CHECK = {"assetKey": MODEL, "name": "sound_fct_turns"}
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium is installed: nobody looks at Dagster's page")
    browser = Browser(program, tmp_path_factory.mktemp("profile"), reachable="127.0.0.1")
    yield browser
    browser.close()


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
    """Return JavaScript that tells if an element is visible and not covered."""
    return (
        f"(() => {{ const found = {element}, box = found.getBoundingClientRect(); return found.contains("
        "document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)); })()"
    )


def test_runs_are_seen_and_nobody_else_is_asked_anything(
    site: Served, launched: tuple[str, str], browser: Browser, tmp_path: Path
) -> None:
    visit = look(browser, site, "/runs", *(run[:8] for run in launched), "Manually launched", "In progress")
    picture(browser, tmp_path / "runs.png")
    assert [url for url in visit.requests if not url.startswith((f"{site.url}/", "data:", "blob:"))] == []


def test_page_offers_a_model_with_all_others_only(
    site: Served, launched: tuple[str, str], browser: Browser, tmp_path: Path
) -> None:
    look(browser, site, "/assets/core/fct_turns", "Materialize", "One row per turn")
    assert browser.evaluate(in_sight(button("Materialize")))
    picture(browser, tmp_path / "asset.png")
    runs = site.runs().keys()
    browser.evaluate(f"{button('Materialize')}.click()")
    end = time.monotonic() + 60
    while "Additional assets will be materialized" not in (told := browser.evaluate("document.body.innerText")):
        assert time.monotonic() < end, told
        time.sleep(0.2)
    picture(browser, tmp_path / "asked.png")
    assert "does not support subsetting" in told
    for other in ("core / fct_actions", "core / fct_votes", "analytics / split_leakage"):
        assert other in told
    browser.evaluate(f"{button('Cancel')}.click()")
    assert site.runs().keys() == runs


# The result; last, because it takes longest


def test_both_runs_publish_one_after_the_other(
    site: Served, launched: tuple[str, str], paths: WarehousePaths, sample_folder: Path
) -> None:
    def ended() -> bool:
        runs = site.runs()
        return all(runs[run]["status"] in ("SUCCESS", "FAILURE", "CANCELED") for run in launched)

    site.wait_for(ended, LONGEST)
    runs = site.runs()
    assert [runs[run]["status"] for run in launched] == ["SUCCESS", "SUCCESS"], site.said()
    first, second = (runs[run] for run in launched)
    assert first["startTime"] < first["endTime"] <= second["startTime"] < second["endTime"]
    before = builds.pointed_build(WarehousePaths(sample_folder))
    oldest, older, newest = retention.kept_builds(paths)
    assert (builds.pointed_build(paths), oldest) == (newest, before)
    assert [builds.read_manifest(paths, build).corpora for build in (newest, older)] == [("bbai",), ("bbai",)]
    assert "removed" in builds.read_manifest(paths, older).changed
    assert builds.read_manifest(paths, newest).changed == f"nothing differs, against build {older}"
    page = (paths.reports / "changes.html").read_text(encoding="utf-8")
    assert "Nothing changed: the same rows in every table" in page
    assert older in page
    assert not paths.alerts.exists()


def test_page_does_not_let_a_check_run_alone(
    site: Served, launched: tuple[str, str], browser: Browser, tmp_path: Path
) -> None:
    """While nothing runs: a check that is already running cannot be started either."""
    site.wait_for(lambda: not {"STARTED", "QUEUED"} & {run["status"] for run in site.runs().values()}, LONGEST)
    look(browser, site, "/assets/core/fct_turns?view=checks", "sound_fct_turns", "Execute all", "Passed")
    picture(browser, tmp_path / "checks.png")
    for text in ("Execute", "Execute all"):
        assert browser.evaluate(f"{button(text)}.disabled"), text
