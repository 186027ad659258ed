"""A webhook and a mail server receive messages, and cannot delay a build, however they answer."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.policy import default
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from dialogue_warehouse.settings import Settings
from pipelines.building import channels
from tests.integration.downloads import Web

pytestmark = [
    pytest.mark.usefixtures("no_proxy_of_the_machine"),
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]


def undelivered(text: str = "x: y", **settings: Any) -> list[str]:
    """Send a message to the channels of these settings; return the channels that it did not reach."""
    return list(channels.undelivered(Settings(alert_to=("b@b.example",), **settings), text))


REFUSED = "gone@b.example"
USERS = [(b"anna", b"pass word"), (b"anna@a.example", "p@ss;AUTH=é".encode())]


class Post:
    """Mail server that records the messages that it receives."""

    def __init__(self) -> None:
        self.mails: list[Any] = []

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:  # noqa: N802
        if address == REFUSED:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.append((envelope.mail_from, envelope.rcpt_tos, message_from_bytes(envelope.content, policy=default)))
        return "250 OK"


@pytest.fixture
def post() -> Iterator[tuple[Post, int]]:
    """Return a mail server of this machine that requires a password, and its port."""
    handler = Post()

    def authenticate(*given: Any) -> AuthResult:
        is_right = (given[-1].login, given[-1].password) in USERS
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


def test_mail_is_sent_with_a_password(post: tuple[Post, int]) -> None:
    handler, port = post
    settings = Settings(
        alert_smtp=f"smtp://anna:pass%20word@127.0.0.1:{port}",
        alert_from="house@a.example",
        alert_to=("b@b.example", "c@c.example"),
    )
    assert list(channels.undelivered(settings, "The build has failed.\nbbai: no é record\nsecond line")) == []
    ((sender, to, mail),) = handler.mails
    assert (sender, to) == ("house@a.example", ["b@b.example", "c@c.example"])
    assert mail["Subject"] == "dialogue-warehouse: The build has failed."
    assert "bbai: no é record\nsecond line" in mail.get_content().replace("\r\n", "\n")
    assert list(channels.undelivered(settings, "The build has failed.\nagain")) == []
    _, (_, _, second) = handler.mails
    sent = [datetime.now(UTC) - parsedate_to_datetime(one["Date"]) for one in (mail, second)]
    assert all(timedelta() <= age < timedelta(minutes=1) for age in sent)
    identities = [one["Message-ID"] for one in (mail, second)]
    assert len(set(identities)) == 2  # a mail without either is rejected, or taken for spam
    assert all(re.fullmatch(r"<\S+@a\.example>", identity) for identity in identities)


@pytest.mark.parametrize("user", ["anna@a.example", "anna%40a.example"])
@pytest.mark.parametrize("password", ["p@ss;AUTH=é", "p%40ss%3BAUTH%3D%C3%A9"])
def test_user_can_be_an_email_address(post: tuple[Post, int], user: str, password: str) -> None:
    """Regression: libcurl took the first @ for the end of the password, and said that the host is not valid."""
    assert undelivered(alert_smtp=f"smtp://{user}:{password}@127.0.0.1:{post[1]}") == []
    assert len(post[0].mails) == 1


@pytest.fixture
def peer() -> Iterator[Callable[[Callable[[socket.socket], None]], str]]:
    """Return the `HOST:PORT` of servers of this machine that handle each connection with the given functions."""
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
    """Send some bytes, then other bytes again and again."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)
            time.sleep(pause)

    return answer


@pytest.mark.parametrize(
    ("first", "again", "pause", "reported"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 2**20, 0.0, [], id="body"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"x", 0.05, [], id="body, dripped"),
        pytest.param(b"HTTP/1.1 500 No\r\n\r\n", b"x" * 2**20, 0.0, ["responded with 500"], id="body of an error"),
        pytest.param(
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n",
            b"x" * 2**20,
            0.0,
            ["responded with 302"],
            id="body of a redirect",
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.05, ["sent fewer than 250 bytes a second"], id="headers, dripped"
        ),
        pytest.param(
            b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.0, ["sent fewer than 250 bytes a second"], id="interim responses"
        ),
        pytest.param(b"", b"x" * 2**16, 0.0, ["sent an invalid response"], id="no HTTP"),
    ],
)
def test_webhook_that_answers_without_end_does_not_hold_a_build(
    peer: Any,
    monkeypatch: pytest.MonkeyPatch,
    first: bytes,
    again: bytes,
    pause: float,
    reported: Any,
) -> None:
    """Regression: a body of gigabytes filled the memory, and a slow body of single bytes was read without end."""
    monkeypatch.setattr(channels, "SECONDS", 0.5)
    started = time.monotonic()
    found = undelivered(alert_webhook=f"http://{peer(repeat(first, again, pause))}/services/T0/B1/xyzzy")
    assert time.monotonic() - started < 5
    assert len(found) == len(reported)
    assert all(expected in reason for expected, reason in zip(reported, found, strict=True))


