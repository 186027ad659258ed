"""Read a URL from an offset on: one attempt, over HTTP or from a file. The caller decides what to do when it fails.

Bytes are returned as the server sends them, never decoded. Redirects are followed to http and https only, certificates
are verified, and proxies are taken from the environment. A body that arrives too slowly is given up: it could last for
weeks.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import re
import ssl
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import requests
import urllib3

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases.records import state_of
from dialogue_warehouse.releases.unpacking import sha256_of
from pipelines.ingestion import connections
from pipelines.ingestion.connections import (
    MOST_REDIRECTS,
    BoundedAdapter,
    NotResumableError,
    TransientError,
    UnavailableError,
    host_of,
    translated,
)

CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""
AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
"""Status codes below 500 after which a retry may succeed."""


LEAST_RATE = 250
"""Smallest rate of a body, in bytes a second, on average over the seconds of a timeout; a modem is faster."""


class Version(msgspec.Struct, frozen=True):
    """Version of the file at an address; a field is None if the server does not say it."""

    address: str
    """Hash of the requested URL, which may contain secrets."""
    etag: str | None = None
    """Its strong validator."""
    total: int | None = None
    """Bytes of the whole file."""


@dataclass(frozen=True)
class Body:
    """The body of an answer."""

    start: int
    """Offset of its first byte: the requested one, or 0."""
    version: Version
    is_framed: bool
    """True if its end can be distinguished from a cut connection."""
    encoding: str | None
    """The encoding that the server put around the file's bytes without being asked."""
    read: Callable[[int], bytes]
    """Reads the next bytes, at most so many; none at the end."""


class _Adapter(BoundedAdapter):
    """Bounded connections, with the proxies and the trusted certificates that the environment names."""

    @functools.cached_property
    def _context(self) -> ssl.SSLContext:
        return connections.context()

    def get_connection_with_tls_context(self, request: Any, verify: Any, proxies: Any = None, cert: Any = None) -> Any:
        """Return the connections for a request. Raises InputError for a variable that names nothing usable."""
        proxy = requests.utils.select_proxy(request.url, proxies)
        if request.url.startswith("https:") or (proxy or "").lower().startswith("https:"):
            _ = self._context  # else requests would take its error for an error of the URL
        try:
            return super().get_connection_with_tls_context(request, verify, proxies, cert)
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
            if proxy is None:
                raise
            variable = _proxy_variable(urllib.parse.urlsplit(request.url).scheme)
            raise InputError(f"{variable}: not the URL of a proxy, http://HOST:PORT or https://HOST:PORT") from error

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
        """Make the connections to a host trust those certificates."""
        host, pool = super().build_connection_pool_key_attributes(request, True, cert)
        return host, pool | ({"ssl_context": self._context} if host["scheme"] == "https" else {})

    def proxy_manager_for(self, proxy: str, **named: Any) -> Any:
        """Make the connections to a proxy trust them too."""
        more = {"proxy_ssl_context": self._context} if proxy.lower().startswith("https:") else {}
        return super().proxy_manager_for(proxy, **named, **more)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Verify certificates against those only."""
        super().cert_verify(conn, url, True, cert)
        conn.ca_certs = None


class Session(requests.Session):
    """Connections of one thread."""

    def __init__(self, seconds: float, follows_redirects: bool = True) -> None:
        super().__init__()
        self.timeouts = (CONNECT_SECONDS, seconds)
        self.follows_redirects = follows_redirects
        self.max_redirects = MOST_REDIRECTS
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter())
        version = importlib.metadata.version("dialogue-warehouse")
        self.headers.update({"User-Agent": f"dialogue-warehouse/{version}", "Accept-Encoding": "identity"})

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Return the target of a redirect; the body is not read, because nothing limits its length."""
        target = super().get_redirect_target(resp) if self.follows_redirects else None
        if target is not None:
            resp.raw.close()
            scheme = urllib.parse.urlsplit(urllib.parse.urljoin(resp.url, target)).scheme
            if scheme not in ("http", "https"):
                raise UnavailableError(f"{host_of(resp.url)} redirects to {scheme[:20]}:, which is not followed")
        return target


def _proxy_variable(scheme: str) -> str:
    """Return the environment variable that names the proxy for URLs of a scheme."""
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper(), "all_proxy", "ALL_PROXY")
    return next((name for name in names if os.environ.get(name)), "the proxy of the system")


