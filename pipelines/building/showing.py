"""Which build readers see."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import msgspec

from pipelines.intake import writing
from pipelines.paths import WarehousePaths
from pipelines.reading.builds import Pointer


def show(build_id: str, paths: WarehousePaths, rolled_back: str = "") -> None:
    """Make a kept build the published one: the pointer first, then the file, each replaced in one step.

    `rolled_back` is the fingerprint of the newest build, where that is gone back from.
    """
    write_pointer(paths.pointer, build_id, rolled_back)
    copy(paths.build_database(build_id), paths.published)


def copy(database: Path, to: Path) -> None:
    """Copy a database, with its time and for reading only, so that a reader sees all of it or what was there before."""
    with writing.replacing(to) as temporary:
        temporary.unlink(missing_ok=True)
        shutil.copyfile(database, temporary)
        made = database.stat()
        with contextlib.suppress(OSError):  # a file of another time is compared by what it holds
            os.utime(temporary, ns=(made.st_atime_ns, made.st_mtime_ns))
        writing.make_read_only(temporary)


def write_pointer(path: Path, build_id: str, rolled_back: str = "") -> None:
    """Write a file that names a build, all of it or nothing."""
    pointer = Pointer(build_id, rolled_back)
    writing.write_atomically(path, msgspec.json.format(msgspec.json.encode(pointer), indent=1))
