"""The bytes of a source file, read as of one moment, and whether the file is still the one that was read.

A file may be replaced, appended to or deleted while a build reads it. What is landed is always what was hashed: the
state of the file is noted before it is read, and compared whenever something else has read it too.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from pipelines.intake.records import LandingError
from pipelines.intake.regular_files import open_regular, read_open

ATTEMPTS = 5
"""Times that a file which changes while it is read is read again."""
TICK = 20_000_000
"""Nanoseconds between two changes that may be given the same time: Linux counts 100 ticks a second or more."""


@dataclass(frozen=True)
class FileState:
    """What tells one state of a file from another without reading it; `changed` also sees what forges `modified`."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


def state_of(file: Path) -> FileState | None:
    """The state of a file, None when it cannot be looked at."""
    try:
        return _state(file.stat())
    except OSError:
        return None


def read_settled(where: str, file: Path) -> tuple[bytes, FileState]:
    """The bytes of a file as they were at one moment, and its state then.

    Raises LandingError when it cannot be read, or changes each time while it is.
    """
    for _ in range(ATTEMPTS):
        try:
            with open_regular(file) as stream:
                before = _settled(stream.fileno())
                data = read_open(stream)
        except OSError as error:
            raise LandingError(f"{where}: {error.strerror}") from error
        if state_of(file) == before and len(data) == before.size:
            return data, before
    raise LandingError(f"{where}: changes while it is read")


def _settled(descriptor: int) -> FileState:
    """The state of an open file, once its last change is so long ago that the next one has another time."""
    state = _state(os.fstat(descriptor))
    age = time.time_ns() - state.changed
    if 0 <= age < TICK:
        time.sleep((TICK - age) / 1e9)
        return _state(os.fstat(descriptor))
    return state


def _state(found: os.stat_result) -> FileState:
    return FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
