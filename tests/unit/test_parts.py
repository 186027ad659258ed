"""What an interrupted download leaves."""

from __future__ import annotations

import gzip

from pipelines.intake.parts import Part
from tests.unit.listed_files import listed_file


def test_part_is_continued_only_when_the_whole_can_be_checked_or_a_validator_is_known(tmp_path):
    digest = "0" * 64
    for facts, etag, offset in (({}, None, 0), ({}, '"1"', 4), ({"sha256": digest}, None, 4), ({"bytes": 3}, '"1"', 0)):
        part = Part(listed_file(tmp_path, **facts))
        part.path.parent.mkdir(parents=True, exist_ok=True)
        part.begin(etag)
        part.path.write_bytes(b"1234")
        assert (part.offset(), part.etag) == (offset, etag)
        part.is_resumable = False
        assert part.offset() == 0
    part.discard()
    assert list(part.path.parent.iterdir()) == []


def test_gzip_around_a_file_is_undone_but_no_bomb(tmp_path):
    part = Part(listed_file(tmp_path, bytes=1000))
    part.path.parent.mkdir(parents=True)
    for content, is_unpacked in ((b"x" * 1000, True), (b"x" * 10_000_000, False)):
        part.path.write_bytes(gzip.compress(content))
        assert part.unpack() is is_unpacked
    for broken in (b"no gzip", gzip.compress(b"cut off")[:-9]):
        part.path.write_bytes(broken)
        assert part.unpack() is False
        assert part.path.read_bytes() == broken
    assert [path.name for path in part.path.parent.iterdir()] == [part.path.name]
