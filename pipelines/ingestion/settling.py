"""Wait for files at a source that are still being copied: a half of a release must not be built as if it were whole.

A file counts as complete when nothing below the source has changed for some time. The time of the last change of its
inode is looked at too: programs that copy set the time of modification back, but not this one.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dialogue_warehouse.releases import source_tree

PAUSE = 5.0
"""Most seconds between two looks."""


@dataclass(frozen=True)
class Look:
    """The state of all files of a source."""

    state: str
    """Hash of the names, sizes and times of all files."""
    changed_at: float
    """The last change of a file, in seconds since 1970; 0 if there are no files."""
    newest: str
    """The file that changed last."""


def look(folder: Path, warehouse: Path | None = None) -> Look:
    """Look at all files below a source; not at those of the warehouse, which may be below it."""
    digest, newest = hashlib.sha256(), (0, "")
    for name in sorted(entry.path for entry in source_tree.walk(folder, warehouse) if not entry.is_folder):
        try:
            found = (folder / name).stat()
        except OSError:  # it was removed meanwhile: the next look finds another state
            continue
        digest.update(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ctime_ns}\n".encode("utf-8", "replace"))
        newest = max(newest, (max(found.st_mtime_ns, found.st_ctime_ns), name))
    changed_at, name = newest
    return Look(digest.hexdigest(), changed_at / 1e9, name)


def wait(
    folder: Path,
    quiet_seconds: float,
    most_seconds: float,
    tell: Callable[[str], object],
    warehouse: Path | None = None,
) -> str | None:
    """Return when nothing below a folder has changed for `quiet_seconds`; tell once that it waits, and for which file.

    After `most_seconds` it returns a notice, else None. If the clock of the machine with the files is ahead, only what
    is seen to change counts.
    """
    began = since = time.monotonic()
    seen, is_reported = look(folder, warehouse), False
    while (quiet := max(time.time() - seen.changed_at, time.monotonic() - since)) < quiet_seconds:
        left = began + most_seconds - time.monotonic()
        if left <= 0:
            return (
                f"{folder / seen.newest}: is still being written after {most_seconds:g} seconds (DIALOGUE_PATIENCE); "
                "the files are read as they are"
            )
        if not is_reported:
            tell(
                f"{folder / seen.newest} has just changed: waiting until no file changes for {quiet_seconds:g} seconds"
            )
            is_reported = True
        time.sleep(min(PAUSE, quiet_seconds - quiet, left))
        if (now := look(folder, warehouse)) != seen:
            seen, since = now, time.monotonic()
    return None
