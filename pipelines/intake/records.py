"""Records: the text of a release's file taken apart into its records, each still JSON text.

Nothing here decodes a record: that is `pipelines.intake.checking`. A file that is no JSON, or not of its container's
shape, is refused in one line.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from pipelines.corpora.room import Container, Entity
from pipelines.errors import InputError, first_line
from pipelines.intake.json_pointer import pointer_token
from pipelines.intake.strict_json import decode_strictly

MEMBER_KEY = re.compile(rb'\s*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
OBJECT_END = re.compile(rb"\s*\}\s*\Z")
PIECE = 2**20
"""Bytes that are decoded at a time when the encoding is checked."""
UNPACKED_LIMIT = 16 * 2**30
"""Bytes that a gzipped file may unpack to; no release comes near, a malicious archive would."""


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
    """Of another form: the row that `text` was made from, and why none could be."""


def unpack(where: str, data: bytes) -> bytes:
    """The text of the file, unzipped; UTF-8 or refused."""
    if where.endswith(".gz"):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as archive:
                data = archive.read(UNPACKED_LIMIT + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise LandingError(f"{where}: broken gzip, {first_line(error)}") from error
        if len(data) > UNPACKED_LIMIT:
            raise LandingError(f"{where}: unpacks to more than {UNPACKED_LIMIT} bytes")
    _refuse_other_encodings(where, data)
    return data


def _refuse_other_encodings(where: str, data: bytes) -> None:
    """Raise LandingError for bytes that are no UTF-8. A piece at a time: the text of a whole release is never held."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, len(data), PIECE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(view[start : start + PIECE], final=start + PIECE >= len(data))
        except UnicodeDecodeError as error:
            raise LandingError(f"{where}: not UTF-8 at byte {start - pending + error.start}") from error


def split_records(entity: Entity, where: str, text: bytes) -> tuple[list[str] | None, Iterator[Record]]:
    """The parts of the file and its records as JSON text. Raises LandingError for a file that is no JSON."""
    if entity.container is Container.LINES:
        return None, _split_lines(where, text)
    try:
        whole = _decode_members(entity, where, text)
    except msgspec.ValidationError as error:
        raise LandingError(f"{where}: {error}") from error
    except msgspec.DecodeError as error:
        whole = _decode_leniently(entity, where, text, error)
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


def _decode_members(entity: Entity, where: str, text: bytes) -> Any:
    """The records as raw JSON, in the container's own shape; the rest of msgspec's errors come through."""
    match entity.container:
        case Container.ARRAY:
            return msgspec.json.decode(text, type=list[msgspec.Raw])
        case Container.ENTRIES:
            return _members(where, text)
        case Container.SPLITS:
            parts = _members(where, text)
            return {key: msgspec.json.decode(part, type=list[msgspec.Raw]) for key, part in parts.items()}
        case _:
            return msgspec.json.decode(text, type=msgspec.Raw)


def _split_parts(whole: dict[str, list[msgspec.Raw]]) -> Iterator[Record]:
    """The records of an object of arrays; `index` counts within each array."""
    for part, raws in whole.items():
        for index, raw in enumerate(raws):
            yield Record(index, part, f"/{pointer_token(part)}/{index}", bytes(raw))


def _split_lines(where: str, text: bytes) -> Iterator[Record]:
    """Lines `<value>,`. A line of another shape becomes a record that no schema accepts."""
    if text and not text.endswith(b"\n"):
        raise LandingError(f"{where}: cut off, the last line has no end")
    for index, line in enumerate(text.decode().split("\n")[:-1]):
        value = line[:-1]
        is_regular = line.endswith(",") and not set(value) & {",", '"', "\r"}
        yield Record(index, None, f"/{index}", json.dumps({"value": value} if is_regular else line).encode())


def _decode_leniently(entity: Entity, where: str, text: bytes, error: msgspec.DecodeError) -> Any:
    """Split a file whose text msgspec cannot scan but which is JSON all the same (a lone surrogate escape)."""
    try:
        whole = decode_strictly(text)
    except (ValueError, RecursionError):
        message = first_line(error)
        place = f" at its end, byte {len(text)}" if "truncated" in message else ""
        raise LandingError(f"{where}: not JSON, {message}{place}") from error

    def raw(value: Any) -> bytes:
        return json.dumps(value, separators=(",", ":")).encode()

    match entity.container, whole:
        case Container.ARRAY, list():
            return [raw(value) for value in whole]
        case Container.ENTRIES, dict():
            return {key: raw(value) for key, value in whole.items()}
        case Container.SPLITS, dict() if all(isinstance(part, list) for part in whole.values()):
            return {key: [raw(value) for value in part] for key, part in whole.items()}
        case Container.DOCUMENT, _:
            return raw(whole)
    raise LandingError(f"{where}: not the shape of {entity.container.value}") from error


def _members(where: str, text: bytes) -> dict[str, msgspec.Raw]:
    """The members of an object. Refuses one whose own keys repeat: msgspec keeps the last and drops the others."""
    members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    position = text.index(b"{") + 1 if not members else 0
    for key, raw in members.items():
        match = MEMBER_KEY.match(text, position)
        if match is None or json.loads(match[1]) != key:
            raise LandingError(f"{where}: the key '{key}' stands twice")
        position = match.end() + memoryview(raw).nbytes
    if not OBJECT_END.match(text, position):
        repeated = MEMBER_KEY.match(text, position)
        key = json.loads(repeated[1]) if repeated else next(reversed(members), "")
        raise LandingError(f"{where}: the key '{key}' stands twice")
    return members
