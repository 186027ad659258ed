"""Progress of a command: one line per stage, with its result and duration; or events as JSON, one object per line.

On a terminal a running stage has a spinner and a counter of seconds. Elsewhere only finished stages are shown, as plain
lines. With DIALOGUE_LOG_FORMAT=json, each stage, notice and error is an event with fields. `quiet` shows none of it,
except events of notices and errors. All of it goes to standard error; standard output is for results.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dialogue_warehouse.common.text import visible
from dialogue_warehouse.settings import JSON_LOG

LOG = logging.getLogger("dialogue_warehouse.events")
"""The events of a command. It has a handler only while they are written as JSON."""


class _JsonLine(logging.Formatter):
    """One JSON object, on one line, with only ASCII characters: no control character reaches a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the time, the level, the event, and its own fields."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = {"time": at, "level": record.levelname.lower(), "event": record.msg}
        return json.dumps(event | record.__dict__["fields"], default=str)


class _Stderr(logging.StreamHandler):
    """Standard error; without a reader the command continues."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Drop an event that cannot be written."""


def write_events(log_format: str) -> None:
    """Write the events of this command as JSON, if this is the format."""
    end_events()
    if log_format == JSON_LOG:
        handler = _Stderr(sys.stderr)
        handler.setFormatter(_JsonLine())
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        LOG.propagate = False


def end_events() -> None:
    """Write no more events."""
    for handler in list(LOG.handlers):
        LOG.removeHandler(handler)


def is_logging() -> bool:
    """Return whether events are written as JSON."""
    return bool(LOG.handlers)


def log_event(event: str, level: int = logging.INFO, /, **fields: object) -> None:
    """Write an event with these fields, if events are written."""
    if is_logging():
        LOG.log(level, event, extra={"fields": fields})


@dataclass
class Stage:
    """A running stage; `detail` is the text about its result."""

    detail: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """The numbers in that text, by what is counted."""
    seconds: float = 0.0
    """Duration of the work if it began before the stage did, in processes beside the earlier stages."""
    _show: list = field(default_factory=list, repr=False)

    def update(self, text: str) -> None:
        """Show the progress of the stage on a terminal."""
        for show in self._show:
            show(text)


class Reporter:
    """Shows the stages of a command, and collects its notices."""

    def __init__(self, quiet: bool = True) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.notices: list[str] = []
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, kind: str, name: str) -> Generator[Stage]:
        """Show a stage while it runs and its result at the end; show no result if it fails."""
        started = time.perf_counter()
        stage = Stage()
        self._log("stage_started", stage=kind, name=name)
        if self.console.is_terminal and not self.quiet and not is_logging():
            with self._moving() as moving:
                task = moving.add_task(f"{kind} {name}", total=None, detail="")
                stage._show.append(lambda text: moving.update(task, detail=visible(text)))
                yield stage
        else:
            yield stage
        took = time.perf_counter() - started
        self.seconds[f"{kind} {name}"] = took
        seconds = max(took, stage.seconds)
        facts = {"detail": stage.detail, "counts": stage.counts, "seconds": round(seconds, 3)}
        line = f"{kind:<8} {name:<15} {visible(stage.detail):<48} {seconds:6.1f} s"
        self.line(line, "stage_finished", stage=kind, name=name, **facts)

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
        """Record a notice that does not stop the build, for the summary; as an event it is written at once."""
        self.notices.append(text)
        log_event("notice", logging.WARNING, text=text)

    def line(self, text: str, event: str = "progress", /, **fields: object) -> None:
        """Write a line, or the same as an event with these fields, unless quiet."""
        if self.quiet:
            return
        if is_logging():
            self._log(event, **fields)
            return
        text = visible(text)
        try:
            if self.console.is_terminal:
                self.console.print(text)
            else:
                print(text, file=sys.stderr, flush=True)
        except OSError:  # without a reader the build continues
            self.quiet = True

    def _log(self, event: str, **fields: object) -> None:
        """Write an event about progress, unless quiet."""
        if not self.quiet:
            log_event(event, logging.INFO, **fields)
