"""Mirrors: the next URL is tried if one fails, and parts of two URLs or two versions are never joined."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from dialogue_warehouse.corpora.release import SourceFile
from dialogue_warehouse.errors import CheckError
from pipelines.ingestion import fetching
from pipelines.ingestion import wanted as wanted_files
from pipelines.ingestion.fetch_display import FetchDisplay, notices, refuse_failures
from pipelines.ingestion.wanted import Outcome
from tests.integration.downloads import (
    CONTENT,
    QUICK,
    Fault,
    Handler,
    Web,
    cut,
    drip,
    fetched,
    listed,
    redirect,
    refused,
    run,
    stall,
    status,
    whole,
)
from tests.unit.ingestion.listed_files import corpus

pytestmark = pytest.mark.usefixtures("no_proxy_of_the_machine")

DEAD = "http://127.0.0.1:9"
OLD = b"x" * len(CONTENT)
"""Another version of the file, of the same length."""


def mirror_of(web: Web) -> str:
    """Return the server under another name."""
    return web.url.replace("127.0.0.1", "localhost")


def mirrored(web: Web, path: str = "a", **facts: object) -> SourceFile:
    """Return a file that the server has twice, at its own URL and at that of a mirror."""
    web.files[f"/mirror/{path}"] = CONTENT
    return listed(web, path, **{"mirrors": (f"{mirror_of(web)}/mirror/{path}",)} | facts)


def too_large(handler: Handler, content: bytes) -> None:
    handler.answer(200, content + content)


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        pytest.param([status(404)], "responded with 404 Not Found", id="not found"),
        pytest.param([status(403)], "responded with 403 Forbidden", id="forbidden"),
        pytest.param([status(410)], "responded with 410 Gone", id="gone"),
        pytest.param([status(503)] * 3, "responded with 503 Service Unavailable", id="in trouble"),
        pytest.param([status(429, Retry_After=3600)], "responded with 429 Too Many Requests", id="in trouble for long"),
        pytest.param([stall(3.0)] * 3, "sent fewer than 250 bytes a second for 1 s", id="silent"),
        pytest.param([cut(1000)] * 3, "cut the connection", id="cut off"),
        pytest.param([redirect("/a")] * 6, "redirects more than 5 times", id="redirects in a circle"),
        pytest.param(
            [redirect("ftp://127.0.0.1/a")],
            "redirects to ftp:// and only http and https are followed",
            id="other scheme",
        ),
        pytest.param([lambda handler, _: handler.answer(200, OLD)], "expected sha256", id="wrong checksum"),
        pytest.param([lambda handler, _: handler.answer(200, b"<html>")], "observed 6", id="web page"),
        pytest.param([too_large], "observed more", id="too large"),
    ],
)
def test_mirror_is_used_if_an_address_fails(web: Web, tmp_path, faults: list[Fault], message: str) -> None:
    """A publisher may be unreachable, may have moved the file, or may answer with other content."""
    file = mirrored(web)
    web.faults["/a"] = faults
    (result,) = run(tmp_path, file)
    assert (result.outcome, result.wanted.target.read_bytes()) == (Outcome.FETCHED, CONTENT)
    (cause,) = result.failed_before
    assert message in cause
    host = mirror_of(web).removeprefix("http://")
    (notice,) = notices([result])
    assert notice == f"demo/a: downloaded from {host}, because {cause}"


@pytest.mark.parametrize("url", [f"{DEAD}/a", "http://nowhere.invalid/a", "https://127.0.0.1:9/a"])
def test_mirror_is_used_if_a_host_cannot_be_reached(web: Web, tmp_path, url: str) -> None:
    assert fetched(tmp_path, replace(mirrored(web), url=url)) == CONTENT


def test_mirrors_of_the_corpus_come_after_those_of_the_file(web: Web, tmp_path, capsys) -> None:
    """Every failure is reported once per corpus, with the URL that is tried next."""
    files = [replace(mirrored(web, name), url=f"{DEAD}/{name}?key=secret", mirrors=()) for name in ("a", "b/c")]
    files[1] = replace(files[1], mirrors=(f"{web.url}/gone",))
    wanted = wanted_files.plan((replace(corpus(*files), mirrors=(f"{web.url}/mirror/",)),), tmp_path)
    with FetchDisplay(quiet=False) as display:
        display.start(wanted)
        results = fetching.fetch_files(wanted, replace(QUICK, jobs=1), display)
    assert [result.outcome for result in results] == [Outcome.FETCHED] * 2
    assert [path for path, *_ in web.asked] == ["/mirror/a", "/gone", "/mirror/b/c"]
    host, dead = web.url.removeprefix("http://"), DEAD.removeprefix("http://")
    message = [line for line in capsys.readouterr().err.splitlines() if line.startswith("mirror")]
    assert message == [
        f"mirror   demo/a: {dead} cannot be reached (Connection refused); trying {host}",
        f"mirror   demo/b/c: {host} responded with 404 Not Found; trying {host}",
    ]


def test_all_addresses_that_failed_are_listed_with_other_ways(web: Web, tmp_path) -> None:
    file = replace(mirrored(web), url=f"{DEAD}/data/a", mirrors=(f"{web.url}/x/a?key=secret", f"{web.url}/mirror/a"))
    web.files["/mirror/a"] = b"<html>log in</html>"
    results = run(tmp_path, file)
    with pytest.raises(CheckError) as raised:
        refuse_failures(results)
    first, *others = str(raised.value).splitlines()
    host, dead = web.url.removeprefix("http://"), DEAD.removeprefix("http://")
    refused = f"{dead} cannot be reached (Connection refused)"
    causes = f"{refused}; {host} responded with 404 Not Found; {host} sent another file"
    assert first.startswith(f"demo/a: {causes} than the listed one: expected {len(CONTENT):,} bytes, observed 19")
    assert "secret" not in str(raised.value)
    assert [line.split()[0] for line in others] == ["by", "a", "DIALOGUE_MIRROR=URL"]
    assert f"{DEAD}/data/a to {tmp_path}/demo/a" in others[0]


def test_part_is_continued_at_a_mirror_if_the_checksum_matches(web: Web, tmp_path) -> None:
    file = mirrored(web)
    web.etags = {"/a": '"1"', "/mirror/a": '"2"'}
    web.faults["/a"] = [cut(300_000), status(404)]
    assert fetched(tmp_path, file) == CONTENT
    assert web.asked[-1] == ("/mirror/a", "bytes=300000-", None)
    assert web.sent - len(b"sorry") == len(CONTENT)


def test_part_of_another_file_is_not_continued_at_a_mirror(web: Web, tmp_path) -> None:
    """The checksum shows that the parts belong to two files: the whole file is downloaded from the mirror."""
    file = mirrored(web)
    web.faults["/a"] = [lambda handler, _: handler.give(OLD, 300_000), status(404)]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/mirror/a") == ["bytes=300000-", None]


def test_part_without_checksum_is_not_continued_at_a_mirror(web: Web, tmp_path) -> None:
    """Both URLs have a validator, even the same one, but different files."""
    file = mirrored(web, bytes=None, sha256=None)
    web.etags = {"/a": '"1"', "/mirror/a": '"1"'}
    web.faults["/a"] = [lambda handler, _: handler.give(OLD, 300_000), status(404)]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/mirror/a") == [None]


def changed(etag: str | None, answer: Fault) -> Fault:
    """Replace the file before the request is answered."""

    def fault(handler: Handler, _content: bytes) -> None:
        handler.web.files["/a"] = CONTENT
        handler.web.etags = {"/a": etag} if etag else {}
        answer(handler, CONTENT)

    return fault


def rest(**headers: object) -> Fault:
    """Send the rest of the file, whatever If-Range says."""

    def fault(handler: Handler, content: bytes) -> None:
        start = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        extent = f"bytes {start}-{len(content) - 1}/{len(content)}"
        handler.answer(206, content[start:], **({"Content_Range": extent} | headers))

    return fault


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda handler, content: handler.give(content), id="whole, as HTTP wants it"),
        pytest.param(whole, id="whole, without a validator"),
        pytest.param(rest(ETag='"new"'), id="the rest, with the new validator"),
        pytest.param(rest(), id="the rest, without a validator"),
        pytest.param(rest(ETag='"old"', Content_Range="bytes 300000-1048575/1048580"), id="the rest of another length"),
        pytest.param(status(416), id="a range that there is not"),
    ],
)
def test_file_that_changes_between_two_attempts_is_received_whole(
    web: Web, tmp_path, is_listed: bool, answer: Fault
) -> None:
    """A mirror's file is replaced during the download; the part received of the old file is deleted."""
    file = listed(web, "a", **({} if is_listed else {"bytes": None, "sha256": None}))
    web.files["/a"], web.etags = OLD, {"/a": '"old"'}
    web.faults["/a"] = [cut(300_000), changed('"new"', answer)]
    (result,) = run(tmp_path, file)
    assert result.outcome is Outcome.FETCHED
    assert result.wanted.target.read_bytes() == CONTENT


