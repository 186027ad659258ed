"""The server of the pages: who is answered, with which headers, and what it does when it starts or fails."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import published, report
from dialogue_warehouse.site.application import MENU, WHOLE, Site, application
from dialogue_warehouse.site.contents import Part, Reading
from dialogue_warehouse.site.guarding import HEADERS
from dialogue_warehouse.site.published import Build
from dialogue_warehouse.storage import builds, publication
from tests.conftest import run_command
from tests.integration.site_pages import HOME, Page, asked, opened, total_on


@pytest.fixture(scope="module")
def client(sample_folder: Path) -> Iterator[TestClient]:
    with TestClient(application(WarehousePaths(sample_folder), Settings()), HOME) as client:
        yield client


# Who is answered


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "attacker.example:8501"},
        {"Host": "127.0.0.1.attacker.example"},
        {"Host": ""},
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Host": "attacker.example", "Origin": "http://attacker.example"},
    ],
)
def test_other_names_and_origins_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    answer = client.get("/sql?query=select+1", headers=headers)
    assert answer.status_code == 400
    assert "Download" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8501", "localhost:8501", "[::1]:8501", "LOCALHOST"])
def test_names_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/site.js", headers={"Host": host}).status_code == 200


def test_name_of_the_settings_is_answered(sample_folder: Path) -> None:
    settings = Settings(web_hosts=("dialogues.example:8080",))
    with TestClient(application(WarehousePaths(sample_folder), settings), "http://dialogues.example:8080") as client:
        assert client.get("/site.js").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_link_of_another_site_runs_no_query(client: TestClient, site: str) -> None:
    answer = client.get("/sql?query=select+41%2B1+as+n", headers={"Sec-Fetch-Site": site})
    assert "Another site has sent you here" in answer.text
    assert "select 41+1 as n</textarea>" in answer.text
    assert ">42<" not in answer.text
    assert client.get("/answer.csv?query=select+42", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert ">42<" in client.get("/sql?query=select+41%2B1", headers={"Sec-Fetch-Site": "same-origin"}).text
    assert client.get("/dialogues", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_every_answer_has_a_strict_policy(client: TestClient) -> None:
    for path in ("/", "/dialogues", "/site.js", "/nothing", "/answer.csv?query=select+1"):
        answer = client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_page_with_the_editor_allows_its_style_sheet_and_no_other(client: TestClient) -> None:
    policies = []
    for _ in range(2):
        answer = client.get("/sql?query=select+1")
        assert {name: answer.headers[name] for name in HEADERS if name != "Content-Security-Policy"} == {
            name: value for name, value in HEADERS.items() if name != "Content-Security-Policy"
        }
        policy = answer.headers["Content-Security-Policy"]
        (nonce,) = re.findall("'nonce-([^']{20,})'", policy)
        assert f'data-nonce="{nonce}"' in answer.text
        added = f" 'nonce-{nonce}'; style-src-attr 'unsafe-inline'"
        assert policy.replace(added, "") == HEADERS["Content-Security-Policy"]
        policies.append(policy)
    assert policies[0] != policies[1]


@pytest.mark.parametrize("name", [name for name, _ in MENU])
def test_no_page_contains_a_script_or_a_style(client: TestClient, name: str) -> None:
    for tag, attributes in Page(opened(client, f"/{name}")).tags:
        assert tag != "style"
        assert tag != "script" or attributes.get("src")
        assert "style" not in attributes
        assert not [attribute for attribute in attributes if attribute.startswith("on")]


def test_unknown_address_and_other_methods_are_refused(client: TestClient) -> None:
    assert "There is no page" in opened(client, "/nothing", 404)
    posted = client.post("/sql", data={"query": "select 1"})
    assert (posted.status_code, {*posted.headers["allow"].split(", ")}) == (405, {"GET", "HEAD"})
    assert "<h1>Not allowed</h1>" in posted.text


def test_browser_keeps_a_page_until_another_build_is_published(sample_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "warehouse"
    shutil.copytree(sample_folder, folder, ignore=shutil.ignore_patterns("raw", "sample", ".scratch", ".dagster"))
    paths = WarehousePaths(folder)
    (first,) = (file.stem for file in paths.builds.glob("*.duckdb"))
    second = f"{int(first[:4]) + 1}{first[4:]}"
    with TestClient(application(paths, Settings()), HOME) as client:
        answer = client.get("/dialogues")
        tag = answer.headers["etag"]
        for kept in (tag, f"W/{tag}", f'"other", W/{tag}'):  # a proxy that compresses marks a tag as weak
            assert client.get("/dialogues", headers={"If-None-Match": kept}).status_code == 304
        assert "Download all rows" in asked(client, "select 1")
        shutil.copyfile(paths.build_database(first), paths.build_database(second))
        with duckdb.connect(str(paths.build_database(second))) as con:
            con.execute("update quality.builds set build_id = ?", [second])
            con.execute(
                "delete from core.dim_dialogues where dialogue_key <> (select min(dialogue_key) from core.dim_dialogues)"
            )
        publication.write_pointer(paths.pointer, second)
        renewed = client.get("/dialogues", headers={"If-None-Match": tag})
        assert renewed.status_code == 200
        assert total_on(renewed.text) == 1
        assert second in opened(client, "/")
        assert re.search(r">1<", asked(client, "select count(*) from dim_dialogues"))


def test_warehouse_that_is_lost_while_it_is_served_is_an_answer(tmp_path: Path) -> None:
    with TestClient(application(WarehousePaths(tmp_path), Settings()), HOME) as client:
        for path in ("/", "/dialogues", "/sql", "/sql?query=select+1", "/answer.csv?query=select+1"):
            assert "no warehouse at" in opened(client, path, 404)


def test_unexpected_error_is_a_page_and_one_line(sample_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def broken(_: Request) -> Response:
        return Response(str(1 // 0))

    app = application(WarehousePaths(sample_folder), Settings())
    app.router.routes.append(Route("/broken", broken))
    with TestClient(app, HOME) as client:
        text = opened(client, "/broken", 500)
        assert "This page failed" in text and "ZeroDivisionError" in text and "Overview" in text
        opened(client, "/")
    assert capfd.readouterr().err == "error: '/broken' failed: ZeroDivisionError: integer division or modulo by zero\n"


def test_documentation_of_dbt_is_that_of_the_published_build(
    client: TestClient, sample_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_id, _ = builds.published_build(WarehousePaths(sample_folder))
    answer = client.get(f"/{report.DBT_DOCS}")
    assert report.build_meta(build_id) in answer.text
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert opened(client, f"/{report.DBT_DOCS}", 304, **{"If-None-Match": answer.headers["ETag"]}) == ""
    assert f'href="{report.DBT_DOCS}"' in opened(client, "/dictionary.html")
    monkeypatch.setattr(report, "dbt_docs_of", lambda *_: None)
    assert f"dbt&#39;s documentation of build {build_id} is not kept" in opened(client, f"/{report.DBT_DOCS}", 404)


# Memory


def test_page_that_needs_more_memory_is_read_again(sample_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "ORDINARY", 20 * 10**6)
    counts: list[int] = []

    def large(_: Build, con: Connection) -> int:
        counts.append(con.execute("select count(*) from core.fct_turns").fetchall()[0][0])
        return con.execute("select len(list(range)) from range(3000000)").fetchall()[0][0]

    served = published.Published(WarehousePaths(sample_folder), Settings(memory_limit="300MB"))
    assert served.read(large) == 3_000_000
    assert len(counts) == 2 and counts[0] == counts[1]
    served.close()
    small = published.Published(WarehousePaths(sample_folder), Settings(memory_limit="20MB"))
    with pytest.raises(published.BusyError, match=r"needs more memory .* larger DIALOGUE_QUERY_MEMORY_LIMIT$"):
        small.read(large)
    assert len(counts) == 3
    small.close()


def test_shared_part_that_needs_more_memory_is_read_again(sample_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: the second attempt used the connection with less memory again."""
    large = "select len(list(range)) from range(3000000)"
    monkeypatch.setattr(published, "ORDINARY", 20 * 10**6)
    part = Part(lambda _, con: con.execute(large).fetchall()[0][0])
    monkeypatch.setattr(Reading, "rules", part, raising=False)  # the class itself has no parts
    served = published.Published(WarehousePaths(sample_folder), Settings(memory_limit="300MB"))
    assert [served.read(lambda build, _: build.reading.rules) for _ in range(2)] == [3_000_000] * 2
    served.close()


