"""Channels of alerts: a webhook and a mail server. Neither can delay a build for long, whatever it answers.

No reason that a message did not arrive contains a text of the server, or more of a URL than its host.
"""

from __future__ import annotations

import contextlib
import io
import urllib.parse
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid

import pycurl

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.settings import Settings
from pipelines.ingestion import transport
from pipelines.ingestion.connections import TransientError, UnavailableError, host_of, perform

SECONDS = 10.0
"""Seconds that a webhook or a mail server may be silent."""
MOST_SECONDS = 30.0
"""Seconds that sending a message may take."""
ALLOW_REFUSED_RECIPIENTS = 290
"""CURLOPT_MAIL_RCPT_ALLOWFAILS of libcurl, which pycurl does not name: the mail is sent to the other recipients."""


def undelivered(settings: Settings, text: str) -> Iterator[str]:
    """Send a message to every channel of the settings. Yield each channel that it did not reach, with the reason."""
    for channel, send in (("webhook", _post), ("mail", _mail)):
        try:
            send(settings, text)
        except (UnavailableError, TransientError, InputError) as error:
            yield f"{channel}: {error}"
        except Exception as error:  # nothing that a server does may fail a build
            yield f"{channel}: {type(error).__name__}"


def _post(settings: Settings, text: str) -> None:
    if settings.alert_webhook is None:
        return
    status = transport.post_json(settings.alert_webhook, {"text": text}, SECONDS, MOST_SECONDS)
    if not 200 <= status < 300:
        raise UnavailableError(f"{host_of(settings.alert_webhook)} responded with {status}")


def _mail(settings: Settings, text: str) -> None:
    if settings.alert_smtp is None:
        return
    server = urllib.parse.urlsplit(settings.alert_smtp)
    message = EmailMessage(SMTP)
    message["Subject"] = f"dialogue-warehouse: {text.splitlines()[0]}"
    message["From"] = settings.alert_from
    message["To"] = ", ".join(settings.alert_to)
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = make_msgid(domain=settings.alert_from.rpartition("@")[2])  # not the name of this machine
    message.set_content(text)
    options = {
        pycurl.USE_SSL: pycurl.USESSL_NONE if server.scheme == "smtp" else pycurl.USESSL_ALL,
        pycurl.MAIL_FROM: settings.alert_from,
        pycurl.MAIL_RCPT: list(settings.alert_to),
        ALLOW_REFUSED_RECIPIENTS: 1,
        pycurl.NETRC: pycurl.NETRC_IGNORED,  # only the password of the settings is sent
        pycurl.UPLOAD: 1,
        pycurl.READFUNCTION: io.BytesIO(bytes(message)).read,
        pycurl.WRITEFUNCTION: lambda _: None,
    }
    for option, secret in ((pycurl.USERNAME, server.username), (pycurl.PASSWORD, server.password)):
        if secret is not None:  # not in the URL: in a user's name, such as an email address, @ and ; are allowed
            options[option] = urllib.parse.unquote_to_bytes(secret)
    scheme, host = server.scheme.removesuffix("+starttls"), server.netloc.rpartition("@")[2]
    url = server._replace(scheme=scheme, netloc=host).geturl()
    with contextlib.closing(pycurl.Curl()) as curl:
        perform(curl, url, SECONDS, options, MOST_SECONDS)
