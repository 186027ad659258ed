"""One value of a result as text, as JSON, or as a cell on the terminal."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import msgspec
from rich.text import Text

from pipelines.visible import visible

DISPLAYED_CHARACTERS = 1_000
"""Characters of a cell that are handed to the terminal's own cutting."""
NULL = "NULL"
"""What is shown for a value that is absent."""
ENCODER = msgspec.json.Encoder(decimal_format="number")
"""Numbers keep their digits."""
NATIVE = range(-(2**63), 2**64)
"""Integers that the encoder takes as they are."""


class JsonText(str):
    """A value of DuckDB's type JSON: a text that is JSON itself."""

    __slots__ = ()


def cell_of(value: Any) -> Text:
    """A value as it stands on the terminal: NULL as a word, nothing that would steer the terminal."""
    return Text(visible(text_of(value)[:DISPLAYED_CHARACTERS]), style="dim italic" if value is None else "")


def elided(text: Text, width: int) -> Text:
    """A cell cut in its middle: what tells two keys apart stands at their ends."""
    if len(text) <= width:
        return text
    kept = width - 1
    tail = (kept + 1) // 2
    return text[: kept - tail] + Text("…") + text[len(text) - tail :]


def text_of(value: Any) -> str:
    """The value as text; lists, structs and maps are JSON."""
    match value:
        case None:
            return NULL
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int() | float() | Decimal():
            return str(value)
        case list() | tuple() | dict():
            return json_of(value)
        case _:
            return str(plain_of(value))


def json_of(value: Any) -> str:
    """The value as JSON on one line."""
    return msgspec.json.format(ENCODER.encode(plain_of(value)), indent=0).decode()


def plain_of(value: Any) -> Any:
    """The value as JSON can hold it: maps and structs as objects, lists as arrays, times in ISO 8601.

    JSON has no number for NaN and the infinities: they are the texts that a table shows. A value of DuckDB's type JSON
    is what its text says.
    """
    match value:
        case JsonText():
            return msgspec.Raw(value.encode())
        case None | bool() | str():
            return value
        case int():
            return value if value in NATIVE else Decimal(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return value
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
