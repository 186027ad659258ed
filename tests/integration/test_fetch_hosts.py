"""Hosts of downloads: hosts in trouble, redirects, proxies, certificates, mirrors."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
import time
from dataclasses import replace

import pytest

from dialogue_warehouse.corpora.release import SourceFile
from dialogue_warehouse.errors import CheckError, InputError
from pipelines.ingestion.fetch_display import refuse_failures
from pipelines.ingestion.wanted import Outcome
from tests.integration.downloads import (
    CONTENT,
    QUICK,
    Handler,
    drip,
    fetched,
    listed,
    names,
    redirect,
    refused,
    run,
    stall,
    status,
)

pytestmark = pytest.mark.usefixtures("no_proxy_of_the_machine")


@pytest.mark.parametrize("code", [401, 403, 404, 410])
def test_missing_file_is_not_requested_again(web, tmp_path, code):
    file = listed(web, "a")
    web.faults["/a"] = [status(code)]
    assert f"responded with {code} " in refused(tmp_path, file)
    assert len(web.asked) == 1


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503])
def test_failing_server_is_asked_again(web, tmp_path, code):
    file = listed(web, "a")
    web.faults["/a"] = [status(code), status(code)]
    assert fetched(tmp_path, file) == CONTENT
    assert len(web.asked) == 3


def test_server_that_keeps_failing_is_given_up(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [status(503)] * 9
    assert "responded with 503 Service Unavailable" in refused(tmp_path, file)
    assert len(web.asked) == QUICK.attempts


def test_retry_after_is_respected(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [status(429, Retry_After=1)]
    started = time.monotonic()
    assert fetched(tmp_path, file) == CONTENT
    assert time.monotonic() - started >= 1


@pytest.mark.parametrize(("wait", "minutes"), [("3541", "60"), ("Wed, 21 Oct 2099 07:28:00 GMT", r"[\d,]+")])
def test_long_retry_after_ends_the_download(web, tmp_path, wait, minutes):
    files = [listed(web, str(index)) for index in range(20)]
    for file in files:
        web.faults[f"/{file.path}"] = [status(429, Retry_After=wait)]
    results = run(tmp_path, *files, settings=replace(QUICK, jobs=1))
    (cause,) = {result.cause for result in results}
    assert re.search(rf" responded with 429 Too Many Requests and asks to wait for {minutes} minutes$", cause)
    assert len(web.asked) == 1


@pytest.mark.parametrize("wait", ["soon", "", "-5", "9" * 400])
def test_invalid_retry_after_is_ignored(web, tmp_path, wait):
    file = listed(web, "a")
    web.faults["/a"] = [status(503, Retry_After=wait)]
    assert fetched(tmp_path, file) == CONTENT


def test_silent_server_times_out_and_is_asked_again(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [
        stall(3.0),
        lambda handler, content: (handler.answer(200, content[:99], Content_Length=999), time.sleep(3)),
    ]
    assert fetched(tmp_path, file) == CONTENT
    web.faults["/b"] = [stall(3.0)]
    assert refused(tmp_path / "b", listed(web, "b"), replace(QUICK, attempts=1)).endswith(
        "sent fewer than 250 bytes a second for 1 s"
    )


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GIVEN_UP = ("sent fewer than 250 bytes a second for 1 s", "sent an invalid response", "cut the connection")


@pytest.mark.parametrize(
    ("first", "again", "pause"),
    [
        pytest.param(OK, b"X: y\r\n", 0.1, id="a header now and then"),
        pytest.param(OK, b"X: y\r\n" * 99, 0.0, id="many headers"),
        pytest.param(OK + b"X: ", b"y", 0.1, id="a byte of a header now and then"),
        pytest.param(OK + b"X: ", b"y" * 999, 0.0, id="a long header"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.0, id="interim responses"),
        pytest.param(CHUNKED + b"1\r\na\r\n0\r\n", b"X: y\r\n", 0.0, id="trailers"),
        pytest.param(CHUNKED + b"1;", b"x" * 999, 0.0, id="extension of a chunk"),
        pytest.param(CHUNKED, b"0" * 999, 0.0, id="size of a chunk"),
    ],
)
def test_endless_headers_time_out(web, tmp_path, first, again, pause):
    """Regression: a server that sent headers without end was read for ever."""
    file = listed(web, "a")
    web.faults["/a"] = [drip(first, again, pause)]
    settings = replace(QUICK, attempts=1)
    started = time.monotonic()
    cause = refused(tmp_path, file, settings=settings)
    assert any(reason in cause for reason in GIVEN_UP)
    assert time.monotonic() - started < 20 * QUICK.timeout


def test_redirect_is_followed(web, tmp_path):
    file = listed(web, "a")
    web.files["/b"] = CONTENT
    web.faults["/a"] = [redirect("/b")]
    assert fetched(tmp_path, file) == CONTENT


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", "Basic dXNlcjpzZWNyZXQ="), ("localhost", None)])
def test_redirect_gets_the_password_of_the_url_only_on_the_same_server(web, tmp_path, host, expected):
    sent = []

    def give(handler: Handler, content: bytes) -> None:
        sent.append(handler.headers["Authorization"])
        handler.give(content)

    file = listed(web, "a")
    web.files["/b"] = CONTENT
    web.faults |= {"/a": [redirect(web.url.replace("127.0.0.1", host) + "/b")], "/b": [give]}
    assert fetched(tmp_path, replace(file, url=file.url.replace("//", "//user:secret@"))) == CONTENT
    assert sent == [expected]


def test_endless_redirects_are_not_followed(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [redirect("/a")] * 50
    assert "redirects more than 5 times" in refused(tmp_path, file)
    assert len(web.asked) <= 6


@pytest.mark.parametrize(
    ("target", "reported"),
    [
        ("file:///etc/passwd", "redirects to file:// and only http and https are followed"),
        ("FTP://127.0.0.1/x", "redirects to ftp:// and only http and https are followed"),
        ("http://[", "sends a redirect that is not a valid URL"),
        ("http://\x1b[2J/", "sends a redirect that is not a valid URL"),
        ("http://127.0.0.1:99999/", "127.0.0.1:99999 is not a valid host"),
    ],
)
def test_redirect_to_anything_else_is_not_followed(web, tmp_path, target, reported):
    file = listed(web, "a", bytes=None, sha256=None)
    web.faults["/a"] = [redirect(target)]
    assert refused(tmp_path, file).endswith(reported)
    assert names(tmp_path) == []
    assert len(web.asked) == 1


def test_body_of_a_redirect_is_not_read(web, tmp_path):
    finished = []

    def endless(handler: Handler, _content: bytes) -> None:
        handler.answer(302, Location="/b", Content_Length=10**12)
        with contextlib.suppress(OSError):
            for _ in range(1000):
                handler.wfile.write(CONTENT)
            finished.append(True)

    file = listed(web, "a")
    web.files["/b"] = CONTENT
    web.faults["/a"] = [endless]
    assert fetched(tmp_path, file) == CONTENT
    assert finished == []


def test_closed_port_fails_once_and_early(web, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
    files = [SourceFile(str(index), f"{dead}/{index}") for index in range(200)]
    started = time.monotonic()
    results = run(tmp_path, *files, listed(web, "a"))
    assert time.monotonic() - started < 5
    assert results[-1].outcome is Outcome.FETCHED
    with pytest.raises(CheckError) as raised:
        refuse_failures(results)
    first, hint, *_ = str(raised.value).splitlines()
    assert "and 195 more files: 127.0.0.1:" in first
    assert first.endswith("cannot be reached (Connection refused)")
    assert f"{dead}/<path> to {tmp_path}/demo/<path> (200 files)" in hint


def test_unreachable_proxy_is_reported_without_its_password(tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:9")
    cause = refused(tmp_path, SourceFile("a", "http://nowhere.invalid/a?key=secret"))
    assert cause == "nowhere.invalid cannot be reached through the proxy (Connection refused)"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("proxy", ["http://[", "foo://user:secret@h:1", "http://user:secret@h:port", "http://", "  "])
def test_invalid_proxy_is_named_by_its_variable(tmp_path, monkeypatch, name, proxy):
    monkeypatch.setenv(name, proxy)
    with pytest.raises(InputError, match=rf"^{name}: not the URL of a proxy, http://HOST:PORT") as raised:
        run(tmp_path, SourceFile("a", "http://nowhere.invalid/a?key=secret"))
    assert "secret" not in str(raised.value)


def test_refusal_of_a_proxy_is_reported(web, tmp_path, monkeypatch):
    def refuse(self: Handler) -> None:
        self.answer(407)

    monkeypatch.setattr(Handler, "do_CONNECT", refuse, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", web.url)
    cause = refused(tmp_path, SourceFile("a", "https://nowhere.invalid/a"))
    assert cause == "nowhere.invalid cannot be reached through the proxy (it responded with 407)"


def test_proxy_is_not_used_for_excluded_hosts(web, tmp_path, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "nowhere.invalid, 127.0.0.1,[::1")
    assert fetched(tmp_path, listed(web, "a")) == CONTENT


def test_proxy_of_the_environment_is_used(web, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", web.url)
    web.files["http://nowhere.invalid/a"] = CONTENT
    file = replace(listed(web, "b"), path="a", url="http://nowhere.invalid/a")
    assert fetched(tmp_path, file) == CONTENT


def test_mirror_replaces_the_publisher_and_its_secrets_are_not_printed(web, tmp_path):
    file = replace(listed(web, "a"), url="http://nowhere.invalid/a")
    web.files["/base/demo/a"] = CONTENT
    mirror = web.url.replace("//", "//user:secret@") + "/base?key=secret"
    assert fetched(tmp_path / "good", file, replace(QUICK, mirror=mirror)) == CONTENT
    cause = refused(tmp_path / "bad", replace(file, path="b"), replace(QUICK, mirror=mirror))
    assert cause == f"{web.url.removeprefix('http://')} responded with 404 Not Found"


def test_mirror_may_be_a_folder(tmp_path):
    disk = tmp_path / "a disk"
    (disk / "demo").mkdir(parents=True)
    (disk / "demo" / "a").write_bytes(CONTENT)
    file = SourceFile("a", "http://nowhere.invalid/a", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    settings = replace(QUICK, mirror=disk.as_uri())
    assert fetched(tmp_path / "new", file, settings) == CONTENT
    (tmp_path / "part" / "demo").mkdir(parents=True)
    for beginning in (CONTENT[:5000], CONTENT[:5000] + b"x", CONTENT + b"x"):
        (tmp_path / "part" / "demo" / "a").unlink(missing_ok=True)
        (tmp_path / "part" / "demo" / "a.part").write_bytes(beginning)
        assert fetched(tmp_path / "part", file, settings) == CONTENT
    assert refused(tmp_path / "bad", replace(file, path="b"), settings) == "the mirror has no such file"
    unreadable = replace(QUICK, mirror=(disk / ("a" * 300)).as_uri())
    assert refused(tmp_path / "bad", file, unreadable) == "cannot be read at the mirror: File name too long"
    os.mkfifo(disk / "demo" / "pipe")
    assert refused(tmp_path / "bad", replace(file, path="pipe"), settings) == "the mirror has no such file"
    (disk / "demo" / "broken").symlink_to("/proc/self/mem")  # can be opened, as on a broken disk, but not be read
    reason = refused(tmp_path / "bad", replace(file, path="broken"), settings)
    assert reason == "cannot be read at the mirror: Invalid argument"
