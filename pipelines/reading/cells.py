"""One value of a result as text, as JSON, or as a cell on the terminal."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from rich.text import Text

from pipelines.visible import visible

DISPLAYED_CHARACTERS = 1_000
"""Characters of a cell that are handed to the terminal's own cutting."""


def cell_of(value: Any) -> Text:
    """A value as it stands on the terminal: NULL as a word, nothing that would steer the terminal."""
    return Text("NULL", style="dim italic") if value is None else Text(visible(text_of(value)[:DISPLAYED_CHARACTERS]))


def elided(text: Text, width: int) -> Text:
    """A cell cut in its middle: what tells two keys apart stands at their ends."""
    if len(text) <= width:
        return text
    kept = width - 1
    tail = (kept + 1) // 2
    return text[: kept - tail] + Text("…") + text[len(text) - tail :]


def text_of(value: Any) -> str:
    """The value as text; lists and maps are JSON."""
    plain = value if isinstance(value, Decimal | float) else plain_of(value)
    match plain:
        case str():
            return plain
        case bool():
            return "true" if plain else "false"
        case list() | dict():
            return json.dumps(plain, ensure_ascii=False)
        case _:
            return str(plain)


def plain_of(value: Any) -> Any:
    """The value as JSON can hold it: maps and structs as objects, lists as arrays, times in ISO 8601."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case list() | tuple():
            return [plain_of(element) for element in value]
        case dict():
            return {text_of(key): plain_of(element) for key, element in value.items()}
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case _:
            return str(value)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each once: one that comes again gets a number."""
    found: list[str] = []
    for name in names:
        candidate, occurrence = name, 1
        while candidate in found:
            occurrence += 1
            candidate = f"{name}_{occurrence}"
        found.append(candidate)
    return tuple(found)
