"""Display of the command `fetch`: a bar on a terminal; elsewhere a line for each corpus and a line at intervals."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

from rich import box
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table

from dialogue_warehouse.common import progress
from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.common.text import command, readable_size
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.settings import FORMS
from dialogue_warehouse.terminal.printing import make_console
from pipelines.ingestion.wanted import Outcome, Result, Wanted

DISPLAYED_FILES = 5
"""Files that are named one by one when they failed for the same cause."""
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
            disable=quiet or not console.is_terminal or progress.is_logging(),
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
            line = f"{'retry':<8} {wanted.name}: {cause}; retry in {seconds:.1f} s"
            self._reporter.line(line, "retry", file=wanted.name, cause=cause, seconds=round(seconds, 3))

    def turn_to(self, wanted: Wanted, cause: str, host: str) -> None:
        """Show that the next URL of a file is tried; once for each corpus and cause."""
        key = f"{wanted.corpus.corpus_id} {cause} {host}"
        if key not in self._reported:
            self._reported[key] = time.perf_counter()
            line = f"{'mirror':<8} {wanted.name}: {cause}; trying {host}"
            self._reporter.line(line, "mirror", file=wanted.name, cause=cause, host=host)

    def finish(self, result: Result) -> None:
        """Note that a file is finished; print a line when it is the last of its corpus."""
        corpus_id = result.wanted.corpus.corpus_id
        results = self._results.setdefault(corpus_id, [])
        results.append(result)
        self._open[corpus_id].remove(result.wanted.name)
        if result.outcome is Outcome.FAILED:
            self._totals[result.wanted.name] = self._done[result.wanted.name]
        self._show()
        if not self._open[corpus_id]:
            counts = {str(name): count for name in Outcome if (count := _count(results, name))}
            size = sum(result.bytes for result in results)
            detail = f"{', '.join(f'{count:,} {name}' for name, count in counts.items())}, {readable_size(size)}"
            seconds = time.perf_counter() - self._started
            line = f"{'fetch':<8} {corpus_id:<15} {detail:<48} {seconds:6.1f} s"
            facts = {"detail": detail, "counts": counts | {"bytes": size}, "seconds": round(seconds, 3)}
            self._reporter.line(line, "stage_finished", stage="fetch", name=corpus_id, **facts)

    def _show(self) -> None:
        """Update the bar, or write a line when none was written for long."""
        done, total = sum(self._done.values()), sum(self._totals.values())
        if not self._bar.disable:
            files = sum(len(results) for results in self._results.values())
            text = f"{files:,} of {len(self._done):,} files"
            self._bar.update(self._task, completed=done, total=total, description=text)
        elif time.perf_counter() - self._spoken > HEARTBEAT:
            self._spoken = time.perf_counter()
            line = f"{'fetch':<8} {readable_size(done)} of {readable_size(total)}"
            self._reporter.line(line, "progress", stage="fetch", bytes=done, of_bytes=total)


def print_fetched(results: list[Result], to: Path, warehouse: Path) -> None:
    """Print the results: a row for each corpus, the files without a checksum, and what to type next."""
    console = make_console()
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    table.add_column("corpus", "total", no_wrap=True)
    table.add_column("license", no_wrap=True)
    for heading, cell in (("files", f"{len(results):,}"), *((name, f"{_count(results, name):,}") for name in Outcome)):
        table.add_column(heading, cell, justify="right", no_wrap=True)
    table.add_column("size", readable_size(sum(result.bytes for result in results)), justify="right", no_wrap=True)
    for corpus, group in itertools.groupby(results, key=lambda result: result.wanted.corpus):
        own = list(group)
        counts = [len(own), *(_count(own, name) for name in Outcome)]
        size = readable_size(sum(result.bytes for result in own))
        table.add_row(corpus.corpus_id, corpus.license, *(f"{count:,}" for count in counts), size)
    console.print(table)
    for notice in notices(results):
        console.print(f"notice: {notice}", soft_wrap=True)
    for result in results:
        if result.cause is None and not result.wanted.is_verifiable:
            name = result.wanted.name
            console.print(f"notice: {name}: not verified, because no checksum is listed", soft_wrap=True)
    if _count(results, Outcome.FAILED):
        console.print("run the same command again to retry the failed files; interrupted downloads continue")
    if any(result.cause is None for result in results):
        build = command("build", "--source", to, warehouse=warehouse)
        console.print(f"next: {build}", soft_wrap=True)


def refuse_failures(results: list[Result], mirror: str | None = None) -> None:
    """Raise CheckError with a line for each cause, and below them the other ways to get the files."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.cause:
            groups.setdefault(result.cause, []).append(result)
    lines = []
    for cause, failed in groups.items():
        lines.append(f"{_named(failed)}: {cause}")
        if failed[0].helps_by_hand:
            lines += [f"       by hand: {line}" for line in _by_hand([result.wanted for result in failed])]
    if missing := [result.wanted for result in results if result.helps_by_hand]:
        lines += [f"       {line}" for line in _other_ways(missing, mirror)]
    if lines:
        raise CheckError("\n".join(lines))


def notices(results: list[Result]) -> Iterator[str]:
    """Yield the files that a mirror sent, and the reasons that the URLs before it failed."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        if result.failed_before:
            key = (result.wanted.corpus.corpus_id, result.host, result.failed_before)
            groups.setdefault(key, []).append(result)
    for group in groups.values():
        causes = "; ".join(dict.fromkeys(group[0].failed_before))
        yield f"{_named(group)}: downloaded from {group[0].host}, because {causes}"


def _named(results: list[Result]) -> str:
    """Return the names of the first files of some results, and the number of the others."""
    names = [result.wanted.name for result in results]
    more = f" and {len(names) - DISPLAYED_FILES:,} more files" if len(names) > DISPLAYED_FILES else ""
    return f"{', '.join(names[:DISPLAYED_FILES])}{more}"


def _by_hand(wanted: list[Wanted]) -> Iterator[str]:
    """Yield lines that say what to download and where to put it: a file, or all files of a corpus."""
    groups: dict[tuple[str, Path], list[Wanted]] = {}
    for one in wanted:
        folder = one.target.parents[one.file.path.count("/")]
        groups.setdefault((one.file.url.removesuffix(one.file.path), folder), []).append(one)
    for (base, folder), group in groups.items():
        if len(group) == 1:
            yield f"{group[0].file.url} to {group[0].target}"
        else:
            yield f"{base}<path> to {folder}/<path> ({len(group):,} files)"


def _other_ways(wanted: list[Wanted], mirror: str | None) -> Iterator[str]:
    """Yield other ways to get files than from the URLs that failed, a line each."""
    if any(one.is_verifiable for one in wanted):
        yield "a copy from elsewhere works too, at the same path: `build` compares its checksum"
    if mirror:
        yield "without DIALOGUE_MIRROR, files are downloaded from the publishers"
    else:
        yield "DIALOGUE_MIRROR=URL downloads URL/<corpus_id>/<path> instead (https:, http: or file:)"
    for corpus_id in dict.fromkeys(one.corpus.corpus_id for one in wanted):
        for name in FORMS:
            if form := registry.load_form(corpus_id, name):
                build = command("build", "--form", name, "--source", "FOLDER", "--corpora", corpus_id)
                place = f"FOLDER/{form.dataset}"
                yield f"another form of {corpus_id}: download {form.homepage} to {place}, then run `{build}`"


def _count(results: list[Result], outcome: Outcome) -> int:
    return sum(result.outcome is outcome for result in results)
