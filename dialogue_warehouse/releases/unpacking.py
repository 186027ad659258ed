"""Unpack a release's file to text, and verify its checksum: SHA-256, or git's id of the file.

The content decides, not the name. A file may be uncompressed, or compressed with gzip once or twice, and may have a
byte-order mark at its start or zeros at its end; a note reports this. JSON that systems exchange is UTF-8 (RFC 8259),
so UTF-16 and UTF-32 are refused, and so is a file of another kind.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from dialogue_warehouse.common.files import LARGEST_FILE
from dialogue_warehouse.common.text import place_of
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import counted, first_line
from dialogue_warehouse.releases.file_kinds import GZIP, other_kind, refusal
from dialogue_warehouse.releases.records import LandingError
from dialogue_warehouse.releases.source_tree import is_in_generated

PIECE = 2**20
"""Maximum number of bytes that are unpacked or decoded at a time."""
FIRST_PIECE = 2**9
"""Bytes of an archive's member that are unpacked first. It is small because a file may have a hundred thousand members
of a few bytes, and the bytes after each member are copied."""
LARGEST_TEXT = LARGEST_FILE
"""Maximum number of bytes that a gzipped file may unpack to."""
LARGEST_RATIO = 100
"""Maximum bytes of text per byte of gzip, beyond UNSUSPECTED bytes. Text has about ten, gzip at most a thousand."""
UNSUSPECTED = 16 * 2**20
MOST_LAYERS = 2
"""Maximum number of gzip layers of a file."""
FRAME = 16 + zlib.MAX_WBITS
"""The value that makes zlib read gzip's format and verify its checksum and length."""
BYTE_ORDER_MARKS = re.compile(rb"(?:\xef\xbb\xbf)++")
WIDE = re.compile(rb"\xff\xfe|\xfe\xff|\0\0\xfe\xff|[\x01-\x7f]\0|\0\0?\0?[\x01-\x7f]")
"""The first bytes of UTF-16 and UTF-32, with a byte-order mark or an ASCII character."""


class Text(NamedTuple):
    """The text of a file, and notes about unusual bytes that lose nothing of the text."""

    content: bytes
    notes: tuple[str, ...] = ()


def unpack(where: str, data: bytes) -> Text:
    """Return the text of a file, or the bytes of a Parquet file. Raises LandingError for another kind or encoding."""
    if where.endswith(".parquet"):
        _refuse_other_kinds(where, data)
        return Text(data)
    content, notes = _unpack_layers(where, data)
    _refuse_other_kinds(where, content)
    _refuse_other_encodings(where, content, is_archive=content is not data)
    if content.endswith(b"\0"):
        text = content.rstrip(b"\0")
        notes.append(f"skipped {counted(len(content) - len(text), 'zero byte')} at its end")
        content = text
    if marks := BYTE_ORDER_MARKS.match(content):
        content = content[marks.end() :]
        notes.append("skipped a byte-order mark at its beginning")
    return Text(content, tuple(notes))


def _unpack_layers(where: str, data: bytes) -> tuple[bytes, list[str]]:
    """Unpack gzip as often as it was applied; return the content, and notes about differences from the file's name."""
    largest = min(LARGEST_TEXT, max(UNSUSPECTED, LARGEST_RATIO * len(data)))
    content, layers, notes = data, 0, []
    while content.startswith(GZIP):
        if layers == MOST_LAYERS:
            raise LandingError(f"{where}: is compressed more than {MOST_LAYERS} times: unpack it first")
        content, zeros = _gunzip(where, content, largest)
        layers += 1
        if zeros:
            notes.append(f"skipped {counted(zeros, 'zero byte')} after the archive")
    if where.lower().endswith(".gz") and not layers:
        notes.append("is not compressed although its name ends in .gz")
    elif layers > 1:
        notes.append("is compressed twice")
    elif layers and not where.lower().endswith(".gz"):
        notes.append("is compressed with gzip although its name does not end in .gz")
    return content, notes


