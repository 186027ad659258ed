"""Read a URL from an offset on: one attempt, over HTTP or from a file. The caller decides what to do when it fails.

Bytes are passed on as the server sends them, never decoded. Redirects are followed to http and https only, and here:
libcurl, requests and httpx would read the body of each redirect, however long it is.
"""

from __future__ import annotations

import contextlib
import re
import urllib.parse
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import pycurl

from dialogue_warehouse.releases.records import state_of
from dialogue_warehouse.releases.unpacking import sha256_of
from pipelines.ingestion.connections import ABORT, CHUNK, TransientError, UnavailableError, host_of, perform

MOST_REDIRECTS = 5
AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
"""Status codes below 500 after which a retry may succeed."""
REDIRECTS = {301, 302, 303, 307, 308}
STATUS_LINE = re.compile(r"HTTP/\S+ (\d{3})")


class NotResumableError(Exception):
    """The server does not send the bytes from the offset on, or not those of the same file."""


class Version(msgspec.Struct, frozen=True):
    """Version of the file at a URL; a field is None if the server does not say it."""

    address: str
    """Hash of the requested URL, which may contain secrets."""
    etag: str | None = None
    """Its strong validator."""
    total: int | None = None
    """Bytes of the whole file."""


@dataclass(frozen=True)
class Head:
    """Offset and version of a body, known before it is read."""

    start: int
    """Offset of its first byte: the requested one, or 0."""
    version: Version
    is_framed: bool = True
    """True if its end can be distinguished from a cut connection."""
    encoding: str | None = None
    """The encoding that the server put around the file's bytes without being asked."""


Sink = Callable[[bytes], bool]
"""Takes the next bytes of a body; returns False if no more are wanted."""
Begin = Callable[[Head], Sink]
"""Is called once for a body, before its first bytes."""


