"""Use of a folder by processes that write into it, so that nothing is removed while it is being written.

A lock shows it, not the number of a process: containers that share a folder do not share those numbers.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from pathlib import Path

SECONDS, PAUSE = 5.0, 0.02
"""How long a writer waits for the lock, which is held for a moment only, and how often it tries."""


@contextlib.contextmanager
def writing_into(folder: Path) -> Generator[None]:
    """Hold a folder while a temporary file or folder is in it; several may, where the file system has locks."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            held.enter_context(_locked(folder, fcntl.LOCK_SH, SECONDS))
        yield


@contextlib.contextmanager
def alone_in(folder: Path) -> Generator[bool | None]:
    """Keep others from writing into a folder meanwhile; gives False when one is writing, None when nothing can tell."""
    with contextlib.ExitStack() as held:
        is_alone: bool | None = True
        try:
            held.enter_context(_locked(folder, fcntl.LOCK_EX, 0.0))
        except BlockingIOError:
            is_alone = False
        except OSError:
            is_alone = None
        yield is_alone


@contextlib.contextmanager
def _locked(folder: Path, kind: int, seconds: float) -> Generator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    until = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise
                time.sleep(PAUSE)
        yield
    finally:
        os.close(descriptor)
