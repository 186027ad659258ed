"""The processes that a test has set running."""

from __future__ import annotations

from pathlib import Path

ALONE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
"""A shell that may mount a disk of its own, which nobody else sees."""


def processes_below(parent: int) -> dict[int, str]:
    """The processes that this one has started, and those that they have, with their commands."""
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
    """Whether a process runs; one that has ended and that nobody has asked for does not."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
