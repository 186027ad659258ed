"""What a build or a download tells its user while it runs: one line a stage, what it did and how long it took.

On a terminal the running stage is shown with a spinner; elsewhere finished stages are plain lines; `quiet` says
nothing. Everything goes to standard error, so that standard output stays for results.
"""

from __future__ import annotations

import contextlib
import itertools
import shlex
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

if TYPE_CHECKING:
    from pipelines.building import Summary
    from pipelines.fetching import Result, Wanted

PLAIN_WIDTH = 140
"""Columns of a table where there is no terminal to ask."""
COUNTS = ("dialogue_count", "turn_count", "action_count", "slot_count", "violation_count")
VERDICTS = ("passed", "warned", "failed")
OUTCOMES = ("fetched", "already there", "failed")
HEARTBEAT = 15.0
"""Seconds between two lines about downloads that take long, where there is no terminal."""
EXAMPLE = "select corpus_id, role, count(*) as turns from core.fct_turns group by all order by all"


@dataclass
class Stage:
    """A stage that runs; `detail` is what it will have done."""

    detail: str = ""
    _show: list = field(default_factory=list, repr=False)

    def update(self, text: str) -> None:
        """Show where the stage stands, on a terminal."""
        for show in self._show:
            show(text)


class Reporter:
    """Shows stages and notices of one build."""

    def __init__(self, quiet: bool = True) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.notices: list[str] = []
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, kind: str, name: str) -> Generator[Stage]:
        """Show a stage while it runs and what it did when it is over; nothing when it fails."""
        started = time.perf_counter()
        stage = Stage()
        if self.console.is_terminal and not self.quiet:
            with self.console.status(f"{kind} {name}") as status:
                stage._show.append(lambda text: status.update(f"{kind} {name}  [dim]{text}[/dim]"))
                yield stage
        else:
            yield stage
        seconds = time.perf_counter() - started
        self.seconds[f"{kind} {name}"] = seconds
        self.line(f"{kind:<8} {name:<15} {stage.detail:<48} {seconds:6.1f} s")

    def notice(self, text: str) -> None:
        """Tell the user something that does not stop the build; repeated at the end."""
        self.notices.append(text)

    def line(self, text: str) -> None:
        """Write a line, unless quiet."""
        if self.quiet:
            return
        if self.console.is_terminal:
            self.console.print(text, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)


class FetchDisplay:
    """Shows downloads while they run: a bar on a terminal; elsewhere a line a corpus and one now and then."""

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
        self._told: dict[str, float] = {}
        self._started = self._spoken = time.perf_counter()

    def __enter__(self) -> FetchDisplay:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def start(self, wanted: list[Wanted]) -> None:
        """These files are going to be looked at."""
        self._done = {one.name: 0 for one in wanted}
        self._totals = {one.name: one.file.bytes or 0 for one in wanted}
        for one in wanted:
            self._open.setdefault(one.corpus.corpus_id, []).append(one.name)
        self._task = self._bar.add_task("", total=sum(self._totals.values()) or None)

    def progress(self, wanted: Wanted, done: int, total: int | None) -> None:
        """So many bytes of a file are there, of so many."""
        self._done[wanted.name] = done
        self._totals[wanted.name] = max(done, total or 0)
        self._show()

    def wait(self, wanted: Wanted, cause: str, seconds: float) -> None:
        """A file is asked for again in some seconds; the same cause is told now and then only."""
        now = time.perf_counter()
        if now - self._told.get(cause, -HEARTBEAT) >= HEARTBEAT:
            self._told[cause] = now
            self._reporter.line(f"{'retry':<8} {wanted.name}: {cause}; again in {seconds:.1f} s")

    def finish(self, result: Result) -> None:
        """A file is done with; a line when it is the last of its corpus."""
        corpus_id = result.wanted.corpus.corpus_id
        results = self._results.setdefault(corpus_id, [])
        results.append(result)
        self._open[corpus_id].remove(result.wanted.name)
        if result.outcome == OUTCOMES[-1]:
            self._totals[result.wanted.name] = self._done[result.wanted.name]
        self._show()
        if not self._open[corpus_id]:
            counts = [f"{count:,} {name}" for name in OUTCOMES if (count := _count(results, name))]
            detail = f"{', '.join(counts)}, {_megabytes(sum(result.bytes for result in results))}"
            seconds = time.perf_counter() - self._started
            self._reporter.line(f"{'fetch':<8} {corpus_id:<15} {detail:<48} {seconds:6.1f} s")

    def _show(self) -> None:
        """Bring the bar up to date, or write a line when none was written for long."""
        done, total = sum(self._done.values()), sum(self._totals.values())
        if not self._bar.disable:
            files = sum(len(results) for results in self._results.values())
            text = f"{files:,} of {len(self._done):,} files"
            self._bar.update(self._task, completed=done, total=total, description=text)
        elif time.perf_counter() - self._spoken > HEARTBEAT:
            self._spoken = time.perf_counter()
            self._reporter.line(f"{'fetch':<8} {_megabytes(done)} of {_megabytes(total)}")


