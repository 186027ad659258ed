"""Reads a URL from an offset on: one attempt, over HTTP or from a file. What to do when it fails is decided elsewhere.

Bytes are given as the server sends them, never decoded. Redirects are followed to http and https only, certificates are
verified, and proxies are taken from the environment. No message shows more of a URL than its host.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import re
import ssl
import urllib.parse
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import requests
import urllib3

from pipelines.intake.bounded_lines import BoundedAdapter, EndlessLinesError

CONNECT_SECONDS = 10.0
"""Longest wait for a connection."""
MOST_REDIRECTS = 5
AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
"""Answers below 500 that another attempt may change."""


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
    """The server does not give the bytes from the offset on."""


@dataclass(frozen=True)
class Body:
    """What a server sends."""

    start: int
    """Offset of its first byte: the one asked for, or 0."""
    total: int | None
    """Bytes of the whole file, where the server says it."""
    is_framed: bool
    """Whether its end can be told from a cut connection."""
    etag: str | None
    """Its strong validator."""
    encoding: str | None
    """The encoding that the server put around the file's bytes, unasked."""
    read: Callable[[int], bytes]
    """Reads the next bytes, at most so many; none at the end."""


class Session(requests.Session):
    """Connections of one thread."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.timeouts = (CONNECT_SECONDS, seconds)
        self.max_redirects = MOST_REDIRECTS
        for scheme in ("http://", "https://"):
            self.mount(scheme, BoundedAdapter())
        version = importlib.metadata.version("dialogue-warehouse")
        self.headers.update({"User-Agent": f"dialogue-warehouse/{version}", "Accept-Encoding": "identity"})

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Where a response redirects to; its body is not read, whose length nobody has checked."""
        target = super().get_redirect_target(resp)
        if target is not None:
            resp.raw.close()
            scheme = urllib.parse.urlsplit(urllib.parse.urljoin(resp.url, target)).scheme
            if scheme not in ("http", "https"):
                raise UnavailableError(f"{host_of(resp.url)} redirects to {scheme[:20]}:, which is not followed")
        return target


def host_of(url: str) -> str:
    """Who is asked for a URL, `host:port` or `file://`, without credentials."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://" if parts.scheme == "file" else parts.netloc.rpartition("@")[2]


@contextlib.contextmanager
def open_url(session: Session, url: str, offset: int = 0, etag: str | None = None) -> Generator[Body]:
    """Ask for a URL from an offset on, if it still is what had this ETag.

    Raises UnavailableError, TransientError and NotResumableError, here and while the body is read.
    """
    with _open_file(url, offset) if url.startswith("file:") else _open_http(session, url, offset, etag) as body:
        yield body


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
        size = stream.seek(0, 2)
        if offset > size:
            raise NotResumableError
        stream.seek(offset)
        yield Body(offset, size, True, None, None, stream.read)


@contextlib.contextmanager
def _open_http(session: Session, url: str, offset: int, etag: str | None) -> Generator[Body]:
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    if offset and etag:
        headers["If-Range"] = etag
    with (
        _translated(host_of(url), session.timeouts[1]),
        session.get(url, headers=headers, stream=True, timeout=session.timeouts) as response,
    ):
        start, total = _extent(response, offset)
        etag = response.headers.get("ETag", "")
        yield Body(
            start=start,
            total=total,
            is_framed=total is not None or response.raw.chunked,
            etag=etag if re.fullmatch(r'"[!#-~]{1,200}"', etag) else None,
            encoding=response.headers.get("Content-Encoding"),
            read=lambda count: response.raw.read1(count, decode_content=False),
        )


def _extent(response: requests.Response, offset: int) -> tuple[int, int | None]:
    """Where the body of a response starts, and how long the whole file is."""
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


@contextlib.contextmanager
def _translated(host: str, seconds: float) -> Generator[None]:
    """Say what a library's error means for a file."""
    try:
        yield
    except (requests.exceptions.ReadTimeout, urllib3.exceptions.ReadTimeoutError) as error:
        raise TransientError(f"{host} sent nothing for {seconds:g} s") from error
    except EndlessLinesError as error:
        raise TransientError(f"{host} sent headers without end for {seconds:g} s") from error
    except requests.exceptions.TooManyRedirects as error:
        raise UnavailableError(f"{host} redirects more than {MOST_REDIRECTS} times") from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
        causes = list(_chain(error))
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError):
                text = f"the certificate of {host} is not accepted: {cause.verify_message}"
                raise UnavailableError(text) from error
        by_proxy = isinstance(error, requests.exceptions.ProxyError)
        if by_proxy or any(isinstance(cause, urllib3.exceptions.NewConnectionError | TimeoutError) for cause in causes):
            reasons = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
            way = " through the proxy" if by_proxy else ""
            text = f"{host} cannot be reached{way} ({reasons[-1] if reasons else 'no answer'})"
            raise TransientError(text, is_unreachable=True) from error
        if isinstance(error, requests.exceptions.ConnectionError | urllib3.exceptions.HTTPError):
            raise TransientError(f"{host} cut the connection") from error
        raise UnavailableError(f"{host} gave an answer that cannot be used ({type(error).__name__})") from error


def _chain(error: BaseException | None) -> Generator[BaseException]:
    """An error and what caused it, outermost first."""
    while error is not None:
        yield error
        inner = error.__cause__ or getattr(error, "reason", None) or (error.args[0] if error.args else None)
        error = inner if isinstance(inner, BaseException) else None
