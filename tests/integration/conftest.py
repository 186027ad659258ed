"""Fixtures of the integration tests: a local server that replaces the publishers' servers."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.scores import load_scoring, scored_corpora
from dialogue_warehouse.exporting import chat
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.scoring.running import Request, score_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from pipelines.ingestion.connections import VARIABLES
from tests import fixtures, golden
from tests.conftest import Once, run_command
from tests.integration.browsed_site import Site, served
from tests.integration.browser import Browser, find_chromium
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
    """Return the folder of the sample's warehouse, with hostile texts that a corpus could contain."""

    def fill(folder: Path) -> None:
        shutil.copytree(
            sample_folder,
            folder,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns(".*", "raw", "sample", "*.search.*"),
        )
        database = builds.published_build(WarehousePaths(folder))[1]
        database.chmod(0o644)
        with duckdb.connect(str(database)) as con:
            for table, column in SAID.items():
                con.execute(f"update core.{table} set {column} = ? || {column} where {column} is not null", [HOSTILE])

    return once("hostile", fill)


@pytest.fixture
def no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", *VARIABLES):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@contextlib.contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Web]:
    """Return a local server, with TLS if there is a context."""

    class OwnHandler(Handler):
        pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request, client_address) -> None:
            """Ignore a client that closes the connection."""

    with Server(("127.0.0.1", 0), OwnHandler) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        OwnHandler.web = Web(f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield OwnHandler.web
        server.shutdown()


@pytest.fixture
def web(no_proxy_of_the_machine: None) -> Iterator[Web]:
    with serving() as web:
        yield web


@pytest.fixture(scope="session")
def company_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the PEM file of a self-signed certificate for this machine; its key is beside it, as `key`."""
    folder = tmp_path_factory.mktemp("certificate")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=company"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key", "-out", "company.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "company.pem"


@pytest.fixture(scope="session")
def company_context(company_certificate: Path) -> ssl.SSLContext:
    """Return the TLS context of a server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(company_certificate, company_certificate.with_name("key"))
    return context


@pytest.fixture
def company_web(no_proxy_of_the_machine: None, company_context: ssl.SSLContext) -> Iterator[Web]:
    """Return a server with this certificate."""
    with serving(company_context) as web:
        yield web


Exports = Callable[..., Path]
"""Function that exports a warehouse, named by its fixture, as chat with these options, and returns the folder."""


@pytest.fixture(scope="session")
def export(once: Once, request: pytest.FixtureRequest) -> Exports:
    """Return a function that exports a warehouse with these options, once."""

    def export(source: str, *options: str) -> Path:
        warehouse = request.getfixturevalue(f"{source}_folder")

        def fill(folder: Path) -> None:
            arguments = ("--form", "chat", "--to", folder, "--warehouse", warehouse, *options)
            completed = run_command("export", *arguments)
            assert completed.returncode == 0, completed.stderr

        return once(f"exported_{source}{'_'.join(options).replace('/', '')}", fill)

    return export


@pytest.fixture
def with_messages_sql(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str], None]:
    """Return a function that gives a corpus another messages.sql."""
    load = registry.load_corpus

    def replace_sql(corpus_id: str, text: str) -> None:
        folder = tmp_path / corpus_id
        shutil.copytree(registry.corpus_folder(corpus_id), folder)
        (folder / chat.MESSAGES_SQL).write_text(text, encoding="utf-8")
        other = dataclasses.replace(load(corpus_id), folder=folder)
        monkeypatch.setattr(registry, "load_corpus", lambda name: other if name == corpus_id else load(name))

    return replace_sql


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser that reaches only this machine."""
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium is installed")
    browser = Browser(program, tmp_path_factory.mktemp("profile"), reachable="127.0.0.1")
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def sample(sample_folder: Path, browser: Browser) -> Iterator[Site]:
    """Return the dashboard of the embedded sample, in the browser."""
    with served(sample_folder, browser) as site:
        yield site


@pytest.fixture(scope="session")
def scored_results(once: Once, edited_folder: Path) -> Path:
    """Return a file with two runs of each corpus that has metrics: one alone, and one with a paired test."""
    oracles, makers = fixtures.load_all("score"), fixtures.load_all("predictions")

    def fill(folder: Path) -> None:
        for corpus_id in scored_corpora():
            release = edited_folder / "releases" / corpus_id
            split = oracles[corpus_id].splits(release)[-1]
            first, second = (makers[corpus_id].predict(release, split, folder / f"{corpus_id}{n}", n) for n in (1, 2))
            words = golden.WORDS.get(split, split) if load_scoring(corpus_id).declaration.has_split else None
            for request in (Request(corpus_id, first, words), Request(corpus_id, second, words, against=first)):
                with score_published(WarehousePaths(edited_folder), Settings(), request, folder / "results.duckdb"):
                    pass

    return once("scored", fill) / "results.duckdb"


@pytest.fixture(scope="module")
def scored(edited_folder: Path, scored_results: Path, browser: Browser) -> Iterator[Site]:
    """Return the dashboard with the pages of scores, in the browser."""
    with served(edited_folder, browser, "--scores", scored_results) as site:
        yield site
