"""Unpacking: what is no UTF-8 and what unpacks without end is refused, what is passed over is told."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import time
import tracemalloc
import zlib

import pytest

from pipelines.intake import unpacking
from pipelines.intake.records import LandingError
from pipelines.intake.unpacking import Text, unpack
from tests.conftest import CLONE

WORDS = "".join(f"{number:x} " for number in range(200_000)).encode()
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
    data = gzip.compress(b"[1,", mtime=0) + gzip.compress(WORDS, mtime=0) + gzip.compress(b"]", mtime=0)
    assert unpack("toy/a.json.gz", data) == Text(b"[1," + WORDS + b"]")


@pytest.mark.parametrize(
    "data",
    [
        b"no gzip",
        gzip.compress(WORDS, mtime=0)[:-1],
        gzip.compress(WORDS, mtime=0)[:-9],
        gzip.compress(WORDS, mtime=0)[:5000],
        gzip.compress(WORDS, mtime=0)[:12],
        gzip.compress(WORDS, mtime=0) + b"more",
        gzip.compress(WORDS, mtime=0) + gzip.compress(WORDS, mtime=0)[:-4],
        gzip.compress(b"[1]", mtime=0)[:-8] + b"\1" * 8,
    ],
)
def test_broken_archive_is_refused(data: bytes) -> None:
    with pytest.raises(LandingError, match=r"^toy/a\.json\.gz: broken gzip, [^\n]+$"):
        unpack("toy/a.json.gz", data)


def test_archive_of_300_mb_is_refused_by_its_ratio_at_once() -> None:
    """F6: read with one call, it took five minutes and all memory."""
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
    """F6, and its twin: the same archive passes a larger limit."""
    data = gzip.compress(WORDS, 1, mtime=0)
    monkeypatch.setattr(unpacking, "LARGEST_TEXT", len(WORDS) - 1)
    with pytest.raises(LandingError, match="unpacks to more than 2 GiB"):
        unpack("toy/a.json.gz", data)
    monkeypatch.setattr(unpacking, "LARGEST_TEXT", len(WORDS))
    assert unpack("toy/a.json.gz", data).content == WORDS


def test_archive_is_unpacked_in_little_more_than_the_memory_of_its_text() -> None:
    """F20: one read of 16 GiB and a byte asked the system for so much, whatever was in the archive."""
    program = (
        "import resource, sys\n"
        "from pipelines.intake.unpacking import unpack\n"
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
def test_zeros_behind_an_archive_are_passed_over_and_told(zeros: int, told: str) -> None:
    """F7: they were passed over in silence."""
    text = unpack("toy/a.json.gz", gzip.compress(b"[1]", mtime=0) + bytes(zeros))
    assert text == Text(b"[1]", (f"{told} behind the archive",))


def test_byte_order_mark_is_passed_over_and_told() -> None:
    """F7, packed and plain."""
    marked = "\ufeff[1]".encode()
    assert unpack("toy/a.json", marked) == Text(b"[1]", ("a byte-order mark in front",))
    packed = unpack("toy/a.json.gz", gzip.compress(marked, mtime=0) + b"\0")
    assert packed == Text(b"[1]", ("1 zero byte behind the archive", "a byte-order mark in front"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("value", ["[1]", '["é"]', "[]"])
def test_other_encodings_are_refused_by_name(encoding: str, value: str) -> None:
    """F7: without a mark they were read as what they are, which no reader of JSON has to do."""
    with pytest.raises(LandingError, match=r"^toy/a\.json: is UTF-16 or UTF-32, and must be UTF-8$"):
        unpack("toy/a.json", value.encode(encoding))
    assert unpack("toy/a.json", value.encode()) == Text(value.encode())


def test_bytes_that_are_no_utf_8_are_refused_with_their_place() -> None:
    for place in (7, unpacking.PIECE - 1, unpacking.PIECE, 2 * unpacking.PIECE + 3):
        text = bytearray(json.dumps("x" * 3 * unpacking.PIECE).encode())
        text[place] = 0xE9
        with pytest.raises(LandingError, match=f"^toy/a.json: not UTF-8 at byte {place}$"):
            unpack("toy/a.json", bytes(text))
