"""What dbt makes anew in every process, remembered in a file beside its last parse, as Python keeps its bytecode.

A new version of Python or of a library begins the file anew.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import marshal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from pipelines.intake.regular_files import read_regular
from pipelines.intake.writing import write_atomically

MOST = 2_000
"""Values that are remembered; a file of more is begun anew with those of the last process."""


class Memory:
    """Values by name: those of a file, and those that were made since."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known
        self.used: dict[str, Any] = {}

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """The value of this name, made where it is not known; what `marshal` can write, and not empty."""
        value = self.known.get(name) or self.used.get(name) or make()
        self.used[name] = value
        return value


@contextlib.contextmanager
def remembered(file: Path, *libraries: str) -> Generator[Memory]:
    """The values of this file; what was made is written there afterwards. It belongs to these libraries' versions."""
    made_by = " ".join([str(sys.implementation.cache_tag), *map(importlib.metadata.version, libraries)])
    memory = Memory(_read(file, made_by))
    try:
        yield memory
    finally:
        known, used = memory.known, memory.used
        if used.keys() - known.keys():
            known = used if len(known) + len(used) > MOST else known | used
            with contextlib.suppress(OSError):  # a folder of somebody else, or a full disk: the next one makes it again
                write_atomically(file, marshal.dumps((made_by, known)))


def _read(file: Path, made_by: str) -> dict[str, Any]:
    """The values of the file; none where it is of another version, or cannot be read."""
    try:
        version, known = marshal.loads(read_regular(file))  # noqa: S302 as Python reads its own from beside its modules
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return known if version == made_by else {}
