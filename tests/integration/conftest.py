"""Fixtures of the integration tests: a server on this machine that publishers' files are downloaded from."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest

from tests.integration.downloads import Handler, Web


@pytest.fixture
def no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def web(no_proxy_of_the_machine: None) -> Iterator[Web]:
    class OwnHandler(Handler):
        pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request, client_address) -> None:
            """A client that hangs up is none."""

    with Server(("127.0.0.1", 0), OwnHandler) as server:
        OwnHandler.web = Web(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield OwnHandler.web
        server.shutdown()
