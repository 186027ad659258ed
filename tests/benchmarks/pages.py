"""`make bench-pages`: measure the dashboard's pages in a browser, from a key press until the page no longer changes."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from dialogue_warehouse.dashboard import showing
from tests.integration.browser import Browser, find_chromium
from tests.integration.test_dashboard_in_a_browser import LAST, PATIENCE, TITLES, Site, served

REPEATS = 5
APP = "document.querySelector('[data-test-script-state]')"
WATCH = f"""
    window.ran = false;
    new MutationObserver(() => {{ window.ran = true; }}).observe({APP}, {{attributeFilter: ['data-test-script-state']}})
"""
STANDS = f"window.ran && {APP}.dataset.testScriptState === 'notRunning'"
FILTERS = (("Corpus", "sgd"), ("Split", "train"), ("Act", "INFORM"), ("Slot", "city"))


def main(folder: Path) -> int:
    """Print the median seconds of each interaction with a published warehouse. Return 1 if there is no Chromium."""
    program = find_chromium()
    if program is None:
        print("error: no Chromium is installed", file=sys.stderr)
        return 1
    times: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            browser = Browser(program, Path(profile), reachable="127.0.0.1")
            with served(folder.absolute(), browser) as site:
                visit_all(site, lambda what, seconds: times.setdefault(what, []).append(seconds))
            browser.close()
    for what, taken in times.items():
        print(f"{what:44} {statistics.median(taken):6.2f} s (at most {max(taken):.2f})")
    return 0


def visit_all(site: Site, note: Callable[[str, float], None]) -> None:
    """Do what a reader does, in a new session."""
    note("first page, opened", _timed(lambda: site.open()))
    for title in reversed(TITLES):  # the first is open
        note(f"page {title}", _timed(lambda title=title: site.page(title)))
    site.page("Dialogues")
    site.wait_for("a key opens one")
    for label, value in FILTERS:
        note(f"filter {label}: {value}", _entered(site, label, value))
    note("filter Said: restaurant", _entered(site, "Said", "restaurant"))
    with duckdb.connect(str(site.database), read_only=True) as con:
        keys = con.execute(
            "select max(turn_key), corpus_id from core.fct_turns group by corpus_id order by corpus_id"
        ).fetchall()
    site.open(showing.address(keys[-1][0]), text="Find others")
    for key, corpus in keys:
        note(f"dialogue of {corpus}, its key typed", _entered(site, "Key", key))
    for key, corpus in keys:
        note(
            f"dialogue of {corpus}, by its address",
            _timed(lambda key=key: site.open(showing.address(key), text="Find others")),
        )
    site.page("SQL")
    note("SQL, run", _timed(lambda: (site.press("Run"), site.wait_for("Download Parquet"))))


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _entered(site: Site, label: str, text: str) -> float:
    """Enter a text into the field with a label. Return the seconds from the key press until the page no longer changes."""
    field = f"[...document.querySelectorAll('input')].find((one) => one.ariaLabel?.includes({json.dumps(label)}))"
    time.sleep(0.2)  # the page may still replace the field after an earlier entry
    site.browser.evaluate(f"{WATCH}; {field}.focus(); {field}.select()")
    site.browser.send("Input.insertText", text=text)
    begun = time.perf_counter()
    for kind in ("keyDown", "keyUp"):
        site.browser.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
    while not (site.browser.evaluate(STANDS) and LAST in site.text()):
        assert time.perf_counter() < begun + PATIENCE, (label, text, site.text()[:2000])
        time.sleep(0.01)
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
