"""HTTP connections with bounded answers, the certificates that they trust, and the meaning of their errors.

The standard library limits one line and the number of headers, but neither the time that they take nor how many interim
answers (`100 Continue`) come first or trailers last. See https://docs.python.org/3/library/http.client.html.
Certificates are those that the variables of requests, curl and OpenSSL name; all variables that are set are added up
and replace the usual ones. See https://docs.openssl.org/master/man3/SSL_CTX_load_verify_locations/. No error shows more
of a URL than its host.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import re
import socket
import ssl
import time
import urllib.parse
from collections.abc import Generator
from pathlib import Path
from typing import Any

import requests
import requests.adapters
import requests.certs
import urllib3
import urllib3.connection
import urllib3.connectionpool

from dialogue_warehouse.errors import InputError

MOST_BYTES = 1 << 20
"""Bytes of lines (status, headers, sizes of chunks, trailers) without a byte of a body between them."""


class EndlessLinesError(Exception):
    """A server sends lines without end."""


class LineReader(io.BufferedReader):
    """Reader of a server's answer; its lines must come within the time that it may be silent, and within MOST_BYTES."""

    def __init__(self, raw: io.RawIOBase, seconds: float | None) -> None:
        super().__init__(raw)
        self._seconds = float("inf") if seconds is None else seconds
        self._begun: float | None = None
        self._read = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return the next line, at most `size` bytes of it. Raises EndlessLinesError."""
        most = MOST_BYTES if size is None or size < 0 else size
        if self._begun is None:
            self._begun, self._read = time.monotonic(), 0
        line = b""
        while len(line) < most and not line.endswith(b"\n"):
            if time.monotonic() > self._begun + self._seconds or self._read > MOST_BYTES:
                raise EndlessLinesError
            waiting = self.peek(1)[: most - len(line)]
            if not waiting:
                break
            line += super().read(waiting.find(b"\n") + 1 or len(waiting))
        self._read += len(line)
        return line

    def read(self, size: int | None = -1, /) -> bytes:
        """Return bytes of a body, as the standard library reads them."""
        self._begun = None
        return super().read(size)

    def read1(self, size: int = -1, /) -> bytes:
        """Return bytes of a body, as the standard library reads them."""
        self._begun = None
        return super().read1(size)

    def readinto(self, buffer: Any, /) -> int:
        """Read bytes of a body, as the standard library reads them."""
        self._begun = None
        return super().readinto(buffer)


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self.fp = LineReader(self.fp.detach(), sock.gettimeout())


class _HTTPConnection(urllib3.connection.HTTPConnection):
    response_class = _Response


class _HTTPSConnection(urllib3.connection.HTTPSConnection):
    response_class = _Response


class _HTTPPool(urllib3.connectionpool.HTTPConnectionPool):
    ConnectionCls: Any = _HTTPConnection


class _HTTPSPool(urllib3.connectionpool.HTTPSConnectionPool):
    ConnectionCls: Any = _HTTPSConnection


POOLS: dict[str, Any] = {"http": _HTTPPool, "https": _HTTPSPool}


class BoundedAdapter(requests.adapters.HTTPAdapter):
    """Connections with bounded answers, also through a proxy."""

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        """Make the manager of direct connections."""
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, *arguments: Any, **named: Any) -> Any:
        """Return the manager of the connections through a proxy."""
        manager = super().proxy_manager_for(*arguments, **named)
        manager.pool_classes_by_scheme = POOLS
        return manager


FILE, FOLDER = "SSL_CERT_FILE", "SSL_CERT_DIR"
BUNDLE = "REQUESTS_CA_BUNDLE"
VARIABLES = (FILE, FOLDER, BUNDLE, "CURL_CA_BUNDLE")
HINT = f"{FILE} (or {BUNDLE}) may name a PEM file of the certificates to trust, such as your company's"
UNKNOWN_ISSUER = {2, 18, 19, 20, 21}
"""OpenSSL's codes for a certificate without a trusted issuer: another list of trusted certificates can help."""