def print_fetched(results: list[Result], to: Path) -> None:
    """Print what downloads came to: a row a corpus, what nobody could verify, and what to type next."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    table.add_column("corpus", "total", no_wrap=True)
    table.add_column("license", no_wrap=True)
    for heading, cell in (("files", f"{len(results):,}"), *((name, f"{_count(results, name):,}") for name in OUTCOMES)):
        table.add_column(heading, cell, justify="right", no_wrap=True)
    table.add_column("size", _megabytes(sum(result.bytes for result in results)), justify="right", no_wrap=True)
    for corpus, group in itertools.groupby(results, key=lambda result: result.wanted.corpus):
        own = list(group)
        counts = [len(own), *(_count(own, name) for name in OUTCOMES)]
        size = _megabytes(sum(result.bytes for result in own))
        table.add_row(corpus.corpus_id, corpus.license, *(f"{count:,}" for count in counts), size)
    console.print(table)
    for result in results:
        if result.cause is None and not result.wanted.is_verifiable:
            name = result.wanted.name
            console.print(f"notice: {name}: unverified, no checksum of it is listed", markup=False, soft_wrap=True)
    if _count(results, OUTCOMES[-1]):
        console.print("what failed is tried again by the same command, and continued where it broke off")
    if any(result.cause is None for result in results):
        command = f"dialogue-warehouse build --source {shlex.quote(str(to))}"
        console.print(f"next: {command}", markup=False, soft_wrap=True)


def _count(results: list[Result], outcome: str) -> int:
    return sum(result.outcome == outcome for result in results)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def print_summary(summary: Summary) -> None:
    """Print what a build came to: a row a corpus, what to know, where the file is and what to type next."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    table.add_column("corpus", "total", no_wrap=True)
    table.add_column("license", no_wrap=True)
    totals = {name: sum(row[name] for row in summary.corpora) for name in COUNTS}
    for name in COUNTS:
        table.add_column(name.removesuffix("_count") + "s", f"{totals[name]:,}", justify="right", no_wrap=True)
    for name in VERDICTS:
        count = sum(row[name] for row in summary.corpora) + summary.marts[name]
        table.add_column(name, f"{count:,}", justify="right", no_wrap=True)
    for row in summary.corpora:
        cells = [f"{row[name]:,}" for name in (*COUNTS, *VERDICTS)]
        table.add_row(row["corpus_id"], row["license"], *cells)
    table.add_row("(shared tables)", "", *[""] * len(COUNTS), *[f"{summary.marts[name]:,}" for name in VERDICTS])
    console.print(table)
    for warning in summary.warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=True)
    for notice in summary.notices:
        console.print(f"notice: {notice}", markup=False, soft_wrap=True)
    megabytes = summary.bytes / 2**20
    said = "nothing changed, still published:" if summary.is_unchanged else "published"
    console.print(f"{said} {summary.database} ({megabytes:,.1f} MiB, build {summary.build_id})", soft_wrap=True)
    console.print("next: dialogue-warehouse tables", markup=False)
    console.print(f'      dialogue-warehouse sql "{EXAMPLE}"', markup=False, soft_wrap=True)
    if summary.places:
        console.print(
            "this was a generated sample; `dialogue-warehouse fetch` downloads the real releases, or by hand:"
        )
        for place in summary.places:
            console.print(f"      {place}", markup=False, soft_wrap=True)
