"""Lists in parts, and URLs with parameters."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

ROWS = 50
"""Rows of a part."""


def address(page: str, parameters: Iterable[tuple[str, object]], at: str = "") -> str:
    """Return the URL of a page with its parameters, without empty ones, and of a place in it.

    The page may have parameters already.
    """
    given = [(name, str(value)) for name, value in parameters if value not in (None, "")]
    text = urllib.parse.urlencode(given, safe="/~")
    sign = ("&" if "?" in page else "?") if text else ""
    return f"{page}{sign}{text}{f'#{at}' if at else ''}"


def number(text: str | None) -> int:
    """Read the number of a part from a URL; anything else is the first one."""
    return int(text) if text and text.isdecimal() and 0 < len(text) < 10 else 1


@dataclass(frozen=True)
class Paging:
    """The part of a list that a page shows."""

    page: int
    pages: int
    total: int
    before: str | None
    after: str | None

    @property
    def start(self) -> int:
        """The place of the first row, from 0."""
        return (self.page - 1) * ROWS

    @property
    def first(self) -> int:
        """The number of the first row, from 1."""
        return min(self.start + 1, self.total)

    @property
    def last(self) -> int:
        """The number of the last row."""
        return min(self.start + ROWS, self.total)


def paged(total: int, page: int, to: Callable[[int], str]) -> Paging:
    """Return the part with this number, or the last one; `to` returns the URL of another part."""
    pages = max(1, -(-total // ROWS))
    page = min(max(1, page), pages)
    return Paging(page, pages, total, to(page - 1) if page > 1 else None, to(page + 1) if page < pages else None)


def without(parameters: Iterable[tuple[str, str]], *names: str) -> list[tuple[str, str]]:
    """Return the parameters without those of these names."""
    return [(name, value) for name, value in parameters if name not in names]


def filled(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters that have a value."""
    return {name: value for name, value in parameters.items() if value}
