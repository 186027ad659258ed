"""Downloads from a real server that does what servers do: cut, stall, lie, redirect, and change their minds."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pipelines.cli.downloads import FetchDisplay
from pipelines.corpora import registry
from pipelines.corpora.room import Corpus, SourceFile
from pipelines.errors import CheckError
from pipelines.intake import fetching
from pipelines.intake import wanted as wanted_files
from pipelines.intake.downloading import Outcome, Result
from pipelines.intake.wanted import Wanted
from pipelines.settings import Settings
from tests.conftest import CLONE, run_command

CONTENT = bytes(range(256)) * 4096
"""1 MiB."""
QUICK = Settings(backoff=0.01, timeout=0.5, attempts=3)

Fault = Callable[["Handler", bytes], None]


@dataclass
class Web:
    """A server on this machine: what it has, how it misbehaves at a path (once each, in turn), what it was asked."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    """Path, Range and If-Range of each request."""
    sent: int = 0
    """Bytes of bodies."""

    def ranges(self, path: str) -> list[str | None]:
        return [asked for found, asked, _ in self.asked if found == path]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *_arguments) -> None:
        pass

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.web.asked.append((path, self.headers["Range"], self.headers["If-Range"]))
        content = self.web.files.get(path, b"")
        if self.web.faults[path]:
            self.web.faults[path].pop(0)(self, content)
        elif path in self.web.files:
            self.give(content)
        else:
            self.answer(404)

    def answer(self, status: int, body: bytes = b"", **headers: object) -> None:
        """A whole answer; `Content_Range` stands for the header Content-Range."""
        self.send_response(status)
        for name, value in ({"Content_Length": len(body)} | headers).items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.send(body)

    def send(self, body: bytes) -> None:
        with contextlib.suppress(OSError):
            self.wfile.write(body)
            self.web.sent += len(body)

    def hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def give(self, content: bytes, until: int | None = None) -> None:
        """The content or the range asked for, as HTTP wants it; cut at an offset."""
        etag = self.web.etags.get(self.path)
        wanted = self.headers["Range"] if self.headers["If-Range"] in (None, etag) else None
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        headers = {"ETag": etag, "Content_Length": len(content) - start}
        if start >= len(content) > 0:
            self.answer(416, Content_Range=f"bytes */{len(content)}")
        elif wanted:
            extent = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.answer(206, content[start:until], **headers, Content_Range=extent)
        else:
            self.answer(200, content[start:until], **headers)
        if until is not None:
            self.hang_up()


def cut(until: int) -> Fault:
    return lambda handler, content: handler.give(content, until)


def status(code: int, **headers: object) -> Fault:
    return lambda handler, _content: handler.answer(code, b"sorry", **headers)


def stall(seconds: float) -> Fault:
    return lambda _handler, _content: time.sleep(seconds)


def redirect(target: str) -> Fault:
    return lambda handler, _content: handler.answer(302, b"moved", Location=target)


def whole(handler: Handler, content: bytes) -> None:
    """As a server that knows no ranges."""
    handler.answer(200, content)


@pytest.fixture(autouse=True)
def no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def web() -> Iterator[Web]:
    class OwnHandler(Handler):
        pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request, client_address) -> None:
            """A client that hangs up is none."""

    with Server(("127.0.0.1", 0), OwnHandler) as server:
        OwnHandler.web = Web(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield OwnHandler.web
        server.shutdown()


def listed(web: Web, path: str, content: bytes = CONTENT, **facts: object) -> SourceFile:
    """A file of the server, with its size and checksum unless told otherwise."""
    web.files[f"/{path}"] = content
    known = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return SourceFile(path, f"{web.url}/{path}", **(known | facts))


def plan(to: Path, *files: SourceFile, mirror: str | None = None) -> list[Wanted]:
    return wanted_files.plan((Corpus("demo", "Demo", "", "MIT", "", "1", files, (), Path()),), to, mirror)


def run(to: Path, *files: SourceFile, settings: Settings = QUICK) -> list[Result]:
    wanted = plan(to, *files, mirror=settings.mirror)
    display = FetchDisplay(quiet=True)
    display.start(wanted)
    return fetching.fetch_files(wanted, settings, display)


def fetched(to: Path, file: SourceFile, settings: Settings = QUICK) -> bytes:
    """The content that takes the file's place, with nothing left beside it."""
    (result,) = run(to, file, settings=settings)
    assert (result.outcome, result.cause) == (Outcome.FETCHED, None)
    assert names(to) == [file.path]
    return result.wanted.target.read_bytes()


