"""`make pictures`: take the README's pictures of the report and the dashboard of a published warehouse."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from dialogue_warehouse.paths import CLONE
from tests.integration.browsed_site import served
from tests.integration.browser import Browser, find_chromium

PICTURES = CLONE / "docs" / "pictures"
WIDTH = 1280
KEY = "/?key=sgd/dev/1_00000/2"


def main(folder: Path) -> int:
    """Take both pictures; return 1 if there is no Chromium."""
    program = find_chromium()
    if program is None:
        print("error: no Chromium is installed", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:  # Chromium may still write
        browser = Browser(program, Path(profile), reachable="127.0.0.1")
        browser.open((folder / "reports" / "corpora.html").absolute().as_uri(), WIDTH, "light")
        browser.evaluate("document.getElementById('sgd').scrollIntoView()")
        browser.screenshot(PICTURES / "report.png")
        with served(folder.absolute(), browser) as site:
            site.open(KEY, WIDTH, "light")
            browser.evaluate("window.scrollTo(0, 0)")  # the URL scrolls to its row
            browser.screenshot(PICTURES / "dashboard.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
