"""Records: the text of a release's file taken apart into its records, each still JSON text.

Nothing here decodes a record: that is `pipelines.intake.checking`. A file that is no JSON, or not of its container's
shape, is refused in one line.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from pipelines.corpora.room import Container, Entity
from pipelines.errors import InputError
from pipelines.intake import json_text
from pipelines.intake.file_kinds import PUBLISHED, answer_kind, refusal
from pipelines.intake.json_pointer import pointer_token
from pipelines.intake.json_text import Member, NotJsonError
from pipelines.intake.strict_json import RepeatedKeyError, shown
from pipelines.intake.text_lines import split_lines

LINE = re.compile(
    r"""[ \t]*+(?:"(?P<quoted>(?:[^"\r]|"")*+)"|(?P<plain>[^",\r]*+))[ \t]*+  # one value
    (?P<commas>(?:,[ \t]*+(?:"")?+[ \t]*+)*+)  # empty columns behind it""",
    re.VERBOSE,
)
NEEDS_QUOTES = re.compile(r'[",\r\n]|^[ \t]|[ \t]$')
MEMBER_KEY = re.compile(rb'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
OBJECT_END = re.compile(rb"\s*\}\s*\Z")


class LandingError(InputError):
    """A file cannot be landed; the message names corpus, file and position in one line."""


class Record(NamedTuple):
    """One published record, still as JSON text."""

    index: int
    key: str | None
    pointer: str
    text: bytes
    row: dict[str, Any] | None = None
    refused: str | None = None
    """Why the record is refused before it is read, and of another form the row that `text` was made from."""
    place: str | None = None
    """Line and column of the record in a file of lines."""


def split_records(entity: Entity, where: str, text: bytes) -> tuple[list[str] | None, Iterator[Record]]:
    """The parts of the file and its records as JSON text. Raises LandingError for a file that is no JSON."""
    if entity.container is Container.LINES:
        return None, _split_lines(text)
    try:
        whole = _decode_members(entity, text)
    except msgspec.ValidationError as error:
        refuse_answer(where, text)
        _refuse_json_lines(where, text)
        told = str(error) if " - at `$" in str(error) else f"{error} - at `$`"
        raise LandingError(f"{where}: {told}: {PUBLISHED}") from error
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
    """The records as raw JSON, in the container's own shape; msgspec's errors come through."""
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
    """The records of a part as raw JSON; msgspec's error for one that is no array names the part."""
    try:
        return msgspec.json.decode(part, type=list[msgspec.Raw])
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(f"{error} - at `$.{shown(key)}`") from error


def _split_parts(whole: dict[str, list[msgspec.Raw]]) -> Iterator[Record]:
    """The records of an object of arrays; `index` counts within each array."""
    for part, raws in whole.items():
        for index, raw in enumerate(raws):
            yield Record(index, part, f"/{pointer_token(part)}/{index}", bytes(raw))


def _split_lines(text: bytes) -> Iterator[Record]:
    """Read lines of one value each. A line of another shape becomes a record that is refused, as it was written."""
    for index, raw in enumerate(split_lines(text)):
        line = raw.decode()
        found = LINE.match(line)
        if found and found.end() == len(line) and line.strip():
            quoted = found["quoted"]
            value = found["plain"].rstrip(" \t") if quoted is None else quoted.replace('""', '"')
            column, content, refused = found.start("plain" if quoted is None else "quoted"), {"value": value}, None
        else:
            column = found.end() if found and line.strip() else 0
            content, refused = line, _why_refused(line, column)
        place = f"line {index + 1}, column {column + 1}"
        yield Record(index, None, f"/{index}", json.dumps(content).encode(), refused=refused, place=place)


def _why_refused(line: str, at: int) -> str:
    """Say what is wrong with a line, which is one value up to this character."""
    if not line.strip():
        return "the line is blank"
    match line[at]:
        case '"':
            return "a quote that is not closed, or within a value that has none around it"
        case "\r":
            return "a carriage return within the line"
        case _ if line[:at].rstrip(" \t").endswith(","):
            return "a second column"
    return "text behind the closing quote"


def write_line(value: str) -> str:
    """Write a value as a line that `split_records` reads as the same value."""
    if NEEDS_QUOTES.search(value):
        value = '"' + value.replace('"', '""') + '"'
    return f"{value},\n"


def refuse_answer(where: str, text: bytes) -> None:
    """Raise LandingError for the error answer of a server. Call it only for a file that the schema refuses."""
    if kind := answer_kind(text):
        raise LandingError(refusal(where, kind))


def _refuse_json_lines(where: str, text: bytes) -> None:
    """Raise LandingError for a file of JSON lines. Call it only for a file that is not the one value it should be."""
    first = [line for line in text.split(b"\n", 2)[:2] if line.strip()]
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        if len(first) > 1 and all(isinstance(msgspec.json.decode(line), dict | list) for line in first):
            raise LandingError(f"{where}: has one JSON value in each line (JSON Lines), not one in all: {PUBLISHED}")


def _members(text: bytes) -> dict[str, msgspec.Raw]:
    """The members of an object. Raises RepeatedKeyError: msgspec keeps the last of equal keys and drops the others."""
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
    """Split a file that msgspec does not, but which may be JSON all the same: of equal keys, say, it keeps one."""
    if not text.strip():
        raise LandingError(f"{where}: is empty: download it again")
    try:
        if entity.container is Container.DOCUMENT:
            end = json_text.end_of_value(text, 0)
        else:
            found, end = json_text.members(text, "[" if entity.container is Container.ARRAY else "{")
        json_text.refuse_more(text, end)
        match entity.container:
            case Container.ARRAY:
                values = (text[member.start : member.end] for member in found)
                return None, (Record(i, None, f"/{i}", value) for i, value in enumerate(values))
            case Container.ENTRIES:
                return None, _entries(text, found)
            case Container.SPLITS:
                parts = {str(part.key): json_text.members(text, "[", part.start)[0] for part in found}
                _refuse_parts(where, [str(part.key) for part in found])
                return list(parts), _parts(text, parts)
            case _:
                return None, iter([Record(0, None, "", text.strip())])
    except NotJsonError as error:
        _refuse_json_lines(where, text)
        advice = "" if str(error).endswith("again") else ": repair it, or download it again"
        raise LandingError(f"{where}: {error}{advice}") from error


def _entries(text: bytes, found: list[Member]) -> Iterator[Record]:
    """The members of an object; one whose key was there before, or is no text, is a record that is refused."""
    seen: set[str] = set()
    for index, member in enumerate(found):
        key = str(member.key)
        refused = None
        if key in seen:
            refused = f"the key '{shown(key)}' stands twice in the file"
        elif shown(key) != key:
            refused = "the key has half a surrogate pair"
        seen.add(key)
        yield Record(index, key, f"/{pointer_token(key)}", text[member.start : member.end], refused=refused)


def _refuse_parts(where: str, parts: list[str]) -> None:
    """Raise LandingError for a part that is there twice, or whose name no table holds."""
    for position, part in enumerate(parts):
        if shown(part) != part:
            raise LandingError(f"{where}: the key '{shown(part)}' has half a surrogate pair")
        if part in parts[:position]:
            raise LandingError(f"{where}: the key '{part}' stands twice")


def _parts(text: bytes, parts: dict[str, list[Member]]) -> Iterator[Record]:
    """The records of an object of arrays; `index` counts within each array."""
    for part, found in parts.items():
        for index, member in enumerate(found):
            yield Record(index, part, f"/{pointer_token(part)}/{index}", text[member.start : member.end])
