"""JSON text taken apart where its members stand, without decoding them and without recursion.

Other readers stop at half a surrogate pair, at nesting a thousand levels deep, and keep one of two equal keys, all of
which the grammar of JSON allows. This one is for the files at which they stop: some 5 MB a second.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from pipelines.intake.text_lines import place_of

TOKEN = re.compile(
    rb"""[ \t\n\r]*+(?:
        (?P<mark>[\[\]{},:])
      | (?P<text>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")
      | (?P<other>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|true|false|null)
    )""",
    re.VERBOSE,
)
UNFINISHED_TEXT = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+\\?+\Z')
BLANK = re.compile(rb"[ \t\n\r]*+")
CLOSING = {"[": "]", "{": "}"}
VALUE, FIRST_ELEMENT, FIRST_KEY, KEY, COLON, AFTER = range(6)
"""What may come next: a value; also the end of an array; a key or the end of an object; a key; a colon; what parts."""
STEPS = {
    **{(state, kind): AFTER for state in (VALUE, FIRST_ELEMENT) for kind in ("text", "other")},
    **{(state, "["): FIRST_ELEMENT for state in (VALUE, FIRST_ELEMENT)},
    **{(state, "{"): FIRST_KEY for state in (VALUE, FIRST_ELEMENT)},
    **{(state, "text"): COLON for state in (FIRST_KEY, KEY)},
    (COLON, ":"): VALUE,
    (FIRST_ELEMENT, "]"): AFTER,
    (FIRST_KEY, "}"): AFTER,
    (AFTER, "]"): AFTER,
    (AFTER, "}"): AFTER,
}
"""What comes after what; a comma is told apart by what it stands in."""


class NotJsonError(ValueError):
    """The text is no JSON; the message says where."""


class Member(NamedTuple):
    """A member of an array or object: its key, and where its value stands."""

    key: str | None
    start: int
    end: int


def members(text: bytes, opening: str, position: int = 0) -> tuple[list[Member], int]:
    """The members of the array or object that begins at `position`, also those with the key of another; where it ends.

    Raises NotJsonError where the text is none, or does not begin so.
    """
    kind, at, position = _token(text, position)
    if kind != opening:
        raise NotJsonError(f"expected `{opening}` at {place_of(text, at)}")
    found: list[Member] = []
    kind, _, end = _token(text, position)
    while kind != CLOSING[opening]:
        key = None
        if opening == "{":
            key, position = _key(text, position)
        start = _after_blanks(text, position)
        end = end_of_value(text, start)
        found.append(Member(key, start, end))
        kind, at, position = _token(text, end)
        if kind not in (CLOSING[opening], ","):
            raise NotJsonError(f"not JSON at {place_of(text, at)}")
        end = position
    return found, end


def end_of_value(text: bytes, position: int) -> int:
    """Where the value ends that begins at `position`. Raises NotJsonError where the text is none."""
    inside = bytearray()  # of each array and object around, whether it is an object
    state = VALUE
    while True:
        kind, at, position = _token(text, position)
        step = STEPS.get((state, kind))
        if state == AFTER and kind == ",":
            step = KEY if inside[-1] else VALUE
        if step is None or (kind in ("]", "}") and inside.pop() != (kind == "}")):
            raise NotJsonError(f"not JSON at {place_of(text, at)}")
        if kind in CLOSING:
            inside.append(kind == "{")
        state = step
        if state == AFTER and not inside:
            return position


def refuse_more(text: bytes, position: int) -> None:
    """Raise NotJsonError when anything but blanks stands behind the whole."""
    end = _after_blanks(text, position)
    if end < len(text):
        raise NotJsonError(f"not JSON at {place_of(text, end)}")


def _after_blanks(text: bytes, position: int) -> int:
    found = BLANK.match(text, position)
    return found.end() if found else position


def _key(text: bytes, position: int) -> tuple[str, int]:
    kind, at, end = _token(text, position)
    if kind != "text":
        raise NotJsonError(f"not JSON at {place_of(text, at)}")
    colon, after, position = _token(text, end)
    if colon != ":":
        raise NotJsonError(f"not JSON at {place_of(text, after)}")
    return json.loads(text[at:end]), position


def _token(text: bytes, position: int) -> tuple[str, int, int]:
    """The mark or the kind of the token at `position`, where it begins, and where it ends."""
    found = TOKEN.match(text, position)
    if found is None:
        start = _after_blanks(text, position)
        if start == len(text) or UNFINISHED_TEXT.match(text, start):
            raise NotJsonError(f"not JSON, cut off at its end, {place_of(text, len(text))}: download it again")
        raise NotJsonError(f"not JSON at {place_of(text, start)}")
    kind = str(found.lastgroup)
    start, end = found.span(kind)
    return (text[start:end].decode() if kind == "mark" else kind), start, end
