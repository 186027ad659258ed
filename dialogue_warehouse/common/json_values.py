"""JSON pointers (RFC 6901) and strict JSON.

Python's own reader accepts NaN and Infinity, and keeps the last of two values of one key; here both are errors. A key
can have half a surrogate pair, for which UTF-8 has no bytes: a pointer writes it as `~u` and four hexadecimal digits.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

ARRAY_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
"""A token that names an element of an array; `str.isdigit` would accept other digits too, which `int` refuses."""


HALF_PAIR = re.compile("[\ud800-\udfff]")
WRITTEN_HALF_PAIR = re.compile(r"~u(d[89a-f][0-9a-f]{2})")


def pointer_token(key: str) -> str:
    """A member's key as one token of a pointer."""
    token = key.replace("~", "~0").replace("/", "~1")
    return token if token.isascii() else HALF_PAIR.sub(lambda half: f"~u{ord(half[0]):x}", token)


def split_pointer(pointer: str) -> list[str]:
    """The keys and indexes that a pointer leads through."""
    return [_key(token) for token in pointer.split("/")[1:]]


def _key(token: str) -> str:
    key = token.replace("~1", "/")
    if "~u" in key:
        key = WRITTEN_HALF_PAIR.sub(lambda half: chr(int(half[1], 16)), key)
    return key.replace("~0", "~")


def beginning(pointer: str, depth: int) -> str:
    """The pointer to what stands `depth` tokens below the whole document on the way."""
    return "".join(f"/{token}" for token in pointer.split("/")[1 : depth + 1])


def array_index(token: str) -> int | None:
    """The index that a token is in an array, None for one that is none."""
    return int(token) if ARRAY_INDEX.fullmatch(token) else None


def resolve(document: Any, pointer: str) -> Any:
    """What stands at a pointer. Raises LookupError when nothing does."""
    value = document
    if pointer and not pointer.startswith("/"):
        raise LookupError(pointer)
    for name in split_pointer(pointer):
        match value:
            case dict() if name in value:
                value = value[name]
            case list() if (index := array_index(name)) is not None and index < len(value):
                value = value[index]
            case _:
                raise LookupError(pointer)
    return value


MOST_DIGITS = 1000
"""Digits of a whole number, far beyond any id; the time that reading one takes grows with their square."""
DEEPEST = 100
"""Levels of a value: schemas have some ten, and what reads a value again may itself stand deep in other calls."""


class UnreadableError(ValueError):
    """What JSON's grammar allows and no reader here keeps as it is; the message says what, in one line."""


class RepeatedKeyError(UnreadableError):
    """A JSON object has the same key twice."""


def decode_strictly(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError for a text that is none, RepeatedKeyError for a repeated key."""
    return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)


def decode_exactly(text: bytes) -> Any:
    """The value of a JSON text, of which nothing is lost when it is written as JSON again.

    Raises UnreadableError also for a number that would come back as another, and for nesting beyond DEEPEST.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_members,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short,
        )
    except RecursionError as error:
        raise UnreadableError(f"nested more than {DEEPEST} levels deep") from error
    if text.count(b"[") + text.count(b"{") > DEEPEST:  # else it cannot be so deep
        _refuse_depth(value)
    return value


def shown(text: str) -> str:
    """The text with each half of a surrogate pair, which UTF-8 has no bytes for, as the escape that JSON has for it."""
    return text.encode("utf-8", "backslashreplace").decode()


def split_path(message: str) -> tuple[str, str]:
    """Split msgspec's message from the path in it, which stands below `$`; the error has no other field for it."""
    what, _, path = message.partition(" - at `$")
    return what, path.rstrip("`")


def with_path(what: str, path: str) -> str:
    """Write what is wrong and the path below `$` as msgspec does."""
    return f"{what} - at `${path}`"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKeyError(f"the key '{shown(key)}' stands twice in an object")
            seen.add(key)
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise UnreadableError(f"the number {text[:40]} is beyond what is computed with")
    return number


def _short(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise UnreadableError(f"a number of {len(text):,} digits")
    return int(text)


def _refuse_depth(value: Any) -> None:
    """Raise UnreadableError for a value that is nested too deep; level by level, not by recursion."""
    level = [value]
    for _ in range(DEEPEST):
        level = [item for value in level for item in _items(value)]
        if not level:
            return
    raise UnreadableError(f"nested more than {DEEPEST} levels deep")


def _items(value: Any) -> list[Any]:
    """The arrays and objects in a value."""
    found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in found if isinstance(item, dict | list)]
