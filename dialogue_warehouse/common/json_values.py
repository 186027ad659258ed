"""JSON pointers (RFC 6901) and strict JSON.

Python's own reader accepts NaN and Infinity, and keeps the last of two values with the same key. Here both are errors;
msgspec and orjson have no option that refuses a repeated key.
A key can contain half a surrogate pair, for which UTF-8 has no bytes. A pointer writes it as `~u` and four hexadecimal
digits.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

import msgspec

ARRAY_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
"""A token that names an element of an array. `str.isdigit` also accepts digits that `int` refuses."""


HALF_PAIR = re.compile("[\ud800-\udfff]")
WRITTEN_HALF_PAIR = re.compile(r"~u(d[89a-f][0-9a-f]{2})")


def pointer_token(key: str) -> str:
    """Write the key of a member as one token of a pointer."""
    token = key.replace("~", "~0").replace("/", "~1")
    return token if token.isascii() else HALF_PAIR.sub(lambda half: f"~u{ord(half[0]):x}", token)


def split_pointer(pointer: str) -> list[str]:
    """Return the keys and indexes of a pointer."""
    return [_key(token) for token in pointer.split("/")[1:]]


def _key(token: str) -> str:
    key = token.replace("~1", "/")
    if "~u" in key:
        key = WRITTEN_HALF_PAIR.sub(lambda half: chr(int(half[1], 16)), key)
    return key.replace("~0", "~")


def beginning(pointer: str, depth: int) -> str:
    """Return the first `depth` tokens of a pointer, as a pointer."""
    return "".join(f"/{token}" for token in pointer.split("/")[1 : depth + 1])


def array_index(token: str) -> int | None:
    """Return the array index of a token, or None if it is not an index."""
    return int(token) if ARRAY_INDEX.fullmatch(token) else None


def resolve(document: Any, pointer: str) -> Any:
    """Return the value at a pointer. Raises LookupError if there is none."""
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


def text_at(document: bytes, pointer: str) -> str | None:
    """Return the JSON at a pointer on one line, with its numerals as they are written: 1.10 is not 1.1.

    Return None if half a surrogate pair prevents it. The pointer must fit the document: LookupError is raised for a key
    or an index that is not there.
    """
    try:
        text = bytes(document)
        for name in split_pointer(pointer):
            if text.lstrip()[:1] == b"[":
                text = bytes(msgspec.json.decode(text, type=list[msgspec.Raw])[int(name)])
            else:
                text = bytes(msgspec.json.decode(text, type=dict[str, msgspec.Raw])[name])
        return msgspec.json.format(text, indent=0).decode()
    except msgspec.DecodeError:
        return None


MOST_DIGITS = 1000
"""Maximum number of digits of a whole number, many more than any id has. Reading time grows with their square."""
DEEPEST = 100
"""Deepest nesting of a value. Schemas have about ten levels, and the code that reads a value may use the stack too."""


class UnreadableError(ValueError):
    """JSON that the grammar allows but no reader here can keep unchanged. The message is one line."""


class RepeatedKeyError(UnreadableError):
    """A JSON object has the same key twice."""


def decode_strictly(text: str | bytes) -> Any:
    """Decode a JSON text. Raises ValueError for a text that is not JSON, RepeatedKeyError for a repeated key."""
    return json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)


def decode_exactly(text: bytes) -> Any:
    """Decode a JSON text that loses nothing when it is written as JSON again.

    Raises UnreadableError also for a number that would change, and for nesting deeper than DEEPEST.
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
    if text.count(b"[") + text.count(b"{") > DEEPEST:  # otherwise it cannot be so deep
        _refuse_depth(value)
    return value


def shown(text: str) -> str:
    """Return the text with each half of a surrogate pair, which UTF-8 cannot encode, as its JSON escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def split_path(message: str) -> tuple[str, str]:
    """Split msgspec's message from the path below `$` in it; the error has no other field for the path."""
    what, _, path = message.partition(" - at `$")
    return what, path.rstrip("`")


def with_path(what: str, path: str) -> str:
    """Write the problem and the path below `$` in msgspec's format."""
    return f"{what} - at `${path}`"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise RepeatedKeyError(f"the key '{shown(repeated)}' occurs twice in an object")
    return members


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise UnreadableError(f"the number {text[:40]} is too large for a 64-bit float")
    return number


def _short(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise UnreadableError(f"a number of {len(text):,} digits")
    return int(text)


def _refuse_depth(value: Any) -> None:
    """Raise UnreadableError for a value that is nested too deep; works by level, without recursion."""
    level = [value]
    for _ in range(DEEPEST):
        level = [item for value in level for item in _items(value)]
        if not level:
            return
    raise UnreadableError(f"nested more than {DEEPEST} levels deep")


def _items(value: Any) -> list[Any]:
    """Return the arrays and objects that a value contains."""
    found = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in found if isinstance(item, dict | list)]