def test_webhook_that_sends_headers_steadily_does_not_hold_a_build(peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The headers are fast enough for the least rate, and would last for minutes before they are too long."""
    monkeypatch.setattr(channels, "MOST_SECONDS", 0.5)
    host = peer(repeat(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 100 + b"\r\n", 0.05))
    started = time.monotonic()
    assert undelivered(alert_webhook=f"http://{host}/x") == [f"webhook: {host} took longer than 0.5 s"]
    assert time.monotonic() - started < 5


def test_signal_ends_the_wait_for_a_server(peer: Any) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    started = time.monotonic()
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            undelivered(alert_webhook=f"http://{peer(lambda _: time.sleep(30))}/x")
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert time.monotonic() - started < 5


def test_status_of_a_proxy_is_not_that_of_the_webhook(peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = peer(lambda connection: connection.sendall(b"HTTP/1.1 407 No\r\n\r\n"))
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy}")
    reason = "hooks.invalid cannot be reached through the proxy (it responded with 407)"
    assert undelivered(alert_webhook="https://hooks.invalid/x") == [f"webhook: {reason}"]


@pytest.mark.parametrize("is_set", [True, False])
def test_webhook_gets_the_message_after_an_interim_answer(peer: Any, is_set: bool) -> None:
    received = []

    def answer(connection: socket.socket) -> None:
        received.append(connection.recv(9999))
        interim = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" if is_set else b""
        connection.sendall(interim + b"HTTP/1.1 204 No Content\r\n\r\n")

    assert undelivered("é: y", alert_webhook=f"http://{peer(answer)}/a b/é") == []
    head, _, body = received[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /a%20b/%C3%A9 HTTP/1.1\r\n")
    assert b"Content-Type: application/json" in head
    assert body == '{"text":"é: y"}'.encode()


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
    peer: Any, monkeypatch: pytest.MonkeyPatch, again: bytes, pause: float, scheme: str
) -> None:
    monkeypatch.setattr(channels, "MOST_SECONDS", 0.5)
    started = time.monotonic()
    host = peer(repeat(b"", again, pause))
    found = undelivered(alert_smtp=f"{scheme}://{host}")
    assert time.monotonic() - started < 5
    assert found == [f"mail: {host} took longer than 0.5 s"]


@pytest.mark.parametrize(
    ("scheme", "answer", "reported"),
    [
        ("smtp", lambda _: time.sleep(1), "took longer than 0.3 s"),
        ("smtp", lambda connection: connection.close(), "cut the connection"),
        ("smtps", lambda _: time.sleep(1), "took longer than 0.3 s"),
    ],
)
def test_silent_mail_server_times_out(
    peer: Any, monkeypatch: pytest.MonkeyPatch, scheme: str, answer: Any, reported: str
) -> None:
    monkeypatch.setattr(channels, "MOST_SECONDS", 0.3)
    host = peer(answer)
    assert undelivered(alert_smtp=f"{scheme}://{host}") == [f"mail: {host} {reported}"]


def test_mail_server_without_encryption_is_not_given_the_password(post: tuple[Post, int]) -> None:
    assert undelivered(alert_smtp=f"smtp+starttls://anna:pass@127.0.0.1:{post[1]}") == [
        f"mail: 127.0.0.1:{post[1]} offers no encryption"
    ]
    assert post[0].mails == []


def test_refusal_of_a_mail_server_is_reported_without_its_text(post: tuple[Post, int]) -> None:
    host = f"127.0.0.1:{post[1]}"
    assert undelivered(alert_smtp=f"smtp://anna:wrong@{host}") == [f"mail: {host} responded with 535"]


def test_mail_goes_to_the_other_recipients_when_one_is_refused(post: tuple[Post, int]) -> None:
    handler, port = post
    settings = Settings(alert_smtp=f"smtp://anna:pass%20word@127.0.0.1:{port}", alert_to=(REFUSED, "b@b.example"))
    assert list(channels.undelivered(settings, "x: y")) == []
    assert [to for _, to, _ in handler.mails] == [["b@b.example"]]


def test_certificates_of_a_company_are_trusted_by_webhook_and_mail(
    company_web: Web,
    company_context: ssl.SSLContext,
    company_certificate: Path,
    peer: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(connection: socket.socket) -> None:
        with company_context.wrap_socket(connection, server_side=True) as encrypted:
            encrypted.sendall(b"554 not today\r\n")

    host, mail_host = company_web.url.removeprefix("https://"), peer(answer)
    settings = {"alert_webhook": f"{company_web.url}/hook", "alert_smtp": f"smtps://{mail_host}"}
    refused = undelivered(**settings)
    monkeypatch.setenv("SSL_CERT_FILE", str(company_certificate))
    trusted = undelivered(**settings)
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    misled = undelivered(**settings)
    assert [place.partition(" is not accepted: ")[0] for place in refused] == [
        f"webhook: the certificate of {host}",
        f"mail: the certificate of {mail_host}",
    ]
    assert all("self-signed certificate (18); SSL_CERT_FILE (or " in place for place in refused)
    assert trusted == [f"webhook: {host} responded with 501", f"mail: {mail_host} responded with 554"]
    unreadable = "SSL_CERT_FILE: /nowhere.pem cannot be read: No such file or directory"
    assert misled == [f"webhook: {unreadable}", f"mail: {unreadable}"]
