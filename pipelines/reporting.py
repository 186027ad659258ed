"""What a build tells its user while it runs: one line a stage, with what it did and how long it took.

On a terminal the running stage is shown with a spinner; elsewhere finished stages are plain lines; `quiet` says
nothing. Everything goes to standard error, so that standard output stays for results.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from pipelines.building import Summary

PLAIN_WIDTH = 140
"""Columns of a table where there is no terminal to ask."""
COUNTS = ("dialogue_count", "turn_count", "action_count", "slot_count", "violation_count")
VERDICTS = ("passed", "warned", "failed")
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
        if not self.quiet:
            self._line(f"{kind:<8} {name:<15} {stage.detail:<48} {seconds:6.1f} s")

    def notice(self, text: str) -> None:
        """Tell the user something that does not stop the build; repeated at the end."""
        self.notices.append(text)

    def _line(self, text: str) -> None:
        if self.console.is_terminal:
            self.console.print(text, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)


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
            "this was a generated sample; for the real releases, dialogue-warehouse build --source FOLDER with"
        )
        for place in summary.places:
            console.print(f"      {place}", markup=False, soft_wrap=True)