def refused(to: Path, file: SourceFile, settings: Settings = QUICK) -> str:
    """The cause for which a file is not fetched; there is nothing at its place."""
    (result,) = run(to, file, settings=settings)
    assert result.outcome is Outcome.FAILED
    assert not result.wanted.target.exists()
    return result.cause


def names(to: Path) -> list[str]:
    folder = to / "demo"
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_files_arrive_and_are_not_asked_for_again(web, tmp_path):
    files = [listed(web, f"part/{index}", CONTENT[index:]) for index in range(9)]
    assert [result.outcome for result in run(tmp_path, *files)] == [Outcome.FETCHED] * 9
    assert names(tmp_path) == [file.path for file in files]
    assert all((tmp_path / "demo" / file.path).read_bytes() == CONTENT[index:] for index, file in enumerate(files))
    asked = len(web.asked)
    assert [result.outcome for result in run(tmp_path, *files)] == [Outcome.PRESENT] * 9
    assert len(web.asked) == asked == 9


def test_several_files_come_at_a_time(web, tmp_path):
    together = threading.Barrier(3, timeout=5)
    files = [listed(web, name) for name in "abc"]
    for file in files:
        web.faults[f"/{file.path}"] = [lambda handler, content: (together.wait(), handler.give(content))]
    assert [result.outcome for result in run(tmp_path, *files)] == [Outcome.FETCHED] * 3


def test_git_blob_id_is_enough_where_nothing_else_is_known(web, tmp_path):
    file = listed(web, "a", b"hello\n", bytes=None, sha256=None)
    good = replace(file, git_blob_sha1="ce013625030ba8dba906f756967f9e9ca394464a")
    assert fetched(tmp_path / "good", good) == b"hello\n"
    assert "git blob id" in refused(tmp_path / "bad", replace(file, git_blob_sha1="0" * 40))


def test_file_without_checksum_is_accepted_and_known_as_unverified(web, tmp_path):
    (result,) = run(tmp_path, listed(web, "a", bytes=None, sha256=None))
    assert (result.outcome, result.wanted.is_verifiable) == (Outcome.FETCHED, False)


@pytest.mark.parametrize("etag", [None, '"1"', 'W/"1"'])
def test_cut_connection_is_continued_with_the_rest_and_only_the_rest(web, tmp_path, etag):
    file = listed(web, "a")
    web.etags = {"/a": etag} if etag else {}
    web.faults["/a"] = [cut(300_000), cut(700_000)]
    assert fetched(tmp_path, file) == CONTENT
    validator = etag if etag == '"1"' else None
    rest = [("/a", "bytes=300000-", validator), ("/a", "bytes=700000-", validator)]
    assert web.asked == [("/a", None, None), *rest]
    assert web.sent == len(CONTENT)


def test_cut_connection_of_unknown_length_is_noticed(web, tmp_path):
    def close_early(handler: Handler, content: bytes) -> None:
        handler.answer(200, content[:1000], Content_Length=None, Connection="close")

    file = listed(web, "a")
    web.faults["/a"] = [close_early]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/a") == [None, "bytes=1000-"]


