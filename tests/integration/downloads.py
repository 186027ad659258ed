"""Local server with files and configurable faults, and downloads from it."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import socket
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dialogue_warehouse.corpora.release import SourceFile
from dialogue_warehouse.settings import Settings
from pipelines.ingestion import fetching
from pipelines.ingestion import wanted as wanted_files
from pipelines.ingestion.fetch_display import FetchDisplay
from pipelines.ingestion.wanted import Outcome, Result, Wanted
from tests.unit.ingestion.listed_files import corpus

CONTENT = bytes(range(256)) * 4096
"""1 MiB."""

QUICK = Settings(backoff=0.01, timeout=1.0, attempts=3)

Fault = Callable[["Handler", bytes], None]


@dataclass
class Web:
    """Local server: its files, its faults at a path (each once, in order), and the requests that it received."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    """Path, Range and If-Range of each request."""
    sent: int = 0
    """Number of bytes of the bodies."""

    def ranges(self, path: str) -> list[str | None]:
        return [asked for found, asked, _ in self.asked if found == path]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *_arguments) -> None:
        pass

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.web.asked.append((path, self.headers["Range"], self.headers["If-Range"]))
        content = self.web.files.get(path, b"")
        if self.web.faults[path]:
            self.web.faults[path].pop(0)(self, content)
        elif path in self.web.files:
            self.give(content)
        else:
            self.answer(404)

    def answer(self, status: int, body: bytes = b"", **headers: object) -> None:
        """Send a whole response; `Content_Range` stands for the header Content-Range."""
        self.send_response(status)
        for name, value in ({"Content_Length": len(body)} | headers).items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.send(body)

    def send(self, body: bytes) -> None:
        with contextlib.suppress(OSError):
            self.wfile.write(body)
            self.web.sent += len(body)

    def hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def give(self, content: bytes, until: int | None = None) -> None:
        """Send the content or the requested range, as HTTP requires; cut it at an offset."""
        etag = self.web.etags.get(self.path)
        wanted = self.headers["Range"] if self.headers["If-Range"] in (None, etag) else None
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        headers = {"ETag": etag, "Content_Length": len(content) - start}
        if start >= len(content) > 0:
            self.answer(416, Content_Range=f"bytes */{len(content)}")
        elif wanted:
            extent = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.answer(206, content[start:until], **headers, Content_Range=extent)
        else:
            self.answer(200, content[start:until], **headers)
        if until is not None:
            self.hang_up()


def cut(until: int) -> Fault:
    return lambda handler, content: handler.give(content, until)


def status(code: int, **headers: object) -> Fault:
    return lambda handler, _content: handler.answer(code, b"sorry", **headers)


def stall(seconds: float) -> Fault:
    return lambda _handler, _content: time.sleep(seconds)


def drip(first: bytes, again: bytes, pause: float) -> Fault:
    """Send some bytes, then other bytes again and again, until the client stops reading."""

    def fault(handler: Handler, _content: bytes) -> None:
        with contextlib.suppress(OSError):
            handler.wfile.write(first)
            while True:
                handler.wfile.write(again)
                time.sleep(pause)

    return fault


def redirect(target: str) -> Fault:
    return lambda handler, _content: handler.answer(302, b"moved", Location=target)


def whole(handler: Handler, content: bytes) -> None:
    """Answer like a server that does not support ranges."""
    handler.answer(200, content)


def listed(web: Web, path: str, content: bytes = CONTENT, **facts: object) -> SourceFile:
    """Return a listed file of the server, with its size and checksum unless they are given."""
    web.files[f"/{path}"] = content
    known = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return SourceFile(path, f"{web.url}/{path}", **(known | facts))


def plan(to: Path, *files: SourceFile, mirror: str | None = None) -> list[Wanted]:
    return wanted_files.plan((corpus(*files),), to, mirror)


def run(to: Path, *files: SourceFile, settings: Settings = QUICK) -> list[Result]:
    wanted = plan(to, *files, mirror=settings.mirror)
    display = FetchDisplay(quiet=True)
    display.start(wanted)
    return fetching.fetch_files(wanted, settings, display)


def fetched(to: Path, file: SourceFile, settings: Settings = QUICK) -> bytes:
    """Return the content of the fetched file; fail if other files are left beside it."""
    (result,) = run(to, file, settings=settings)
    assert (result.outcome, result.cause) == (Outcome.FETCHED, None)
    assert names(to) == [file.path]
    return result.wanted.target.read_bytes()


def refused(to: Path, file: SourceFile, settings: Settings = QUICK) -> str:
    """Return the reason why a file is not fetched; fail if there is a file at its path."""
    (result,) = run(to, file, settings=settings)
    assert result.outcome is Outcome.FAILED
    assert not result.wanted.target.exists()
    return result.cause


def names(to: Path) -> list[str]:
    folder = to / "demo"
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
