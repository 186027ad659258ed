"""Unpacking: the bytes of a release's file become its text, a piece at a time, and UTF-8 or refused.

What is decided of texts that are nearly right: JSON between programs is UTF-8 without a mark (RFC 8259), so that UTF-16
and UTF-32 are refused; a byte-order mark in front of UTF-8 and zeros behind a gzip archive, as tapes leave them, are
passed over, and said.
"""

from __future__ import annotations

import codecs
import io
import zlib
from typing import NamedTuple

from pipelines.errors import counted, first_line
from pipelines.intake.records import LandingError

PIECE = 2**20
"""Bytes that are unpacked or decoded at a time."""
LARGEST_TEXT = 2 * 2**30
"""Bytes that a gzipped file may unpack to; ten times the largest release fits, and a machine of 4 GB is not stopped."""
LARGEST_RATIO = 100
"""Bytes of text in a byte of gzip, beyond UNSUSPECTED bytes; a text of people has some ten, a thousand is the most."""
UNSUSPECTED = 16 * 2**20
GZIP = 16 + zlib.MAX_WBITS
"""How zlib is told that there is gzip's frame, of which it checks the checksum and the length."""
BYTE_ORDER_MARK = codecs.BOM_UTF8
WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How UTF-16 begins, and UTF-32 of the one order; that of the other begins with zeros."""


class Text(NamedTuple):
    """The text of a file, and what of the file was passed over."""

    content: bytes
    passed_over: tuple[str, ...] = ()


def unpack(where: str, data: bytes) -> Text:
    """The text of the file, unzipped where its name says so. Raises LandingError for what is broken or no UTF-8."""
    content, passed_over = _gunzip(where, data) if where.endswith(".gz") else (data, ())
    _refuse_other_encodings(where, content)
    if content.startswith(BYTE_ORDER_MARK):
        return Text(content[len(BYTE_ORDER_MARK) :], (*passed_over, "a byte-order mark in front"))
    return Text(content, passed_over)


def _gunzip(where: str, data: bytes) -> Text:
    """The text of all members of an archive, as one."""
    text = io.BytesIO()
    largest = min(LARGEST_TEXT, max(UNSUSPECTED, LARGEST_RATIO * len(data)))
    position = 0
    while position < len(data):
        if position and not data[position:].strip(b"\0"):
            return Text(text.getvalue(), (f"{counted(len(data) - position, 'zero byte')} behind the archive",))
        try:
            position = _unpack_member(memoryview(data), position, text, largest)
        except (EOFError, zlib.error) as error:
            raise LandingError(f"{where}: broken gzip, {first_line(error)}") from error
        if text.tell() > largest:
            told = "2 GiB" if largest == LARGEST_TEXT else f"{largest:,} bytes, out of {len(data):,}"
            raise LandingError(f"{where}: unpacks to more than {told}")
    return Text(text.getvalue())


def _unpack_member(data: memoryview, position: int, text: io.BytesIO, largest: int) -> int:
    """Write the text of the member that begins at `position`; where it ends. Breaks off beyond `largest`."""
    member = zlib.decompressobj(GZIP)
    while not member.eof and text.tell() <= largest:
        packed: bytes | memoryview = member.unconsumed_tail
        if not packed:
            packed = data[position : position + PIECE]
            position += len(packed)
        unpacked = member.decompress(packed, PIECE)
        if not packed and not unpacked and not member.eof:
            raise EOFError("cut off before its end")
        text.write(unpacked)
    return position - len(member.unused_data)


def _refuse_other_encodings(where: str, text: bytes) -> None:
    """Raise LandingError for bytes that are no UTF-8. A piece at a time: the text of a whole release is never held."""
    if b"\0" in text[:4] or text.startswith(WIDE_MARKS):
        raise LandingError(f"{where}: is UTF-16 or UTF-32, and must be UTF-8")
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(text)
    for start in range(0, len(text), PIECE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(view[start : start + PIECE], final=start + PIECE >= len(text))
        except UnicodeDecodeError as error:
            raise LandingError(f"{where}: not UTF-8 at byte {start - pending + error.start}") from error
