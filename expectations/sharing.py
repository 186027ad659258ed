"""Work that processes share: each takes the next item when it has done one, so that all end at about the same time."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from pipelines.processes import can_share, end_with_parent

Work = Callable[[Iterator[Any]], dict[str, Any]]
"""Does what it is to do for each item, and gives what came of all of them."""


def can_fork() -> bool:
    """Whether this process has no thread but this one, those of libraries counted too, and can share what it does.

    Elsewhere than on Linux it cannot.
    """
    return sys.platform == "linux" and sum(1 for _ in Path("/proc/self/task").iterdir()) == 1 and can_share()


def in_turn(work: Work, items: Sequence[Any], processes: int) -> dict[str, Any]:
    """What `work` gives for these items, done by so many processes, of which this one is the first.

    The others are forked at once, before `work` begins here; what it raises in one of them is raised here.
    """
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
