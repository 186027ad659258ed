"""The Parquet files of builds as a file system of DuckDB: for reading, those files alone, and no other path.

DuckDB reads them with its own reader, which skips columns and groups of rows and takes counts from the metadata, and
yet can be forbidden every path of this machine. They are opened at once, and stay readable until the connection is
closed, also when the build is removed meanwhile. `pipelines.reading.tables` says which files they are.
"""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fsspec

from pipelines.errors import InputError
from pipelines.reading.query_errors import REFUSED

SCHEME = "dialogue-warehouse"
"""What the names of the files begin with; who does not know it says so with the name in the error."""


class ParquetFiles(fsspec.AbstractFileSystem):
    """The files of these names, each open for reading."""

    protocol = SCHEME
    cachable = False

    def __init__(self, files: Mapping[str, Path]) -> None:
        """Open every file. Raises InputError for one that cannot be."""
        super().__init__()
        self._opened: dict[str, int] = {}
        for name, file in files.items():
            try:
                self._opened[name] = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                self._close()
                raise InputError(f"{file}: cannot be read: {error.strerror}") from error

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> OpenFile:
        """A file, for reading. Raises PermissionError for any other and for writing."""
        if mode != "rb" or path not in self._opened:
            raise PermissionError(REFUSED)
        return OpenFile(self._opened[path], path)

    def exists(self, path: str, **_: Any) -> bool:
        """Whether a file has this name."""
        return path in self._opened

    def isfile(self, path: str) -> bool:
        """Whether a file has this name."""
        return path in self._opened

    def isdir(self, path: str) -> bool:
        """No name is a folder's."""
        return False

    def size(self, path: str) -> int:
        """The bytes of a file."""
        return os.fstat(self._opened[path]).st_size

    def modified(self, path: str) -> datetime.datetime:
        """When a file was written last."""
        return datetime.datetime.fromtimestamp(os.fstat(self._opened[path]).st_mtime, datetime.UTC)

    def glob(self, path: str, *_: Any, **__: Any) -> list[str]:
        """The file of this name; a pattern is none."""
        return [path] if path in self._opened else []

    def ls(self, path: str, *_: Any, **__: Any) -> list[str]:
        """Nothing: there are no folders."""
        return []

    def _close(self) -> None:
        while self._opened:
            os.close(self._opened.popitem()[1])

    def __del__(self) -> None:
        self._close()


class OpenFile:
    """A file as DuckDB reads it: by several of its threads, each from the place that it has sought itself.

    DuckDB seeks and reads in two steps. With one place for all threads, one reads from where another has sought: seen
    with DuckDB 2.0.0, as pages that cannot be decompressed.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor, self._name = descriptor, name
        self._places: dict[int, int] = {}

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place, counted from the beginning."""
        if whence != os.SEEK_SET:
            raise OSError(f"{self._name}: a place is counted from the beginning")
        self._places[threading.get_ident()] = place
        return place

    def tell(self) -> int:
        """The place where the calling thread is."""
        return self._places.get(threading.get_ident(), 0)

    def read(self, length: int) -> bytes:
        """Just so many bytes. Raises OSError where the file has fewer: DuckDB would take them for read."""
        place, parts = self.tell(), []
        while length > 0:
            part = os.pread(self._descriptor, length, place)
            if not part:
                raise OSError(f"{self._name} is cut off")
            parts.append(part)
            place, length = place + len(part), length - len(part)
        self._places[threading.get_ident()] = place
        return b"".join(parts)

    def close(self) -> None:
        """Leave the file open: it is the file system's."""
