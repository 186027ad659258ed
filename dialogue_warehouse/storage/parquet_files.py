"""A read-only file system for DuckDB that contains the Parquet files of builds and no other path.

DuckDB reads the files with its own reader, which skips columns and row groups and takes counts from the metadata, while
all paths of this machine are forbidden. The files of a build's tables are opened at once. They stay readable until the
connection is closed, even if the build is removed meanwhile. Raw tables have one file per file of a release, perhaps
more than a process can open. So each of these is opened only while it is read, and so are the files of a build if the
process may open few files. `dialogue_warehouse.storage.builds` chooses the files.
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
"""The prefix of the file names. A client without this file system reports an error with the name."""


DESCRIPTORS_LEFT = 24
"""File descriptors that stay free for the process: for libraries, its output, and files that DuckDB reads."""


class ParquetFiles(fsspec.AbstractFileSystem):
    """A file system of named files, for reading."""

    protocol = SCHEME
    cachable = False

    def __init__(self, files: Mapping[str, Path], later: Mapping[str, Path]) -> None:
        """Open all of `files`; those of `later` are opened when they are read. Raises InputError if that fails.

        If they would leave the process too few file descriptors, none of them stays open.
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
            if self._opened.get(name, most) >= most:  # the system returns the lowest free number
                self._close()
                self._later |= files
                return

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> OpenFile:
        """Open a file for reading. Raises PermissionError for writing and for an unknown name."""
        if mode != "rb" or not self.exists(path):
            raise PermissionError(REFUSED)
        return OpenFile(self._place(path), path)

    def exists(self, path: str, **_: Any) -> bool:
        """Return whether a file has this name."""
        return path in self._opened or (path in self._later and self._later[path].is_file())

    def isfile(self, path: str) -> bool:
        """Return whether a file has this name."""
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
    """A file that several threads of DuckDB read, each with its own position.

    DuckDB seeks and reads in two steps. With one position for all threads, a thread would read where another has moved
    it: with DuckDB 2.0.0 this led to pages that could not be decompressed.
    """

    def __init__(self, place: int | Path, name: str) -> None:
        """Remember `place`: a descriptor that stays open, or the path of a file that is opened for each read."""
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
        """Read exactly this many bytes. Raises OSError if the file has fewer, which DuckDB would not notice."""
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