# Starting


def test_server_reads_in_advance_what_many_pages_need(sample_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that fails then does not keep the others from being read."""
    read: list[str] = []

    def kept(_: Site, __: Build, name: str) -> str:
        read.append(name)
        return str(1 // 0) if name == "corpora.html" else name

    monkeypatch.setattr(Site, "_kept", kept)
    with TestClient(application(WarehousePaths(sample_folder), Settings()), HOME):
        end = time.monotonic() + 60
        while WHOLE[-1] not in read and time.monotonic() < end:
            time.sleep(0.05)
    assert read == [WHOLE[0], *WHOLE]


def test_warehouse_without_a_build_is_reported(tmp_path: Path) -> None:
    refused = run_command("dashboard", "--warehouse", tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "no warehouse at" in refused.stderr


def test_empty_host_is_refused(sample_folder: Path) -> None:
    """Regression: the system takes it for every network that the machine is in."""
    refused = run_command("dashboard", "--warehouse", sample_folder, "--host", "")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert refused.stderr.startswith("error: --host: is empty; 127.0.0.1 is for this machine alone")


def test_address_in_use_is_refused_in_one_line(sample_folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run_command("dashboard", "--warehouse", sample_folder, "--port", port)
    assert refused.returncode == 2
    assert refused.stderr == f"error: 127.0.0.1:{port} cannot be served: Address already in use\n"


def test_other_commands_load_no_server() -> None:
    code = "import sys, dialogue_warehouse.cli.main; assert not {'starlette', 'uvicorn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=CLONE)
