"""Text: lines whatever ends them, text for a terminal, commands and addresses for a user, words for verdicts."""

from __future__ import annotations

import shlex
import shutil
import struct
import sys
import urllib.parse
from pathlib import Path
from typing import Literal, get_args

from dialogue_warehouse.settings import Settings

Verdict = Literal["reproduced", "refuted", "vacuous", "source_absent", "not_checkable"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
JudgedOn = Literal["published", "generated"]
"""Whether the files that a verdict was given on are the publisher's or were made by this project."""
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


def readable_size(count: int) -> str:
    """Write a number of bytes as people read it: 512 B, 1.5 kB, 209 MB."""
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1_000:
            break
        size, unit = size / 1_000, larger
    return f"{size:,.0f} {unit}" if unit == "B" or size >= 100 else f"{size:,.1f} {unit}"


NAME = "dialogue-warehouse"


def command(*arguments: object, warehouse: Path | None = None) -> str:
    """The line that runs `dialogue-warehouse ARGUMENTS` in the user's shell, on this warehouse.

    `--warehouse` is said where the command would take another one without it.
    """
    words = [*_program(), *map(str, arguments)]
    if warehouse is not None and warehouse != Settings.from_environment().warehouse:
        words += ["--warehouse", shorter(warehouse)]
    return shlex.join(words)


def shorter(path: Path) -> str:
    """A path as the user's working folder would have it, where it lies below that."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _program() -> list[str]:
    """What stands first in the line: the name where the shell finds it, else the path of the script that runs."""
    called = Path(sys.argv[0])
    script = called if called.name == NAME else Path(sys.executable).parent / NAME
    found = shutil.which(NAME)
    if not script.is_file() or (found and Path(found).samefile(script)):
        return [NAME]
    return [shorter(script.absolute())]


HOST, PORT = "127.0.0.1", 8501
"""Where the dashboard is served unless it is said otherwise."""


def address(key: str) -> str:
    """The dialogue of a key, the row marked. With a path Streamlit would look for its own files there."""
    return f"/?{urllib.parse.urlencode({'key': key}, safe='/~')}"


def url(key: str) -> str:
    """The same with this machine's own dashboard before it."""
    return f"http://{HOST}:{PORT}{address(key)}"
