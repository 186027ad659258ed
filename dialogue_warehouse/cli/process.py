"""What the command does to its own process, and to no other: signals, how it ends, how often it looks for garbage.

Nothing of this is done to a process in which `dialogue_warehouse.cli.main.main` is called by somebody else.
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
"""What ends a command from outside; the exit status is 128 and the number of the signal."""
TRACKER_QUIET = "ignore::UserWarning:multiprocessing.resource_tracker"
"""What Python's own process that cleans up behind a killed one would print beside the word of the system."""
GRACE = 5.0
"""Seconds that an interrupted command has to end its children and to let go of what it holds."""
SWALLOWED = 0
"""What the pipe of signals' numbers says when Python swallowed what a signal raised; no signal has this number."""
SOON = 0.05
"""Seconds after which a signal is sent again that was swallowed: Python has left what swallowed it by then."""


class OwnProcess:
    """The process of the command."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The first signal that came."""
        self._status = 1
        self._is_asking = False

    def begin(self) -> None:
        """Listen to signals, be the last thing that happens when the process ends, and look for garbage less often.

        A signal raises KeyboardInterrupt in the main thread, so that everything is let go of in order. dbt and Dagster
        handle, replace and swallow that each in their way: the number of the signal comes through a pipe besides, and
        a process that has not ended some seconds after it, or at the second signal, is ended without being asked.
        Where Python swallows it, because it was raised while an object was destroyed, the signal is sent again.
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
        """Let Ctrl-C end what a shell does and not the command; each other signal ends the command as always."""
        self._is_asking = True
        try:
            yield
        finally:
            self._is_asking = False

    def leave(self, status: int) -> None:
        """End the process with this status, or with that of the signal that came."""
        self._status = 128 + self.signal if self.signal else status
        sys.exit(self._status)

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        if self._is_asking and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = self.signal or number
        if self._is_asking:  # a shell goes on after a KeyboardInterrupt
            sys.exit(128 + number)
        raise KeyboardInterrupt

    def _unraisable(self, writing: int, told: sys.UnraisableHookArgs) -> None:
        """Have a signal sent again that Python would only tell of; what else it cannot raise it tells as always."""
        if self.signal and isinstance(told.exc_value, KeyboardInterrupt):
            os.write(writing, bytes([SWALLOWED]))
        else:
            sys.__unraisablehook__(told)

    def _watch(self, reading: int, asked: int) -> None:
        """End the process in the end, whatever becomes of the signal. `asked` is the thread that it is raised in."""
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
            os.read(reading, 1)  # the one just sent
        for child in multiprocessing.active_children():
            child.kill()
        end_at_once(128 + self.signal)

    def _end(self) -> None:
        """End here, after what every library has registered for the end: registered first, this is called last."""
        end_at_once(self._status, sys.stdout, sys.stderr)
