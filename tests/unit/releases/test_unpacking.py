"""Unpacking: the content decides; text that is not UTF-8 and bombs are rejected, and unusual content is noted."""

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
    """Return an archive of an array of this many bytes, compressed to a thousandth."""
    packer = zlib.compressobj(9, wbits=31)
    piece = b"7," * 2**19
    return packer.compress(b"[") + b"".join(packer.compress(piece) for _ in range(size // len(piece))) + packer.flush()


@pytest.mark.parametrize("text", [b"", b"[1]", WORDS], ids=["empty", "small", "of many pieces"])
@pytest.mark.parametrize("level", [0, 1, 9])
def test_complete_text_is_unpacked(text: bytes, level: int) -> None:
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
def test_broken_archive_is_rejected(data: bytes) -> None:
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: broken gzip, [^\n]+: download it again$"):
        unpack("toy/a.json.gz", data)


def test_archive_of_300_mb_is_rejected_early_by_its_ratio() -> None:
    """Regression: one call to read it took five minutes and all memory."""
    data = bomb(BOMB_BYTES)
    started = time.process_time()
    tracemalloc.start()
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: unpacks to more than [0-9,]+ bytes, out of [0-9,]+$"):
        unpack("toy/a.json.gz", data)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 3 * max(unpacking.UNSUSPECTED, unpacking.LARGEST_RATIO * len(data))
    assert time.process_time() - started < 20


def test_archive_above_the_maximum_size_is_rejected_at_any_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its twin: the same archive passes with a larger limit."""
    data = PACKED
    monkeypatch.setattr(unpacking, "LARGEST_TEXT", len(WORDS) - 1)
    with pytest.raises(LandingError, match="unpacks to more than 2 GiB"):
        unpack("toy/a.json.gz", data)
    monkeypatch.setattr(unpacking, "LARGEST_TEXT", len(WORDS))
    assert unpack("toy/a.json.gz", data).content == WORDS


def test_archive_is_unpacked_in_little_more_than_the_memory_of_its_text() -> None:
    """Regression: one read of 16 GiB requested this memory from the system, whatever the archive had."""
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
    ("zeros", "reported"), [(1, "1 zero byte"), (512, "512 zero bytes"), (3 * 2**20, "3,145,728 zero bytes")]
)
def test_zeros_after_an_archive_are_skipped_with_a_note(zeros: int, reported: str) -> None:
    text = unpack("toy/a.json.gz", gzip.compress(b"[1]", mtime=0) + bytes(zeros))
    assert text == Text(b"[1]", (f"skipped {reported} after the archive",))


def test_zeros_after_a_text_are_skipped_with_a_note() -> None:
    """Downloads that reserve their space first leave zeros, and so do tapes."""
    assert unpack("toy/a.csv", b"dlg-1,\n" + bytes(70_000)) == Text(
        b"dlg-1,\n", ("skipped 70,000 zero bytes at its end",)
    )


@pytest.mark.parametrize("data", [b"\x8b\x08 damaged", b"\xe9"])
def test_archive_with_damaged_first_bytes_is_not_a_text(data: bytes) -> None:
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: neither gzip nor UTF-8 at byte 0, line 1, column 1: "):
        unpack("toy/a.json.gz", data)


@pytest.mark.parametrize("marks", [1, 2])
def test_byte_order_mark_is_skipped_with_a_note(marks: int) -> None:
    """Editors on Windows write a mark; tools that join files write a second one."""
    marked = "\ufeff".encode() * marks + b"[1]"
    note = "skipped a byte-order mark at its beginning"
    assert unpack("toy/a.json", marked) == Text(b"[1]", (note,))
    packed = unpack("toy/a.json.gz", gzip.compress(marked, mtime=0) + b"\0")
    assert packed == Text(b"[1]", ("skipped 1 zero byte after the archive", note))


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
    """Browsers and servers add or remove a layer of gzip without changing the name."""
    data = b"[1]"
    for _ in range(times):
        data = gzip.compress(data, mtime=0)
    assert unpack(f"toy/{name}", data) == Text(b"[1]", notes)


def test_file_that_is_compressed_too_often_is_rejected() -> None:
    data = gzip.compress(gzip.compress(gzip.compress(b"[1]")))
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: is compressed more than 2 times: unpack it first$"):
        unpack("toy/a.json.gz", data)


def test_bomb_in_a_second_layer_is_rejected() -> None:
    """The limit applies to the file, not to the archive inside it."""
    with pytest.raises(LandingError, match=r"unpacks to more than [0-9,]+ bytes"):
        unpack("toy/a.json.gz", gzip.compress(bomb(64 * 2**20), mtime=0))


@pytest.mark.parametrize("content", [b"7,", b""], ids=["short", "empty"])
def test_archive_of_many_members_takes_linear_time(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: an archive of 160,000 members took 25 s, because the rest was copied and searched for each of them.

    The test counts the bytes that zlib receives, because times differ between machines.
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
def test_other_encodings_are_rejected_by_name(encoding: str, value: str) -> None:
    """A reader of JSON need not read them (RFC 8259); spreadsheets write them as "Unicode text"."""
    with pytest.raises(LandingError, match=r"^toy/a\.json: is UTF-16 or UTF-32, and must be UTF-8: convert it"):
        unpack("toy/a.json", value.encode(encoding))
    assert unpack("toy/a.json", value.encode()) == Text(value.encode())


def test_bytes_that_are_not_utf_8_are_rejected_with_their_place() -> None:
    for place in (7, unpacking.PIECE - 1, unpacking.PIECE, 2 * unpacking.PIECE + 3):
        text = bytearray(json.dumps("x" * 3 * unpacking.PIECE).encode())
        text[place] = 0xE9
        with pytest.raises(
            LandingError, match=f"^toy/a.json: not UTF-8 at byte {place}, line 1, column {place + 1}: convert it"
        ):
            unpack("toy/a.json", bytes(text))
