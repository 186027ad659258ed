"""One build at a time: the lock of a warehouse folder."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Generator

from pipelines.building.state import BuildError
from pipelines.paths import WarehousePaths


@contextlib.contextmanager
def exclusive(paths: WarehousePaths) -> Generator[None]:
    """Hold the warehouse's lock. Raises BuildError when another build holds it."""
    paths.root.mkdir(parents=True, exist_ok=True)
    with paths.lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BuildError(f"{paths.root}: another build is running") from None
        yield
