"""Unpack a release's file into text, and compare its checksum: SHA-256, or the id that git gives a file.

The content decides, not the name. A file is read whether it is compressed with gzip or not, once or twice, with a
byte-order mark in front or zeros behind, and a note says so. JSON between programs is UTF-8 (RFC 8259), so UTF-16 and
UTF-32 are refused, and so is a file of another kind.
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
"""Most bytes that are unpacked or decoded at a time."""
FIRST_PIECE = 2**9
"""Bytes of an archive's member that are unpacked first. A file may have a hundred thousand members of a few bytes, and
what is handed over of the next one is copied."""
LARGEST_TEXT = LARGEST_FILE
"""Bytes that a gzipped file may unpack to."""
LARGEST_RATIO = 100
"""Bytes of text in a byte of gzip, beyond UNSUSPECTED bytes; a text of people has some ten, a thousand is the most."""
UNSUSPECTED = 16 * 2**20
MOST_LAYERS = 2
"""Times that a file may be compressed."""
FRAME = 16 + zlib.MAX_WBITS
"""How zlib is told that there is gzip's frame, of which it checks the checksum and the length."""
BYTE_ORDER_MARKS = re.compile(rb"(?:\xef\xbb\xbf)++")
WIDE = re.compile(rb"\xff\xfe|\xfe\xff|\0\0\xfe\xff|[\x01-\x7f]\0|\0\0?\0?[\x01-\x7f]")
"""How UTF-16 and UTF-32 begin, with a mark or with a character of ASCII."""


class Text(NamedTuple):
    """The text of a file, and what is unusual about its bytes though nothing of the text is lost."""

    content: bytes
    notes: tuple[str, ...] = ()


def unpack(where: str, data: bytes) -> Text:
    """Unpack the text of a file, or the bytes of a Parquet file. Raises LandingError for another kind or encoding."""
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
        notes.append("skipped a byte-order mark in front")
    return Text(content, tuple(notes))


def _unpack_layers(where: str, data: bytes) -> tuple[bytes, list[str]]:
    """Undo gzip as often as it was applied; the content, and what of it the file's name does not say."""
    largest = min(LARGEST_TEXT, max(UNSUSPECTED, LARGEST_RATIO * len(data)))
    content, layers, notes = data, 0, []
    while content.startswith(GZIP):
        if layers == MOST_LAYERS:
            raise LandingError(f"{where}: is compressed more than {MOST_LAYERS} times: unpack it first")
        content, zeros = _gunzip(where, content, largest)
        layers += 1
        if zeros:
            notes.append(f"skipped {counted(zeros, 'zero byte')} behind the archive")
    if where.lower().endswith(".gz") and not layers:
        notes.append("is not compressed although its name ends in .gz")
    elif layers > 1:
        notes.append("is compressed twice")
    elif layers and not where.lower().endswith(".gz"):
        notes.append("is compressed with gzip although its name does not end in .gz")
    return content, notes


def _gunzip(where: str, data: bytes, largest: int) -> tuple[bytes, int]:
    """Unpack all members of an archive into one text; the number of zero bytes behind them."""
    text = io.BytesIO()
    position = 0
    while position < len(data):
        if position and not data[position]:  # the one place at which all that follows is looked at
            if data.count(0, position) == len(data) - position:
                return text.getvalue(), len(data) - position
            raise LandingError(f"{where}: broken gzip, {_behind(data, position)} behind it: download it again")
        try:
            position = _unpack_member(memoryview(data), position, text, largest)
        except EOFError as error:
            raise LandingError(f"{where}: broken gzip, cut off before its end: download it again") from error
        except zlib.error as error:
            what = first_line(error) if data.startswith(GZIP, position) else f"{_behind(data, position)} behind it"
            raise LandingError(f"{where}: broken gzip, {what}: download it again") from error
        if text.tell() > largest:
            told = "2 GiB" if largest == LARGEST_TEXT else f"{largest:,} bytes, out of {len(data):,}"
            raise LandingError(f"{where}: unpacks to more than {told}")
    return text.getvalue(), 0


def _behind(data: bytes, position: int) -> str:
    return f"{counted(len(data) - position, 'byte')} that are not gzip"


def _unpack_member(data: memoryview, position: int, text: io.BytesIO, largest: int) -> int:
    """Write the text of the member that begins at `position`; where it ends. Breaks off beyond `largest`."""
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
    """Raise LandingError for bytes that are no UTF-8. A piece at a time: the text of a whole release is never held."""
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
    """Return the hash of which git makes a file's id, fed with `size` bytes; some files have no other checksum."""
    return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)


VERIFIED, MISMATCH, UNLISTED, SIMULATED = "verified", "mismatch", "unlisted", "simulated"
"""The verification of a file: it has the checksum that is listed, another one, none is listed, or it is generated."""


def verification_of(corpus: Corpus, source: Path, path: str, found_as: str | None, data: bytes, sha256: str) -> str:
    """Compare a file's bytes with what source.toml lists: `simulated`, `unlisted`, `verified` or `mismatch`.

    The listed checksum of a plain file is that of its text, however it is compressed at the source. That of a gzip
    archive says nothing of its text, which may be compressed in many ways.
    """
    if is_in_generated(source, found_as or path):
        return SIMULATED
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
