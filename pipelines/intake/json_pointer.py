"""JSON pointers (RFC 6901): tokens written, taken apart and followed."""

from __future__ import annotations

import re
from typing import Any

ARRAY_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
"""A token that names an element of an array; `str.isdigit` would accept other digits too, which `int` refuses."""


def pointer_token(key: str) -> str:
    """A member's key as one token of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def split_pointer(pointer: str) -> list[str]:
    """The keys and indexes that a pointer leads through."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


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
