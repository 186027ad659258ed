"""Changes to the command's own process: handling of signals, its end, and how often it collects garbage.

They are not made in a process of another program that calls `dialogue_warehouse.cli.main.main`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Generator
from types import FrameType

from dialogue_warehouse.common.processes import collect_seldom, end_at_once

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command. The exit status is 128 plus the number of the signal."""
TRACKER_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"
"""A filter for a warning: Python's resource tracker, which cleans up after a killed process, would print it."""
GRACE = 5.0
"""Seconds that an interrupted command has to end its children and to release its resources."""
SWALLOWED = 0
"""The byte in the signal pipe if Python swallowed the exception of a signal. No signal has this number."""
SOON = 0.05
"""Seconds before a swallowed signal is sent again. By then Python has left the code that swallowed it."""


class OwnProcess:
    """The process of the command."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The first signal that arrived."""
        self._status = 1
        self._is_asking = False

    def begin(self) -> None:
        """Handle signals, register the last exit handler, and collect garbage less often.

        A signal raises KeyboardInterrupt in the main thread, so that resources are released in order. Dbt and Dagster
        each handle, replace or swallow that in their own way. So the number of the signal also goes through a pipe: a
        process that has not ended some seconds later, or at the second signal, is ended at once. If Python swallows the
        exception, because it was raised while an object was destroyed, the signal is sent again.
        """
        atexit.register(self._end)
        sys.warnoptions.append(TRACKER_QUIET)
        collect_seldom()
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # such as SIGHUP under nohup
                signal.signal(number, self._interrupt)
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        sys.unraisablehook = functools.partial(self._unraisable, writing)
        threading.Thread(target=self._watch, args=(reading, threading.get_ident()), daemon=True).start()

    @contextlib.contextmanager
    def asking(self) -> Generator[None]:
        """Let Ctrl-C end the current action of a shell instead of the command. Other signals still end the command."""
        self._is_asking = True
        try:
            yield
        finally:
            self._is_asking = False

    def leave(self, status: int) -> None:
        """End the process with this status, or with that of the signal that arrived."""
        self._status = 128 + self.signal if self.signal else status
        sys.exit(self._status)

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        if self._is_asking and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = self.signal or number
        if self._is_asking:  # a shell continues after a KeyboardInterrupt
            sys.exit(128 + number)
        raise KeyboardInterrupt

    def _unraisable(self, writing: int, swallowed: sys.UnraisableHookArgs) -> None:
        """Request that a signal is sent again if Python swallowed its exception; report other errors as Python does."""
        if self.signal and isinstance(swallowed.exc_value, KeyboardInterrupt):
            os.write(writing, bytes([SWALLOWED]))
        else:
            sys.__unraisablehook__(swallowed)

    def _watch(self, reading: int, asked: int) -> None:
        """Make sure that the process ends after a signal. `asked` is the thread in which the signal is raised."""
        number = os.read(reading, 1)[0]
        while self._is_asking and number == signal.SIGINT:
            number = os.read(reading, 1)[0]
        self.signal = self.signal or number
        deadline = time.monotonic() + GRACE
        while select.select([reading], [], [], max(0, deadline - time.monotonic()))[0]:
            if os.read(reading, 1)[0] != SWALLOWED:
                break
            time.sleep(SOON)
            signal.pthread_kill(asked, self.signal)
            os.read(reading, 1)  # the signal that was just sent
        for child in multiprocessing.active_children():
            child.kill()
        end_at_once(128 + self.signal)

    def _end(self) -> None:
        """End the process after the exit handlers of all libraries: this one is registered first, so it runs last."""
        end_at_once(self._status, sys.stdout, sys.stderr)
