"""Downloads: every file arrives whole, at its path, whatever happens to a connection."""

from __future__ import annotations

import contextlib
import gzip
import threading
from dataclasses import replace

import pytest

from dialogue_warehouse.errors import CheckError
from pipelines.ingestion import wanted as wanted_files
from pipelines.ingestion.fetch_display import refuse_failures
from pipelines.ingestion.wanted import Outcome
from tests.integration.downloads import (
    CONTENT,
    QUICK,
    Fault,
    Handler,
    cut,
    fetched,
    listed,
    names,
    refused,
    run,
    status,
    whole,
)

pytestmark = pytest.mark.usefixtures("no_proxy_of_the_machine")


def test_files_are_downloaded_only_once(web, tmp_path):
    files = [listed(web, f"part/{index}", CONTENT[index:]) for index in range(9)]
    assert [result.outcome for result in run(tmp_path, *files)] == [Outcome.FETCHED] * 9
    assert names(tmp_path) == [file.path for file in files]
    assert all((tmp_path / "demo" / file.path).read_bytes() == CONTENT[index:] for index, file in enumerate(files))
    asked = len(web.asked)
    assert [result.outcome for result in run(tmp_path, *files)] == [Outcome.PRESENT] * 9
    assert len(web.asked) == asked == 9


def test_several_files_are_downloaded_in_parallel(web, tmp_path):
    together = threading.Barrier(3, timeout=5)
    files = [listed(web, name) for name in "abc"]
    for file in files:
        web.faults[f"/{file.path}"] = [lambda handler, content: (together.wait(), handler.give(content))]
    assert [result.outcome for result in run(tmp_path, *files)] == [Outcome.FETCHED] * 3


def test_git_blob_id_is_enough_to_verify_a_file(web, tmp_path):
    file = listed(web, "a", b"hello\n", bytes=None, sha256=None)
    good = replace(file, git_blob_sha1="ce013625030ba8dba906f756967f9e9ca394464a")
    assert fetched(tmp_path / "good", good) == b"hello\n"
    assert "git blob id" in refused(tmp_path / "bad", replace(file, git_blob_sha1="0" * 40))


def test_file_without_a_checksum_is_accepted_as_unverified(web, tmp_path):
    (result,) = run(tmp_path, listed(web, "a", bytes=None, sha256=None))
    assert (result.outcome, result.wanted.is_verifiable) == (Outcome.FETCHED, False)


@pytest.mark.parametrize("etag", [None, '"1"', 'W/"1"'])
def test_interrupted_download_continues_with_only_the_rest(web, tmp_path, etag):
    file = listed(web, "a")
    web.etags = {"/a": etag} if etag else {}
    web.faults["/a"] = [cut(300_000), cut(700_000)]
    assert fetched(tmp_path, file) == CONTENT
    validator = etag if etag == '"1"' else None
    rest = [("/a", "bytes=300000-", validator), ("/a", "bytes=700000-", validator)]
    assert web.asked == [("/a", None, None), *rest]
    assert web.sent == len(CONTENT)


def test_interrupted_download_of_unknown_length_is_noticed(web, tmp_path):
    def close_early(handler: Handler, content: bytes) -> None:
        handler.answer(200, content[:1000], Content_Length=None, Connection="close")

    file = listed(web, "a")
    web.faults["/a"] = [close_early]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/a") == [None, "bytes=1000-"]


def test_download_that_is_always_interrupted_fails_and_is_kept_for_the_next_run(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [cut(1000)] * 3
    assert "cut the connection" in refused(tmp_path, file)
    assert (tmp_path / "demo" / "a.part").read_bytes() == CONTENT[:1000]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/a")[-1] == "bytes=1000-"


def test_attempts_that_receive_data_do_not_count(web, tmp_path):
    content = CONTENT * 4
    file = listed(web, "a", content)
    web.faults["/a"] = [cut(end) for end in range(2**19, len(content), 2**19)]
    assert len(web.faults["/a"]) > QUICK.attempts
    assert fetched(tmp_path, file) == content
    assert web.sent == len(content)


def test_download_starts_again_if_the_server_does_not_support_ranges(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [cut(300_000), whole]
    assert fetched(tmp_path, file) == CONTENT


@pytest.mark.parametrize(
    "answer",
    [
        status(416),
        status(206, Content_Range="bytes 0-4/1048576"),
        status(206, Content_Range="bytes 299999-300003/1048576"),
        status(206),
    ],
)
def test_wrong_range_starts_again_cleanly(web, tmp_path, answer):
    file = listed(web, "a")
    web.faults["/a"] = [cut(300_000), answer]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/a") == [None, "bytes=300000-", None]


def test_changed_etag_between_the_runs_starts_again(web, tmp_path):
    file = listed(web, "a")
    web.etags = {"/a": '"old"'}
    web.files["/a"] = b"x" * len(CONTENT)
    web.faults["/a"] = [cut(1000)] * 3
    refused(tmp_path, file)
    web.etags, web.files["/a"] = {"/a": '"new"'}, CONTENT
    assert fetched(tmp_path, file) == CONTENT
    assert web.asked[-1] == ("/a", "bytes=1000-", '"old"')


def test_part_of_another_file_is_deleted_after_the_checksum_fails(web, tmp_path):
    file = listed(web, "a")
    (tmp_path / "demo").mkdir()
    for wrong in (b"x" * 1000, b"x" * len(CONTENT), b"x" * (len(CONTENT) + 1)):
        (tmp_path / "demo" / "a.part").write_bytes(wrong)
        assert fetched(tmp_path, file) == CONTENT
        (tmp_path / "demo" / "a").unlink()


def test_complete_part_is_checked_and_not_requested(web, tmp_path):
    file = listed(web, "a")
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "a.part").write_bytes(CONTENT)
    assert fetched(tmp_path, file) == CONTENT
    assert web.asked == []


def test_part_without_validator_and_checksum_is_not_trusted(web, tmp_path):
    file = listed(web, "a", sha256=None, bytes=None)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "a.part").write_bytes(b"x" * 1000)
    assert fetched(tmp_path, file) == CONTENT


