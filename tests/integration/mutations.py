"""Damage to the bytes of a file, as a broken disk, a careless script or an attacker could do it to a release.

Each mutation is a function of a random source and the bytes. The mutations of JSON insert valid JSON at a valid place,
so that the file stays JSON and landing has to decide.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable

Mutation = Callable[[random.Random, bytes], bytes]

NASTY = (
    b"1e400",
    b"-1e999",
    b"1e-400",
    b"9" * 10_000,
    b"9" * 400,
    b"-0",
    b"2147483648",
    b"0.1000000000000000055511151231257827021181583404541015625",
    b"[" * 1200 + b"]" * 1200,
    b'{"a":' * 1200 + b"1" + b"}" * 1200,
    b"[" * 150 + b"]" * 150,
    rb'"\ud83d"',
    rb'"\udc00\ud83d"',
    rb'"\u0000"',
    rb'"\u001b[31m\u2028\n"',
    rb'{"\ud83d":1}',
    b'{"a":1,"a":2}',
    b'{"":{"":[]}}',
    b"[]",
    b"{}",
    b"null",
    b"true",
    b'""',
    b'"' + "é😀".encode() + b'"',
    b"NaN",
    b"01",
)
"""Values that grammar, types or readers disagree on; the last two are not JSON."""
KEYS = (b'"zz"', rb'"\ud83d"', b'"a/b~c"', b'""', b'"~u"', rb'"\u0000"', b'"' + b"k" * 300 + b'"', b'"id"', b'"ID"')
MEMBER = re.compile(rb'"(?:[^"\\]|\\.)*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?[0-9.]+|\[\]|\{\}|null|true|false)')
SCALAR = re.compile(rb'(?<=[:,\[])\s*+(?:"(?:[^"\\]|\\.)*"(?!\s*:)|-?[0-9.]+|null|true|false)')


def _at(chance: random.Random, pattern: re.Pattern[bytes], data: bytes) -> tuple[int, int]:
    """Return one of the positions that match the pattern; the end of the data if none matches."""
    places = [found.span() for found in pattern.finditer(data)]
    return chance.choice(places) if places else (len(data), len(data))


def put_in_a_member(chance: random.Random, data: bytes) -> bytes:
    """Insert a key into an object."""
    _, end = _at(chance, re.compile(rb"\{"), data)
    rest = data[end:]
    comma = b"" if rest.lstrip().startswith(b"}") else b","
    return data[:end] + chance.choice(KEYS) + b":" + chance.choice(NASTY) + comma + rest


def repeat_a_member(chance: random.Random, data: bytes) -> bytes:
    """Repeat a key of an object, with its own value or another."""
    start, end = _at(chance, MEMBER, data)
    member = data[start:end]
    key = member[: re.match(rb'"(?:[^"\\]|\\.)*"|', member).end()]
    again = chance.choice([member, key + b":" + chance.choice(NASTY)])
    return data[:end] + b"," + again + data[end:]


def replace_a_value(chance: random.Random, data: bytes) -> bytes:
    """Replace a text or a number by another value."""
    start, end = _at(chance, SCALAR, data)
    return data[:start] + chance.choice(NASTY) + data[end:]


def put_in_an_element(chance: random.Random, data: bytes) -> bytes:
    """Insert an element into an array."""
    _, end = _at(chance, re.compile(rb"\["), data)
    comma = b"" if data[end:].lstrip().startswith(b"]") else b","
    return data[:end] + chance.choice(NASTY) + comma + data[end:]


def put_in_and_repeat(chance: random.Random, data: bytes) -> bytes:
    """Insert an unknown key and a repeated key into the same file."""
    return put_in_a_member(chance, repeat_a_member(chance, data))


def flip_bits(chance: random.Random, data: bytes) -> bytes:
    """Change up to three bytes."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut_off(chance: random.Random, data: bytes) -> bytes:
    """Return the beginning of the file."""
    return data[: chance.randrange(len(data) + 1)]


def lose_a_piece(chance: random.Random, data: bytes) -> bytes:
    """Remove some bytes from the middle of the file."""
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.randint(1, 40) :]


def repeat_a_piece(chance: random.Random, data: bytes) -> bytes:
    """Repeat some bytes of the file."""
    start = chance.randrange(len(data) + 1)
    end = start + chance.randint(1, 200)
    return data[:end] + data[start:]


def put_in_bytes(chance: random.Random, data: bytes) -> bytes:
    """Insert some bytes that are not text, or not text of this encoding."""
    place = chance.randrange(len(data) + 1)
    piece = chance.choice([b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b[31m", b"\r", b"\x0c", b"\xc3"])
    return data[:place] + piece + data[place:]


def encode_otherwise(chance: random.Random, data: bytes) -> bytes:
    """Return the same text in another encoding, or with a byte order mark."""
    encoding = chance.choice(["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
    return data.decode("utf-8", "replace").encode(encoding)


def write_otherwise(chance: random.Random, data: bytes) -> bytes:
    """Return the same JSON, written with other blanks and escapes."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data
    text = json.dumps(value, indent=chance.choice([None, 0, 3]), ensure_ascii=chance.random() < 0.5)
    return text.encode("utf-8", "surrogatepass")


OF_JSON: tuple[Mutation, ...] = (
    put_in_a_member,
    repeat_a_member,
    replace_a_value,
    put_in_an_element,
    put_in_and_repeat,
    write_otherwise,
)
OF_BYTES: tuple[Mutation, ...] = (
    flip_bits,
    cut_off,
    lose_a_piece,
    repeat_a_piece,
    put_in_bytes,
    encode_otherwise,
)


def mutate(chance: random.Random, data: bytes) -> bytes:
    """Return the data with one to three mutations; in three of four cases they are such that it may stay JSON."""
    kinds = OF_JSON if chance.random() < 0.75 else OF_JSON + OF_BYTES * 2
    for _ in range(chance.randint(1, 3)):
        data = chance.choice(kinds)(chance, data)
    return data


def pack(chance: random.Random, data: bytes) -> bytes:
    """Return the data as an archive: usually whole, else in members, with zeros after it, or damaged."""
    kind = chance.randrange(8)
    if kind == 0:
        middle = chance.randrange(len(data) + 1)
        return gzip.compress(data[:middle], mtime=0) + gzip.compress(data[middle:], mtime=0)
    packed = gzip.compress(data, mtime=0)
    if kind == 1:
        return packed + bytes(chance.randint(1, 2000))
    return chance.choice(OF_BYTES[:5])(chance, packed) if kind == 2 else packed
