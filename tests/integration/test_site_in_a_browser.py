"""The served pages in a real browser: requests, layout, keys, links, downloads, hostile text, queries that end."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import select
import signal
import socket
import urllib.parse
import urllib.request
import zlib
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.common.text import address
from tests.integration.browsed_site import COUNTED, PATIENCE, Site, served, wait_for
from tests.integration.browser import BACKGROUNDS, Browser

SLOW = "select sum(hash(a.range, b.range)) from range(2_000_000) a, range(1_000_000) b"
"""A query that runs for hours."""


@pytest.mark.parametrize("width", [360, 768, 1280, 1600])
def test_every_page_fits_and_sends_no_request_elsewhere(sample: Site, width: int) -> None:
    for page in sample.pages():
        visit = sample.open(page, width)
        sample.unfold()
        for scheme in BACKGROUNDS:
            sample.browser.use(scheme)
            assert sample.browser.evaluate("document.documentElement.scrollWidth") <= width, (page, scheme)
        assert (sample.foreign(visit), visit.problems) == ([], []), page


def test_open_row_is_as_wide_as_its_list(sample: Site) -> None:
    for page in ("/claims.html?corpus=sgd", "/violations.html?broken=yes", "/expectations.html"):
        sample.open(page, 360)
        sample.unfold()
        widths = "((list) => [list.scrollWidth, list.clientWidth])(document.querySelector('.scroll:has(> .ledger)'))"
        scrolled, shown = sample.browser.evaluate(widths)
        assert scrolled == shown, page


def test_marked_row_is_in_sight(sample: Site) -> None:
    with duckdb.connect(str(sample.database), read_only=True) as con:
        keys = con.execute("select max(turn_key) from core.fct_turns group by corpus_id order by 1").fetchall()
    in_sight = "(({top, bottom}) => top < innerHeight && bottom > 0)(document.querySelector('[data-marked]').getBoundingClientRect())"
    for (key,) in keys:
        for width in (360, 1280):
            visit = sample.open(address(key), width)
            assert sample.browser.evaluate("document.querySelectorAll('.dialogue [data-marked]').length") == 1, key
            assert sample.browser.evaluate(in_sight), key
            assert (sample.foreign(visit), visit.problems) == ([], []), key


def test_key_of_a_dialogue_and_link_to_a_turn_are_copied(sample: Site) -> None:
    visit = sample.open("/dialogues?key=sgd/dev/1_00000")
    sample.browser.evaluate(
        "navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }"
    )
    sample.browser.evaluate("document.querySelector('h1 .copy').click()")
    sample.once("window.copied === 'sgd/dev/1_00000'")
    sample.browser.evaluate("document.querySelectorAll('.who .copy')[2].click()")
    sample.once("window.copied?.startsWith('http')")
    link = sample.browser.evaluate("window.copied")
    assert visit.problems == []
    sample.browser.open(link, 1280, "light")
    sample.once("document.querySelector('.turn[data-marked]')?.dataset.row === 'sgd/dev/1_00000/2'")


def test_print_has_the_dialogue_alone(sample: Site) -> None:
    sample.open("/dialogues?key=sgd/dev/1_00000")
    shown = "(one) => [...document.querySelectorAll(one)].some((part) => part.checkVisibility())"
    sample.browser.send("Emulation.setEmulatedMedia", media="print")
    try:
        assert sample.browser.evaluate(f"({shown})('.dialogue .turn')")
        for part in ("nav", ".list", ".finding", ".copy", ".paging"):
            assert not sample.browser.evaluate(f"({shown})({part!r})"), part
    finally:
        sample.browser.send("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("page", ["/index.html", "/claims.html", "/expectations.html", "/tables?_table=core.fct_turns"])
def test_print_has_tables_with_their_heads(sample: Site, page: str) -> None:
    sample.open(page, 718)  # the width of A4 in a browser
    sample.browser.send("Emulation.setEmulatedMedia", media="print")
    try:
        tables = "[...document.querySelectorAll('main table')].filter((table) => table.checkVisibility())"
        drawn = "getComputedStyle(table).display, getComputedStyle(table.tHead).position"
        kinds = sample.browser.evaluate(f"{tables}.map((table) => [{drawn}])")
        assert kinds
        assert all(kind == ["table", "static"] for kind in kinds)
        buttons = "[...document.querySelectorAll('main thead button')].map((one) => getComputedStyle(one).display)"
        assert set(sample.browser.evaluate(buttons)) <= {"contents"}  # on the next sheet Chromium draws no button
        assert not sample.browser.evaluate(
            f"{tables}.some((table) => table.getBoundingClientRect().right > "
            "table.closest('.scroll').getBoundingClientRect().right + 1)"
        )
    finally:
        sample.browser.send("Emulation.setEmulatedMedia", media="")


def test_print_has_the_bars_of_a_chart(sample: Site) -> None:
    """Regression: a browser prints no backgrounds, and the bars are backgrounds."""
    sample.open(f"{COUNTED}&chart=bars")
    bar = "getComputedStyle(document.querySelector('.chart .c0')).backgroundColor"
    color = [f"{int(part) / 255:.4f}".lstrip("0") for part in re.findall(r"\d+", sample.browser.evaluate(bar))]
    printed = base64.b64decode(sample.browser.send("Page.printToPDF")["data"])
    parts = [
        zlib.decompress(part) for part in re.findall(rb"/FlateDecode.*?stream\r?\n(.*?)endstream", printed, re.DOTALL)
    ]
    assert any(f"{' '.join(color)} rg".encode() in part for part in parts)


@pytest.mark.parametrize(
    ("page", "target"),
    [
        ("/dialogues?corpus=sgd", ".paging a"),
        ("/dialogues?key=sgd/dev/1_00000", ".paging a"),
        ("/tables?_table=core.fct_turns", "main > details.note > summary"),
    ],
)
def test_targets_are_24_pixels_high_on_a_phone(sample: Site, page: str, target: str) -> None:
    sample.open(page, 360)
    heights = sample.browser.evaluate(
        f"[...document.querySelectorAll({target!r})].filter((one) => one.checkVisibility())"
        ".map((one) => one.getBoundingClientRect().height)"
    )
    assert heights
    assert min(heights) >= 24


def test_keys_search_and_go_from_dialogue_to_dialogue(sample: Site) -> None:
    sample.open("/dialogues?corpus=sgd")
    sample.key("/")
    sample.once("document.activeElement.name === 'said'")
    sample.browser.send("Input.insertText", text="please")
    sample.key("Enter")
    sample.once("location.search.includes('said=please') && document.readyState === 'complete'")
    assert sample.browser.evaluate("document.querySelectorAll('.found mark').length") > 0
    assert sample.browser.evaluate("document.querySelector('[name=order]').selectedOptions[0].text") == "best hit first"
    sample.key("j")
    sample.once("Boolean(document.querySelector('.dialogue')) && document.readyState === 'complete'")
    first = sample.browser.evaluate("document.title")
    sample.key("j")
    sample.once(
        f"document.title !== {json.dumps(first)} && Boolean(document.querySelector('[data-key=k]')) && document.readyState === 'complete'"
    )
    sample.key("k")
    sample.once(f"document.title === {json.dumps(first)}")
    sample.browser.evaluate("setTimeout(() => history.back())")
    sample.once(f"document.title !== {json.dumps(first)}")


@pytest.mark.parametrize(
    ("page", "choice", "chosen"),
    [("/dialogues", "order", "longest"), ("/claims.html", "corpus", "sgd"), ("/builds", "figure", "turn_count")],
)
def test_form_shows_the_state_of_the_url_after_back(sample: Site, page: str, choice: str, chosen: str) -> None:
    """Regression: on Back, a browser kept the choice that was sent, beside the list without it."""
    sample.open(page)
    select = f"document.querySelector('[name={choice}]')"
    before = sample.browser.evaluate(f"{select}.value")
    sample.browser.evaluate(f"{select}.value = '{chosen}', setTimeout(() => {select}.form.requestSubmit())")
    sample.once(f"location.search.includes('{chosen}') && document.readyState === 'complete'")
    sample.browser.evaluate("setTimeout(() => history.back())")
    sample.once(f"location.search === '' && document.readyState === 'complete' && {select}.value === '{before}'")


EDITOR = "document.querySelector('.cm-content')"


def write(site: Site, text: str) -> None:
    """Replace the text of the editor."""
    site.once(f"Boolean({EDITOR})")
    site.browser.evaluate(f"{EDITOR}.focus(); getSelection().selectAllChildren({EDITOR})")
    site.browser.send("Input.insertText", text=text)


def test_control_and_enter_run_the_query_and_back_brings_the_one_before(sample: Site) -> None:
    sample.open("/sql?query=select+111+as+n")
    write(sample, "select 222 as n")
    sample.key("Enter", modifiers=2)
    sample.once("document.querySelector('.answer td')?.innerText.trim() === '222'")
    sample.browser.evaluate("setTimeout(() => history.back())")
    sample.once("document.querySelector('.answer td')?.innerText.trim() === '111'")
    sample.once(f"{EDITOR}?.innerText === 'select 111 as n'")
    assert sample.browser.evaluate("document.getElementById('query').value") == "select 111 as n"


@pytest.mark.parametrize(
    ("written", "typed", "offered"),
    [
        ("from fct_tur", "n", "fct_turns"),
        ("select 1 from fct_turns where utt", "e", "utterance"),
        ("sel", "e", "select"),
    ],
)
def test_editor_completes_tables_columns_and_keywords(sample: Site, written: str, typed: str, offered: str) -> None:
    visit = sample.open("/sql?query=select+1")
    write(sample, written)
    sample.key(typed)
    sample.once("Boolean(document.querySelector('.cm-tooltip-autocomplete'))")
    assert offered in sample.browser.evaluate(
        "[...document.querySelectorAll('.cm-completionLabel')].map((one) => one.innerText)"
    )
    assert visit.problems == []


@pytest.mark.parametrize(
    ("query", "marked"),
    [("select 1,\n  nothing_here from fct_turns", "nothing_here"), ("selec 1", "selec")],
)
def test_editor_marks_the_place_of_an_error(sample: Site, query: str, marked: str) -> None:
    sample.open(f"/sql?{urllib.parse.urlencode({'query': query})}")
    sample.once(f"document.querySelector('.cm-line .wrong')?.innerText === '{marked}'")


def test_queries_of_this_browser_are_listed_until_they_are_forgotten(sample: Site) -> None:
    listed = "[...document.querySelectorAll('#earlier li')].map((one) => one.textContent)"
    sample.open("/sql?query=select+1")
    sample.browser.evaluate("localStorage.clear()")
    for query in ("select+333+as+n", "select+444+as+n", "select+nothing", "select+333+as+n"):
        sample.open(f"/sql?query={query}")
    assert sample.browser.evaluate(listed) == ["select 333 as n", "select 444 as n"]
    sample.browser.evaluate("document.querySelectorAll('#earlier a')[1].click()")
    sample.once("document.querySelector('.answer td')?.innerText.trim() === '444'")
    sample.once("!document.getElementById('earlier').hidden")
    sample.browser.evaluate("document.querySelector('#earlier button').click()")
    assert sample.browser.evaluate("document.getElementById('earlier').hidden")
    sample.open("/sql")
    assert sample.browser.evaluate(listed) == []


def test_complete_answer_is_downloaded(sample: Site, tmp_path: Path) -> None:
    query = "select corpus_id, role, count(*) as n from fct_turns group by all order by all"
    sample.open(f"/sql?{urllib.parse.urlencode({'query': query})}")
    sample.browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    with duckdb.connect(str(sample.database), read_only=True) as con:
        expected = con.execute(query.replace("fct", "core.fct")).fetchall()
    for kind in ("csv", "json", "parquet"):
        sample.browser.evaluate(f"document.querySelector('a[href^=\"answer.{kind}\"]').click()")
        file = tmp_path / f"answer.{kind}"
        wait_for(file.exists, kind)
        assert duckdb.sql(f"from '{file}'").fetchall() == expected, kind


def test_download_that_fails_is_not_an_ended_answer(sample: Site) -> None:
    failing = "select if(range < 900000, range, cast('x' || range as bigint)) as n from range(1000000)"
    url = f"{sample.url}/answer.csv?{urllib.parse.urlencode({'query': failing})}"
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer, pytest.raises(http.client.IncompleteRead):
        answer.read()


def test_query_ends_when_its_reader_leaves(sample: Site) -> None:
    sample.browser.send("Page.navigate", url="about:blank")
    with socket.create_connection(("127.0.0.1", int(sample.url.rpartition(":")[2]))) as reader:
        path = f"/sql?{urllib.parse.urlencode({'query': SLOW})}"
        reader.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        wait_for(lambda: any(_cpu(query) > 0.5 for query in sample.queries()), "the query runs")
        (running,) = (query for query in sample.queries() if _cpu(query) > 0.5)
    wait_for(lambda: running not in sample.queries(), "it ends", seconds=10)
    assert sample.browser.open(f"{sample.url}/sql?query=select+1", 1280, "light").problems == []
    assert "1 row." in sample.text()


def test_query_ends_when_its_reader_stops_it(sample: Site) -> None:
    """A browser answers no command while it waits for a page, so the page itself presses the button."""
    stop = "document.querySelector('[data-stop]')"
    sample.open("/sql?query=select+1")
    write(sample, SLOW)
    assert sample.browser.evaluate(f"{stop}.checkVisibility()") is False
    sample.browser.evaluate(
        f"setTimeout(() => {{ window.wasVisible = {stop}.checkVisibility(); {stop}.click(); }}, 3000); 0"
    )
    sample.key("Enter", modifiers=2)
    wait_for(lambda: any(_cpu(query) > 0.5 for query in sample.queries()), "the query runs")
    (running,) = (query for query in sample.queries() if _cpu(query) > 0.5)
    wait_for(lambda: running not in sample.queries(), "it ends", seconds=10)
    assert sample.browser.evaluate("window.wasVisible") is True
    assert sample.browser.evaluate(f"{stop}.checkVisibility()") is False
    assert sample.browser.evaluate(f"{EDITOR}.innerText") == SLOW


def test_server_is_busy_for_more_queries_than_its_bound(sample: Site) -> None:
    port = int(sample.url.rpartition(":")[2])
    path = f"/sql?{urllib.parse.urlencode({'query': SLOW})}"
    readers = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
    try:
        headers = "Host: 127.0.0.1\r\nAccept: text/html\r\nConnection: close"
        for reader in readers:
            reader.sendall(f"GET {path} HTTP/1.1\r\n{headers}\r\n\r\n".encode())
        (busy,), _, _ = select.select(readers, [], [], PATIENCE)
        text = b"".join(iter(lambda: busy.recv(1 << 16), b"")).decode()
        assert text.startswith("HTTP/1.1 503 Service Unavailable\r\n")
        assert "The server is busy" in text
        assert 'href="">Try again</a>' in text
        with urllib.request.urlopen(f"{sample.url}/dialogues", timeout=PATIENCE) as answer:
            assert answer.status == 200, "pages are still answered"
    finally:
        for reader in readers:
            reader.close()
    wait_for(lambda: len(sample.queries()) == 1, "only the one that waits is left", seconds=20)


def _cpu(number: int) -> float:
    """Return the CPU seconds of a process, 0 if it has ended."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_server_that_is_stopped_while_a_query_runs_says_so(sample_folder: Path, browser: Browser) -> None:
    with served(sample_folder, browser) as site:  # which fails if the server writes a traceback
        path = f"/sql?{urllib.parse.urlencode({'query': SLOW})}"
        with socket.create_connection(("127.0.0.1", int(site.url.rpartition(":")[2]))) as reader:
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            wait_for(lambda: len(site.queries()) == 2, "the query runs beside the process that waits")
            site.server.send_signal(signal.SIGINT)
            text = b"".join(iter(lambda: reader.recv(1 << 16), b"")).decode()
    assert text.startswith("HTTP/1.1 503 Service Unavailable\r\n")
    assert text.endswith("the server has been stopped\n")


def test_hostile_corpus_does_no_harm(hostile_folder: Path, browser: Browser) -> None:
    with duckdb.connect(str(hostile_folder / "dialogues.duckdb"), read_only=True) as con:
        keys = con.execute(
            "select min(dialogue_key) from core.dim_dialogues group by corpus_id order by all"
        ).fetchall()
    with served(hostile_folder, browser) as site:
        pages = [address(key) for (key,) in keys]
        pages += ["/dialogues", "/dialogues?said=script", "/tables?_table=core.fct_turns", "/sql?query=from+fct_turns"]
        for page in pages:
            visit = site.open(page)
            assert "<script>alert(1)</script>" in site.text(), page
            assert "\u202e" not in site.text()
            assert "\x1b" not in site.text()
            inside = "document.querySelectorAll('main script, main img, main iframe').length"
            assert browser.evaluate(inside) == 0
            assert browser.evaluate("document.documentElement.scrollWidth") <= 1280, page
            assert (site.foreign(visit), visit.problems) == ([], []), page