@pytest.mark.parametrize("content", [b"<html>log in</html>", CONTENT[:-1], b"x" + CONTENT[1:], CONTENT + b"x"])
def test_wrong_content_is_set_aside_and_the_others_continue(web, tmp_path, content):
    files = [listed(web, name) for name in ("a", "b")]
    web.files["/a"] = content
    wrong, right = run(tmp_path, *files)
    assert right.outcome is Outcome.FETCHED
    assert names(tmp_path) == ["a.mismatch", "b"]
    assert (tmp_path / "demo" / "a.mismatch").read_bytes() == content
    assert "expected" in wrong.cause
    assert "observed" in wrong.cause
    assert str(tmp_path / "demo" / "a.mismatch") in wrong.cause
    with pytest.raises(CheckError, match=r"^demo/a: 127\.0\.0\.1:\d+ sent another file than the listed one"):
        refuse_failures([wrong, right])


def test_endless_content_does_not_fill_the_disk(web, tmp_path, monkeypatch):
    def endless(handler: Handler, _content: bytes) -> None:
        handler.answer(200, Content_Length=None, Connection="close")
        with contextlib.suppress(OSError):
            while True:
                handler.wfile.write(CONTENT)

    monkeypatch.setattr(wanted_files, "LARGEST_UNLISTED", 3_000_000)
    web.faults["/a"], web.faults["/b"] = [endless], [endless]
    run(tmp_path, listed(web, "a"), listed(web, "b", bytes=None, sha256=None))
    assert (tmp_path / "demo" / "a.mismatch").stat().st_size == len(CONTENT) + 1
    assert (tmp_path / "demo" / "b.mismatch").stat().st_size == 3_000_001
    assert names(tmp_path) == ["a.mismatch", "b.mismatch"]


def test_gzip_file_stays_compressed_with_any_content_encoding(web, tmp_path):
    packed = gzip.compress(CONTENT, mtime=0)
    file = listed(web, "a.gz", packed)
    web.faults["/a.gz"] = [lambda handler, content: handler.answer(200, content, Content_Encoding="gzip")]
    assert fetched(tmp_path, file) == packed


@pytest.mark.parametrize("named", ["gzip", "GZIP", "x-gzip"])
def test_unrequested_gzip_encoding_is_decoded(web, tmp_path, named):
    file = listed(web, "a")
    packed = gzip.compress(CONTENT, mtime=0)
    encodings = []

    def pack(handler: Handler, _content: bytes) -> None:
        encodings.append(handler.headers["Accept-Encoding"])
        handler.answer(200, packed, Content_Encoding=named)

    web.faults["/a"] = [pack]
    assert fetched(tmp_path, file) == CONTENT
    assert encodings == ["identity"]


def test_chunked_content_is_received_and_its_interruption_is_noticed(web, tmp_path):
    def chunked(pieces: list[bytes]) -> Fault:
        def send(handler: Handler, _content: bytes) -> None:
            handler.answer(200, Content_Length=None, Transfer_Encoding="chunked")
            for piece in pieces:
                handler.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            if pieces[-1]:
                handler.hang_up()

        return send

    file = listed(web, "a", bytes=None)
    web.faults["/a"] = [chunked([CONTENT[:1000]]), cut(2000), chunked([CONTENT, b""])]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/a") == [None, "bytes=1000-", "bytes=2000-"]


def test_invalid_http_is_a_failure_in_one_line(web, tmp_path):
    def garbage(handler: Handler, _content: bytes) -> None:
        handler.send(b"\x1b[2J not HTTP at all\r\n\r\n")
        handler.hang_up()

    file = listed(web, "a")
    web.faults["/a"] = [garbage] * 3
    assert refused(tmp_path, file).isprintable()


def test_file_of_the_user_is_not_overwritten(web, tmp_path):
    file = listed(web, "a")
    own = tmp_path / "demo" / "a"
    own.parent.mkdir()
    own.write_bytes(b"my own subset")
    (result,) = run(tmp_path, file)
    assert result.outcome is Outcome.FAILED
    assert f"expected {len(CONTENT):,} bytes, observed 13" in result.cause
    assert own.read_bytes() == b"my own subset"
    assert (web.asked, names(tmp_path)) == ([], ["a"])


def test_file_that_appears_in_the_meantime_is_not_overwritten(web, tmp_path):
    file = listed(web, "a")
    own = tmp_path / "demo" / "a"
    web.faults["/a"] = [lambda handler, content: (own.write_bytes(b"mine"), handler.give(content))]
    (result,) = run(tmp_path, file)
    assert (result.outcome, own.read_bytes()) == (Outcome.FAILED, b"mine")


def test_folder_at_the_path_or_file_above_it_is_a_failure_of_that_file(web, tmp_path):
    (tmp_path / "demo" / "a").mkdir(parents=True)
    (tmp_path / "demo" / "b").write_text("")
    results = run(tmp_path, listed(web, "a"), listed(web, "b/c"), listed(web, "d"))
    assert [result.outcome for result in results] == [Outcome.FAILED, Outcome.FAILED, Outcome.FETCHED]
    assert results[1].cause == f"{tmp_path}/demo/b cannot be written: File exists"
