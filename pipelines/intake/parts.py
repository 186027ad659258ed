"""What an interrupted download leaves: `<name>.part`, which the next run continues where that can be trusted."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from pipelines.intake import writing
from pipelines.intake.generated import UNFINISHED
from pipelines.intake.wanted import Wanted

CHUNK = 2**18
"""Most bytes that are read at once; an attempt that brought so many was not in vain."""


class Part:
    """What is there of a file that is not complete, with the validator of what it is the beginning of."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.path = wanted.target.with_name(wanted.target.name + UNFINISHED)
        self._etag_file = self.path.with_name(self.path.name + ".etag")
        self.is_resumable = True
        self.is_glued = False
        """Whether it comes from several answers, which may be parts of different files."""

    @property
    def size(self) -> int:
        """Bytes that are there."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def etag(self) -> str | None:
        """The validator that the server gave, if it gave one."""
        try:
            return self._etag_file.read_text(encoding="ascii")
        except (OSError, ValueError):
            return None

    def offset(self) -> int:
        """Bytes that need not be asked for: all that are there, or none when only a whole file can be trusted."""
        size = self.size
        trusted = self.is_resumable and (self.wanted.is_verifiable or self.etag)
        self.is_glued = bool(trusted and 0 < size <= self.wanted.largest)
        return size if self.is_glued else 0

    def begin(self, etag: str | None) -> None:
        """Start anew, with the validator of what is going to come."""
        self.discard()
        if etag:
            self._etag_file.write_text(etag, encoding="ascii")
        self.path.touch()

    def discard(self) -> None:
        """Remove every trace."""
        for file in (self._etag_file, self.path):
            file.unlink(missing_ok=True)

    def unpack(self) -> bool:
        """Undo the gzip that a server put around the file; False when there is none, or too much in it."""
        plain = self.path.with_name(self.path.name + ".plain")
        try:
            with gzip.open(self.path) as packed, plain.open("wb") as stream:
                while chunk := packed.read(CHUNK):
                    stream.write(chunk)
                    if stream.tell() > self.wanted.largest:
                        return False
            plain.replace(self.path)
            return True
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return False
        finally:
            plain.unlink(missing_ok=True)

    def move(self, place: Path) -> None:
        """Let it appear under another name, safely on the disk, and leave nothing else."""
        writing.flush(self.path)
        self.path.replace(place)
        self.discard()
