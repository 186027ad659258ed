"""HTTP connections whose answers cannot go on for ever before, between or behind the bytes of a file.

The standard library bounds one line and the number of headers, not the time that they take, nor how many interim
answers (`100 Continue`) come first or trailers last. See https://docs.python.org/3/library/http.client.html.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any

import requests.adapters
import urllib3.connection
import urllib3.connectionpool

MOST_BYTES = 1 << 20
"""Of lines (status, headers, sizes of chunks, trailers) without a byte of a body between them."""


class EndlessLinesError(Exception):
    """A server sends lines without coming to an end."""


class LineReader(io.BufferedReader):
    """What a server sends; its lines come within the time that it may be silent, and within MOST_BYTES."""

    def __init__(self, raw: io.RawIOBase, seconds: float | None) -> None:
        super().__init__(raw)
        self._seconds = float("inf") if seconds is None else seconds
        self._begun: float | None = None
        self._read = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line, at most `size` bytes of it. Raises EndlessLinesError."""
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
        """Bytes of a body, as the standard library reads them."""
        self._begun = None
        return super().read(size)

    def read1(self, size: int = -1, /) -> bytes:
        """Bytes of a body, as the standard library reads them."""
        self._begun = None
        return super().read1(size)

    def readinto(self, buffer: Any, /) -> int:
        """Bytes of a body, as the standard library reads them."""
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
    """Connections, through a proxy too, of which no answer is without end."""

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        """Make the manager of direct connections."""
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, *arguments: Any, **named: Any) -> Any:
        """The manager of the connections through a proxy."""
        manager = super().proxy_manager_for(*arguments, **named)
        manager.pool_classes_by_scheme = POOLS
        return manager
