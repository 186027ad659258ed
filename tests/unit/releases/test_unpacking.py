"""Unpacking: the content decides, what is not UTF-8 or unpacks without end is refused, what is unusual is noted."""

from __future__ import annotations

import gzip
import json
import random
import resource
import subprocess
import sys
import time
import tracemalloc
import zlib

import pytest

from dialogue_warehouse.releases import unpacking
from dialogue_warehouse.releases.records import LandingError
from dialogue_warehouse.releases.unpacking import Text, unpack
from tests.conftest import CLONE

WORDS = random.Random(0).randbytes(500_000).hex().encode()
PACKED = gzip.compress(WORDS, 1, mtime=0)
BOMB_BYTES = 300 * 2**20


def bomb(size: int) -> bytes:
    """An archive of an array of so many bytes, packed a thousand times smaller."""
    packer = zlib.compressobj(9, wbits=31)
    piece = b"7," * 2**19
    return packer.compress(b"[") + b"".join(packer.compress(piece) for _ in range(size // len(piece))) + packer.flush()


@pytest.mark.parametrize("text", [b"", b"[1]", WORDS], ids=["empty", "small", "of many pieces"])
@pytest.mark.parametrize("level", [0, 1, 9])
def test_text_comes_back_whole(text: bytes, level: int) -> None:
    assert unpack("toy/a.json.gz", gzip.compress(text, level, mtime=0)) == Text(text)


def test_members_of_an_archive_are_one_text() -> None:
    data = gzip.compress(b"[1,", mtime=0) + PACKED + gzip.compress(b"]", mtime=0)
    assert unpack("toy/a.json.gz", data) == Text(b"[1," + WORDS + b"]")


@pytest.mark.parametrize(
    "data",
    [
        PACKED[:-1],
        PACKED[:-9],
        PACKED[:5000],
        PACKED[:12],
        PACKED + b"more",
        PACKED + PACKED[:-4],
        gzip.compress(b"[1]", mtime=0)[:-8] + b"\1" * 8,
        gzip.compress(b"[1]", mtime=0) + bytes(3) + b"more",
        gzip.compress(PACKED[:-9], mtime=0),
    ],
)
def test_broken_archive_is_refused(data: bytes) -> None:
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: broken gzip, [^\n]+: download it again$"):
        unpack("toy/a.json.gz", data)


def test_archive_of_300_mb_is_refused_by_its_ratio_at_once() -> None:
    """Read with one call, it took five minutes and all memory."""
    data = bomb(BOMB_BYTES)
    started = time.process_time()
    tracemalloc.start()
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: unpacks to more than [0-9,]+ bytes, out of [0-9,]+$"):
        unpack("toy/a.json.gz", data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 3 * max(unpacking.UNSUSPECTED, unpacking.LARGEST_RATIO * len(data))
    assert time.process_time() - started < 20


def test_archive_beyond_the_largest_text_is_refused_whatever_its_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its twin: the same archive passes a larger limit."""
    data = PACKED
    monkeypatch.setattr(unpacking, "LARGEST_TEXT", len(WORDS) - 1)
    with pytest.raises(LandingError, match="unpacks to more than 2 GiB"):
        unpack("toy/a.json.gz", data)
    monkeypatch.setattr(unpacking, "LARGEST_TEXT", len(WORDS))
    assert unpack("toy/a.json.gz", data).content == WORDS


def test_archive_is_unpacked_in_little_more_than_the_memory_of_its_text() -> None:
    """One read of 16 GiB and a byte asked the system for so much, whatever was in the archive."""
    program = (
        "import resource, sys\n"
        "from dialogue_warehouse.releases.unpacking import unpack\n"
        "data = sys.stdin.buffer.read()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), -1))\n"
        "print(len(unpack('toy/a.json.gz', data).content))\n"
    )
    data = gzip.compress(WORDS * 40, 1, mtime=0)
    held = 40 * len(WORDS)
    unpacked = subprocess.run(
        [sys.executable, "-c", program, str(2**30)], input=data, capture_output=True, cwd=CLONE, check=False
    )
    assert (unpacked.returncode, unpacked.stdout) == (0, f"{held}\n".encode()), unpacked.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("zeros", "told"), [(1, "1 zero byte"), (512, "512 zero bytes"), (3 * 2**20, "3,145,728 zero bytes")]
)
def test_zeros_behind_an_archive_are_skipped_with_a_note(zeros: int, told: str) -> None:
    text = unpack("toy/a.json.gz", gzip.compress(b"[1]", mtime=0) + bytes(zeros))
    assert text == Text(b"[1]", (f"skipped {told} behind the archive",))


def test_zeros_behind_a_text_are_skipped_with_a_note() -> None:
    """A download that reserves its space first leaves them, and so do tapes."""
    assert unpack("toy/a.csv", b"dlg-1,\n" + bytes(70_000)) == Text(
        b"dlg-1,\n", ("skipped 70,000 zero bytes at its end",)
    )


@pytest.mark.parametrize("data", [b"\x8b\x08 damaged", b"\xe9"])
def test_archive_of_which_the_first_bytes_are_damaged_is_no_text(data: bytes) -> None:
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: neither gzip nor UTF-8 at byte 0, line 1, column 1: "):
        unpack("toy/a.json.gz", data)


@pytest.mark.parametrize("marks", [1, 2])
def test_byte_order_mark_is_skipped_with_a_note(marks: int) -> None:
    """A mark is written by editors on Windows, a second one by tools that join files."""
    marked = "\ufeff".encode() * marks + b"[1]"
    note = "skipped a byte-order mark in front"
    assert unpack("toy/a.json", marked) == Text(b"[1]", (note,))
    packed = unpack("toy/a.json.gz", gzip.compress(marked, mtime=0) + b"\0")
    assert packed == Text(b"[1]", ("skipped 1 zero byte behind the archive", note))


LAYERS = {
    "plain under a compressed name": ("a.json.gz", 0, ("is not compressed although its name ends in .gz",)),
    "plain": ("a.json", 0, ()),
    "compressed": ("a.json.gz", 1, ()),
    "compressed under a plain name": ("a.json", 1, ("is compressed with gzip although its name does not end in .gz",)),
    "lines compressed under a plain name": (
        "a.csv",
        1,
        ("is compressed with gzip although its name does not end in .gz",),
    ),
    "compressed twice": ("a.json.gz", 2, ("is compressed twice",)),
    "compressed twice under a plain name": ("a.jsonl", 2, ("is compressed twice",)),
}


@pytest.mark.parametrize(("name", "times", "notes"), LAYERS.values(), ids=list(LAYERS))
def test_content_decides_how_often_a_file_is_unpacked(name: str, times: int, notes: tuple[str, ...]) -> None:
    """Browsers and servers add or remove a layer of gzip, and leave the name as it was."""
    data = b"[1]"
    for _ in range(times):
        data = gzip.compress(data, mtime=0)
    assert unpack(f"toy/{name}", data) == Text(b"[1]", notes)


def test_file_that_is_compressed_too_often_is_refused() -> None:
    data = gzip.compress(gzip.compress(gzip.compress(b"[1]")))
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: is compressed more than 2 times: unpack it first$"):
        unpack("toy/a.json.gz", data)


def test_bomb_within_a_second_layer_is_refused() -> None:
    """The limit is that of the file, not of the archive that is inside."""
    with pytest.raises(LandingError, match=r"unpacks to more than [0-9,]+ bytes"):
        unpack("toy/a.json.gz", gzip.compress(bomb(64 * 2**20), mtime=0))


@pytest.mark.parametrize("content", [b"7,", b""], ids=["short", "empty"])
def test_archive_of_many_members_takes_linear_time(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive of 160,000 members took 25 s: what follows a member was copied and searched for each of them.

    Counted are the bytes that zlib gets to see, because times differ between machines.
    """
    given = []
    inflate = zlib.decompressobj

    class Counting:
        def __init__(self, frame: int) -> None:
            self.member = inflate(frame)

        def decompress(self, packed: bytes, most: int) -> bytes:
            given.append(len(packed))
            return self.member.decompress(packed, most)

        def __getattr__(self, name: str) -> object:
            return getattr(self.member, name)

    monkeypatch.setattr(unpacking.zlib, "decompressobj", Counting)
    members = 20_000
    data = gzip.compress(content, mtime=0) * members
    assert unpack("toy/a.json.gz", data).content == content * members
    assert sum(given) <= members * unpacking.FIRST_PIECE


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("value", ["[1]", '["é"]', "[]"])
def test_other_encodings_are_refused_by_name(encoding: str, value: str) -> None:
    """A reader of JSON need not read them (RFC 8259); spreadsheets write them as "Unicode text"."""
    with pytest.raises(LandingError, match=r"^toy/a\.json: is UTF-16 or UTF-32, and must be UTF-8: convert it"):
        unpack("toy/a.json", value.encode(encoding))
    assert unpack("toy/a.json", value.encode()) == Text(value.encode())


def test_bytes_that_are_no_utf_8_are_refused_with_their_place() -> None:
    for place in (7, unpacking.PIECE - 1, unpacking.PIECE, 2 * unpacking.PIECE + 3):
        text = bytearray(json.dumps("x" * 3 * unpacking.PIECE).encode())
        text[place] = 0xE9
        with pytest.raises(
            LandingError, match=f"^toy/a.json: not UTF-8 at byte {place}, line 1, column {place + 1}: convert it"
        ):
            unpack("toy/a.json", bytes(text))
