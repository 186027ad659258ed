"""Processes: one ends with its parent, several share work, garbage is collected seldom, and one ends at once."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

SET_SIGNAL_OF_PARENTS_DEATH = 1
"""`PR_SET_PDEATHSIG` of Linux's prctl(2)."""


def end_with_parent(parent: int) -> None:
    """Let this process end when its parent does, however that ends. `parent` is the parent's id.

    On Linux at once; elsewhere when this process next reads from its parent. Ctrl-C reaches every process of a
    terminal: the parent decides what it means and ends its children.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes  # which a command that only reads has no use for

        ctypes.CDLL(None).prctl(SET_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this process could ask to be told
        end_at_once(1)


def can_share() -> bool:
    """Whether processes can share a lock: the system keeps those in /dev/shm, which may be read-only or missing."""
    import multiprocessing  # which a command that only reads has no use for

    try:
        multiprocessing.get_context("fork").Lock()
    except OSError:
        return False
    return True


SELDOM = (100_000, 50, 100)
"""How many objects more than before make Python look for cycles among the youngest; how many such looks make it look
among those that outlived one, and so on. Dagster, dbt and Great Expectations make hundreds of thousands of objects that
stay: with (700, 10, 10), as Python 3.11 begins, the sample takes a tenth longer (medians of five: 22.6 s for 20.8) in
1 % less memory."""


def collect_seldom() -> None:
    """Let Python look for garbage less often in this process."""
    gc.set_threshold(*SELDOM)


def end_at_once(status: int, *streams: TextIO) -> NoReturn:
    """Flush these streams and end the process without Python's own shutdown.

    Python would destroy each object first: half a CPU second of a build, several seconds on a busy machine. DuckDB's
    binding would fill standard error with what it calls leaks meanwhile.
    """
    for stream in streams:
        with contextlib.suppress(OSError, ValueError):  # a pipe that nobody reads any more
            stream.flush()
    os._exit(status)


Work = Callable[[Iterator[Any]], dict[str, Any]]
"""Does what it is to do for each item, and gives what came of all of them."""


def can_fork() -> bool:
    """Tell if this process has no thread but this one, those of libraries counted too, and can share what it does.

    Elsewhere than on Linux it cannot.
    """
    return sys.platform == "linux" and sum(1 for _ in Path("/proc/self/task").iterdir()) == 1 and can_share()


def in_turn(work: Work, items: Sequence[Any], processes: int) -> dict[str, Any]:
    """Return what `work` gives for these items, done by so many processes, of which this one is the first.

    The others are forked at once, before `work` begins here; what it raises in one of them is raised here.
    """
    import multiprocessing  # a command that only reads does not need it
    from concurrent.futures import ProcessPoolExecutor

    fork = multiprocessing.get_context("fork")
    taken = fork.Value("i", 0)
    others = min(processes, len(items)) - 1
    with ProcessPoolExecutor(max(1, others), fork, _begin, (os.getpid(), items, taken)) as pool:
        parts = [pool.submit(_run, work) for _ in range(others)]
        done = dict(work(_next_ones(items, taken)))
        for part in parts:
            done |= part.result()
    return done


def _next_ones(items: Sequence[Any], taken: Synchronized[int]) -> Iterator[Any]:
    """The items that no process has taken yet, one after the other."""
    while True:
        with taken.get_lock():
            index = taken.value
            taken.value += 1
        if index >= len(items):
            return
        yield items[index]


_shared: Iterator[Any] = iter(())
"""The items of a forked process: what is locked with others cannot be sent to it."""


def _begin(parent: int, items: Sequence[Any], taken: Synchronized[int]) -> None:
    """A process is forked: it ends with its parent."""
    global _shared
    end_with_parent(parent)
    _shared = _next_ones(items, taken)


def _run(work: Work) -> dict[str, Any]:
    """The part of a forked process."""
    return work(_shared)
