"""The served dashboard in a real browser: its requests, its layout, links, downloads, hostile text."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.dashboard import app, showing
from dialogue_warehouse.paths import CLONE
from tests.integration.browser import Browser, Visit, find_chromium

PATIENCE = 90
LAST = "Read-only; nothing on these pages is loaded from a network."
"""Text at the end of every page."""
TITLES = [title for title, _ in app.PAGES.values()]


@dataclass
class Site:
    """Served dashboard, in a browser."""

    url: str
    browser: Browser
    database: Path

    def open(self, address: str = "/", width: int = 1280, scheme: str = "light", text: str = LAST) -> Visit:
        visit = self.browser.open(f"{self.url}{address}", width, scheme)
        self.wait_for(text)
        return visit

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + PATIENCE
        while text not in self.text():
            assert time.monotonic() < end, (text, self.text()[:2000])
            time.sleep(0.1)

    def text(self) -> str:
        return self.browser.evaluate("document.body.innerText")

    def press(self, text: str) -> None:
        """Press the button with this text, as soon as it exists."""
        found = f"[...document.querySelectorAll('button')].find((one) => one.innerText.trim() === {json.dumps(text)})"
        self._once_there(found, text)
        self.browser.evaluate(f"{found}.click()")

    def type_into(self, label: str) -> None:
        """Type a text into the field with this label, as soon as it exists."""
        found = f"document.querySelector('input[aria-label={json.dumps(label)}]')"
        self._once_there(found, label)
        self.browser.evaluate(f"{found}.focus()")

    def _once_there(self, found: str, what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.browser.evaluate(f"Boolean({found})"):
            assert time.monotonic() < end, (what, self.text()[:2000])
            time.sleep(0.1)

    def page(self, title: str) -> None:
        """Go to a page of the menu."""
        found = f"[...document.querySelectorAll('a')].find((one) => one.innerText.trim() === {json.dumps(title)})"
        self.browser.evaluate(f"{found}.click()")
        end = time.monotonic() + PATIENCE
        while self.browser.evaluate("document.querySelector('h1')?.innerText") != title or LAST not in self.text():
            assert time.monotonic() < end, self.text()[:2000]
            time.sleep(0.1)

    def foreign(self, visit: Visit) -> list[str]:
        """Return the requests to other hosts."""
        own = (self.url, self.url.replace("http", "ws"), "data:", "blob:")
        return [url for url in visit.requests if not url.startswith(own)]


@contextmanager
def served(folder: Path, browser: Browser) -> Iterator[Site]:
    """Serve the dashboard as the command does; Ctrl-C ends it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "dialogue_warehouse",
        "dashboard",
        "--warehouse",
        str(folder),
        "--port",
        str(port),
    ]
    with subprocess.Popen(command, cwd=CLONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health") as answer:
                        assert answer.read() == b"ok"
                        break
                except OSError:
                    assert server.poll() is None, server.communicate()
                    assert time.monotonic() < end
                    time.sleep(0.1)
            yield Site(f"http://127.0.0.1:{port}", browser, folder / "dialogues.duckdb")
        finally:
            server.send_signal(signal.SIGINT)
            out, err = server.communicate(timeout=30)
    assert f"http://127.0.0.1:{port}" in out
    assert "Traceback" not in err
    assert server.returncode in (0, 130)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium is installed")
    browser = Browser(program, tmp_path_factory.mktemp("profile"), reachable="127.0.0.1")
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def sample(sample_folder: Path, browser: Browser) -> Iterator[Site]:
    with served(sample_folder, browser) as site:
        yield site


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1600])
def test_every_page_fits_and_sends_no_request_elsewhere(sample: Site, tmp_path: Path, width: int, scheme: str) -> None:
    visit = sample.open("/", width, scheme)
    for title in TITLES:
        if width > 760:
            sample.page(title)
        else:  # the menu is behind a button there
            sample.open(f"/{title.lower()}", width, scheme)
        assert sample.browser.evaluate("document.documentElement.scrollWidth") <= width, title
        assert "encountered an error" not in sample.text()
        sample.browser.screenshot(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 5_000
    assert sample.foreign(visit) == []
    if width > 760:
        assert visit.problems == []


def test_address_of_a_key_shows_its_dialogue_with_the_row_marked(sample: Site, tmp_path: Path) -> None:
    with duckdb.connect(str(sample.database), read_only=True) as con:
        keys = con.execute(
            "select min(turn_key), any_value(dialogue_key) from core.fct_turns group by corpus_id order by corpus_id"
        ).fetchall()
    for key, _ in keys:
        visit = sample.open(showing.address(key), text="Find others")
        marked = sample.browser.evaluate("document.querySelectorAll('.dialogue [data-marked]').length")
        assert marked == 1, key
        assert key.rpartition("/")[0] in sample.text()
        assert (sample.foreign(visit), visit.problems) == ([], []), key
    sample.press("Find others")
    sample.wait_for("a key opens one")


def test_words_that_are_typed_find_their_dialogue(sample: Site) -> None:
    with duckdb.connect(str(sample.database), read_only=True) as con:
        (utterance, key) = con.execute(
            """
            select any_value(utterance), any_value(dialogue_key)
            from core.fct_turns
            where length(utterance) between 40 and 80
            group by lower(utterance)
            having count(*) = 1
            order by lower(utterance)
            limit 1
            """
        ).fetchone()
    visit = sample.open()
    sample.page("Dialogues")
    sample.wait_for("a key opens one")
    sample.type_into("Said")
    sample.browser.send("Input.insertText", text=utterance.upper())
    for kind in ("keyDown", "keyUp"):
        sample.browser.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
    sample.wait_for("1 dialogue;")
    assert (sample.foreign(visit), visit.problems) == ([], [])
    sample.type_into("Key")
    sample.browser.send("Input.insertText", text=key)
    for kind in ("keyDown", "keyUp"):
        sample.browser.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
    sample.wait_for("Find others")
    assert key in sample.text()
    assert utterance.split()[0] in sample.text()


def test_complete_answer_is_downloaded(sample: Site, tmp_path: Path) -> None:
    sample.open()
    sample.page("SQL")
    sample.press("Run")
    sample.wait_for("Download Parquet")
    sample.browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    with duckdb.connect(str(sample.database), read_only=True) as con:
        expected = con.execute(
            "select corpus_id, role, count(*) from core.fct_turns group by all order by all"
        ).fetchall()
    for form, kind in (("CSV", "csv"), ("JSON", "json"), ("Parquet", "parquet")):
        sample.press(f"Download {form}")
        file, end = tmp_path / f"answer.{kind}", time.monotonic() + PATIENCE
        while not file.exists():
            assert time.monotonic() < end, form
            time.sleep(0.1)
        assert duckdb.sql(f"from '{file}'").fetchall() == expected, form


def test_hostile_corpus_does_no_harm(hostile_folder: Path, browser: Browser) -> None:
    with duckdb.connect(str(hostile_folder / "dialogues.duckdb"), read_only=True) as con:
        keys = con.execute(
            "select min(dialogue_key) from core.dim_dialogues group by corpus_id order by all"
        ).fetchall()
    with served(hostile_folder, browser) as site:
        for (key,) in keys:
            visit = site.open(showing.address(key), text="Find others")
            assert "<script>alert(1)</script>" in site.text(), key
            assert "\u202e" not in site.text()
            assert "\x1b" not in site.text()
            inside = "document.querySelectorAll('.dialogue script, .dialogue img, .dialogue iframe').length"
            assert browser.evaluate(inside) == 0
            assert browser.evaluate("document.documentElement.scrollWidth") <= 1280, key
            assert (site.foreign(visit), visit.problems) == ([], []), key
