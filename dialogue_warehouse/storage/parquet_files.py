"""A read-only file system for DuckDB that holds the Parquet files of builds and no other path.

DuckDB reads them with its own reader, which skips columns and groups of rows and takes counts from the metadata, and
yet can be forbidden every path of this machine. Those of a build's tables are opened at once, and stay readable until
the connection is closed, also when the build is removed meanwhile. Those of raw tables, one for each file of a release,
may be more than a process can have open: each is opened for as long as something is read, and so are those of a build
where the process may have few files open. `dialogue_warehouse.storage.builds` says which files they are.
"""

from __future__ import annotations

import datetime
import errno
import os
import resource
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fsspec

from dialogue_warehouse.common.database import REFUSED
from dialogue_warehouse.errors import InputError

SCHEME = "dialogue-warehouse"
"""What the names of the files begin with; who does not know it says so with the name in the error."""


DESCRIPTORS_LEFT = 24
"""Files that a process must still be able to open: libraries, what it writes, and what DuckDB reads."""


class ParquetFiles(fsspec.AbstractFileSystem):
    """A file system of named files, for reading."""

    protocol = SCHEME
    cachable = False

    def __init__(self, files: Mapping[str, Path], later: Mapping[str, Path]) -> None:
        """Open all of `files`; those of `later` are opened when read. Raises InputError where that fails.

        Where they would leave the process too few descriptors for anything else, none of them stays open.
        """
        super().__init__()
        self._later = dict(later)
        self._opened: dict[str, int] = {}
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        most = sys.maxsize if limit == resource.RLIM_INFINITY else limit - DESCRIPTORS_LEFT
        for name, file in files.items():
            try:
                self._opened[name] = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    self._close()
                    raise InputError(f"{file}: cannot be read: {error.strerror}") from error
            if self._opened.get(name, most) >= most:  # the lowest number that is free is given
                self._close()
                self._later |= files
                return

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> OpenFile:
        """Open a file for reading. Raises PermissionError for writing and for an unknown name."""
        if mode != "rb" or not self.exists(path):
            raise PermissionError(REFUSED)
        return OpenFile(self._place(path), path)

    def exists(self, path: str, **_: Any) -> bool:
        """Whether a file has this name."""
        return path in self._opened or (path in self._later and self._later[path].is_file())

    def isfile(self, path: str) -> bool:
        """Whether a file has this name."""
        return self.exists(path)

    def isdir(self, path: str) -> bool:
        """Return False: there are no folders."""
        return False

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return os.stat(self._place(path)).st_size  # noqa: PTH116 it may be a descriptor

    def modified(self, path: str) -> datetime.datetime:
        """Return the time of the last change of a file."""
        changed = os.stat(self._place(path)).st_mtime  # noqa: PTH116
        return datetime.datetime.fromtimestamp(changed, datetime.UTC)

    def glob(self, path: str, *_: Any, **__: Any) -> list[str]:
        """Return the file of this name; patterns match nothing."""
        return [path] if self.exists(path) else []

    def _place(self, path: str) -> int | Path:
        return self._opened[path] if path in self._opened else self._later[path]

    def ls(self, path: str, *_: Any, **__: Any) -> list[str]:
        """Return nothing: there are no folders."""
        return []

    def _close(self) -> None:
        while self._opened:
            os.close(self._opened.popitem()[1])

    def __del__(self) -> None:
        self._close()


class OpenFile:
    """A file that several threads of DuckDB read, each with a position of its own.

    DuckDB seeks and reads in two steps. With one place for all threads, one reads from where another has sought: seen
    with DuckDB 2.0.0, as pages that cannot be decompressed.
    """

    def __init__(self, place: int | Path, name: str) -> None:
        """`place` is a descriptor that stays open, or the path of a file that is opened to read from it."""
        self._place, self._name = place, name
        self._places: dict[int, int] = {}

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Set the position of the calling thread, counted from the beginning."""
        if whence != os.SEEK_SET:
            raise OSError(f"{self._name}: a place is counted from the beginning")
        self._places[threading.get_ident()] = place
        return place

    def tell(self) -> int:
        """Return the position of the calling thread."""
        return self._places.get(threading.get_ident(), 0)

    def read(self, length: int) -> bytes:
        """Read exactly this many bytes. Raises OSError where the file has fewer, which DuckDB would not notice."""
        if isinstance(self._place, int):
            return self._read(self._place, length)
        descriptor = os.open(self._place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return self._read(descriptor, length)
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int, length: int) -> bytes:
        place, parts = self.tell(), []
        while length > 0:
            part = os.pread(descriptor, length, place)
            if not part:
                raise OSError(f"{self._name} is cut off")
            parts.append(part)
            place, length = place + len(part), length - len(part)
        self._places[threading.get_ident()] = place
        return b"".join(parts)

    def close(self) -> None:
        """Do nothing: the file system closes the descriptor."""