def test_file_that_changes_at_each_attempt_is_given_up(web: Web, tmp_path) -> None:
    """Every answer is the rest of another version."""
    file = listed(web, "a", bytes=None, sha256=None)
    versions = iter(range(1000))

    def next_version(handler: Handler, _content: bytes) -> None:
        handler.web.etags = {"/a": f'"{next(versions)}"'}
        handler.give(bytes([next(versions) % 256]) * len(CONTENT), 1000)

    web.faults["/a"] = [next_version] * 50
    assert refused(tmp_path, file).endswith("cut the connection")
    assert len(web.asked) <= 2 * QUICK.attempts


def test_new_version_is_continued_too(web: Web, tmp_path) -> None:
    """The received part of the new version is kept: it is not downloaded from its start again."""
    file = listed(web, "a", bytes=None, sha256=None)
    web.files["/a"], web.etags = OLD, {"/a": '"old"'}
    web.faults["/a"] = [cut(300_000), changed('"new"', cut(600_000))]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/a") == [None, "bytes=300000-", "bytes=600000-"]


def test_file_of_a_folder_that_changes_while_it_is_read_is_read_again(tmp_path, monkeypatch) -> None:
    disk = tmp_path / "disk" / "demo"
    disk.mkdir(parents=True)
    (disk / "a").write_bytes(OLD)
    progress = FetchDisplay.progress

    def replace_meanwhile(display: FetchDisplay, *arguments: object) -> None:
        progress(display, *arguments)
        if (disk / "a").read_bytes() == OLD:
            (disk / "a").write_bytes(CONTENT)

    monkeypatch.setattr(FetchDisplay, "progress", replace_meanwhile)
    file = SourceFile("a", "http://nowhere.invalid/a")
    assert fetched(tmp_path / "to", file, replace(QUICK, mirror=disk.parent.as_uri())) == CONTENT


@pytest.mark.parametrize("first", [b"Content-Length: 1048576\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n", b"\r\n"])
def test_very_slow_body_times_out(web: Web, tmp_path, first: bytes) -> None:
    """Regression: single bytes now and then never count as silence, so such a download lasted for weeks."""
    file = listed(web, "a")
    piece = b"1\r\nx\r\n" if b"chunked" in first else b"x"
    web.faults["/a"] = [drip(b"HTTP/1.1 200 OK\r\n" + first, piece, 0.05)]
    started = time.monotonic()
    cause = refused(tmp_path, file, replace(QUICK, attempts=1))
    assert cause.endswith("sent fewer than 250 bytes a second for 1 s")
    assert time.monotonic() - started < 4 * QUICK.timeout