@dataclass
class Answer:
    """The status and the headers of the last response to a request."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    is_whole: bool = False
    """True if its headers have ended."""

    def add(self, line: bytes) -> None:
        """Note a line, as libcurl passes it on."""
        text = line.decode("utf-8", "replace").strip()
        if status := STATUS_LINE.match(text):
            self.status, self.headers, self.is_whole = int(status[1]), {}, False
        elif not text:
            self.is_whole = True
        elif not self.is_whole:  # a trailer is not a header
            name, _, value = text.partition(":")
            self.headers[name.lower()] = value.strip()


def address_of(url: str) -> str:
    """Identify a URL without showing it."""
    return sha256_of(url.encode())


def receive(
    curl: pycurl.Curl, url: str, seconds: float, begin: Begin, offset: int = 0, etag: str | None = None
) -> Head:
    """Receive a URL from an offset on, if the file still has this ETag. Return what is known of the body.

    Raises UnavailableError, TransientError, NotResumableError and what `begin` raises, and InputError for variables of
    the environment that cannot be used.
    """
    if url.startswith("file:"):
        return _copy(url, begin, offset)
    headers = ["Accept-Encoding: identity"]
    if offset:
        headers += [f"Range: bytes={offset}-", *([f"If-Range: {etag}"] if etag else [])]
    place = url
    for _ in range(MOST_REDIRECTS + 1):
        answer, sinks = Answer(), []

        def write(chunk: bytes, answer: Answer = answer, sinks: list[Sink] = sinks) -> int | None:
            if not _has_body(answer, offset):
                return ABORT  # nothing limits the length of this one
            if not sinks:
                sinks.append(begin(_head(answer, url, offset)))
            return None if sinks[0](chunk) else ABORT

        perform(
            curl,
            place,
            seconds,
            {pycurl.HTTPHEADER: headers, pycurl.HEADERFUNCTION: answer.add, pycurl.WRITEFUNCTION: write},
        )
        if answer.status in REDIRECTS and "location" in answer.headers:
            place = _followed(place, answer.headers["location"])
            continue
        if not _has_body(answer, offset):
            raise _refusal(curl, answer.status, host_of(place), offset)
        head = _head(answer, url, offset)
        if not sinks:
            begin(head)
        return head
    raise UnavailableError(f"{host_of(place)} redirects more than {MOST_REDIRECTS} times")


def post_json(url: str, content: dict[str, Any], seconds: float, most_seconds: float) -> int:
    """Send JSON to a URL. Return the status of the response; nothing else of it is read.

    The limits are those of `perform`. Redirects are not followed: the URL may be a secret. Raises UnavailableError and
    TransientError.
    """
    answer = Answer()
    options = {
        pycurl.HTTPHEADER: ["Content-Type: application/json"],
        pycurl.POSTFIELDS: msgspec.json.encode(content),
        pycurl.HEADERFUNCTION: answer.add,
        pycurl.WRITEFUNCTION: lambda _: ABORT,
    }
    with contextlib.closing(pycurl.Curl()) as curl:
        try:
            perform(curl, url, seconds, options, most_seconds)
        except TransientError:
            if not answer.is_whole or curl.getinfo(pycurl.RESPONSE_CODE) < HTTPStatus.OK:
                raise
        return curl.getinfo(pycurl.RESPONSE_CODE)


def _followed(url: str, location: str) -> str:
    """Return the target of a redirect. Raises UnavailableError for one that is not followed.

    As in libcurl, the same server gets the user and the password of the URL again, and another one does not.
    """
    try:
        target = urllib.parse.urljoin(url, location)
        before, after = urllib.parse.urlsplit(url), urllib.parse.urlsplit(target)
        scheme = after.scheme
        if (scheme, after.netloc) == (before.scheme, before.netloc.rpartition("@")[2]):
            target = after._replace(netloc=before.netloc).geturl()
        if not target.isprintable():
            raise ValueError(target)
    except ValueError:
        raise UnavailableError(f"{host_of(url)} sends a redirect that is not a valid URL") from None
    if scheme not in ("http", "https"):
        raise UnavailableError(f"{host_of(url)} redirects to {scheme[:20]}:// and only http and https are followed")
    return target


def _copy(url: str, begin: Begin, offset: int) -> Head:
    """Receive a file of a folder."""
    path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path))
    with _at_the_mirror():
        if not path.is_file():
            raise UnavailableError("the mirror has no such file")
        stream = path.open("rb")
    with stream:
        before = state_of(path)
        with _at_the_mirror():
            size = stream.seek(0, 2)
            stream.seek(offset)
        if offset > size:
            raise NotResumableError
        head = Head(offset, Version(address_of(url), total=size))
        write = begin(head)
        is_wanted = True
        while is_wanted:
            with _at_the_mirror():  # but not around `write`, whose errors are about another file
                chunk = stream.read(CHUNK)
            is_wanted = bool(chunk) and write(chunk)
    if state_of(path) != before:
        raise TransientError("the file at the mirror changed while it was read")
    return head


@contextlib.contextmanager
def _at_the_mirror() -> Generator[None]:
    """Turn an error of the system into an UnavailableError, which says that the mirror is at fault."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"cannot be read at the mirror: {error.strerror}") from error


def _head(answer: Answer, url: str, offset: int) -> Head:
    """Return what a response says of its body. Raises NotResumableError."""
    headers = answer.headers
    is_chunked = "chunked" in headers.get("transfer-encoding", "").lower()
    start, total = 0, headers.get("content-length", "")
    if answer.status == HTTPStatus.PARTIAL_CONTENT:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("content-range", ""))
        if found is None or int(found[1]) != offset:
            raise NotResumableError
        start, total = offset, found[2]
    elif is_chunked:
        total = ""
    etag = headers.get("etag", "")
    version = Version(
        address=address_of(url),
        etag=etag if re.fullmatch(r'"[!#-~]{1,200}"', etag) else None,
        total=int(total) if total.isdecimal() else None,
    )
    encoding = headers.get("content-encoding", "").lower().removeprefix("x-")
    return Head(start, version, version.total is not None or is_chunked, encoding or None)


def _has_body(answer: Answer, offset: int) -> bool:
    """Return whether the body of a response is the requested one."""
    return answer.status == HTTPStatus.OK or (offset > 0 and answer.status == HTTPStatus.PARTIAL_CONTENT)


def _refusal(curl: pycurl.Curl, status: int, host: str, offset: int) -> Exception:
    """Return the error that any other status means."""
    if offset and status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return NotResumableError()
    phrase = next((known.phrase for known in HTTPStatus if known == status), "")
    cause = f"{host} responded with {status} {phrase}".rstrip()
    if status in AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return TransientError(cause, curl.getinfo(pycurl.RETRY_AFTER))
    return UnavailableError(cause)
