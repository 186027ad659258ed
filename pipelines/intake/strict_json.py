"""JSON as its standard has it: Python's own reader takes NaN and Infinity, and the last of a key's values."""

from __future__ import annotations

import json
from typing import Any


class RepeatedKeyError(ValueError):
    """A JSON object has the same key twice."""


def decode_strictly(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError for a text that is none, RepeatedKeyError for a repeated key."""
    return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKeyError(f"the key '{key}' stands twice in an object")
            seen.add(key)
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
