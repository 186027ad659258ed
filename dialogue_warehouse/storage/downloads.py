"""Files of the web in the cache: each is downloaded once, resumed after an interruption, and checked.

A URL has a folder in the cache, with `<sha256>.duckdb` and `state.json`. A file is published with its checksum in
`FILE.sha256` beside it, in the form of `sha256sum`. Without one, only its length is checked, and a notice says so.

What is not here: the downloads of releases, which need the extra `build` (`pipelines.ingestion`).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import http.client
import os
import re
import socket
import ssl
import string
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Generator
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dialogue_warehouse.common import files
from dialogue_warehouse.errors import DownloadError, InputError, counted, in_one_line
from dialogue_warehouse.settings import Settings, has_host

SCHEMES = ("http", "https")
PIECE = 2**20
"""Bytes that are read at once."""
LONGEST_CHECKSUM = 64 * 2**10
"""Largest size of a file with checksums in bytes."""
WAIT, PAUSE = 3600.0, 0.2
"""Seconds that a process waits while another one downloads the same file, and seconds between its looks."""
CHECKSUM = re.compile(r"\\?([0-9a-fA-F]{64})(?:[ \t]+\*?(.*))?")
"""A line of `sha256sum`."""
CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
ABSENT = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE, HTTPStatus.FORBIDDEN)
"""Responses to the request of a checksum that mean that there is none. Some stores forbid what is not there."""
AGAIN = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
"""Responses below 500 after which another attempt may succeed."""


UNREACHABLE = (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)
"""Reasons without a connection that seldom pass within seconds: no server listens there, or it cannot be trusted."""
PAGE = re.compile(rb"\s*<(!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
"""The beginning of a web page."""


Answer = TypeVar("Answer")


class Version(Struct, frozen=True):
    """The version of a file, as the server names it."""

    etag: str | None = None
    modified: str | None = None
    bytes: int | None = None

    @property
    def validator(self) -> str | None:
        """The value for If-Range; a weak validator does not identify bytes."""
        return self.etag if self.etag and not self.etag.startswith("W/") else None


class State(Struct, frozen=True):
    """A downloaded file of the cache."""

    name: str
    sha256: str
    version: Version


class CutError(Exception):
    """The connection ended, or the server had a problem that may pass."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https only, and never from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """Return the next request."""
        if not has_host(newurl, allowed := ("https",) if req.type == "https" else SCHEMES):
            url = without_secrets(req.full_url)
            raise DownloadError(f"{url}: redirects to a URL that is not {' or '.join(allowed)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def check_url(url: str) -> None:
    """Raise InputError for a URL that cannot be downloaded; the error has no password."""
    if not has_host(url, SCHEMES):
        is_web = url.lower().startswith(tuple(f"{scheme}://" for scheme in SCHEMES))
        wrong = "has no host that can be looked up" if is_web else "only http:// and https:// can be opened"
        raise InputError(f"{without_secrets(url)}: {wrong}")
    if "@" in urllib.parse.urlsplit(url).netloc:
        raise InputError(f"{without_secrets(url)}: a URL with a user or a password cannot be opened")


def without_secrets(url: str) -> str:
    """Return a URL without user, password and query."""
    return re.sub(r"//[^/@]*@", "//", url).partition("?")[0]


def downloaded(
    url: str, cache: Path, settings: Settings, notice: Callable[[str], None], is_new_wanted: bool = False
) -> Path:
    """Return the file of a URL, from the cache if it is there.

    With `is_new_wanted`, the server is asked, and another file is downloaded if it has one. `notice` gets a line if the
    file has no checksum. Raises InputError for a URL that cannot be used, and DownloadError if the download fails.
    """
    check_url(url)
    place = cache / f"{_readable(url)}-{hashlib.sha256(url.encode()).hexdigest()[:16]}"
    try:
        with _alone(place):
            state = files.read(place / "state.json", State, "the state of a download")
            if state and not is_new_wanted and (place / state.name).is_file():
                return place / state.name
            return _Download(url, place, settings, notice).bring(state)
    except OSError as error:
        raise DownloadError(
            f"{without_secrets(url)}: its copy in the cache cannot be written: {in_one_line(error)}; "
            "DIALOGUE_CACHE sets another folder"
        ) from error


def _readable(url: str) -> str:
    """Return a part of a URL that is safe in the name of a folder."""
    parts = urllib.parse.urlsplit(url)
    return re.sub(r"[^A-Za-z0-9.-]+", "-", f"{parts.hostname}-{Path(parts.path).stem}")[:80]


@contextlib.contextmanager
def _alone(place: Path) -> Generator[None]:
    place.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with files.locked(descriptor, fcntl.LOCK_EX, WAIT, PAUSE):
            yield
    except BlockingIOError as error:
        raise DownloadError(f"{place}: another process downloads this file; try again later") from error


class _Download:
    """The download of one URL into its folder, which no other process uses."""

    def __init__(self, url: str, place: Path, settings: Settings, notice: Callable[[str], None]) -> None:
        self._url, self._place, self._settings, self._notice = url, place, settings, notice
        self._part, self._known = place / "part", place / "part.json"
        self._has_answered = False
        self._opener = urllib.request.build_opener(_Redirects)
        self._opener.addheaders = [("User-Agent", "dialogue-warehouse"), ("Accept-Encoding", "identity")]

    def bring(self, state: State | None) -> Path:
        """Download the file, unless `state` describes the one that the server has. Raises DownloadError."""
        expected = self._checksum()
        if state and (self._place / state.name).is_file() and self._is_current(state, expected):
            return self._place / state.name
        version = self._attempt(self._read_on, self._url)
        with files.open_regular(self._part) as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if expected not in (None, found):
            self._forget_part()
            raise DownloadError(
                f"{without_secrets(self._url)}: differs from its checksum: it has sha256 {found}, expected {expected}; "
                "nothing was kept"
            )
        if state and state.sha256 == found and (self._place / state.name).is_file():  # the server names no version
            self._forget_part()
            return self._place / state.name
        if expected is None:
            self._notice(
                f"{without_secrets(self._url)}: has no checksum beside it ({Path(self._path()).name}.sha256), "
                "so only its length was checked"
            )
        return self._keep(found, version)

    def _keep(self, sha256: str, version: Version) -> Path:
        """Make the downloaded part the file of the URL, and remove the one before."""
        file = self._place / f"{sha256}.duckdb"
        files.make_read_only(self._part)
        self._part.replace(file)
        self._known.unlink(missing_ok=True)
        state = State(file.name, sha256, version)
        files.write_atomically(self._place / "state.json", msgspec.json.encode(state))
        for other in self._place.glob("*.duckdb"):
            if other != file:
                other.unlink()
        return file

    def _path(self) -> str:
        return urllib.parse.urlsplit(self._url).path

    def _checksum(self) -> str | None:
        """Return the published checksum; None if there is none."""
        parts = urllib.parse.urlsplit(self._url)
        url = parts._replace(path=f"{parts.path}.sha256").geturl()
        text = self._attempt(lambda: self._read_text(url), url)
        if text is None:
            return None
        if PAGE.match(text.encode()):
            raise DownloadError(f"{without_secrets(url)}: is a web page, without a checksum of {Path(parts.path).name}")
        lines = [found for line in text.splitlines() if (found := CHECKSUM.fullmatch(line.strip()))]
        named = [found for found in lines if found[2] and Path(found[2]).name == Path(parts.path).name]
        if not (named or len(lines) == 1):
            raise DownloadError(f"{without_secrets(url)}: has no checksum of {Path(parts.path).name}")
        return (named or lines)[0][1].lower()

    def _read_text(self, url: str) -> str | None:
        """Return the beginning of a text file; None if the server has none."""
        try:
            answer = self._open(url, {})
        except urllib.error.HTTPError as error:
            if error.code not in ABSENT:
                raise
            error.close()
            return None
        with answer, _cut_connections():
            return answer.read(LONGEST_CHECKSUM).decode("utf-8", "replace")

    def _is_current(self, state: State, expected: str | None) -> bool:
        """Return whether the server still has this file. Without a checksum, only the head of its response is read."""
        version = state.version
        if expected is not None or (version.etag is None and version.modified is None):
            return state.sha256 == expected
        return self._attempt(self._version, self._url) == version

    def _version(self) -> Version:
        with self._open(self._url, {}) as answer:
            return _version_of(answer)

    def _attempt(self, act: Callable[[], Answer], url: str) -> Answer:
        """Repeat an act until it succeeds. An attempt that brought bytes of the file does not count as failed.

        Raises DownloadError after the last attempt, and for a response of the server that stays the same.
        """
        failed, before = 0, self._size()
        while True:
            try:
                return act()
            except urllib.error.HTTPError as error:
                with error:
                    raise DownloadError(f"{without_secrets(url)}: the server responded with {error.code}") from error
            except CutError as error:
                failed = 1 if self._size() > before else failed + 1
                before = self._size()
                if failed >= self._settings.attempts:
                    raise DownloadError(f"{without_secrets(url)}: {error}") from error
                time.sleep(self._settings.pause(failed))

    def _size(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _forget_part(self) -> None:
        self._part.unlink(missing_ok=True)
        self._known.unlink(missing_ok=True)

    def _read_on(self) -> Version:
        """Read the file from the end of the part on. Raises CutError if it is not whole afterwards."""
        start, known = self._size(), None
        with contextlib.suppress(InputError):
            known = files.read(self._known, Version, "the version of a download")
        if start and (known is None or known.validator is None):
            self._forget_part()
            start, known = 0, None
        asked = {"Range": f"bytes={start}-", "If-Range": known.validator or ""} if start and known else {}
        try:
            answer = self._open(self._url, asked)
        except urllib.error.HTTPError as error:
            if start and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                error.close()
                self._forget_part()  # the file on the server is another one, and shorter
                return self._read_on()
            raise
        with answer:
            version = _version_of(answer)
            if answer.status != HTTPStatus.PARTIAL_CONTENT:
                self._forget_part()  # before the other version is noted: a killed process must not mix them
                start = 0
            elif not start or version.bytes is None or _start_of(answer) != start or version.bytes < start:
                self._forget_part()
                raise CutError("the server sends another part of the file than the requested one")
            files.write_atomically(self._known, msgspec.json.encode(version))
            self._write(answer, start)
        if version.bytes is not None and self._size() != version.bytes:
            if self._size() > version.bytes:
                self._forget_part()
            raise CutError(f"the server sent {self._size():,} of {counted(version.bytes, 'byte')}")
        return version

    def _write(self, answer: http.client.HTTPResponse, start: int) -> None:
        with self._part.open("r+b" if start else "wb") as part:
            part.seek(start)
            while piece := _next(answer):
                part.write(piece)

    def _open(self, url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        """Send a request. Raises HTTPError for a response that stays the same, and CutError for one that may not.

        Raises DownloadError if no server has answered yet, and none is there.
        """
        try:
            # As a browser does: é is sent as %C3%A9.
            quoted = urllib.parse.quote(_with_ascii_host(url), safe=string.punctuation)
            answer = self._opener.open(urllib.request.Request(quoted, headers=headers), timeout=self._settings.timeout)  # noqa: S310
            self._has_answered = True
            return answer
        except urllib.error.HTTPError as error:
            self._has_answered = True
            if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code in AGAIN:
                with error:
                    raise CutError(f"the server responded with {error.code}") from error
            raise
        except urllib.error.URLError as error:
            reason = getattr(error.reason, "strerror", None) or error.reason
            if isinstance(error.reason, UNREACHABLE) and not self._has_answered:
                raise DownloadError(f"{without_secrets(self._url)}: no connection: {in_one_line(reason)}") from error
            raise CutError(f"no connection: {in_one_line(reason)}") from error
        except (OSError, http.client.HTTPException) as error:
            raise CutError(f"the connection ended: {in_one_line(error)}") from error


def _with_ascii_host(url: str) -> str:
    """Return the URL with its host in ASCII, as name servers know it: `urllib` only sends letters of Latin-1."""
    parts = urllib.parse.urlsplit(url)
    if parts.netloc.isascii():
        return url
    host = (parts.hostname or "").encode("idna").decode()
    return parts._replace(netloc=host if parts.port is None else f"{host}:{parts.port}").geturl()


def _next(answer: http.client.HTTPResponse) -> bytes:
    """Read some bytes; none at the end, also at one that came too early, which the caller finds by the length."""
    with _cut_connections():
        try:
            return answer.read(PIECE)
        except http.client.IncompleteRead as error:
            return error.partial


@contextlib.contextmanager
def _cut_connections() -> Generator[None]:
    """Turn an error of the connection while a response is read into a CutError."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise CutError(f"the connection ended: {in_one_line(error)}") from error


def _version_of(answer: http.client.HTTPResponse) -> Version:
    part = CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    length = part[3] if part else answer.headers.get("Content-Length", "")
    return Version(
        answer.headers.get("ETag"), answer.headers.get("Last-Modified"), int(length) if length.isdigit() else None
    )


def _start_of(answer: http.client.HTTPResponse) -> int | None:
    part = CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    return int(part[1]) if part else None
