"""Records: a release's file split into its records, each as JSON text.

No record is decoded here; that is `pipelines.ingestion.checking`. A file that is not JSON, or does not have the layout
of its container, is refused in one line. Other readers fail at half a surrogate pair and at a thousand levels of
nesting, and keep only one of two equal keys, although JSON's grammar allows all of these. Such files are split
by a slower reader of this module, at about 5 MB per second. A file may change while a build reads it: its state is
noted first and compared after each reading.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dialogue_warehouse.common.files import open_regular, read_open
from dialogue_warehouse.common.json_values import RepeatedKeyError, pointer_token, shown, split_path, with_path
from dialogue_warehouse.common.text import place_of, split_lines
from dialogue_warehouse.corpora.release import Container, Entity
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases import csv_tables, value_lines
from dialogue_warehouse.releases.file_kinds import PUBLISHED, answer_kind, refusal, why_unreadable

TOKEN = re.compile(
    rb"""[ \t\n\r]*+(?:
        (?P<mark>[\[\]{},:])
      | (?P<text>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")
      | (?P<other>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|true|false|null)
    )""",
    re.VERBOSE,
)
UNFINISHED_TEXT = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+\\?+\Z')
CONSTANT = re.compile(rb"-?(?:NaN|Infinity)\b")
"""Words for numbers that Python writes, although JSON has none of them."""
BLANK = re.compile(rb"[ \t\n\r]*+")
CLOSING = {"[": "]", "{": "}"}
VALUE, FIRST_ELEMENT, FIRST_KEY, KEY, COLON, AFTER = range(6)
"""Next expected token: a value; or an array's end; a key or an object's end; a key; a colon; a separator or end."""
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
"""The state after each token. The state after a comma depends on the array or object around it."""


class NotJsonError(ValueError):
    """The text is not JSON. The message gives the position, `advice` says how to fix it."""

    def __init__(self, message: str, advice: str = "repair it, or download it again") -> None:
        """Create the error; the default advice is for a damaged text."""
        super().__init__(message)
        self.advice = advice


class Member(NamedTuple):
    """A member of an array or object: its key, and the position of its value."""

    key: str | None
    start: int
    end: int


def members(text: bytes, opening: str, position: int = 0) -> tuple[list[Member], int]:
    """Return the members of the JSON array or object at `position`, repeated keys included, and the position after it.

    Raises NotJsonError if there is no array or object.
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
    """Return the end of the value that begins at `position`. Raises NotJsonError."""
    inside = bytearray()  # one flag per enclosing array or object: true for an object
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
        if not inside:
            return position


def refuse_more(text: bytes, position: int) -> None:
    """Raise NotJsonError if anything but blanks follows the value."""
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
    """Return the mark or the kind of the token at `position`, its start and its end."""
    found = TOKEN.match(text, position)
    if found is None:
        start = _after_blanks(text, position)
        if start == len(text) or UNFINISHED_TEXT.match(text, start):
            where = place_of(text, len(text))
            raise NotJsonError(f"not JSON, cut off at its end, {where}", "download it again")
        constant = CONSTANT.match(text, start)
        what = f"not JSON, {constant[0].decode()}" if constant else "not JSON"
        raise NotJsonError(f"{what} at {place_of(text, start)}")
    kind = str(found.lastgroup)
    start, end = found.span(kind)
    return (text[start:end].decode() if kind == "mark" else kind), start, end


MEMBER_KEY = re.compile(rb'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
OBJECT_END = re.compile(rb"\s*\}\s*\Z")


class LandingError(InputError):
    """A file cannot be landed. The message names corpus, file and position in one line."""


class Record(NamedTuple):
    """One published record, still as JSON text."""

    index: int
    key: str | None
    pointer: str
    text: bytes
    row: dict[str, Any] | None = None
    refused: str | None = None
    """The reason why the record is refused unread. In another form `row` has the row that `text` was made from."""
    place: str | None = None
    """Line and column of the record in a file of lines."""


def split_records(entity: Entity, where: str, text: bytes) -> tuple[list[str] | None, Iterator[Record]]:
    """Split a file into its parts and its records as JSON text. Raises LandingError for a file that is not JSON."""
    if entity.container is Container.LINES:
        return None, _split_lines(where, text)
    if entity.container is Container.TABLE:
        return None, _split_table(where, text)
    if entity.container is Container.JSON_LINES:
        return None, _split_json_lines(where, text)
    try:
        whole = _decode_members(entity, text)
    except msgspec.ValidationError as error:
        refuse_answer(where, text)
        _refuse_json_lines(where, text)
        raise LandingError(f"{where}: {with_path(*split_path(str(error)))}: {PUBLISHED}") from error
    except (msgspec.DecodeError, RecursionError, RepeatedKeyError):
        return _take_apart(entity, where, text)
    match entity.container:
        case Container.ARRAY:
            return None, (Record(i, None, f"/{i}", bytes(raw)) for i, raw in enumerate(whole))
        case Container.ENTRIES:
            members = enumerate(whole.items())
            return None, (Record(i, key, f"/{pointer_token(key)}", bytes(raw)) for i, (key, raw) in members)
        case Container.SPLITS:
            return list(whole), _split_parts(whole)
        case _:
            return None, iter([Record(0, None, "", bytes(whole))])


def _decode_members(entity: Entity, text: bytes) -> Any:
    """Return the records as raw JSON in the layout of the container; errors of msgspec are not caught."""
    match entity.container:
        case Container.ARRAY:
            return msgspec.json.decode(text, type=list[msgspec.Raw])
        case Container.ENTRIES:
            return _members(text)
        case Container.SPLITS:
            parts = _members(text)
            return {key: _decode_part(key, part) for key, part in parts.items()}
        case _:
            return msgspec.json.decode(text, type=msgspec.Raw)


def _decode_part(key: str, part: msgspec.Raw) -> list[msgspec.Raw]:
    """Return the records of a part as raw JSON; the error for a part that is not an array names the part."""
    try:
        return msgspec.json.decode(part, type=list[msgspec.Raw])
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(with_path(str(error), f".{shown(key)}")) from error


def _split_parts(whole: dict[str, list[msgspec.Raw]]) -> Iterator[Record]:
    """Yield the records of an object of arrays; `index` counts within each array."""
    for part, raws in whole.items():
        for index, raw in enumerate(raws):
            yield Record(index, part, f"/{pointer_token(part)}/{index}", bytes(raw))


def _split_lines(where: str, text: bytes) -> Iterator[Record]:
    """Yield lines of one value each. A line of another shape becomes a refused record with its original text."""
    for index, line in enumerate(value_lines.read_lines(where, text)):
        place = f"line {index + 1}, column {line.column + 1}"
        encoded = json.dumps(line.content).encode()
        yield Record(index, None, f"/{index}", encoded, refused=line.refused, place=place)


def _split_table(where: str, text: bytes) -> Iterator[Record]:
    """Yield the lines below the names of the columns. Raises LandingError for a first line that does not name them."""
    rows = csv_tables.read_table(text.decode(), csv_tables.separator_of(where))
    try:
        for index, (line, content, refused) in enumerate(rows):
            encoded = json.dumps(content).encode()
            yield Record(index, None, f"/{index}", encoded, refused=refused, place=f"line {line}")
    except csv_tables.HeaderError as error:
        refuse_answer(where, text)
        raise LandingError(f"{where}: {error}: {PUBLISHED}") from error


def _split_json_lines(where: str, text: bytes) -> Iterator[Record]:
    """Yield the JSON value of each line. Raises LandingError for a line that is not one JSON value."""
    for index, raw in enumerate(split_lines(text)):
        place = f"line {index + 1}"
        if not raw.strip():
            raise LandingError(f"{where}: {place} is blank: remove it, or download the file again")
        try:
            refuse_more(raw, end_of_value(raw, 0))
        except NotJsonError as error:
            advice = "each line must have a whole one" if re.match(rb"\s*(\[|\{\s*$)", raw) else error.advice
            raise LandingError(f"{where}: {place} is not one JSON value: {advice}") from error
        yield Record(index, None, f"/{index}", raw.strip(), place=place)


def refuse_answer(where: str, text: bytes) -> None:
    """Raise LandingError for the error response of a server. Call it only for a file that the schema refuses."""
    if kind := answer_kind(text):
        raise LandingError(refusal(where, kind))


def _refuse_json_lines(where: str, text: bytes) -> None:
    """Raise LandingError for a file of JSON lines. Call it only for a file that is not the expected single value."""
    first = [line for line in text.split(b"\n", 2)[:2] if line.strip()]
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        if len(first) > 1 and all(isinstance(msgspec.json.decode(line), dict | list) for line in first):
            raise LandingError(
                f"{where}: has one JSON value per line (JSON Lines), not one for the whole file: {PUBLISHED}"
            )


def _members(text: bytes) -> dict[str, msgspec.Raw]:
    """Return the members of an object. Raises RepeatedKeyError, because msgspec keeps only the last of equal keys."""
    members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    position = text.index(b"{") + 1 if not members else 0
    for key, raw in members.items():
        match = MEMBER_KEY.match(text, position)
        if match is None or json.loads(match[1]) != key:
            raise RepeatedKeyError(key)
        position = match.end() + memoryview(raw).nbytes
    if not OBJECT_END.match(text, position):
        raise RepeatedKeyError
    return members


def _take_apart(entity: Entity, where: str, text: bytes) -> tuple[list[str] | None, Iterator[Record]]:
    """Split a file that msgspec rejects or reads incompletely but which may be JSON, such as one with equal keys."""
    if not text.strip():
        raise LandingError(f"{where}: is empty: download it again")
    try:
        if entity.container is Container.DOCUMENT:
            end = end_of_value(text, 0)
        else:
            found, end = members(text, "[" if entity.container is Container.ARRAY else "{")
        refuse_more(text, end)
        match entity.container:
            case Container.ARRAY:
                values = (text[member.start : member.end] for member in found)
                return None, (Record(i, None, f"/{i}", value) for i, value in enumerate(values))
            case Container.ENTRIES:
                return None, _entries(text, found)
            case Container.SPLITS:
                parts = {str(part.key): members(text, "[", part.start)[0] for part in found}
                _refuse_parts(where, text, found)
                return list(parts), _parts(text, parts)
            case _:
                return None, iter([Record(0, None, "", text.strip())])
    except NotJsonError as error:
        _refuse_json_lines(where, text)
        raise LandingError(f"{where}: {error}: {error.advice}") from error


def _entries(text: bytes, found: list[Member]) -> Iterator[Record]:
    """Yield the members of an object. A member whose key is repeated or is not valid text is a refused record."""
    seen: set[str] = set()
    for index, member in enumerate(found):
        key = str(member.key)
        refused = None
        if key in seen:
            refused = f"the key '{shown(key)}' occurs twice in the file"
        elif shown(key) != key:
            refused = "the key has half a surrogate pair"
        seen.add(key)
        yield Record(index, key, f"/{pointer_token(key)}", text[member.start : member.end], refused=refused)


def _refuse_parts(where: str, text: bytes, found: list[Member]) -> None:
    """Raise LandingError for a repeated part, or one whose name cannot be stored."""
    seen: set[str] = set()
    for part in found:
        key = str(part.key)
        if key not in seen and shown(key) == key:
            seen.add(key)
            continue
        what = "occurs twice" if key in seen else "has half a surrogate pair"
        advice = f"at {place_of(text, part.start)}: repair it, or download it again"
        raise LandingError(f"{where}: the key '{shown(key)}' {what}, {advice}")


def _parts(text: bytes, parts: dict[str, list[Member]]) -> Iterator[Record]:
    """Yield the records of an object of arrays; `index` counts within each array."""
    for part, found in parts.items():
        for index, member in enumerate(found):
            yield Record(index, part, f"/{pointer_token(part)}/{index}", text[member.start : member.end])


ATTEMPTS = 5
"""Maximum number of attempts to read a file that changes while it is read."""
TICK = 20_000_000
"""Nanoseconds within which two changes may get the same time: Linux counts 100 ticks a second or more."""


@dataclass(frozen=True)
class FileState:
    """The state of a file without reading it; `changed` also detects a forged `modified`."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


def state_of(file: Path) -> FileState | None:
    """Return the state of a file; None if it is not accessible."""
    try:
        return _state(file.stat())
    except OSError:
        return None


def read_settled(where: str, file: Path) -> tuple[bytes, FileState]:
    """Read the bytes of a file at one moment, and its state at that moment.

    Raises LandingError if it cannot be read, or changes during each attempt.
    """
    for _ in range(ATTEMPTS):
        try:
            with open_regular(file) as stream:
                before = _settled(stream.fileno())
                data = read_open(stream)
        except OSError as error:
            raise LandingError(f"{where}: {why_unreadable(file, error)}") from error
        if state_of(file) == before and len(data) == before.size:
            return data, before
    raise LandingError(f"{where}: changed while it was read")


def _settled(descriptor: int) -> FileState:
    """Return the state of an open file, after waiting until a further change would get another time."""
    state = _state(os.fstat(descriptor))
    age = time.time_ns() - state.changed
    if 0 <= age < TICK:
        time.sleep((TICK - age) / 1e9)
        return _state(os.fstat(descriptor))
    return state


def _state(found: os.stat_result) -> FileState:
    return FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