def test_connection_that_is_always_cut_is_given_up_and_kept_for_the_next_run(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [cut(1000)] * 3
    assert "cut the connection" in refused(tmp_path, file)
    assert (tmp_path / "demo" / "a.part").read_bytes() == CONTENT[:1000]
    assert fetched(tmp_path, file) == CONTENT
    assert web.ranges("/a")[-1] == "bytes=1000-"


def test_attempts_that_bring_something_do_not_count(web, tmp_path):
    content = CONTENT * 4
    file = listed(web, "a", content)
    web.faults["/a"] = [cut(end) for end in range(2**19, len(content), 2**19)]
    assert len(web.faults["/a"]) > QUICK.attempts
    assert fetched(tmp_path, file) == content
    assert web.sent == len(content)


def test_server_that_knows_no_ranges_starts_again(web, tmp_path):
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


def test_part_of_another_file_is_thrown_away_once_the_checksum_tells(web, tmp_path):
    file = listed(web, "a")
    (tmp_path / "demo").mkdir()
    for wrong in (b"x" * 1000, b"x" * len(CONTENT), b"x" * (len(CONTENT) + 1)):
        (tmp_path / "demo" / "a.part").write_bytes(wrong)
        assert fetched(tmp_path, file) == CONTENT
        (tmp_path / "demo" / "a").unlink()


def test_part_that_is_complete_is_checked_and_not_asked_for(web, tmp_path):
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
def test_wrong_content_is_kept_aside_and_the_others_go_on(web, tmp_path, content):
    files = [listed(web, name) for name in ("a", "b")]
    web.files["/a"] = content
    wrong, right = run(tmp_path, *files)
    assert right.outcome is Outcome.FETCHED
    assert names(tmp_path) == ["a.mismatch", "b"]
    assert (tmp_path / "demo" / "a.mismatch").read_bytes() == content
    assert "expected" in wrong.cause
    assert "observed" in wrong.cause
    assert str(tmp_path / "demo" / "a.mismatch") in wrong.cause
    with pytest.raises(CheckError, match=r"^demo/a: what came is not the listed file"):
        fetching.refuse_failures([wrong, right])


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


@pytest.mark.parametrize("code", [401, 403, 404, 410])
def test_what_is_not_there_is_not_asked_for_again(web, tmp_path, code):
    file = listed(web, "a")
    web.faults["/a"] = [status(code)]
    assert f"answered {code} " in refused(tmp_path, file)
    assert len(web.asked) == 1


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503])
def test_server_in_trouble_is_asked_again(web, tmp_path, code):
    file = listed(web, "a")
    web.faults["/a"] = [status(code), status(code)]
    assert fetched(tmp_path, file) == CONTENT
    assert len(web.asked) == 3


