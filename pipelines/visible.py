"""Text on its way to a terminal: what would steer the terminal is written out instead."""

from __future__ import annotations

import struct


def visible(text: str) -> str:
    """The text on one line, its control characters written out: none reaches the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def visible_lines(text: str) -> str:
    """The same of each line of a text that has several."""
    return "\n".join(visible(line.removesuffix("\r")) for line in text.split("\n"))


def visible_json(text: str) -> str:
    """The text with every character that is not printable as JSON escapes it, but for the ends of lines."""
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else "".join(f"\\u{unit:04x}" for unit in _utf16(character))
        for character in text
    )


def _utf16(character: str) -> tuple[int, ...]:
    return struct.unpack(f"<{1 + (character > chr(0xFFFF))}H", character.encode("utf-16-le", "surrogatepass"))
