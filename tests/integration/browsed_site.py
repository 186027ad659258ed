"""Dashboard that runs as a user starts it, in headless Chromium: what tests do in it."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dialogue_warehouse.common.text import address
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.site.application import MENU
from dialogue_warehouse.site.asking import CHARTS
from tests.integration.browser import Browser, LeftError, Visit

PATIENCE = 90
UNFOLD = """
document.querySelectorAll("details").forEach((one) => { one.open = true; });
document.querySelectorAll("main [aria-expanded=false]").forEach((one) => one.click());
document.querySelectorAll("input.toggle").forEach((one) => { one.checked = true; });
"""
COUNTED = "/sql?query=select+corpus_id,+count(*)+as+n+from+fct_turns+group+by+all"
PAGES = (
    *(f"/{name}" for name, _ in MENU),
    "/changes.html",
    "/dictionary.html",
    "/dialogues?said=please&corpus=sgd",
    "/dialogues?said=please&key=sgd/dev/1_00000/2",
    "/dialogues?said=xyzzy",
    "/dialogues?key=sgd/dev/1_00000&against=sgd/dev/1_00001",
    "/tables?_table=core.fct_turns&corpus_id=sgd",
    "/tables?_table=core.fct_turns&_draw=turn_index",
    "/tables?_table=quality.violations",
    COUNTED,
    *(f"{COUNTED}&chart={kind}" for kind in CHARTS if kind != "none"),
    "/sql?query=select+*+from+nowhere",
    "/claims.html?claim=S01",
    "/claims.html?outcome=as_recorded",
    "/violations.html?rule=reused_dialogue_id",
)
"""A page of each kind, but those about the key of a row and the scores."""


@dataclass
class Site:
    """Served dashboard, in a browser."""

    url: str
    browser: Browser
    database: Path
    server: subprocess.Popen[str]

    def open(self, address: str = "/", width: int = 1280, scheme: str = "light") -> Visit:
        self.browser.send("Page.navigate", url="about:blank")  # another fragment alone would load nothing
        return self.browser.open(f"{self.url}{address}", width, scheme)

    def once(self, condition: str) -> None:
        """Wait until a condition holds in the page, which may be left for another one meanwhile."""

        def holds() -> bool:
            with suppress(LeftError):
                return bool(self.browser.evaluate(condition))
            return False

        wait_for(holds, condition)

    def unfold(self) -> None:
        """Show everything that a press on a button or a summary shows."""
        self.browser.evaluate(UNFOLD)

    def text(self) -> str:
        return self.browser.evaluate("document.body.innerText")

    def key(self, key: str, modifiers: int = 0) -> None:
        code = {"Enter": 13}.get(key, ord(key[0].upper()))
        text = {"Enter": {"text": "\r"}}.get(key, {"text": key})
        for kind in ("keyDown", "keyUp"):
            pressed = {"type": kind, "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
            self.browser.send("Input.dispatchKeyEvent", **pressed, **(text if kind == "keyDown" else {}))

    def foreign(self, visit: Visit) -> list[str]:
        """Return the requests to other hosts."""
        return [url for url in visit.requests if not url.startswith((self.url, "data:", "about:"))]

    def pages(self) -> list[str]:
        """Return a page of each kind, with a dialogue of each corpus."""
        with duckdb.connect(str(self.database), read_only=True) as con:
            turns = con.execute("select min(turn_key) from core.fct_turns group by corpus_id order by all").fetchall()
        return [*PAGES, *(address(key) for (key,) in turns)]

    def score_pages(self) -> list[str]:
        """Return the page of all runs, and the page of each."""
        self.open("/scores.html")
        links = "[...document.querySelectorAll('main a')].map((one) => one.getAttribute('href'))"
        runs = {link for link in self.browser.evaluate(links) if link.startswith("scores.html?run=")}
        return ["/scores.html", *(f"/{link}" for link in sorted(runs))]

    def queries(self) -> list[int]:
        """Return the processes of queries, with the one that waits."""
        return [query for forking in children_of(self.server.pid) for query in children_of(forking)]


def children_of(process: int) -> list[int]:
    """Return the child processes of a process that has one thread, or whose first thread starts them."""
    return [int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def wait_for(what: Callable[[], object], failure: str, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, failure
        time.sleep(0.05)


@contextmanager
def served(folder: Path, browser: Browser, *options: object) -> Iterator[Site]:
    """Serve the dashboard with these options of the command; Ctrl-C ends it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dialogue_warehouse", "dashboard", "--warehouse", folder, "--port", port, *options]
    with subprocess.Popen(
        [*map(str, command)], cwd=CLONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            said = server.stdout.readline()
            assert said.startswith(f"http://127.0.0.1:{port} "), (said, server.poll())
            yield Site(f"http://127.0.0.1:{port}", browser, folder / "dialogues.duckdb", server)
        finally:
            server.send_signal(signal.SIGINT)
            _, err = server.communicate(timeout=30)
    assert "Traceback" not in err
    assert server.returncode in (0, 130)
