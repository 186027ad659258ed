"""JSON pointers (RFC 6901): tokens written, taken apart and followed.

A key can have half a surrogate pair, for which UTF-8 has no bytes. It is written `~u` and four hexadecimal digits,
which no other key is written as, because `~` itself is `~0`.
"""

from __future__ import annotations

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
