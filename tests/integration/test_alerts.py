"""Whoever the settings name is told once that building fails and once that it is well again, and of no secret."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import shutil
import socket
import socketserver
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
import requests
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from pipelines.building import alerts, channels
from pipelines.errors import InputError
from pipelines.paths import WarehousePaths
from pipelines.settings import Settings, SettingsError
from tests.conftest import run_command
from tests.integration.downloads import Web

SECRET = "T0/B1/xyzzy"


class Hook(http.server.BaseHTTPRequestHandler):
    """Keeps what it is told, and answers with the status of the class."""

    told: list[dict[str, Any]]
    status = 200
    location = "http://127.0.0.1:1/"

    def do_POST(self) -> None:
        self.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.status)
        self.send_header("Location", self.location)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def hook() -> Iterator[tuple[type[Hook], str]]:
    """A webhook of this machine: what it was told, and its URL."""

    class Own(Hook):
        pass

    Own.told = []

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Own, f"http://127.0.0.1:{server.server_port}/services/{SECRET}"
        server.shutdown()


class Post:
    """A mail server: what it was given."""

    def __init__(self) -> None:
        self.mails: list[Any] = []

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.append((envelope.mail_from, envelope.rcpt_tos, message_from_bytes(envelope.content, policy=default)))
        return "250 OK"


@pytest.fixture
def post() -> Iterator[tuple[Post, int]]:
    """A mail server of this machine that wants a password, and its port."""
    handler = Post()

    def authenticate(*given: Any) -> AuthResult:
        is_right = (given[-1].login, given[-1].password) == (b"anna", b"pass word")
        return AuthResult(success=is_right, handled=False)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(
        handler, "127.0.0.1", port, authenticator=authenticate, auth_required=True, auth_require_tls=False
    )
    controller.start()
    yield handler, port
    controller.stop()


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    paths = WarehousePaths(tmp_path / "warehouse")
    paths.root.mkdir()
    return paths


def written(paths: WarehousePaths) -> list[dict[str, Any]]:
    """The lines of the file."""
    return [json.loads(line) for line in paths.alerts.read_text(encoding="utf-8").splitlines()]


def test_a_failure_is_told_once_and_so_is_its_end(paths: WarehousePaths, hook: tuple[type[Hook], str]) -> None:
    settings = Settings(warehouse=paths.root, alert_webhook=hook[1])
    alerts.tell_success(paths, settings)
    assert not paths.alerts.exists()  # nobody was told of a failure
    for _ in range(3):
        alerts.tell_failure(paths, settings, "sgd: S01: dialogues (critical): 3, expected 4; such as sgd/dev/x.json /7")
    alerts.tell_failure(paths, settings, "abcd/x.json: is no JSON")  # another failure
    for _ in range(2):
        alerts.tell_success(paths, settings)
    told = [message["text"] for message in hook[0].told]
    assert [line["text"] for line in written(paths)] == told
    assert [line["kind"] for line in written(paths)] == ["failure", "failure", "recovery"]
    assert told[0] == (
        f"The build of {paths.root} has failed.\n"
        "sgd: S01: dialogues (critical): 3, expected 4; such as sgd/dev/x.json /7\npublished: nothing yet"
    )
    assert "is no JSON" in told[1]
    assert f"The build of {paths.root} is well again.\nIt had failed since 20" in told[2]
    alerts.tell_failure(paths, settings, "abcd/x.json: is no JSON")  # the same once more, later
    assert len(hook[0].told) == 4


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_mail_is_sent_with_a_password(paths: WarehousePaths, post: tuple[Post, int]) -> None:
    handler, port = post
    settings = Settings(
        warehouse=paths.root,
        alert_smtp=f"smtp://anna:pass%20word@127.0.0.1:{port}",
        alert_from="house@a.example",
        alert_to=("b@b.example", "c@c.example"),
    )
    alerts.tell_failure(paths, settings, "bbai: no é record\nsecond line")
    assert written(paths)[0]["undelivered"] == []
    ((sender, to, mail),) = handler.mails
    assert (sender, to) == ("house@a.example", ["b@b.example", "c@c.example"])
    assert mail["Subject"] == f"dialogue-warehouse: The build of {paths.root} has failed."
    assert "bbai: no é record\nsecond line" in mail.get_content().replace("\r\n", "\n")


@pytest.fixture
def peer() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    """Servers of this machine that do with each connection what they are given; `HOST:PORT` of each."""
    with contextlib.ExitStack() as open_servers:

        def serve(answer: Callable[[socket.socket], None]) -> str:
            class Own(socketserver.BaseRequestHandler):
                def handle(self) -> None:
                    with contextlib.suppress(OSError):
                        answer(self.request)

            server = open_servers.enter_context(Peers(("127.0.0.1", 0), Own))
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            open_servers.callback(server.shutdown)
            return f"127.0.0.1:{server.server_address[1]}"

        yield serve


class Peers(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


def repeat(first: bytes, again: bytes, pause: float) -> Callable[[socket.socket], None]:
    """Send some bytes, and others again and again."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)
            time.sleep(pause)

    return answer


