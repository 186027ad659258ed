"""What is decided about downloads without a network: places, URLs, checks, and how failures are told."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from pipelines.corpora import registry
from pipelines.corpora.room import Corpus, SourceFile
from pipelines.errors import CheckError, InputError
from pipelines.intake import downloading, transport, wanted
from pipelines.intake.downloading import Hosts, Outcome, Result
from pipelines.intake.fetching import refuse_failures
from pipelines.intake.generated import MARKER, UNFINISHED
from pipelines.intake.parts import Part
from pipelines.intake.transport import UnavailableError, host_of
from pipelines.intake.wanted import Wanted, plan
from pipelines.settings import Settings, SettingsError


def corpus(*files: SourceFile) -> Corpus:
    return Corpus("demo", "Demo", "", "MIT", "", "1", files, (), Path())


def listed_file(tmp_path: Path, **facts) -> Wanted:
    file = SourceFile("part/a b.json", "https://example.org/data/part/a%20b.json", **facts)
    return plan((corpus(file),), tmp_path)[0]


def test_plan_has_the_layout_that_build_reads(tmp_path):
    one = listed_file(tmp_path)
    assert (one.name, one.url) == ("demo/part/a b.json", "https://example.org/data/part/a%20b.json")
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
    assert plan((corpus(file),), tmp_path, mirror)[0].url == url


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "..", "", "a\\..\\x", "C:x", "a\nb", "a\x1b[2J"])
def test_path_that_leaves_its_folder_is_refused(tmp_path, path):
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


def test_file_of_unlisted_size_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(wanted, "LARGEST_UNLISTED", 5)
    (tmp_path / "x").write_bytes(b"hello\n")
    assert listed_file(tmp_path).problem(tmp_path / "x") == "expected at most 5 bytes, observed more"


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


def test_one_cause_is_one_line_and_says_what_to_do_by_hand(tmp_path):
    files = [SourceFile(f"train/{index}.json", f"https://example.org/data/train/{index}.json") for index in range(200)]
    every = plan((corpus(*files),), tmp_path)
    refused = [Result(one, Outcome.FAILED, cause="example.org cannot be reached", helps_by_hand=True) for one in every]
    other = Result(listed_file(tmp_path), Outcome.FAILED, cause="what came is not the listed file")
    with pytest.raises(CheckError) as raised:
        refuse_failures([*refused, other])
    first, hint, second = str(raised.value).splitlines()
    assert first.startswith("demo/train/0.json, demo/train/1.json, ")
    assert first.endswith(" and 195 more files: example.org cannot be reached")
    assert hint.strip() == f"by hand: https://example.org/data/<path> to {tmp_path}/demo/<path> (200 files)"
    assert second == "demo/part/a b.json: what came is not the listed file"
    with pytest.raises(CheckError, match="without DIALOGUE_MIRROR"):
        refuse_failures(refused, "https://m.example")
    refuse_failures([Result(one, Outcome.PRESENT) for one in every])


def test_dead_host_is_not_asked_for_every_file():
    hosts = Hosts()
    for _ in range(downloading.HOPELESS - 1):
        hosts.failed("a", "answered 503", is_certain=False)
        hosts.check("a")
    hosts.answered("a")
    hosts.failed("a", "answered 503", is_certain=False)
    hosts.check("a")
    hosts.failed("b", "cannot be reached", is_certain=True)
    hosts.check("a")
    with pytest.raises(UnavailableError, match="cannot be reached"):
        hosts.check("b")


def test_host_is_shown_without_credentials():
    assert host_of("https://user:secret@m.example:81/x?key=secret") == "m.example:81"
    assert host_of("file:///media/disk") == "file://"


@pytest.mark.parametrize("mirror", ["/media/disk", "ftp://m.example", "https:///x", "http://[::1", "file://host/x"])
def test_mirror_that_is_no_url_is_refused_and_not_repeated(monkeypatch, mirror):
    monkeypatch.setenv("DIALOGUE_MIRROR", mirror)
    with pytest.raises(SettingsError, match="DIALOGUE_MIRROR") as raised:
        Settings.from_environment()
    assert mirror not in str(raised.value)


def test_mirror_is_not_in_the_settings_that_are_shown(monkeypatch):
    monkeypatch.setenv("DIALOGUE_MIRROR", "https://user:secret@m.example")
    assert "secret" not in repr(Settings.from_environment())


@pytest.mark.parametrize("name", ["JOBS", "ATTEMPTS", "TIMEOUT", "BACKOFF"])
@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "many"])
def test_numbers_of_a_download_are_positive(monkeypatch, name, text):
    monkeypatch.setenv(f"DIALOGUE_{name}", text)
    with pytest.raises(SettingsError, match=f"DIALOGUE_{name}"):
        Settings.from_environment()


def test_session_asks_for_the_publishers_own_bytes():
    with transport.Session(1) as session:
        assert session.headers["Accept-Encoding"] == "identity"
        assert session.verify is True
        assert session.trust_env
