"""Text on its way to a terminal: what would steer the terminal is written out instead."""

from __future__ import annotations


def visible(text: str) -> str:
    """The text on one line, its control characters written out: none reaches the terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def visible_lines(text: str) -> str:
    """The same of each line of a text that has several."""
    return "\n".join(visible(line.removesuffix("\r")) for line in text.split("\n"))
