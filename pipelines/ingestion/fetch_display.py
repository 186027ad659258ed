"""Display of the command `fetch`: a bar on a terminal; elsewhere a line for each corpus and a line at intervals."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

if TYPE_CHECKING:
    from pipelines.ingestion.fetching import Result
    from pipelines.ingestion.wanted import Wanted
from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.common.text import command, readable_size
from dialogue_warehouse.terminal.printing import make_console
from pipelines.ingestion import fetching

OUTCOMES = ("fetched", "already there", "failed")
HEARTBEAT = 15.0
"""Seconds between two lines about downloads that take long, where there is no terminal."""


class FetchDisplay:
    """Display of downloads while they run: a bar on a terminal; elsewhere a line per corpus and one at intervals."""

    def __init__(self, quiet: bool = True) -> None:
        self._reporter = Reporter(quiet)
        console = self._reporter.console
        self._bar = Progress(
            TextColumn("fetch {task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._done: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._open: dict[str, list[str]] = {}
        self._results: dict[str, list[Result]] = {}
        self._reported: dict[str, float] = {}
        self._started = self._spoken = time.perf_counter()

    def __enter__(self) -> FetchDisplay:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def start(self, wanted: list[Wanted]) -> None:
        """Note the files that will be downloaded or checked."""
        self._done = {one.name: 0 for one in wanted}
        self._totals = {one.name: one.file.bytes or 0 for one in wanted}
        for one in wanted:
            self._open.setdefault(one.corpus.corpus_id, []).append(one.name)
        self._task = self._bar.add_task("", total=sum(self._totals.values()) or None)

    def progress(self, wanted: Wanted, done: int, total: int | None) -> None:
        """Show how many bytes of a file are there, of the total."""
        self._done[wanted.name] = done
        self._totals[wanted.name] = max(done, total or 0)
        self._show()

    def wait(self, wanted: Wanted, cause: str, seconds: float) -> None:
        """Show that a file is retried after some seconds. The same cause is shown once per HEARTBEAT."""
        now = time.perf_counter()
        if now - self._reported.get(cause, -HEARTBEAT) >= HEARTBEAT:
            self._reported[cause] = now
            self._reporter.line(f"{'retry':<8} {wanted.name}: {cause}; again in {seconds:.1f} s")

    def turn_to(self, wanted: Wanted, cause: str, host: str) -> None:
        """Show that the next address of a file is tried; once for each corpus and cause."""
        key = f"{wanted.corpus.corpus_id} {cause} {host}"
        if key not in self._reported:
            self._reported[key] = time.perf_counter()
            self._reporter.line(f"{'mirror':<8} {wanted.name}: {cause}; asking {host} instead")

    def finish(self, result: Result) -> None:
        """Note that a file is finished; print a line when it is the last of its corpus."""
        corpus_id = result.wanted.corpus.corpus_id
        results = self._results.setdefault(corpus_id, [])
        results.append(result)
        self._open[corpus_id].remove(result.wanted.name)
        if result.outcome == OUTCOMES[-1]:
            self._totals[result.wanted.name] = self._done[result.wanted.name]
        self._show()
        if not self._open[corpus_id]:
            counts = [f"{count:,} {name}" for name in OUTCOMES if (count := _count(results, name))]
            detail = f"{', '.join(counts)}, {readable_size(sum(result.bytes for result in results))}"
            seconds = time.perf_counter() - self._started
            self._reporter.line(f"{'fetch':<8} {corpus_id:<15} {detail:<48} {seconds:6.1f} s")

    def _show(self) -> None:
        """Update the bar, or write a line when none was written for long."""
        done, total = sum(self._done.values()), sum(self._totals.values())
        if not self._bar.disable:
            files = sum(len(results) for results in self._results.values())
            text = f"{files:,} of {len(self._done):,} files"
            self._bar.update(self._task, completed=done, total=total, description=text)
        elif time.perf_counter() - self._spoken > HEARTBEAT:
            self._spoken = time.perf_counter()
            self._reporter.line(f"{'fetch':<8} {readable_size(done)} of {readable_size(total)}")


def print_fetched(results: list[Result], to: Path, warehouse: Path) -> None:
    """Print the results: a row for each corpus, the files without a checksum, and what to type next."""
    console = make_console()
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    table.add_column("corpus", "total", no_wrap=True)
    table.add_column("license", no_wrap=True)
    for heading, cell in (("files", f"{len(results):,}"), *((name, f"{_count(results, name):,}") for name in OUTCOMES)):
        table.add_column(heading, cell, justify="right", no_wrap=True)
    table.add_column("size", readable_size(sum(result.bytes for result in results)), justify="right", no_wrap=True)
    for corpus, group in itertools.groupby(results, key=lambda result: result.wanted.corpus):
        own = list(group)
        counts = [len(own), *(_count(own, name) for name in OUTCOMES)]
        size = readable_size(sum(result.bytes for result in own))
        table.add_row(corpus.corpus_id, corpus.license, *(f"{count:,}" for count in counts), size)
    console.print(table)
    for notice in fetching.notices(results):
        console.print(f"notice: {notice}", markup=False, soft_wrap=True)
    for result in results:
        if result.cause is None and not result.wanted.is_verifiable:
            name = result.wanted.name
            console.print(f"notice: {name}: unverified, no checksum of it is listed", markup=False, soft_wrap=True)
    if _count(results, OUTCOMES[-1]):
        console.print("what failed is tried again by the same command, and continued where it broke off")
    if any(result.cause is None for result in results):
        build = command("build", "--source", to, warehouse=warehouse)
        console.print(f"next: {build}", markup=False, soft_wrap=True)


def _count(results: list[Result], outcome: str) -> int:
    return sum(result.outcome == outcome for result in results)