def _gunzip(where: str, data: bytes, largest: int) -> tuple[bytes, int]:
    """Unpack all members of an archive into one text; return it and the number of zero bytes after them."""
    text = io.BytesIO()
    position = 0
    while position < len(data):
        if position and not data[position]:  # only here all of the rest is checked
            if data.count(0, position) == len(data) - position:
                return text.getvalue(), len(data) - position
            raise LandingError(f"{where}: broken gzip, {_behind(data, position)} after it: download it again")
        try:
            position = _unpack_member(memoryview(data), position, text, largest)
        except EOFError as error:
            raise LandingError(f"{where}: broken gzip, cut off before its end: download it again") from error
        except zlib.error as error:
            what = first_line(error) if data.startswith(GZIP, position) else f"{_behind(data, position)} after it"
            raise LandingError(f"{where}: broken gzip, {what}: download it again") from error
        if text.tell() > largest:
            allowed = "2 GiB" if largest == LARGEST_TEXT else f"{largest:,} bytes, out of {len(data):,}"
            raise LandingError(f"{where}: unpacks to more than {allowed}")
    return text.getvalue(), 0


def _behind(data: bytes, position: int) -> str:
    return f"{counted(len(data) - position, 'byte')} that are not gzip"


def _unpack_member(data: memoryview, position: int, text: io.BytesIO, largest: int) -> int:
    """Write the text of the member that begins at `position` and return its end. Stops beyond `largest` bytes."""
    member = zlib.decompressobj(FRAME)
    size = FIRST_PIECE
    while not member.eof and text.tell() <= largest:
        packed: bytes | memoryview = member.unconsumed_tail
        if not packed:
            packed = data[position : position + size]
            position += len(packed)
            size = min(2 * size, PIECE)
        unpacked = member.decompress(packed, PIECE)
        if not packed and not unpacked and not member.eof:
            raise EOFError
        text.write(unpacked)
    return position - len(member.unused_data)


def _refuse_other_kinds(where: str, content: bytes) -> None:
    if kind := other_kind(where, content):
        raise LandingError(refusal(where, kind))


def _refuse_other_encodings(where: str, text: bytes, is_archive: bool) -> None:
    """Raise LandingError for bytes that are not UTF-8. Decodes in pieces, so that the whole text is never held."""
    if WIDE.match(text):
        raise LandingError(f"{where}: is UTF-16 or UTF-32, and must be UTF-8: convert it, for example with `iconv`")
    found = "neither gzip nor" if where.lower().endswith(".gz") and not is_archive else "not"
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(text)
    for start in range(0, len(text), PIECE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(view[start : start + PIECE], final=start + PIECE >= len(text))
        except UnicodeDecodeError as error:
            place = place_of(text, start - pending + error.start)
            raise LandingError(f"{where}: {found} UTF-8 at {place}: convert it, or download it again") from error


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def git_blob_hash(size: int) -> Any:
    """Return the hash that git uses for a file of `size` bytes; some files have no other checksum."""
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)


VERIFIED, MISMATCH, UNLISTED, SIMULATED = "verified", "mismatch", "unlisted", "simulated"
"""The verification of a file: the listed checksum matches, it differs, none is listed, or the file is generated."""


def verification_of(corpus: Corpus, source: Path, path: str, found_as: str | None, data: bytes, sha256: str) -> str:
    """Compare a file's bytes with the checksum in source.toml: `simulated`, `unlisted`, `verified` or `mismatch`.

    Every file of a folder of generated ones is simulated, whatever its checksum is.
    """
    if is_in_generated(source, found_as or path):
        return SIMULATED
    return compare_with_listed(corpus, path, data, sha256)


def compare_with_listed(corpus: Corpus, path: str, data: bytes, sha256: str) -> str:
    """Compare a file's bytes with the checksum in source.toml: `unlisted`, `verified` or `mismatch`.

    The listed checksum of a plain file is that of its text, even if the file is compressed at the source. The checksum
    of a gzip archive cannot verify its text, because one text can be compressed in many ways.
    """
    listed = corpus.listed(path)
    if listed is None or not (listed.sha256 or listed.git_blob_sha1):
        return UNLISTED
    is_packed = data.startswith(GZIP)
    if path.endswith(".gz") and not is_packed:
        return UNLISTED
    if is_packed and not path.endswith(".gz"):
        data = unpack(f"{corpus.corpus_id}/{path}", data).content
        sha256 = sha256_of(data)
    if listed.sha256:
        return VERIFIED if listed.sha256 == sha256 else MISMATCH
    blob = git_blob_hash(len(data))
    blob.update(data)
    return VERIFIED if listed.git_blob_sha1 == blob.hexdigest() else MISMATCH
