"""Lines of a text file, whatever ends them, and places in a text as an editor shows them."""

from __future__ import annotations

PIECE = 2**20
"""Bytes whose characters are counted at a time."""
CONTINUATION = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that begin no character."""


def split_lines(text: bytes) -> list[bytes]:
    """Split a text into lines without their ends, LF, CRLF, or CR in a text without LF; leave out blank last lines."""
    lines = text.split(b"\n" if b"\n" in text else b"\r")
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip(b"\r") for line in lines]


def place_of(text: bytes, at: int) -> str:
    """Name a place by its byte from 0, and by its line and character from 1: people open the file in an editor."""
    end = b"\n" if b"\n" in text else b"\r"
    start = text.rfind(end, 0, at) + 1
    before = (
        len(text[piece : min(piece + PIECE, at)].translate(None, CONTINUATION)) for piece in range(start, at, PIECE)
    )
    return f"byte {at}, line {text.count(end, 0, at) + 1}, column {sum(before) + 1}"
