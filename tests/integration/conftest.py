"""Fixtures of the integration tests: a server on this machine that publishers' files are downloaded from."""

from __future__ import annotations

import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from tests.conftest import Once
from tests.integration.downloads import Handler, Web
from tests.unit.dialogues import HOSTILE

SAID = {
    "fct_turns": "utterance",
    "fct_slots": "value",
    "fct_responses": "response",
    "fct_knowledge_items": "value",
    "dim_scenario_values": "value",
    "dim_guideline_steps": "text",
}
"""Tables with text of a corpus, and the column that has it."""


@pytest.fixture(scope="session")
def hostile_folder(once: Once, sample_folder: Path) -> Path:
    """The folder of the sample's warehouse, saying what a corpus could say."""

    def fill(folder: Path) -> None:
        shutil.copytree(sample_folder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*", "raw", "sample"))
        database = builds.published_build(WarehousePaths(folder))[1]
        database.chmod(0o644)
        with duckdb.connect(str(database)) as con:
            for table, column in SAID.items():
                con.execute(f"update core.{table} set {column} = ? || {column} where {column} is not null", [HOSTILE])

    return once("hostile", fill)


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
