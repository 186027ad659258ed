"""One build at a time: the lock of a warehouse folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from typing import IO

from pipelines.errors import BuildError, InputError
from pipelines.intake import own_files, ownership
from pipelines.paths import WarehousePaths


class BusyError(BuildError):
    """Another build is running: this one was not begun."""


FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds between two tries to get the lock; each pause is twice as long as the one before."""


@contextlib.contextmanager
def exclusive(paths: WarehousePaths, patience: float = 0.0) -> Generator[None]:
    """Hold the warehouse's lock, in a folder that is a warehouse or becomes one.

    Raises BusyError when another build holds it for longer than `patience`, in seconds, and InputError when there can
    be none.
    """
    ownership.claim(paths)
    if paths.lock.is_dir() and not paths.lock.is_symlink():
        own_files.remove(paths.lock)
    try:
        opened = os.open(paths.lock, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if paths.lock.is_symlink():
            raise InputError(f"{paths.lock}: is a link; the lock of a warehouse is a file of its own") from None
        raise InputError(f"{paths.lock}: cannot be written: {error.strerror}") from error
    with os.fdopen(opened, "w") as lock:
        try:
            is_taken = _taken(lock, patience)
        except OSError as error:
            lacks = f"its file system has no locks ({error.strerror})"
            raise InputError(
                f"{paths.root}: {lacks}; put the warehouse on one that has, such as a local disk"
            ) from error
        if not is_taken:
            raise BusyError(f"{paths.root}: another build is running")
        yield


def _taken(lock: IO[str], patience: float) -> bool:
    """Whether the lock could be had, tried again and again as long as patience lasts."""
    until, pause = time.monotonic() + patience, FIRST_PAUSE
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= until:
            return False
        time.sleep(min(pause, until - time.monotonic()))
        pause = min(2 * pause, LONGEST_PAUSE)
