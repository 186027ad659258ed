"""What an interrupted download leaves: `<name>.part`, which the next run continues where that can be trusted."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import msgspec

from pipelines.intake import writing
from pipelines.intake.generated import UNFINISHED
from pipelines.intake.transport import Version, address_of
from pipelines.intake.wanted import Wanted

CHUNK = 2**18
"""Most bytes that are read at once; an attempt that brought so many was not in vain."""


class Part:
    """What is there of a file that is not complete, with the version of the file that it is the beginning of."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.path = wanted.target.with_name(wanted.target.name + UNFINISHED)
        self._version_file = self.path.with_name(self.path.name + ".etag")
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
    def version(self) -> Version | None:
        """The version that it is the beginning of, where that is known."""
        try:
            return msgspec.json.decode(self._version_file.read_bytes(), type=Version)
        except (OSError, msgspec.MsgspecError):
            return None

    def etag(self, url: str) -> str | None:
        """The validator that the server gave when it was asked for this URL."""
        version = self.version
        return version.etag if version and version.address == address_of(url) else None

    def offset(self, url: str) -> int:
        """Bytes that need not be asked for at this URL: all that are there, or none when they cannot be trusted.

        They can when a checksum tells whether the whole is right, or when they are of the same version there.
        """
        size = self.size
        trusted = self.is_resumable and (self.wanted.is_verifiable or self.etag(url))
        self.is_glued = bool(trusted and 0 < size <= self.wanted.largest)
        return size if self.is_glued else 0

    def is_continued_by(self, version: Version) -> bool:
        """Tell whether the rest, of this version, may be put behind what is there."""
        begun, listed = self.version, self.wanted.file.bytes
        if listed is not None and version.total not in (None, listed):
            return False
        if begun is None or begun.address != version.address:
            return self.wanted.is_verifiable
        if None not in (begun.total, version.total) and begun.total != version.total:
            return False
        return version.etag == begun.etag or (self.wanted.is_verifiable and version.etag is None)

    def begin(self, version: Version) -> None:
        """Start again, with this version."""
        self.discard()
        if version.etag:
            self._version_file.write_bytes(msgspec.json.encode(version))
        self.path.touch()
        self.is_resumable, self.is_glued = True, False

    def discard(self) -> None:
        """Remove every trace."""
        for file in (self._version_file, self.path):
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
