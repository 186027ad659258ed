"""What a command tells its user while it runs: one line a stage, what it did and how long it took.

On a terminal the running stage is shown with a spinner and its seconds, which move; elsewhere finished stages are plain
lines; `quiet` says nothing. Everything goes to standard error, so that standard output stays for results.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dialogue_warehouse.common.text import visible


@dataclass
class Stage:
    """A stage that runs; `detail` is what it will have done."""

    detail: str = ""
    seconds: float = 0.0
    """How long its work took, where that began before the stage did: in processes beside the stages before it."""
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
            with self._moving() as moving:
                task = moving.add_task(f"{kind} {name}", total=None, detail="")
                stage._show.append(lambda text: moving.update(task, detail=visible(text)))
                yield stage
        else:
            yield stage
        seconds = time.perf_counter() - started
        self.seconds[f"{kind} {name}"] = seconds
        self.line(f"{kind:<8} {name:<15} {visible(stage.detail):<48} {max(seconds, stage.seconds):6.1f} s")

    def _moving(self) -> Progress:
        """What moves while a stage runs: a sign, its name, how long it has run, and where it stands."""
        return Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}", style="dim", markup=False),
            console=self.console,
            transient=True,
        )

    def notice(self, text: str) -> None:
        """Tell the user something that does not stop the build; repeated at the end."""
        self.notices.append(text)

    def line(self, text: str) -> None:
        """Write a line, unless quiet."""
        if self.quiet:
            return
        text = visible(text)
        try:
            if self.console.is_terminal:
                self.console.print(text, markup=False)
            else:
                print(text, file=sys.stderr, flush=True)
        except OSError:  # nobody reads any more, which is no reason to stop building
            self.quiet = True
