"""Regular files, opened without waiting and read within a limit.

Opening a pipe waits for its other end, reading a device never ends, and a file of `/proc` reports no size. A source or
a warehouse may hold any of them in place of a file.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

LARGEST_FILE = 2 * 2**30
"""Most bytes of a file; ten times the largest release fits, and a machine of 4 GB is not stopped."""


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file to read its bytes. Raises OSError, also for anything but a regular file."""
    _refuse_others(path, path.stat())
    stream = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    try:
        _refuse_others(path, os.fstat(stream.fileno()))  # it may have been replaced since
    except OSError:
        stream.close()
        raise
    return stream


def read_open(stream: io.BufferedReader, largest: int = LARGEST_FILE) -> bytes:
    """Read as many bytes of an open file as its size says. Raises OSError for more than `largest`."""
    size = os.fstat(stream.fileno()).st_size
    if size > largest:
        raise OSError(errno.EFBIG, f"larger than {largest:,} bytes, the limit for this file")
    return stream.read(size)


def read_regular(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """Read a file. Raises OSError, also for anything but a regular file and for more than `largest` bytes."""
    with open_regular(path) as stream:
        return read_open(stream, largest)


def _refuse_others(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
        raise OSError(kind, "not a regular file", str(path))
