"""Processes that a test has started."""

from __future__ import annotations

import contextlib
import multiprocessing.synchronize  # noqa: F401 - another user may not be able to read Python's own folder
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

ALONE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
"""A shell that can mount its own disk, which other processes do not see."""


def processes_below(parent: int) -> dict[int, str]:
    """Return the processes that this process has started, with their descendants and commands."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            of = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if of == parent:
            found |= {int(folder.name): command} | processes_below(int(folder.name))
    return found


def is_alive(process: int) -> bool:
    """Return whether a process runs. A process that has ended and is not yet collected does not."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextlib.contextmanager
def without_rights_of_root() -> Iterator[None]:
    """Give root the rights of another user."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
