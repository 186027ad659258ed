"""Channels of alerts: a webhook and a mail server. Neither can delay a build for long, whatever it answers.

The reason that a message did not arrive is described by the type of the error. The text of a library's error may
contain the URL, spelled differently, and the text of a server's answer may contain anything.
"""

from __future__ import annotations

import smtplib
import ssl
import urllib.parse
from collections.abc import Iterator
from email.message import EmailMessage

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.settings import Settings
from pipelines.ingestion import connections, transport
from pipelines.ingestion.connections import EndlessLinesError, LineReader, TransientError, UnavailableError

SECONDS = 10.0
"""Seconds within which a server must answer each time."""
MOST_SECONDS = 30.0
"""Seconds that all answers of a mail server may take together."""
REASONS: dict[type[Exception], str] = {
    EndlessLinesError: "the server sends answers without end",
    smtplib.SMTPNotSupportedError: "the server offers no encryption, or no login",
    smtplib.SMTPRecipientsRefused: "the server refuses the recipients",
    smtplib.SMTPServerDisconnected: "the server cuts the connection, or says nothing",
    TimeoutError: "no answer in time",
}
"""The reason that a message did not arrive, by the type of the error."""


def undelivered(settings: Settings, text: str) -> Iterator[str]:
    """Send a message to every channel of the settings. Yield each channel that it did not reach, with the reason."""
    for channel, send in (("webhook", _post), ("mail", _mail)):
        try:
            send(settings, text)
        except Exception as error:  # nothing that a server does may fail a build
            yield f"{channel}: {_reason(error)}"


def _reason(error: Exception) -> str:
    match error:
        case UnavailableError() | TransientError():
            return error.cause
        case InputError():
            return str(error)
        case ssl.SSLCertVerificationError():
            return connections.refusal(error, "the server")
        case smtplib.SMTPResponseException():
            return f"the server answers {error.smtp_code}"
    known = next((text for kind, text in REASONS.items() if isinstance(error, kind)), None)
    return known or getattr(error, "strerror", None) or type(error).__name__


def _post(settings: Settings, text: str) -> None:
    if settings.alert_webhook is None:
        return
    status = transport.post_json(settings.alert_webhook, {"text": text}, SECONDS)
    if not 200 <= status < 300:
        raise UnavailableError(f"the server answers {status}")


def _mail(settings: Settings, text: str) -> None:
    if settings.alert_smtp is None:
        return
    server = urllib.parse.urlsplit(settings.alert_smtp)
    message = EmailMessage()
    message["Subject"] = f"dialogue-warehouse: {text.splitlines()[0]}"
    message["From"] = settings.alert_from
    message["To"] = ", ".join(settings.alert_to)
    message.set_content(text)
    with _connected(server) as connection:
        if server.scheme == "smtp+starttls":
            connection.starttls(context=connections.context())
        if server.username:
            connection.login(urllib.parse.unquote(server.username), urllib.parse.unquote(server.password or ""))
        connection.send_message(message)


def _connected(server: urllib.parse.SplitResult) -> smtplib.SMTP:
    host = server.hostname or "localhost"
    if server.scheme == "smtps":
        return _Encrypted(host, server.port or 465, timeout=SECONDS, context=connections.context())
    return _Plain(host, server.port or 25, timeout=SECONDS)


class _Plain(smtplib.SMTP):
    """A connection to a mail server that limits the length of replies and the time that they take."""

    def getreply(self) -> tuple[int, bytes]:
        """Read the next reply. Raises EndlessLinesError."""
        if self.file is None and self.sock is not None:
            self.file = LineReader(self.sock.makefile("rb", buffering=0), MOST_SECONDS)
        try:
            return super().getreply()
        except EndlessLinesError:
            self.close()
            raise


class _Encrypted(_Plain, smtplib.SMTP_SSL):
    """The same connection, encrypted from its start."""
