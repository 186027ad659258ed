"""`make bench-pages`: measure the dashboard's pages, on the server and in a browser, with one client and with several.

`python -m tests.benchmarks.pages WAREHOUSE` starts the command `dashboard`. Each page is opened several times, at
different URLs where it has them, and never from what a client has kept. The table is written into
`docs/benchmarks.md`. It needs Chromium.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import importlib.metadata
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
from packaging.requirements import Requirement

from dialogue_warehouse.site.application import MENU
from tests.benchmarks import harness, report, targets
from tests.benchmarks.bench import COMMAND
from tests.benchmarks.harness import BenchmarkError, Watch, markdown_table
from tests.benchmarks.targets import Target
from tests.integration.browser import Browser, find_chromium

BEGIN, END = "<!-- pages: begin -->", "<!-- pages: end -->"
REPEATS = 20
STARTS = 3
"""Starts of the command, for the time of the first page."""
CROWD = 20
"""Clients at the same time."""
ROUNDS = 1
"""Times that each client of a crowd opens every page."""
SERVED = ("starlette", "uvicorn")
"""The requirements that only the dashboard needs."""
HEADERS = {"Connection": "close"}
PATIENCE = 60.0
SEARCHED, FREQUENT = "dialogues, searched", "dialogues, searched for a frequent word"
FILTERED = "dialogues, filtered"
ANSWER = "select+corpus_id,+count(*)+from+fct_turns+group+by+all"
ANSWERED = "an answer to SQL"
PAUSE = 1.0
"""Seconds that a reader looks at an answer to SQL; meanwhile the server prepares the process of the next query."""
EMPTY = "no-such-page"
"""The URL of an almost empty page, which shows how long Chromium itself takes."""
WIDTH, SCHEME = 1280, "light"
PAGES = {
    **{title: [name] for name, title in MENU},
    FILTERED: [f"dialogues?split={split}" for split in ("train", "validation", "test")],
    SEARCHED: [f"dialogues?said={words}" for words in ("restaurant", "%22thank+you%22", "reserv*", "name+friend")],
    "dialogues, searched and filtered": ["dialogues?said=restaurant&split=train"],
    FREQUENT: ["dialogues?said=the"],
    "rows of a table": [f"tables?_table=core.{name}" for name in ("fct_turns", "fct_slots", "dim_dialogues")],
    "rows of a table, filtered and ordered": ["tables?_table=core.fct_turns&role=user&_order=utterance"],
    "values of a column": [
        "tables?_table=core.fct_turns&_draw=turn_index",
        "tables?_table=core.fct_slots&_draw=slot_name",
    ],
    ANSWERED: [f"sql?query={ANSWER}"],
    "answers to SQL without a pause": [f"sql?query={ANSWER}"],
}
"""The URLs of each page; those of the dialogues of each corpus are added."""


@dataclass
class Server:
    """The command `dashboard`, with its processes."""

    process: subprocess.Popen[str]
    port: int

    def get(self, page: str) -> tuple[int, bytes]:
        """Return the status and the bytes of a page."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(client):
            client.request("GET", f"/{page}", headers=HEADERS)
            answer = client.getresponse()
            return answer.status, answer.read()

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of the server and of its processes for queries, also of those that have ended."""
        return sum(one.cpu_seconds + one.children_seconds for one in harness.processes(self.process.pid))

    def once_idle(self) -> None:
        """Wait until the server has read in advance what it reads at its start."""
        end = time.monotonic() + PATIENCE
        before, now = -1.0, self.cpu_seconds()
        while now - before > 0.02 and time.monotonic() < end:
            time.sleep(1)
            before, now = now, self.cpu_seconds()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Serve a warehouse as the command does, in a separate session; Ctrl-C ends it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*COMMAND, "dashboard", "--warehouse", str(folder), "--port", str(port)]
    with subprocess.Popen(
        command, cwd=harness.CLONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline().startswith("http"):
                raise BenchmarkError(f"the dashboard does not start: {process.communicate()[1].strip()}")
            yield Server(process, port)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)


@dataclass
class Times:
    """The times of a page, in seconds."""

    served: list[float] = field(default_factory=list)
    """Until the last byte has come."""
    cpu_seconds: float = 0.0
    """Of the server, for all of them together."""
    sizes: list[int] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    """Until a browser that has cached nothing has loaded the page."""
    followed: list[float] = field(default_factory=list)
    """Until a browser that comes from another page of the site has loaded it."""


def first_pages(folder: Path, starts: int) -> list[float]:
    """Return the seconds from the start of the command to the last byte of the first page."""
    found = []
    for _ in range(starts):
        begun = time.perf_counter()
        with serving(folder) as server:
            _checked(server.get(""), "")
            found.append(time.perf_counter() - begun)
    return found


def measure_pages(
    folder: Path, pages: Mapping[str, Sequence[str]], repeats: int, browser: Browser
) -> tuple[dict[str, Times], Times, int]:
    """Open every page, one after the other.

    Return the times, those of an almost empty page in the browser, and the largest memory of the server in bytes.
    """
    found = {title: Times() for title in pages}
    with serving(folder) as server, Watch(server.process.pid, with_shared=True) as watch:
        server.once_idle()
        for title, addresses in pages.items():
            times, before = found[title], server.cpu_seconds()
            for number in range(repeats):
                page = addresses[number % len(addresses)]
                time.sleep(PAUSE if title == ANSWERED else 0)
                begun = time.perf_counter()
                answer = server.get(page)
                times.served.append(time.perf_counter() - begun)
                times.sizes.append(len(_checked(answer, page)))
            times.cpu_seconds = max(0.0, server.cpu_seconds() - before)
        site, empty = f"http://127.0.0.1:{server.port}/", Times()
        for title, addresses in pages.items():
            for number in range(repeats):
                address = site + addresses[number % len(addresses)]
                _show(browser, site, address, found[title], PAUSE if title == ANSWERED else 0)
                _show(browser, site, site + EMPTY, empty)
    return found, empty, watch.peak_shared


def _show(browser: Browser, site: str, address: str, times: Times, pause: float = 0) -> None:
    """Open a page in a browser that has cached nothing, and then coming from another page of the site.

    The other page has the files that all pages share. The page itself is new to the browser each time.
    """
    for before, seconds in (("about:blank", times.shown), (site + EMPTY, times.followed)):
        browser.send("Network.clearBrowserCache")
        browser.open(before, WIDTH, SCHEME)
        time.sleep(pause)
        begun = time.perf_counter()
        browser.open(address, WIDTH, SCHEME)
        seconds.append(time.perf_counter() - begun)


@dataclass
class Crowd:
    """The answers to several clients at the same time."""

    seconds: list[float] = field(default_factory=list)
    busy: int = 0
    """Responses that ask a client to come again."""
    peak_bytes: int = 0
    """Of the server and its processes; a page of memory that several of them share counts once."""
    resident_bytes: int = 0
    """The same, but it counts in each of them."""


def measure_crowd(folder: Path, pages: Sequence[Sequence[str]], clients: int, rounds: int) -> Crowd:
    """Let clients open all pages at the same time, each from another one on, without a pause.

    A page with several URLs is opened at another URL by each client.
    """
    found, errors = Crowd(), list[BaseException]()
    with serving(folder) as server:
        server.once_idle()

        def visit(number: int) -> None:
            start = number * len(pages) // clients
            try:
                for addresses in [*pages[start:], *pages[:start]] * rounds:
                    page = addresses[number % len(addresses)]
                    begun = time.perf_counter()
                    answer = server.get(page)
                    found.seconds.append(time.perf_counter() - begun)
                    if answer[0] == 503:
                        found.busy += 1
                    else:
                        _checked(answer, page)
            except (OSError, BenchmarkError) as error:
                errors.append(error)

        with Watch(server.process.pid, with_shared=True) as watch:
            threads = [threading.Thread(target=visit, args=(number,)) for number in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        found.peak_bytes, found.resident_bytes = watch.peak_shared, watch.peak
    if errors:
        raise BenchmarkError(f"a client of {clients} was not answered: {errors[0]}")
    return found


def _checked(answer: tuple[int, bytes], page: str) -> bytes:
    status, text = answer
    if status != 200:
        raise BenchmarkError(f"/{page} is answered with {status}")
    return text


def all_pages(database: Path) -> dict[str, list[str]]:
    """Return the URLs of every page, with turns of some dialogues of each corpus."""
    with duckdb.connect(str(database), read_only=True) as con:
        keys = con.execute(
            """
            select corpus_id, turn_key
            from core.fct_turns
            qualify row_number() over (partition by corpus_id order by hash(turn_key), turn_key) <= $most
            order by 1, 2
            """,
            {"most": REPEATS},
        ).fetchall()
    turns: dict[str, list[str]] = {}
    for corpus, key in keys:
        turns.setdefault(f"a turn of {corpus}", []).append(f"dialogues?key={urllib.parse.quote(key, safe='/~')}")
    return PAGES | turns


def installed_bytes(only: Iterable[str] = ()) -> int:
    """Return the bytes of the light install without the project itself; `only` what nothing but these names needs."""
    roots = [one.name for one in _requirements("dialogue-warehouse")]
    needed = _closure(roots)
    if only:
        needed -= _closure(name for name in roots if name not in only)
    return sum(_bytes_of(name) for name in needed)


def _closure(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name not in found:
            found.add(name)
            waiting += [one.name for one in _requirements(name)]
    return found


def _requirements(name: str) -> list[Requirement]:
    """Return the requirements of a distribution on this machine, without those of its extras."""
    listed = map(Requirement, importlib.metadata.requires(name) or ())
    return [one for one in listed if one.marker is None or one.marker.evaluate({"extra": ""})]


def _bytes_of(name: str) -> int:
    files = importlib.metadata.distribution(name).files or ()
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file())


def measure(folder: Path, repeats: int, program: str) -> dict[str, Any]:
    """Return all measurements of a warehouse."""
    pages = all_pages(folder / "dialogues.duckdb")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, Path(profile), reachable="127.0.0.1")
        try:
            times, empty, peak_bytes = measure_pages(folder, pages, repeats, browser)
        finally:
            browser.close()
    return {
        "first": first_pages(folder, STARTS),
        "pages": times,
        "empty": empty,
        "peak_bytes": peak_bytes,
        "crowds": {clients: measure_crowd(folder, list(pages.values()), clients, ROUNDS) for clients in (1, CROWD)},
        "installed": installed_bytes(),
        "installed_for_pages": installed_bytes(SERVED),
    }


def section(found: dict[str, Any], machine: dict[str, Any], repeats: int) -> str:
    """Return the tables."""
    pages: dict[str, Times] = found["pages"]
    rows = [
        (
            title,
            _seconds(statistics.median(times.served)),
            _seconds(max(times.served)),
            f"{times.cpu_seconds / len(times.served) * 1000:.0f} ms",
            f"{max(times.sizes) / 1000:,.0f} KB",
            _seconds(statistics.median(times.shown)),
            _seconds(statistics.median(times.followed)),
        )
        for title, times in pages.items()
    ]
    empty: Times = found["empty"]
    crowds = [
        (
            f"{clients} {'client' if clients == 1 else 'clients'}",
            f"{len(crowd.seconds):,}",
            _seconds(statistics.median(crowd.seconds)),
            _seconds(max(crowd.seconds)),
            str(crowd.busy),
            f"{crowd.peak_bytes / 1e6:,.0f} MB",
            f"{crowd.resident_bytes / 1e6:,.0f} MB",
        )
        for clients, crowd in found["crowds"].items()
    ]
    head = ("page", "server", "worst", "CPU", "largest", "browser", "followed")
    return (
        f"Measured at commit {harness.commit()}, load average {machine['load_average'][0]:.1f} on {machine['cores']} "
        f'cores at the start; {repeats} times each page. "Server" is the median time until the last byte of the page, '
        '"CPU" the mean time that the server\'s processes worked for it, and "browser" the median time until Chromium '
        'has loaded the page with all its files; "followed" is the same for a reader who comes from another page of the '
        f"site. Chromium takes {_seconds(statistics.median(empty.shown))} and "
        f"{_seconds(statistics.median(empty.followed))} for an almost empty page.\n\n"
        f"{targets.table(of_pages(found))}\n\n{markdown_table(head, rows)}\n\n"
        "The clients open every page without a pause, also those with SQL. Memory is the sum of the proportional "
        "set sizes (PSS) of the server and of its processes for queries: memory that n of them share counts as 1/n in "
        "each. The processes for queries are forked from one, so they share most of theirs, and the sum of the resident "
        'set sizes (RSS), which counts it in each, is larger. "Busy" answers ask the client to come again.\n\n'
        f"{markdown_table(('at the same time', 'pages', 'median', 'worst', 'busy', 'peak memory', 'RSS'), crowds)}\n\n"
        f"The packages of the light install take {found['installed'] / 1e6:,.0f} MB; those that only the dashboard needs "
        f"take {found['installed_for_pages'] / 1e6:.1f} MB of them."
    )


def of_pages(found: dict[str, Any]) -> list[Target]:
    """Return the targets that the measurements are compared with; for several pages, the slowest one."""
    pages: dict[str, Times] = found["pages"]
    medians = {title: statistics.median(times.served) for title, times in pages.items()}
    empty = statistics.median(found["empty"].followed)
    shown = {title: statistics.median(times.followed) for title, times in pages.items()}
    own = {title: seconds - empty for title, seconds in shown.items()}
    worst = {title: max(times.served) for title, times in pages.items()}

    def slowest(name: str, limit: float, seconds: dict[str, float]) -> Target:
        title = max(seconds, key=lambda one: seconds[one])
        return Target(f"{name} ({title})", limit, seconds[title], "s")

    return [
        Target("first page, from the command", 1, statistics.median(found["first"]), "s"),
        slowest("server, slowest page", 0.1, medians),
        slowest("server, slowest page, worst time", 0.3, worst),
        slowest("browser, slowest page", 0.1, shown),
        slowest("browser, slowest page, without the time of an empty one", 0.1, own),
        Target("full text", 0.1, medians[SEARCHED], "s"),
        Target("full text, frequent word", 0.1, medians[FREQUENT], "s"),
        Target("facets with counts", 0.1, medians[FILTERED], "s"),
        *(
            Target(f"memory, {clients} at the same time", 400, crowd.peak_bytes / 1e6, "MB")
            for clients, crowd in found["crowds"].items()
        ),
        Target("packages that only the dashboard needs", 10, found["installed_for_pages"] / 1e6, "MB"),
    ]


def _seconds(value: float) -> str:
    return f"{value:.3f} s"


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the tables into the page. Return 2 if that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("warehouse", type=Path)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--page", type=Path, default=report.PAGE)
    options = parser.parse_args(arguments)
    machine, program = harness.machine(), find_chromium()
    try:
        if program is None:
            raise BenchmarkError("no Chromium is installed")
        text = section(measure(options.warehouse.absolute(), options.repeats, program), machine, options.repeats)
    except BenchmarkError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(text)
    options.page.write_text(report.rewrite(options.page, text, BEGIN, END), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
