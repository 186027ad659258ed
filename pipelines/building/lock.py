"""One build at a time: the lock of a warehouse folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator

from pipelines.building.state import BuildError
from pipelines.errors import InputError
from pipelines.paths import WarehousePaths


@contextlib.contextmanager
def exclusive(paths: WarehousePaths) -> Generator[None]:
    """Hold the warehouse's lock. Raises BuildError when another build holds it, InputError when there can be none."""
    try:
        paths.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{paths.root}: no warehouse can be there: {error.strerror}") from error
    try:
        opened = os.open(paths.lock, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if paths.lock.is_symlink():
            raise InputError(f"{paths.lock}: is a link; the lock of a warehouse is a file of its own") from None
        raise InputError(f"{paths.lock}: cannot be written: {error.strerror}") from error
    with os.fdopen(opened, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError(f"{paths.root}: another build is running") from None
        yield
