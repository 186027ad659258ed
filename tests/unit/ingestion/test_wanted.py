"""Files to download: layout, mirrors, paths, checksums, and parts of an interrupted download."""

from __future__ import annotations

import gzip
import hashlib

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import SourceFile
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases.source_tree import MARKER, UNFINISHED
from pipelines.ingestion import wanted
from pipelines.ingestion.transport import Version, address_of
from pipelines.ingestion.wanted import Part, plan
from tests.unit.ingestion.listed_files import corpus, listed_file


def test_plan_has_the_layout_that_build_reads(tmp_path):
    one = listed_file(tmp_path)
    assert (one.name, one.urls) == ("demo/part/a b.json", ("https://example.org/data/part/a%20b.json",))
    assert one.target == tmp_path / "demo" / "part" / "a b.json"


@pytest.mark.parametrize(
    ("mirror", "url"),
    [
        ("https://m.example", "https://m.example/demo/part/a%20b.json"),
        ("http://m.example:81/x/", "http://m.example:81/x/demo/part/a%20b.json"),
        ("https://u:p@m.example/x?key=1#top", "https://u:p@m.example/x/demo/part/a%20b.json?key=1"),
        ("file:///media/disk", "file:///media/disk/demo/part/a%20b.json"),
    ],
)
def test_mirror_has_each_file_below_its_corpus(tmp_path, mirror, url):
    file = SourceFile("part/a b.json", "https://example.org/x")
    assert plan((corpus(file),), tmp_path, mirror)[0].urls == (url,)


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "..", "", "a\\..\\x", "C:x", "a\nb", "a\x1b[2J"])
def test_path_that_leaves_its_folder_is_rejected(tmp_path, path):
    with pytest.raises(InputError, match=r"demo/source\.toml: the path .* leaves"):
        plan((corpus(SourceFile(path, "https://example.org/x")),), tmp_path)


@pytest.mark.parametrize("marker", [MARKER, MARKER + UNFINISHED])
def test_generated_release_is_not_mixed_with_real_files(tmp_path, marker):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / marker).write_text("{}")
    with pytest.raises(InputError, match="generated release"):
        listed_file(tmp_path)


def test_every_listed_file_can_be_planned_and_verified(tmp_path):
    every = plan(registry.load_corpora(), tmp_path)
    assert len({one.target for one in every}) == len(every) > 200
    assert [one.name for one in every if not one.is_verifiable] == []


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"bytes": 6}, None),
        ({"sha256": hashlib.sha256(b"hello\n").hexdigest()}, None),
        ({"git_blob_sha1": "ce013625030ba8dba906f756967f9e9ca394464a"}, None),
        ({"bytes": 7}, "expected 7 bytes, observed 6"),
        ({"bytes": 5}, "expected 5 bytes, observed more"),
        ({"bytes": 6, "sha256": "0" * 64}, f"expected sha256 {'0' * 64}, observed 5891b5b5"),
        ({"git_blob_sha1": "0" * 40}, f"expected git blob id {'0' * 40}, observed ce013625"),
    ],
)
def test_problem_says_what_was_expected_and_observed(tmp_path, facts, problem):
    (tmp_path / "x").write_bytes(b"hello\n")
    found = listed_file(tmp_path, **facts).problem(tmp_path / "x")
    assert found is None if problem is None else found.startswith(problem)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"<!DOCTYPE html><html><head><title>Sign in</title>", "a web page titled 'Sign in'"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a Git LFS pointer"),
        (
            b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>x</Message></Error>',
            "the error response of a server ('NoSuchKey')",
        ),
        (b'{"message": "Not Found", "status": "404"}', "the error response of a server ('Not Found')"),
        (b"404: Not Found", "the error response of a server ('404: Not Found')"),
        (b"\x1f\x8b\x08\x00", "a gzip archive"),
        (b'{"data": "not the listed one"}', None),
    ],
)
def test_problem_says_what_is_in_place_of_a_data_file(tmp_path, content, kind):
    """Servers answer with a login page or an error under status 200; GitHub answers with Git LFS pointers."""
    (tmp_path / "x").write_bytes(content)
    problem = listed_file(tmp_path, sha256="0" * 64).problem(tmp_path / "x")
    assert problem.startswith("expected sha256 ")
    assert problem.partition("; it is ")[2] == (kind or "")
    unlisted = None if content.startswith(b"{") else f"it is {kind}"
    assert listed_file(tmp_path).problem(tmp_path / "x") == unlisted
    assert listed_file(tmp_path, is_documentation=True).problem(tmp_path / "x") is None


def test_file_of_unlisted_size_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(wanted, "LARGEST_UNLISTED", 5)
    (tmp_path / "x").write_bytes(b"hello\n")
    assert listed_file(tmp_path).problem(tmp_path / "x") == "expected at most 5 bytes, observed more"


URL = "https://example.org/x"


def test_part_is_continued_only_with_a_checksum_or_a_validator(tmp_path):
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


def test_gzip_around_a_file_is_decoded_but_not_a_bomb(tmp_path):
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
        pytest.param({}, Version("a", ETAG, 9), Version("b", ETAG, 9), False, id="other URL"),
        pytest.param({}, Version("a", None, 9), Version("a", None, 9), False, id="nothing is known"),
        pytest.param(CHECKED, Version("a", None, 9), Version("a", None, 9), True, id="checksum tells"),
        pytest.param(CHECKED, Version("a", ETAG, 9), Version("b", OTHER, 9), True, id="checksum tells of mirrors"),
        pytest.param(
            CHECKED, Version("a", ETAG, 9), Version("a", None, 9), True, id="checksum tells without validator"
        ),
        pytest.param(CHECKED, Version("a", ETAG, 9), Version("a", OTHER, 9), False, id="checksum, but other validator"),
        pytest.param(
            CHECKED, Version("a", ETAG, 9), Version("b", None, 8), False, id="checksum, but not the listed length"
        ),
    ],
)
def test_rest_of_another_version_is_not_appended_to_a_part(tmp_path, facts, begun, rest, is_continued):
    """Without a checksum, a file made of two different files would not be noticed."""
    part = Part(listed_file(tmp_path, **facts))
    part.path.parent.mkdir(parents=True, exist_ok=True)
    part.begin(begun)
    assert part.is_continued_by(rest) is is_continued