@pytest.mark.parametrize(
    ("first", "again", "pause", "told"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 2**20, 0.0, [], id="body"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.05, [], id="body, dripped"),
        pytest.param(b"HTTP/1.1 500 No\r\n\r\n", b"x" * 2**20, 0.0, ["answers 500"], id="body of an error"),
        pytest.param(
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n",
            b"x" * 2**20,
            0.0,
            ["answers 302"],
            id="body of a redirect",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.05, ["headers without end"], id="headers, dripped"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.0, ["headers without end"], id="interim answers"),
        pytest.param(b"", b"x" * 2**16, 0.0, ["cut the connection"], id="no HTTP"),
    ],
)
def test_webhook_that_answers_without_end_does_not_hold_a_build(
    paths: WarehousePaths,
    peer: Any,
    monkeypatch: pytest.MonkeyPatch,
    first: bytes,
    again: bytes,
    pause: float,
    told: Any,
) -> None:
    """A body of gigabytes filled the memory, and one of a byte now and then was waited for without end."""
    monkeypatch.setattr(channels, "SECONDS", 0.5)
    started = time.monotonic()
    url = f"http://{peer(repeat(first, again, pause))}/services/{SECRET}"
    alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=url), "x: y")
    assert time.monotonic() - started < 5
    undelivered = written(paths)[0]["undelivered"]
    assert len(undelivered) == len(told)
    assert all(expected in found for expected, found in zip(told, undelivered, strict=True))


@pytest.mark.parametrize(
    ("again", "pause"),
    [
        pytest.param(b"220-hello\r\n", 0.0, id="lines"),
        pytest.param(b"220-hello\r\n", 0.05, id="lines, dripped"),
        pytest.param(b"2", 0.05, id="a line, dripped"),
    ],
)
@pytest.mark.parametrize("scheme", ["smtp", "smtp+starttls"])
def test_mail_server_that_answers_without_end_does_not_hold_a_build(
    paths: WarehousePaths, peer: Any, monkeypatch: pytest.MonkeyPatch, again: bytes, pause: float, scheme: str
) -> None:
    monkeypatch.setattr(channels, "SECONDS", 0.5)
    monkeypatch.setattr(channels, "MOST_SECONDS", 0.5)
    started = time.monotonic()
    url = f"{scheme}://{peer(repeat(b'', again, pause))}"
    alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_smtp=url, alert_to=("b@b.example",)), "x: y")
    assert time.monotonic() - started < 5
    assert written(paths)[0]["undelivered"] == ["mail: the server sends answers without end, for 0.5 s"]


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_mail_server_without_encryption_is_not_given_the_password(
    paths: WarehousePaths, post: tuple[Post, int]
) -> None:
    settings = Settings(
        warehouse=paths.root, alert_smtp=f"smtp+starttls://anna:pass@127.0.0.1:{post[1]}", alert_to=("b@b.example",)
    )
    alerts.tell_failure(paths, settings, "x: y")
    assert written(paths)[0]["undelivered"] == ["mail: the server offers no encryption, or no login"]
    assert post[0].mails == []


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_mail_server_that_refuses_is_told_of_without_its_words(paths: WarehousePaths, post: tuple[Post, int]) -> None:
    settings = Settings(
        warehouse=paths.root, alert_smtp=f"smtp://anna:wrong@127.0.0.1:{post[1]}", alert_to=("b@b.example",)
    )
    alerts.tell_failure(paths, settings, "x: y")
    assert written(paths)[0]["undelivered"] == ["mail: the server answers 535"]