def context() -> ssl.SSLContext:
    """Return the settings of TLS connections that trust these certificates.

    Raises InputError for a variable that names nothing usable.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    named = [(name, place) for name in VARIABLES if (place := os.environ.get(name))]
    for name, place in named:
        _trust(made, name, place)
    if not named:
        made.load_default_certs()
        made.load_verify_locations(requests.certs.where())
    return made


def refusal(error: ssl.SSLCertVerificationError, owner: str) -> str:
    """Describe a certificate that is not accepted, and the variable to set where that can help."""
    hint = f"; {HINT}" if error.verify_code in UNKNOWN_ISSUER else ""
    return f"the certificate of {owner} is not accepted: {error.verify_message.rstrip('.')}{hint}"


def _trust(made: ssl.SSLContext, name: str, place: str) -> None:
    """Trust the certificates of a file, or of folders that are separated as in PATH."""
    folders = [folder for folder in place.split(os.pathsep) if Path(folder).is_dir()]
    try:
        if folders:
            for folder in folders:
                next(Path(folder).iterdir(), None)
                made.load_verify_locations(capath=folder)
        else:
            made.load_verify_locations(cafile=place)
    except ssl.SSLError as error:
        raise InputError(f"{name}: {place} is not a PEM file of certificates") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: {place} cannot be read: {getattr(error, 'strerror', None) or error}") from error


MOST_REDIRECTS = 5


class UnavailableError(Exception):
    """A file is not available; `cause` is the same text for each file that fails for the same cause."""

    def __init__(self, cause: str, helps_by_hand: bool = True) -> None:
        super().__init__(cause)
        self.cause, self.helps_by_hand = cause, helps_by_hand


class TransientError(Exception):
    """An attempt failed, and a retry may succeed; `seconds` is the time that the server requests to wait."""

    def __init__(self, cause: str, seconds: float = 0.0, is_unreachable: bool = False) -> None:
        super().__init__(cause)
        self.cause, self.seconds, self.is_unreachable = cause, seconds, is_unreachable


class NotResumableError(Exception):
    """The server does not send the bytes from the offset on, or not those of the same file."""


def host_of(url: str) -> str:
    """Return the host of a URL, `host:port` or `file://`, without credentials."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://" if parts.scheme == "file" else parts.netloc.rpartition("@")[2]


@contextlib.contextmanager
def translated(url: str, seconds: float) -> Generator[None]:
    """Turn an error of a library during a request to this URL into UnavailableError or TransientError."""
    try:
        yield
    except InputError:
        raise
    except EndlessLinesError as error:
        raise TransientError(f"{host_of(url)} sent headers without end for {seconds:g} s") from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        raise _meaning(error, _host_asked(error, url), seconds) from error


def _host_asked(error: Exception, url: str) -> str:
    """Return the host of the failed request, which a redirect may have named."""
    request = getattr(error, "request", None)
    return host_of(getattr(request, "url", None) or url)


def _meaning(error: Exception, host: str, seconds: float) -> UnavailableError | TransientError:
    causes = list(_chain(error))
    is_of_proxy = any(isinstance(cause, urllib3.exceptions.ProxyError) for cause in causes)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return UnavailableError(refusal(cause, f"the proxy for {host}" if is_of_proxy else host))
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
    """Return the reason that a connection failed, in the words of the system, never in those of a server."""
    for cause in reversed(causes):
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return cause.reason.lower().replace("_", " ")
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        if refused := re.match(r"Tunnel connection failed: (\d{3})\b", str(cause)):
            return f"it answered {refused[1]}"
    return "no answer"


def _chain(error: BaseException | None) -> Generator[BaseException]:
    """Yield an error and its causes, outermost first."""
    while error is not None:
        yield error
        inner = error.__cause__ or getattr(error, "reason", None) or (error.args[0] if error.args else None)
        error = inner if isinstance(inner, BaseException) else None
