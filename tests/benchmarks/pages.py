"""`make bench-pages`: measure the dashboard's pages in a browser, from the address until the page is loaded."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from dialogue_warehouse.common.text import address
from dialogue_warehouse.site.application import MENU
from tests.integration.browsed_site import Site, served
from tests.integration.browser import Browser, find_chromium

REPEATS = 20
PAGES = {
    **{title: f"/{name}" for name, title in MENU},
    "dialogues, filtered": "/dialogues?split=train",
    "dialogues, searched": "/dialogues?said=restaurant",
    "dialogues, searched and filtered": "/dialogues?said=restaurant&split=train",
    "rows of a table": "/tables?_table=core.fct_turns",
    "rows of a table, filtered and ordered": "/tables?_table=core.fct_turns&role=user&_order=utterance",
    "an answer to SQL": "/sql?query=select+corpus_id,+count(*)+from+fct_turns+group+by+all",
}


def main(folder: Path) -> int:
    """Print the median seconds of each page of a published warehouse. Return 1 if there is no Chromium."""
    program = find_chromium()
    if program is None:
        print("error: no Chromium is installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, Path(profile), reachable="127.0.0.1")
        begun = time.perf_counter()
        with served(folder.absolute(), browser) as site:
            site.open()
            print(f"{'first page, from the command':44} {time.perf_counter() - begun:6.2f} s")
            for title, page in (PAGES | _dialogues(site)).items():
                taken = [_opened(site, page) for _ in range(REPEATS)]
                print(f"{title:44} {statistics.median(taken):6.3f} s (at most {max(taken):.3f})")
        browser.close()
    return 0


def _dialogues(site: Site) -> dict[str, str]:
    """Return the address of a turn of each corpus."""
    with duckdb.connect(str(site.database), read_only=True) as con:
        keys = con.execute("select max(turn_key), corpus_id from core.fct_turns group by all order by 2").fetchall()
    return {f"a turn of {corpus}": address(key) for key, corpus in keys}


def _opened(site: Site, page: str) -> float:
    """Open a page that the browser does not keep, and return the seconds."""
    site.browser.send("Network.setCacheDisabled", cacheDisabled=True)
    begun = time.perf_counter()
    site.open(page)
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
