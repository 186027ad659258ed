"""Fetching: failures are reported, and a host that does not answer does not get a request for every file."""

from __future__ import annotations

import errno

import pycurl
import pytest

from dialogue_warehouse.corpora.release import SourceFile
from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.settings import Settings
from pipelines.ingestion import fetching
from pipelines.ingestion.connections import UnavailableError
from pipelines.ingestion.fetch_display import FetchDisplay, refuse_failures
from pipelines.ingestion.fetching import Hosts
from pipelines.ingestion.wanted import Outcome, Result, Wanted, plan
from tests.unit.ingestion.listed_files import corpus, listed_file


def test_each_cause_is_one_line_with_instructions(tmp_path):
    url = "https://example.org/data/"
    files = [SourceFile(f"train/{i}.json", f"{url}train/{i}.json", sha256="0" * 64) for i in range(200)]
    every = plan((corpus(*files),), tmp_path)
    refused = [Result(one, Outcome.FAILED, cause="example.org cannot be reached", helps_by_hand=True) for one in every]
    other = Result(listed_file(tmp_path), Outcome.FAILED, cause="another file")
    with pytest.raises(CheckError) as raised:
        refuse_failures([*refused, other])
    first, hint, second, copy, mirror = str(raised.value).splitlines()
    assert first.startswith("demo/train/0.json, demo/train/1.json, ")
    assert first.endswith(" and 195 more files: example.org cannot be reached")
    assert hint.strip() == f"by hand: https://example.org/data/<path> to {tmp_path}/demo/<path> (200 files)"
    assert second == "demo/part/a b.json: another file"
    assert copy.strip() == "a copy from elsewhere works too, at the same path: `build` compares its checksum"
    assert mirror.strip().startswith("DIALOGUE_MIRROR=URL downloads URL/<corpus_id>/<path> instead")
    with pytest.raises(CheckError, match="without DIALOGUE_MIRROR"):
        refuse_failures(refused, "https://m.example")
    refuse_failures([Result(one, Outcome.PRESENT) for one in every])


def test_file_that_is_there_and_cannot_be_read_is_named(tmp_path, monkeypatch):
    """Regression: the error said that its folder cannot be written."""
    wanted = listed_file(tmp_path)
    wanted.target.parent.mkdir(parents=True)
    wanted.target.write_text("[]")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Wanted, "problem", refuse)
    result = fetching.Downloader(pycurl.Curl(), Settings(), FetchDisplay(), Hosts()).fetch(wanted)
    assert (result.outcome, result.cause) == (Outcome.FAILED, f"{wanted.target} cannot be read: Permission denied")
    assert not result.helps_by_hand


def test_unreachable_host_does_not_get_a_request_for_every_file():
    hosts = Hosts()
    for _ in range(fetching.HOPELESS - 1):
        hosts.failed("a", "responded with 503", is_certain=False)
        hosts.check("a")
    hosts.answered("a")
    hosts.failed("a", "responded with 503", is_certain=False)
    hosts.check("a")
    hosts.failed("b", "cannot be reached", is_certain=True)
    hosts.check("a")
    with pytest.raises(UnavailableError, match="cannot be reached"):
        hosts.check("b")