def address_of(url: str) -> str:
    """Identify a URL without showing it."""
    return sha256_of(url.encode())


@contextlib.contextmanager
def open_url(session: Session, url: str, offset: int = 0, etag: str | None = None) -> Generator[Body]:
    """Request a URL from an offset on, if the file still has this ETag.

    Raises UnavailableError, TransientError and NotResumableError, here and while the body is read, and InputError for
    variables of the environment that cannot be used.
    """
    with _open_file(url, offset) if url.startswith("file:") else _open_http(session, url, offset, etag) as body:
        yield body


def post_json(url: str, content: dict[str, Any], seconds: float) -> int:
    """Send JSON to a URL. Return the status of the answer; nothing else of it is read.

    Redirects are not followed: the URL may be a secret. Raises UnavailableError and TransientError, as `open_url`.
    """
    with (
        Session(seconds, follows_redirects=False) as session,
        translated(url, seconds),
        session.post(url, json=content, stream=True, timeout=session.timeouts) as response,
    ):
        return response.status_code


@contextlib.contextmanager
def _open_file(url: str, offset: int) -> Generator[Body]:
    path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path))
    if not path.is_file():
        raise UnavailableError("the mirror has no such file")
    try:
        stream = path.open("rb")
    except OSError as error:
        raise UnavailableError(f"cannot be read at the mirror: {error.strerror}") from error
    with stream:
        before = state_of(path)
        size = stream.seek(0, 2)
        if offset > size:
            raise NotResumableError
        stream.seek(offset)

        def read(count: int) -> bytes:
            chunk = stream.read(count)
            if not chunk and state_of(path) != before:
                raise TransientError("the file at the mirror changes while it is read")
            return chunk

        yield Body(offset, Version(address_of(url), total=size), True, None, read)


@contextlib.contextmanager
def _open_http(session: Session, url: str, offset: int, etag: str | None) -> Generator[Body]:
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    if offset and etag:
        headers["If-Range"] = etag
    seconds = session.timeouts[1]
    with (
        translated(url, seconds),
        session.get(url, headers=headers, stream=True, timeout=session.timeouts) as response,
    ):
        start, total = _extent(response, offset)
        etag = response.headers.get("ETag", "")
        yield Body(
            start=start,
            version=Version(
                address=address_of(url),
                etag=etag if re.fullmatch(r'"[!#-~]{1,200}"', etag) else None,
                total=total,
            ),
            is_framed=total is not None or response.raw.chunked,
            encoding=response.headers.get("Content-Encoding"),
            read=with_minimum_rate(
                lambda count: response.raw.read1(count, decode_content=False), host_of(url), seconds
            ),
        )


def with_minimum_rate(read: Callable[[int], bytes], host: str, seconds: float) -> Callable[[int], bytes]:
    """Wrap a reader, which then raises TransientError when a host sends fewer than LEAST_RATE bytes a second."""
    since, received = time.monotonic(), 0

    def read_on(count: int) -> bytes:
        nonlocal since, received
        chunk = read(count)
        received += len(chunk)
        passed = time.monotonic() - since
        if chunk and passed >= seconds:
            if received < LEAST_RATE * seconds:
                raise TransientError(f"{host} sent fewer than {LEAST_RATE} bytes a second for {seconds:g} s")
            since, received = since + passed, 0
        return chunk

    return read_on


def _extent(response: requests.Response, offset: int) -> tuple[int, int | None]:
    """Return the offset of a response's body, and the length of the whole file."""
    match response.status_code:
        case HTTPStatus.OK:
            length = response.headers.get("Content-Length", "")
            return 0, int(length) if length.isdecimal() and not response.raw.chunked else None
        case HTTPStatus.PARTIAL_CONTENT if offset:
            found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
            if found is None or int(found[1]) != offset:
                raise NotResumableError
            return offset, None if found[2] == "*" else int(found[2])
        case HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE if offset:
            raise NotResumableError
        case status:
            phrase = next((known.phrase for known in HTTPStatus if known == status), "")
            cause = f"{host_of(response.url)} answered {status} {phrase}".rstrip()
            if status in AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise TransientError(cause, _retry_after(response))
            raise UnavailableError(cause)


def _retry_after(response: requests.Response) -> float:
    try:
        return urllib3.Retry().get_retry_after(response.raw) or 0.0
    except (urllib3.exceptions.HTTPError, ValueError, OverflowError):
        return 0.0
