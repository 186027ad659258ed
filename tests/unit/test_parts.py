"""What an interrupted download leaves."""

from __future__ import annotations

import gzip

import pytest

from pipelines.ingestion.transport import Version, address_of
from pipelines.ingestion.wanted import Part
from tests.unit.listed_files import listed_file

URL = "https://example.org/x"


def test_part_is_continued_only_when_the_whole_can_be_checked_or_a_validator_is_known(tmp_path):
    digest = "0" * 64
    for facts, etag, offset in (({}, None, 0), ({}, '"1"', 4), ({"sha256": digest}, None, 4), ({"bytes": 3}, '"1"', 0)):
        part = Part(listed_file(tmp_path, **facts))
        part.path.parent.mkdir(parents=True, exist_ok=True)
        part.begin(Version(address_of(URL), etag))
        part.path.write_bytes(b"1234")
        assert (part.offset(URL), part.etag(URL)) == (offset, etag)
        elsewhere = "https://mirror.example/x"
        assert (part.offset(elsewhere), part.etag(elsewhere)) == (4 if "sha256" in facts else 0, None)
        part.is_resumable = False
        assert part.offset(URL) == 0
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


ETAG, OTHER = '"1"', '"2"'
CHECKED = {"sha256": "0" * 64, "bytes": 9}


@pytest.mark.parametrize(
    ("facts", "begun", "rest", "is_continued"),
    [
        pytest.param({}, Version("a", ETAG, 9), Version("a", ETAG, 9), True, id="same validator"),
        pytest.param({}, Version("a", ETAG, None), Version("a", ETAG, 9), True, id="length known only now"),
        pytest.param({}, Version("a", ETAG, 9), Version("a", OTHER, 9), False, id="other validator"),
        pytest.param({}, Version("a", ETAG, 9), Version("a", None, 9), False, id="no validator"),
        pytest.param({}, Version("a", ETAG, 9), Version("a", ETAG, 8), False, id="other length"),
        pytest.param({}, Version("a", ETAG, 9), Version("b", ETAG, 9), False, id="other address"),
        pytest.param({}, Version("a", None, 9), Version("a", None, 9), False, id="nothing is known"),
        pytest.param(CHECKED, Version("a", None, 9), Version("a", None, 9), True, id="checksum tells"),
        pytest.param(CHECKED, Version("a", ETAG, 9), Version("b", OTHER, 9), True, id="checksum tells of mirrors"),
        pytest.param(
            CHECKED, Version("a", ETAG, 9), Version("a", None, 9), True, id="checksum tells without validator"
        ),
        pytest.param(CHECKED, Version("a", ETAG, 9), Version("a", OTHER, 9), False, id="in vain: other validator"),
        pytest.param(CHECKED, Version("a", ETAG, 9), Version("b", None, 8), False, id="in vain: not the listed length"),
    ],
)
def test_rest_of_another_version_is_not_put_behind_a_part(tmp_path, facts, begun, rest, is_continued):
    """Without a checksum nothing would tell that a file is made of parts of two."""
    part = Part(listed_file(tmp_path, **facts))
    part.path.parent.mkdir(parents=True, exist_ok=True)
    part.begin(begun)
    assert part.is_continued_by(rest) is is_continued