def test_certificates_of_a_company_are_trusted_by_webhook_and_mail(
    paths: WarehousePaths,
    company_web: Web,
    company_context: ssl.SSLContext,
    company_certificate: Path,
    peer: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(connection: socket.socket) -> None:
        with company_context.wrap_socket(connection, server_side=True) as encrypted:
            encrypted.sendall(b"554 not today\r\n")

    settings = Settings(
        warehouse=paths.root,
        alert_webhook=f"{company_web.url}/{SECRET}",
        alert_smtp=f"smtps://{peer(answer)}",
        alert_to=("b@b.example",),
    )
    alerts.tell_failure(paths, settings, "x: y")
    monkeypatch.setenv("SSL_CERT_FILE", str(company_certificate))
    alerts.tell_failure(paths, settings, "x: z")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    alerts.tell_failure(paths, settings, "x: y")
    refused, trusted, misled = [line["undelivered"] for line in written(paths)]
    assert [
        place.partition(" is not accepted: self-signed certificate; SSL_CERT_FILE (or ")[0] for place in refused
    ] == [
        f"webhook: the certificate of {company_web.url.removeprefix('https://')}",
        "mail: the certificate of the server",
    ]
    assert trusted == ["webhook: the server answers 501", "mail: the server answers 554"]
    unreadable = "SSL_CERT_FILE: /nowhere.pem cannot be read: No such file or directory"
    assert misled == [f"webhook: {unreadable}", f"mail: {unreadable}"]


@pytest.mark.parametrize("status", [301, 403, 500])
def test_a_server_that_refuses_fails_nothing_and_is_told_of(
    paths: WarehousePaths, hook: tuple[type[Hook], str], status: int
) -> None:
    hook[0].status = status
    alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y")
    assert written(paths)[0]["undelivered"] == [f"webhook: the server answers {status}"]


URLS = [
    "http://127.0.0.1:1/services/T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/services/%540/B1/xyzzy-plugh",
    "http://127.0.0.1:1/a/../services/./T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/services//T0/B1/xyzzy-plugh/",
    "http://127.0.0.1:1/sérvices/T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/s%C3%A9rvices/T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/s%c3%a9rvices/T0/B1/xyzzy-plugh",
    "http://127.0.0.1:1/services/T0 B1/xyzzy-plugh",
    "http://127.0.0.1:1/services/T0/B1/xyzzy-plugh;v=1",
    "http://127.0.0.1:1/?b=xyzzy-plugh&a=T0/B1",
    "http://127.0.0.1:1/hook?token=xyzzy-pl%75gh#T0/B1",
    "http://xyzzy-plugh:T0%2FB1@127.0.0.1:1/hook",
    "HTTP://127.0.0.1:1/Services/T0/B1/XYZZY-plugh",
    "http://nowhere.invalid:1/T0/B1/xyzzy-plugh",
    "http://xn--nwhere-xxa.invalid/T0/B1/xyzzy-plugh",
    "http://nöwhere.invalid/T0/B1/xyzzy-plugh",
    "http://*.invalid/T0/B1/xyzzy-plugh",
    "https://127.0.0.1:1/T0/B1/xyzzy-plugh",
    "http://[::1]:1/T0/B1/xyzzy-plugh",
]


@pytest.mark.parametrize("url", URLS)
def test_no_spelling_of_a_webhook_is_recorded(
    paths: WarehousePaths, url: str, no_proxy_of_the_machine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client writes URLs in its own way, in errors too; no text of it is used, nor any spelling in other errors."""
    monkeypatch.setenv("DIALOGUE_ALERT_WEBHOOK", url)
    settings = Settings.from_environment(warehouse=paths.root)
    other_spellings = " ".join((url, requests.Request("POST", url).url, urllib.parse.unquote(url), spelled(url)))
    alerts.tell_failure(paths, settings, f"x: {other_spellings}: no answer")
    alerts.tell_success(paths, settings)
    text = paths.alerts.read_text()
    assert [len(line["undelivered"]) for line in written(paths)] == [1, 1]
    for secret in ("xyzzy", "plugh", "%7a"):
        assert secret not in text.casefold(), text
    assert "no answer" in text


def spelled(url: str) -> str:
    """The URL as the client asks for it; itself where there can be no such request."""
    with contextlib.suppress(requests.exceptions.InvalidURL):
        return requests.Request("POST", url).prepare().url or url
    return url


def test_redirect_does_not_carry_the_secret_elsewhere(
    paths: WarehousePaths, hook: tuple[type[Hook], str], web: Web
) -> None:
    hook[0].status = 307
    hook[0].location = f"{web.url}/elsewhere"
    alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y")
    assert written(paths)[0]["undelivered"] == ["webhook: the server answers 307"]
    assert web.asked == []


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "pipe that is read", "folder"])
def test_file_of_alerts_that_is_none_is_refused_and_the_message_still_sent(
    paths: WarehousePaths, hook: tuple[type[Hook], str], kind: str
) -> None:
    """A link would write into another's file, and a pipe that nobody reads would hold the build."""
    own = paths.root.parent / "of another"
    if kind == "link":
        own.write_text("mine")
    with contextlib.ExitStack() as stack:
        if "link" in kind:
            paths.alerts.symlink_to(own)
        elif "pipe" in kind:
            os.mkfifo(paths.alerts)
            if kind == "pipe that is read":
                stack.callback(os.close, os.open(paths.alerts, os.O_RDONLY | os.O_NONBLOCK))
        else:
            paths.alerts.mkdir()
        told = alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y")
    assert told == f"{paths.alerts}: an alert could not be recorded: a link, or not a regular file; remove it"
    assert len(hook[0].told) == 1
    assert own.exists() == (kind == "link")
    assert kind != "link" or own.read_text() == "mine"


def test_alert_is_sent_where_nothing_can_be_written(paths: WarehousePaths, hook: tuple[type[Hook], str]) -> None:
    """Such as on a full disk: whoever can free some room has to hear of it."""
    paths.trouble.mkdir()
    (paths.trouble / "x").touch()
    paths.alerts.mkdir()
    assert alerts.tell_failure(paths, Settings(warehouse=paths.root, alert_webhook=hook[1]), "x: y") is not None
    assert "x: y" in hook[0].told[0]["text"]


def test_long_line_is_not_cut_in_the_middle_of_a_secret(paths: WarehousePaths) -> None:
    settings = Settings(warehouse=paths.root, mirror="https://user:hunter22@m.example/x")
    for length in range(alerts.LONGEST - 12, alerts.LONGEST):
        alerts.tell_failure(paths, settings, f"{'x' * length}hunter22")
    assert "hunt" not in paths.alerts.read_text()


def test_no_message_has_a_secret_in_it(paths: WarehousePaths) -> None:
    """The URL of a dead webhook is in the library's words, and a password may be in an error's."""
    settings = Settings(
        warehouse=paths.root,
        alert_webhook=f"http://127.0.0.1:1/services/{SECRET}?token=plugh",
        alert_smtp="smtp://anna:pass%20word@127.0.0.1:1",
        alert_to=("b@b.example",),
        mirror="https://user:hunter22@m.example/x",
    )
    alerts.tell_failure(
        paths, settings, f"{settings.mirror}: no such file; anna, pass word and {settings.alert_webhook}\x1b[31m"
    )
    text = paths.alerts.read_text() + paths.trouble.read_text()
    assert [place.partition(":")[0] for place in written(paths)[0]["undelivered"]] == ["webhook", "mail"]
    for secret in (SECRET, "plugh", "pass word", "pass%20word", "hunter22", "\x1b", r"\u001b"):
        assert secret not in text
    assert "no such file" in text


def test_a_long_error_is_cut(paths: WarehousePaths) -> None:
    alerts.tell_failure(paths, Settings(warehouse=paths.root), "\n".join(f"{n} " + "x" * 9_000 for n in range(300)))
    (line,) = written(paths)
    assert "and 288 more lines" in line["text"]
    assert len(line["text"]) < 10_000


def test_a_damaged_memory_is_none(paths: WarehousePaths) -> None:
    paths.trouble.write_text("{")
    alerts.tell_failure(paths, Settings(warehouse=paths.root), "x: y")
    alerts.tell_success(paths, Settings(warehouse=paths.root))
    assert [line["kind"] for line in written(paths)] == ["failure", "recovery"]


def test_the_command_tells_of_a_failure_and_of_its_end(
    sample_folder: Path, tmp_path: Path, hook: tuple[type[Hook], str]
) -> None:
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    (tmp_path / "releases" / "sgd" / "dev").mkdir(parents=True)
    (tmp_path / "releases" / "sgd" / "dev" / "dialogues_001.json").write_text('[{"dialogue_id": ')
    cut = ["build", "--warehouse", paths.root, "--source", tmp_path / "releases", "--replace", "--corpora", "sgd"]
    for _ in range(2):
        failed = run_command(*cut, DIALOGUE_ALERT_WEBHOOK=hook[1])
        assert failed.returncode == 2, failed.stderr
    (failure,) = hook[0].told
    assert "sgd/dev/dialogues_001.json: " in failure["text"]
    assert f"report: {paths.reports / 'index.html'}" in failure["text"]
    assert "published: build 20" in failure["text"]
    assert SECRET not in failed.stderr
    well = run_command("build", "--warehouse", paths.root, DIALOGUE_ALERT_WEBHOOK=hook[1])
    assert well.returncode == 0, well.stderr
    assert [line["kind"] for line in written(paths)] == ["failure", "recovery"]
    assert "is well again" in hook[0].told[1]["text"]
    paths.alerts.unlink()
    os.mkfifo(paths.alerts)
    unrecorded = f"notice: {paths.alerts}: an alert could not be recorded: a link, or not a regular file; remove it"
    failed = run_command(*cut, DIALOGUE_ALERT_WEBHOOK=hook[1])
    well = run_command("build", "--warehouse", paths.root, DIALOGUE_ALERT_WEBHOOK=hook[1])
    assert (failed.returncode, well.returncode) == (2, 0)
    assert unrecorded in failed.stderr
    assert unrecorded in well.stdout + well.stderr
    assert len(hook[0].told) == 4


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("ALERT_WEBHOOK", "ftp://secret@host/x", "DIALOGUE_ALERT_WEBHOOK is no URL of http://HOST or https://HOST"),
        ("ALERT_SMTP", "mail.example", "DIALOGUE_ALERT_SMTP is no URL of smtp://HOST or "),
        ("ALERT_SMTP", "smtp://mail.example", "DIALOGUE_ALERT_TO: names nobody"),
        ("ALERT_TO", "anna", "DIALOGUE_ALERT_TO: 'anna' is no address of mail"),
        ("ALERT_FROM", "a@b\nBcc: c@d", "DIALOGUE_ALERT_FROM: "),
        ("CRON", "every day", "DIALOGUE_CRON: 'every day' is no time such as"),
        ("TIMEZONE", "Mars/Olympus", "DIALOGUE_TIMEZONE: 'Mars/Olympus' is no time zone"),
        ("TIMEZONE", "../../etc/passwd", "DIALOGUE_TIMEZONE: "),
        ("PUBLISHED_HOURS", "0", "DIALOGUE_PUBLISHED_HOURS: '0' is no positive number of hours"),
    ],
)
def test_settings_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, text: str, told: str) -> None:
    monkeypatch.setenv(f"DIALOGUE_{name}", text)
    with pytest.raises(SettingsError) as raised:
        Settings.from_environment()
    assert str(raised.value).startswith(told)
    assert "secret" not in str(raised.value)
    assert issubclass(SettingsError, InputError)
