"""Processes: end with the parent, share work, collect garbage less often, and end without Python's shutdown."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from dialogue_warehouse.errors import CheckError, InputError

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

SET_SIGNAL_OF_PARENTS_DEATH = 1
"""`PR_SET_PDEATHSIG` of Linux's prctl(2)."""


def end_with_parent(parent: int) -> None:
    """End this process when its parent ends, for any reason. `parent` is the id of the parent.

    On Linux it ends at once; elsewhere when it next reads from its parent. Ctrl-C reaches every process of a terminal,
    so this process ignores it: the parent handles it and ends its children.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        import ctypes  # commands that only read do not need it

        ctypes.CDLL(None).prctl(SET_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the request took effect
        end_at_once(1)


def can_share() -> bool:
    """Return whether processes can share a lock."""
    try:
        refuse_no_shared_memory()
    except InputError:
        return False
    return True


def refuse_no_shared_memory() -> None:
    """Raise InputError if processes cannot share a lock, which dbt needs even in one process.

    Locks are in /dev/shm, which may be read-only or missing.
    """
    import multiprocessing  # commands that only read do not need it

    try:
        multiprocessing.get_context("fork").Lock()
    except OSError as error:
        raise InputError(f"a build needs to write to /dev/shm: {error.strerror}") from error


@contextlib.contextmanager
def naming_killed(work: str) -> Generator[None]:
    """Turn the error that a process of a pool was killed into a CheckError; `work` says what the process did."""
    from concurrent.futures.process import BrokenProcessPool  # commands that only read do not need it

    try:
        yield
    except BrokenProcessPool as error:
        raise CheckError(
            f"a process that {work} was killed, for example because memory ran out: try again, if need be with a "
            "smaller DIALOGUE_PROCESSES"
        ) from error


SELDOM = (100_000, 50, 100)
"""Thresholds of Python's garbage collector, for `gc.set_threshold`: new objects before it looks for cycles among the
youngest, such looks before it looks at the next generation, and so on. Dagster, dbt and Great Expectations create
hundreds of thousands of objects that stay. With Python 3.11's default (700, 10, 10) the sample takes a tenth longer
(medians of five: 22.6 s against 20.8 s) in 1 % less memory."""


def collect_seldom() -> None:
    """Make Python look for garbage less often in this process."""
    gc.set_threshold(*SELDOM)


def end_at_once(status: int, *streams: TextIO) -> NoReturn:
    """Flush these streams and end the process without Python's own shutdown.

    Python would destroy each object first. That takes half a CPU second for a build, and several seconds on a busy
    machine, and DuckDB's binding would write messages about leaks to standard error.
    """
    for stream in streams:
        with contextlib.suppress(OSError, ValueError):  # a pipe without a reader
            stream.flush()
    os._exit(status)


Work = Callable[[Iterator[Any]], dict[str, Any]]
"""Handles each item and returns the results of all of them."""


def can_fork() -> bool:
    """Return whether this process has only one thread, counting those of libraries, and can share locks.

    The answer is False on systems other than Linux.
    """
    return sys.platform == "linux" and sum(1 for _ in Path("/proc/self/task").iterdir()) == 1 and can_share()


def in_turn(work: Work, items: Sequence[Any], processes: int) -> dict[str, Any]:
    """Return the results of `work` for these items, done by `processes` processes including this one.

    The others are forked at once, before `work` begins here. An error of one of them is raised here.
    """
    import multiprocessing  # commands that only read do not need it
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
    """Yield the items that no process has taken yet, one at a time."""
    while True:
        with taken.get_lock():
            index = taken.value
            taken.value += 1
        if index >= len(items):
            return
        yield items[index]


_shared: Iterator[Any] = iter(())
"""The items of a forked process; locked objects cannot be sent to it."""


def _begin(parent: int, items: Sequence[Any], taken: Synchronized[int]) -> None:
    """Start a forked process, which ends with its parent."""
    global _shared
    end_with_parent(parent)
    _shared = _next_ones(items, taken)


def _run(work: Work) -> dict[str, Any]:
    """Do the share of a forked process."""
    return work(_shared)