def test_server_that_stays_in_trouble_is_given_up(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [status(503)] * 9
    assert "answered 503 Service Unavailable" in refused(tmp_path, file)
    assert len(web.asked) == QUICK.attempts


def test_retry_after_is_waited_for(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [status(429, Retry_After=1)]
    started = time.monotonic()
    assert fetched(tmp_path, file) == CONTENT
    assert time.monotonic() - started >= 1


@pytest.mark.parametrize("wait", ["3600", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_retry_after_that_is_too_long_is_not_waited_for(web, tmp_path, wait):
    files = [listed(web, str(index)) for index in range(20)]
    for file in files:
        web.faults[f"/{file.path}"] = [status(429, Retry_After=wait)]
    results = run(tmp_path, *files, settings=replace(QUICK, jobs=1))
    assert {result.cause for result in results} == {results[0].cause}
    assert len(web.asked) == 1


@pytest.mark.parametrize("wait", ["soon", "", "-5", "9" * 400])
def test_retry_after_that_is_none_does_no_harm(web, tmp_path, wait):
    file = listed(web, "a")
    web.faults["/a"] = [status(503, Retry_After=wait)]
    (result,) = run(tmp_path, file)
    assert result.outcome is (Outcome.FAILED if wait.startswith("9") else Outcome.FETCHED)


def test_silent_server_is_a_timeout_and_asked_again(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [
        stall(1.0),
        lambda handler, content: (handler.answer(200, content[:99], Content_Length=999), time.sleep(1)),
    ]
    assert fetched(tmp_path, file) == CONTENT
    web.faults["/b"] = [stall(1.0)] * 3
    assert refused(tmp_path / "b", listed(web, "b")).endswith("sent nothing for 0.5 s")


def test_redirect_is_followed(web, tmp_path):
    file = listed(web, "a")
    web.files["/b"] = CONTENT
    web.faults["/a"] = [redirect("/b")]
    assert fetched(tmp_path, file) == CONTENT


def test_endless_redirects_are_not(web, tmp_path):
    file = listed(web, "a")
    web.faults["/a"] = [redirect("/a")] * 50
    assert "redirects more than 5 times" in refused(tmp_path, file)
    assert len(web.asked) <= 6


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("file:///etc/passwd", "redirects to file:, which is not followed"),
        ("FTP://127.0.0.1/x", "redirects to ftp:, which is not followed"),
        ("http://[", "gave an answer that cannot be used (ValueError)"),
    ],
)
def test_redirect_to_anything_else_is_not_followed(web, tmp_path, target, told):
    file = listed(web, "a", bytes=None, sha256=None)
    web.faults["/a"] = [redirect(target)]
    assert refused(tmp_path, file).endswith(told)
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


def test_gzip_file_stays_gzipped_whatever_the_server_says_about_it(web, tmp_path):
    packed = gzip.compress(CONTENT, mtime=0)
    file = listed(web, "a.gz", packed)
    web.faults["/a.gz"] = [lambda handler, content: handler.answer(200, content, Content_Encoding="gzip")]
    assert fetched(tmp_path, file) == packed


def test_gzip_that_nobody_asked_for_is_undone(web, tmp_path):
    file = listed(web, "a")
    packed = gzip.compress(CONTENT, mtime=0)
    web.faults["/a"] = [lambda handler, _content: handler.answer(200, packed, Content_Encoding="gzip")]
    assert fetched(tmp_path, file) == CONTENT


def test_chunked_content_arrives_and_its_cut_is_noticed(web, tmp_path):
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


def test_garbage_instead_of_http_is_a_failure_in_one_line(web, tmp_path):
    def garbage(handler: Handler, _content: bytes) -> None:
        handler.send(b"\x1b[2J not HTTP at all\r\n\r\n")
        handler.hang_up()

    file = listed(web, "a")
    web.faults["/a"] = [garbage] * 3
    assert refused(tmp_path, file).isprintable()


def test_own_file_at_the_place_is_not_overwritten(web, tmp_path):
    file = listed(web, "a")
    own = tmp_path / "demo" / "a"
    own.parent.mkdir()
    own.write_bytes(b"my own subset")
    (result,) = run(tmp_path, file)
    assert result.outcome is Outcome.FAILED
    assert f"expected {len(CONTENT):,} bytes, observed 13" in result.cause
    assert own.read_bytes() == b"my own subset"
    assert (web.asked, names(tmp_path)) == ([], ["a"])


def test_file_that_appears_meanwhile_is_not_overwritten(web, tmp_path):
    file = listed(web, "a")
    own = tmp_path / "demo" / "a"
    web.faults["/a"] = [lambda handler, content: (own.write_bytes(b"mine"), handler.give(content))]
    (result,) = run(tmp_path, file)
    assert (result.outcome, own.read_bytes()) == (Outcome.FAILED, b"mine")


def test_folder_at_the_place_or_file_in_the_way_is_a_failure_of_that_file(web, tmp_path):
    (tmp_path / "demo" / "a").mkdir(parents=True)
    (tmp_path / "demo" / "b").write_text("")
    results = run(tmp_path, listed(web, "a"), listed(web, "b/c"), listed(web, "d"))
    assert [result.outcome for result in results] == [Outcome.FAILED, Outcome.FAILED, Outcome.FETCHED]
    assert results[1].cause == f"{tmp_path}/demo/b cannot be used: File exists"


def test_dead_port_is_one_cause_and_soon_known(web, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
    files = [SourceFile(str(index), f"{dead}/{index}") for index in range(200)]
    started = time.monotonic()
    results = run(tmp_path, *files, listed(web, "a"))
    assert time.monotonic() - started < 5
    assert results[-1].outcome is Outcome.FETCHED
    with pytest.raises(CheckError) as raised:
        fetching.refuse_failures(results)
    first, hint = str(raised.value).splitlines()
    assert "and 195 more files: 127.0.0.1:" in first
    assert first.endswith("cannot be reached (Connection refused)")
    assert f"{dead}/<path> to {tmp_path}/demo/<path> (200 files)" in hint


def test_dead_proxy_says_so_and_not_its_password(tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:9")
    cause = refused(tmp_path, SourceFile("a", "http://nowhere.invalid/a?key=secret"))
    assert cause == "nowhere.invalid cannot be reached through the proxy (Connection refused)"


def test_proxy_of_the_environment_is_asked(web, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", web.url)
    web.files["http://nowhere.invalid/a"] = CONTENT
    file = replace(listed(web, "b"), path="a", url="http://nowhere.invalid/a")
    assert fetched(tmp_path, file) == CONTENT


def test_certificate_is_verified(tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*command, "-keyout", "key", "-out", "cert"], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")

    class Quiet(http.server.HTTPServer):
        def handle_error(self, request, client_address) -> None:
            """A client that hangs up is none."""

    with Quiet(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        cause = refused(tmp_path, SourceFile("a", f"https://127.0.0.1:{server.server_port}/a"))
        server.shutdown()
    assert f"the certificate of 127.0.0.1:{server.server_port} is not accepted: self-signed certificate" in cause


def test_mirror_is_asked_instead_of_the_publisher_and_its_secrets_are_not_told(web, tmp_path):
    file = replace(listed(web, "a"), url="http://nowhere.invalid/a")
    web.files["/base/demo/a"] = CONTENT
    mirror = web.url.replace("//", "//user:secret@") + "/base?key=secret"
    assert fetched(tmp_path / "good", file, replace(QUICK, mirror=mirror)) == CONTENT
    cause = refused(tmp_path / "bad", replace(file, path="b"), replace(QUICK, mirror=mirror))
    assert cause == f"{web.url.removeprefix('http://')} answered 404 Not Found"


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
    os.mkfifo(disk / "demo" / "pipe")
    assert refused(tmp_path / "bad", replace(file, path="pipe"), settings) == "the mirror has no such file"


def test_two_runs_into_one_folder_are_one_too_many(web, tmp_path):
    with fetching.hold_folder(tmp_path), pytest.raises(CheckError, match="another fetch is running"):
        fetching.fetch(replace(QUICK, mirror=web.url), tmp_path, FetchDisplay(quiet=True))
    assert web.asked == []


DOWNLOAD = """
import json, sys
from pathlib import Path
from pipelines.intake import fetching, wanted as wanted_files
from pipelines.corpora.room import Corpus, SourceFile
from pipelines.cli.downloads import FetchDisplay
from pipelines.settings import Settings
files = tuple(SourceFile(**file) for file in json.loads(sys.argv[2]))
wanted = wanted_files.plan((Corpus("demo", "Demo", "", "MIT", "", "1", files, (), Path()),), Path(sys.argv[1]))
display = FetchDisplay(quiet=True)
display.start(wanted)
fetching.fetch_files(wanted, Settings(), display)
"""


def drip(handler: Handler, content: bytes) -> None:
    """Half of the content, then nothing for long."""
    handler.answer(200, content[: len(content) // 2], Content_Length=len(content))
    time.sleep(60)


@contextlib.contextmanager
def running(*command: object, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process of its own, killed in the end."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(list(map(str, command)), cwd=CLONE, env=os.environ | environment, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_killed_process_leaves_what_the_next_one_continues(web, tmp_path):
    files = [listed(web, name) for name in ("a", "b")]
    web.faults["/a"] = [drip]
    facts = json.dumps([{"path": file.path, "url": file.url, "sha256": file.sha256} for file in files])
    part = tmp_path / "demo" / "a.part"
    with running(sys.executable, "-c", DOWNLOAD, tmp_path, facts):
        wait_for(lambda: part.exists() and part.stat().st_size == len(CONTENT) // 2 and names(tmp_path)[1:] == ["b"])
    assert names(tmp_path) == ["a.part", "b"]
    results = run(tmp_path, *files)
    assert [result.outcome for result in results] == [Outcome.FETCHED, Outcome.PRESENT]
    assert web.ranges("/a") == [None, f"bytes={len(CONTENT) // 2}-"]
    assert names(tmp_path) == ["a", "b"]


def one_corpus() -> Corpus:
    """A corpus with few files."""
    return min(registry.load_corpora(), key=lambda corpus: len(corpus.files))


@pytest.mark.parametrize(
    ("name", "returncode", "told"),
    [("SIGINT", 130, "interrupted; the same command goes on where it stopped\n"), ("SIGTERM", -signal.SIGTERM, "")],
)
def test_interrupted_command_leaves_parts_only(web, tmp_path, name, returncode, told):
    corpus = one_corpus()
    for file in corpus.files:
        web.files[f"/{corpus.corpus_id}/{file.path}"] = b"x" * 1000
        web.faults[f"/{corpus.corpus_id}/{file.path}"] = [drip]
    command = (sys.executable, "-m", "pipelines.cli", "fetch", "--to", tmp_path, "--corpora", corpus.corpus_id)
    with running(*command, DIALOGUE_MIRROR=web.url) as process:
        wait_for(lambda: [path.stat().st_size for path in tmp_path.rglob("*.part")] == [500] * len(corpus.files))
        started = time.monotonic()
        process.send_signal(signal.Signals[name])
        output, errors = process.communicate(timeout=20)
        assert time.monotonic() - started < 5
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".part"}
    assert process.returncode == returncode
    assert (output, errors) == ("", told)


def test_command_says_what_failed_and_what_to_do(web, tmp_path):
    corpus = one_corpus()
    quick = {"DIALOGUE_BACKOFF": "0.01"}
    folder = tmp_path / "files of mine"
    arguments = ("fetch", "--to", folder, "--corpora", corpus.corpus_id)
    wrong = corpus.files[0]
    web.files[f"/{corpus.corpus_id}/{wrong.path}"] = b"<html>"
    completed = run_command(*arguments, **quick, DIALOGUE_MIRROR=web.url)
    assert completed.returncode == 1
    assert corpus.license in completed.stdout
    assert "next:" not in completed.stdout
    errors = completed.stderr[completed.stderr.index("error:") :].splitlines()
    assert errors[0].startswith(f"error: {corpus.corpus_id}/{wrong.path}: what came is not the listed file: expected ")
    assert errors[1].endswith("answered 404 Not Found")
    assert errors[2].strip().startswith("by hand: http")
    assert "Traceback" not in completed.stderr


def test_command_that_reaches_nobody_says_it_once(tmp_path):
    dead = {"DIALOGUE_BACKOFF": "0.01", "DIALOGUE_MIRROR": "http://127.0.0.1:9"}
    plain = run_command("fetch", "--to", tmp_path, **dead)
    assert plain.returncode == 1
    assert plain.stderr.count("127.0.0.1:9 cannot be reached (Connection refused)") == 2
    assert plain.stderr.count("retry ") == plain.stderr.count("error:") == 1
    quiet = run_command("fetch", "--to", tmp_path, "--quiet", **dead)
    assert (quiet.returncode, quiet.stdout) == (1, "")
    assert quiet.stderr == plain.stderr[plain.stderr.index("error:") :].replace("\r", "")
    terminal = run_command("fetch", "--to", tmp_path, **dead, FORCE_COLOR="1")
    assert f"{len(wanted_files.plan(registry.load_corpora(), tmp_path))} files" in terminal.stderr


def test_bad_input_of_the_command_is_two(tmp_path):
    (tmp_path / "file").write_text("")
    for arguments in (("--corpora", "nowhere"), ("--to", tmp_path / "file" / "x"), ("--jobs", "0")):
        completed = run_command("fetch", "--to", tmp_path / "x", *arguments)
        assert completed.returncode == 2, arguments
        assert "Traceback" not in completed.stderr
    assert run_command("fetch", DIALOGUE_MIRROR=str(tmp_path)).returncode == 2


def test_real_files_have_the_listed_checksums(web, tmp_path, real_corpora):
    there = [one for one in wanted_files.plan(registry.load_corpora(), real_corpora) if one.target.is_file()]
    right = [one for one in there if one.problem(one.target) is None]
    assert len(right) > 20
    for one in right:
        web.files[f"/{one.name}"] = one.target.read_bytes()
    settings = {"DIALOGUE_MIRROR": web.url, "DIALOGUE_BACKOFF": "0.01"}
    cut_off, *_ = (one.name for one in right if one.file.bytes and one.file.bytes > 2_000_000)
    web.faults[f"/{cut_off}"] = [cut(1_500_000)]
    arguments = ("fetch", "--warehouse", tmp_path, "--corpora", "bbai,sgd")
    completed = run_command(*arguments, **settings)
    landing = tmp_path / "landing"
    fetched = sorted(path for path in landing.rglob("*") if path.is_file())
    expected = {one.name for one in right if one.corpus.corpus_id in ("bbai", "sgd")}
    assert {path.relative_to(landing).as_posix() for path in fetched} == expected
    assert all(path.read_bytes() == (real_corpora / path.relative_to(landing)).read_bytes() for path in fetched)
    assert completed.returncode == 1
    assert f"next: dialogue-warehouse build --source {landing}" in completed.stdout
    assert f"{web.url.removeprefix('http://')} answered 404 Not Found" in completed.stderr
    again = run_command(*arguments, DIALOGUE_MIRROR=real_corpora.as_uri())
    assert f"{sum(name.startswith('bbai/') for name in expected)} already there, 1 failed" in again.stderr
    assert "the mirror has no such file" in again.stderr


def test_complete_corpus_is_a_success_and_can_be_built_from(web, tmp_path, monkeypatch):
    content = b'{"a": 1}'
    file = listed(web, "a", content)
    corpus = Corpus("demo", "Demo", "", "MIT", "", "1", (file,), (), Path())
    monkeypatch.setattr(registry, "load_corpora", lambda _only=(): (corpus,))
    results = fetching.fetch(QUICK, tmp_path, FetchDisplay(quiet=True))
    fetching.refuse_failures(results)
    assert (tmp_path / "demo" / "a").read_bytes() == content
