"""Errors of a download, and what an error of a library means for it. No message shows more of a URL than its host."""

from __future__ import annotations

import contextlib
import re
import ssl
import urllib.parse
from collections.abc import Generator

import requests
import urllib3

from pipelines.errors import InputError
from pipelines.intake import certificates
from pipelines.intake.bounded_lines import EndlessLinesError

MOST_REDIRECTS = 5


class UnavailableError(Exception):
    """A file cannot be had; `cause` is the same text for each file that fails for the same cause."""

    def __init__(self, cause: str, helps_by_hand: bool = True) -> None:
        super().__init__(cause)
        self.cause, self.helps_by_hand = cause, helps_by_hand


class TransientError(Exception):
    """An attempt failed, another one may not; `seconds` is how long the server asks to wait."""

    def __init__(self, cause: str, seconds: float = 0.0, is_unreachable: bool = False) -> None:
        super().__init__(cause)
        self.cause, self.seconds, self.is_unreachable = cause, seconds, is_unreachable


class NotResumableError(Exception):
    """The server does not give the bytes from the offset on, or not those of the same file."""


def host_of(url: str) -> str:
    """Who is asked for a URL, `host:port` or `file://`, without credentials."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://" if parts.scheme == "file" else parts.netloc.rpartition("@")[2]


@contextlib.contextmanager
def translated(url: str, seconds: float) -> Generator[None]:
    """Raise UnavailableError or TransientError for an error of a library, while this URL is asked for."""
    try:
        yield
    except InputError:
        raise
    except EndlessLinesError as error:
        raise TransientError(f"{host_of(url)} sent headers without end for {seconds:g} s") from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise _meaning(error, _host_asked(error, url), seconds) from error


def _host_asked(error: Exception, url: str) -> str:
    """The host that the failed request went to, which a redirect may have named."""
    request = getattr(error, "request", None)
    return host_of(getattr(request, "url", None) or url)


def _meaning(error: Exception, host: str, seconds: float) -> UnavailableError | TransientError:
    causes = list(_chain(error))
    is_of_proxy = any(isinstance(cause, urllib3.exceptions.ProxyError) for cause in causes)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return UnavailableError(certificates.refusal(cause, f"the proxy for {host}" if is_of_proxy else host))
    if isinstance(error, requests.exceptions.ReadTimeout | urllib3.exceptions.ReadTimeoutError):
        return TransientError(f"{host} sent nothing for {seconds:g} s")
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return UnavailableError(f"{host} redirects more than {MOST_REDIRECTS} times")
    if is_of_proxy or any(isinstance(cause, urllib3.exceptions.NewConnectionError | TimeoutError) for cause in causes):
        way = " through the proxy" if is_of_proxy else ""
        return TransientError(f"{host} cannot be reached{way} ({_reason(causes)})", is_unreachable=True)
    if isinstance(error, requests.exceptions.SSLError):
        return TransientError(f"{host} cannot be reached over TLS ({_reason(causes)})", is_unreachable=True)
    if isinstance(error, requests.exceptions.ConnectionError | urllib3.exceptions.HTTPError):
        return TransientError(f"{host} cut the connection")
    return UnavailableError(f"{host} gave an answer that cannot be used ({type(error).__name__})")


def _reason(causes: list[BaseException]) -> str:
    """Why a connection could not be made, in the words of the system, never in those of a server."""
    for cause in reversed(causes):
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return cause.reason.lower().replace("_", " ")
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        if refused := re.match(r"Tunnel connection failed: (\d{3})\b", str(cause)):
            return f"it answered {refused[1]}"
    return "no answer"


def _chain(error: BaseException | None) -> Generator[BaseException]:
    """An error and what caused it, outermost first."""
    while error is not None:
        yield error
        inner = error.__cause__ or getattr(error, "reason", None) or (error.args[0] if error.args else None)
        error = inner if isinstance(inner, BaseException) else None
