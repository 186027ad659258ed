"""Progress of a command: one line per stage, with its result and duration.

On a terminal a running stage has a spinner and a counter of seconds. Elsewhere only finished stages are shown, as plain
lines. `quiet` shows nothing. All progress goes to standard error; standard output is for results.
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
    """A running stage; `detail` is the text about its result."""

    detail: str = ""
    seconds: float = 0.0
    """Duration of the work if it began before the stage did, in processes beside the earlier stages."""
    _show: list = field(default_factory=list, repr=False)

    def update(self, text: str) -> None:
        """Show the progress of the stage on a terminal."""
        for show in self._show:
            show(text)


class Reporter:
    """Shows the stages and notices of one build."""

    def __init__(self, quiet: bool = True) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.notices: list[str] = []
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, kind: str, name: str) -> Generator[Stage]:
        """Show a stage while it runs and its result at the end; show no result if it fails."""
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
        """Return the display of a running stage: spinner, name, elapsed time and progress."""
        return Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}", style="dim", markup=False),
            console=self.console,
            transient=True,
        )

    def notice(self, text: str) -> None:
        """Record a notice that does not stop the build; the summary repeats it."""
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
        except OSError:  # without a reader the build goes on
            self.quiet = True
