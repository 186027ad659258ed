"""A warehouse is opened by its URL: downloaded once, resumed, checked; its server may be slow, wrong or gone."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import downloads
from tests.conftest import run_command
from tests.integration.downloads import Handler, Web, cut, redirect, status, whole
from tests.unit.published import BUILD, make_build

FILE = "/demo/dialogues.duckdb"
CHECKSUM = f"{FILE}.sha256"
NO_CHECKSUM = (
    r"dialogues\.duckdb: has no checksum beside it \(dialogues\.duckdb\.sha256\), so only its length was checked"
)


QUICK = {"DIALOGUE_BACKOFF": "0.01", "DIALOGUE_TIMEOUT": "2", "DIALOGUE_ATTEMPTS": "3"}
"""Settings with which attempts follow each other at once."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new cache, and use it in this process."""
    for name, value in (QUICK | {"DIALOGUE_CACHE": str(tmp_path / "cache")}).items():
        monkeypatch.setenv(name, value)
    return tmp_path / "cache"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `dialogue-warehouse` with the settings of this process: it has no others than those that it gets."""
    return run_command(*arguments, **QUICK, DIALOGUE_CACHE=os.environ["DIALOGUE_CACHE"])


@pytest.fixture
def web(cache: Path, tmp_path: Path) -> Iterator[Web]:
    """Return a local server that has a published file, with its checksum."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {}))
    server.daemon_threads = True
    web = server.RequestHandlerClass.web = Web(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    paths = WarehousePaths(tmp_path / "published")
    make_build(paths)
    put(web, paths.build_database(BUILD).read_bytes())
    yield web
    server.shutdown()
    server.server_close()


def put(web: Web, content: bytes, etag: str = '"1"') -> None:
    web.files |= {FILE: content, CHECKSUM: f"{hashlib.sha256(content).hexdigest()}  dialogues.duckdb\n".encode()}
    web.etags[FILE] = etag


def other(tmp_path: Path) -> bytes:
    """Return another published file, with one turn."""
    with duckdb.connect(tmp_path / "other.duckdb") as con:
        con.execute("create schema core; create table core.fct_turns as select 7 as turn_index")
    return (tmp_path / "other.duckdb").read_bytes()


def count(warehouse: dw.Warehouse) -> int:
    return warehouse.sql("select count(*) from fct_turns").fetchall()[0][0]


def count_of(url: str) -> int:
    with dw.open(url) as warehouse:
        return count(warehouse)


def left(cache: Path) -> list[str]:
    """Return the names of the files in the cache, without the lock."""
    return sorted(path.suffix or path.name for path in cache.rglob("*") if path.is_file() and path.name != "lock")


KEPT = [".duckdb", ".json"]


def test_file_is_downloaded_once(web: Web, cache: Path) -> None:
    assert [count_of(web.url + FILE) for _ in range(2)] == [3, 3]
    assert [path for path, *_ in web.asked] == [CHECKSUM, FILE]
    assert left(cache) == KEPT


def test_url_with_letters_other_than_ascii_is_opened(web: Web, cache: Path) -> None:
    """Regression: it was an error of Python's library, without a hint."""
    for path in (FILE, CHECKSUM):
        web.files[path.replace("demo", "d%C3%A9mo%201")] = web.files[path]
    assert count_of(f"{web.url}{FILE}".replace("demo", "démo 1")) == 3


def test_opened_file_needs_no_server(web: Web, cache: Path) -> None:
    count_of(web.url + FILE)
    web.files.clear()
    assert count_of(web.url + FILE) == 3


def test_interrupted_download_is_resumed_in_the_next_process(web: Web, cache: Path) -> None:
    half = len(web.files[FILE]) // 2
    web.faults[FILE] += [cut(half), status(503), status(503)]
    with pytest.raises(dw.DownloadError, match=r"dialogues\.duckdb: the server responded with 503$"):
        dw.open(web.url + FILE)
    web.asked.clear()
    assert count_of(web.url + FILE) == 3
    assert web.ranges(FILE) == [f"bytes={half}-"]
    assert left(cache) == KEPT


def test_trouble_with_the_checksum_names_its_url(web: Web, cache: Path) -> None:
    """Regression: the error named the file, which was not the problem."""
    web.faults[CHECKSUM] += [status(503)] * 3
    with pytest.raises(dw.DownloadError, match=r"dialogues\.duckdb\.sha256: the server responded with 503$"):
        dw.open(web.url + FILE)


@pytest.mark.parametrize(
    "faults",
    [[cut(1000)], [cut(1000), cut(2000), cut(3000), cut(4000)], [status(500), status(429)], [cut(1000), whole]],
    ids=["cut once", "cut often, with progress", "errors that pass", "no ranges"],
)
def test_trouble_that_passes_is_overcome(web: Web, cache: Path, faults: list) -> None:
    web.faults[FILE] += faults
    assert count_of(web.url + FILE) == 3
    assert left(cache) == KEPT


def test_file_that_changes_during_the_download_is_read_from_its_beginning(
    web: Web, cache: Path, tmp_path: Path
) -> None:
    newer = other(tmp_path)

    def cut_and_replace(handler: Handler, content: bytes) -> None:
        handler.give(content, 5000)
        put(web, newer, '"2"')

    web.faults[FILE].append(cut_and_replace)
    web.files[CHECKSUM] = hashlib.sha256(newer).hexdigest().encode()
    assert count_of(web.url + FILE) == 1
    assert web.ranges(FILE) == [None, "bytes=5000-"]


def test_part_that_is_longer_than_the_new_file_is_forgotten(web: Web, cache: Path, tmp_path: Path) -> None:
    web.faults[FILE] += [cut(len(web.files[FILE]) - 1), status(404)]
    with pytest.raises(dw.DownloadError, match=r"the server responded with 404$"):
        dw.open(web.url + FILE)
    web.files[FILE] = web.files[FILE][:100]
    with pytest.raises(dw.DownloadError, match="differs from its checksum"):
        dw.open(web.url + FILE)


@pytest.mark.parametrize("reported", [100, 10**9], ids=["too short", "too long"])
def test_server_with_a_wrong_length_is_refused(web: Web, cache: Path, reported: int) -> None:
    def lie(handler: Handler, content: bytes) -> None:
        handler.answer(200, content, Content_Length=reported)
        handler.close_connection = True

    web.faults[FILE] += [lie] * 3
    with pytest.raises(
        dw.DownloadError, match=r"differs from its checksum|the server sent [\d,]+ of 1,000,000,000 bytes"
    ):
        dw.open(web.url + FILE)
    assert ".duckdb" not in left(cache)
    web.faults.clear()
    assert count_of(web.url + FILE) == 3


def test_file_that_differs_from_its_checksum_is_not_kept(web: Web, cache: Path) -> None:
    web.files[CHECKSUM] = b"0" * 64
    with pytest.raises(
        dw.DownloadError, match=r"differs from its checksum: it has sha256 [0-9a-f]{64}, expected 0{64}"
    ):
        dw.open(web.url + FILE)
    assert left(cache) == []


def test_file_without_a_checksum_is_opened_with_a_notice(web: Web, cache: Path) -> None:
    del web.files[CHECKSUM]
    with pytest.warns(UserWarning, match=NO_CHECKSUM) as reported:
        assert count_of(web.url + FILE) == 3
    assert [warning.filename for warning in reported] == [__file__]


@pytest.mark.parametrize("text", [b"", b"abc  dialogues.duckdb"])
def test_text_without_a_checksum_is_refused(web: Web, cache: Path, text: bytes) -> None:
    web.files[CHECKSUM] = text
    with pytest.raises(dw.DownloadError, match=r"dialogues\.duckdb\.sha256: has no checksum of dialogues\.duckdb$"):
        dw.open(web.url + FILE)


def test_checksum_is_found_among_those_of_other_files(web: Web, cache: Path) -> None:
    web.files[CHECKSUM] = b"0" * 64 + b"  other.duckdb\n" + web.files[CHECKSUM].replace(b"  ", b" *./")
    assert count_of(web.url + FILE) == 3


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\n<!DOCTYPE html><html>Sign in</html>" * 1000, "a web page"),
        (b"PK\x03\x04" * 1000, "a ZIP archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
        (b'{"error": "not found"}', "JSON"),
        (b"text", "a file of another kind"),
    ],
)
def test_something_else_in_place_of_a_file_is_named(web: Web, cache: Path, content: bytes, what: str) -> None:
    put(web, content)
    with pytest.raises(dw.DownloadError, match=rf"dialogues\.duckdb: is not the file of a warehouse, but {what}$"):
        dw.open(web.url + FILE)
    assert ".duckdb" not in left(cache)


def test_cache_that_is_a_file_is_named_with_its_setting(web: Web, cache: Path) -> None:
    cache.write_text("not a folder")
    with pytest.raises(RuntimeError, match=rf"its copy in the cache cannot be written: .*'{cache}/.*; DIALOGUE_CACHE"):
        dw.open(web.url + FILE)


def test_database_without_the_tables_of_a_warehouse_is_named(web: Web, cache: Path, tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    put(web, (tmp_path / "empty.duckdb").read_bytes())
    with pytest.raises(dw.DownloadError, match=r"but another file of DuckDB: .* it has none of its tables$"):
        dw.open(web.url + FILE)


def test_page_in_place_of_a_checksum_is_named(web: Web, cache: Path) -> None:
    web.files[CHECKSUM] = b"<!doctype html><html>Start</html>"
    with pytest.raises(dw.DownloadError, match=r"\.sha256: is a web page, without a checksum of dialogues\.duckdb$"):
        dw.open(web.url + FILE)


def test_landed_files_are_refused_before_a_download(web: Web, cache: Path, tmp_path: Path) -> None:
    with pytest.raises(dw.InputError, match=r"^raw: only the folder of a warehouse has landed files, not http://"):
        dw.open(web.url + FILE, raw=True)
    assert web.asked == []
    copied = tmp_path / "copied.duckdb"
    copied.write_bytes(web.files[FILE])
    with pytest.raises(dw.InputError, match=r"^raw: only the folder of a warehouse .*, not \S+/copied\.duckdb$"):
        dw.open(copied, raw=True)
    ended = run("sql", "--raw", "select 1", "--warehouse", copied)
    assert ended.returncode == 2
    assert "--raw: only the folder of a warehouse has landed files" in ended.stderr


def test_refresh_opens_nothing_if_the_same_file_came_again(web: Web, cache: Path) -> None:
    """A server that names no version cannot say that nothing changed, so the file is read once more and compared."""
    del web.files[CHECKSUM], web.etags[FILE]
    with pytest.warns(UserWarning, match="checksum"):
        warehouse = dw.open(web.url + FILE)
    with warehouse:
        assert not warehouse.refresh()
        assert count(warehouse) == 3
    assert left(cache) == KEPT


@pytest.mark.parametrize("has_checksum", [True, False])
def test_refresh_reads_no_file_that_is_the_same(web: Web, cache: Path, has_checksum: bool) -> None:
    if not has_checksum:
        del web.files[CHECKSUM]
    with pytest.warns(UserWarning, match="checksum") if not has_checksum else contextlib.nullcontext():
        warehouse = dw.open(web.url + FILE)
    with warehouse:
        web.asked.clear()
        assert not warehouse.refresh()
        assert [path for path, *_ in web.asked] == ([CHECKSUM] if has_checksum else [CHECKSUM, FILE])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("code", [404, 403])
def test_file_that_is_no_longer_there_is_named(web: Web, cache: Path, code: int) -> None:
    """Regression: the error was about the cache, which could not be written."""
    del web.files[CHECKSUM]
    with dw.open(web.url + FILE) as warehouse:
        web.faults[FILE].append(status(code))
        with pytest.raises(dw.DownloadError, match=rf"^{web.url}{FILE}: the server responded with {code}$"):
            warehouse.refresh()
        assert count(warehouse) == 3


def cut_in_a_chunk(handler: Handler, _content: bytes) -> None:
    """Send the beginning of a response whose length is unknown."""
    handler.answer(200, b"50\r\nabc", Transfer_Encoding="chunked", Content_Length=None)
    handler.hang_up()


def fall_silent(handler: Handler, content: bytes) -> None:
    handler.answer(200, content[:9], Content_Length=len(content))
    handler.wfile.flush()
    time.sleep(3)


@pytest.mark.parametrize("fault", [cut_in_a_chunk, fall_silent])
def test_checksum_that_is_cut_off_is_requested_again(web: Web, cache: Path, fault: Callable) -> None:
    """Regression: a cut was an internal error, and silence an error about the cache, which could not be written."""
    web.faults[CHECKSUM].append(fault)
    assert count_of(web.url + FILE) == 3
    assert len(web.ranges(CHECKSUM)) == 2


def test_part_of_another_version_is_never_continued(
    web: Web, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is killed when it has noted the new version, and has not received any of its bytes."""
    web.faults[FILE] += [cut(1_000)] * 3
    with pytest.raises(dw.DownloadError, match=r"sent 1,000 of"):
        dw.open(web.url + FILE)
    put(web, other(tmp_path), '"2"')
    with monkeypatch.context() as killed:
        killed.setattr(downloads._Download, "_write", lambda *_: sys.exit(9))
        with pytest.raises(SystemExit):
            dw.open(web.url + FILE)
    assert count_of(web.url + FILE) == 1
    assert web.ranges(FILE)[-1] is None


@pytest.mark.parametrize("has_checksum", [True, False])
def test_newer_file_is_opened_on_request(web: Web, cache: Path, tmp_path: Path, has_checksum: bool) -> None:
    if not has_checksum:
        del web.files[CHECKSUM]
    with pytest.warns(UserWarning, match="checksum") if not has_checksum else dw.open(web.url + FILE):
        warehouse = dw.open(web.url + FILE)
    with warehouse:
        before = warehouse.table("fct_turns")
        assert not warehouse.refresh()
        put(web, other(tmp_path), '"2"')
        assert count(warehouse) == 3
        assert warehouse.refresh()
        assert (count(warehouse), len(before.fetchall())) == (1, 3)
        assert not warehouse.refresh()
    assert left(cache) == KEPT


def test_file_that_another_process_replaced_in_the_cache_is_not_read(web: Web, cache: Path, tmp_path: Path) -> None:
    """Regression: the message named a temporary folder."""
    with dw.open(web.url + FILE) as warehouse, dw.open(web.url + FILE) as another:
        put(web, other(tmp_path), '"2"')
        assert another.refresh()
        with pytest.raises(dw.InputError, match=r"^http://\S+: another build has been .* since; refresh\(\) opens it$"):
            warehouse.export("chat", tmp_path / "exported")
        assert warehouse.refresh()
        assert count(warehouse) == 1


def test_redirect_is_followed_only_to_the_web(web: Web, cache: Path) -> None:
    web.files["/here.duckdb"], web.files["/here.duckdb.sha256"] = web.files[FILE], web.files[CHECKSUM].split()[0]
    web.faults["/here.duckdb"].append(redirect(web.url + FILE))
    assert count_of(f"{web.url}/here.duckdb") == 3
    for target, error in (
        ("file:///etc/passwd", "the server responded with 302"),
        ("ftp://a/b", r"^\S+/there\.duckdb\.sha256: redirects to a URL that is not http or https$"),
    ):
        web.faults["/there.duckdb.sha256"].append(redirect(target))
        with pytest.raises(dw.DownloadError, match=error):
            dw.open(f"{web.url}/there.duckdb?key=secret")


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://user:secret@127.0.0.1/a.duckdb", r"^http://127\.0\.0\.1/a\.duckdb: a URL with a user or a password"),
        ("file:///etc/passwd", r"^file:///etc/passwd: only http:// and https:// can be opened$"),
        ("http:///a.duckdb", r": has no host that can be looked up$"),
    ],
)
def test_other_urls_are_refused_without_their_secrets(cache: Path, url: str, error: str) -> None:
    with pytest.raises(dw.InputError, match=error) as raised:
        dw.open(url)
    assert "secret" not in str(raised.value)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("host", "reason"), [("127.0.0.1:1", "Connection refused"), ("none.invalid", "[A-Z].*")], ids=["port", "name"]
)
def test_server_that_is_not_there_is_named_at_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, host: str, reason: str
) -> None:
    monkeypatch.setenv("DIALOGUE_BACKOFF", "60")
    with pytest.raises(dw.DownloadError, match=rf"^http://{host}/a\.duckdb: no connection: {reason}$") as raised:
        dw.open(f"http://{host}/a.duckdb?token=secret")
    assert "\n" not in str(raised.value)


def test_server_that_restarts_after_an_answer_is_waited_for(web: Web, cache: Path) -> None:
    """The first answer is the checksum; then the connection is refused by a redirect to a port without a server."""
    web.faults[FILE] += [redirect("http://127.0.0.1:1/gone.duckdb"), redirect("http://127.0.0.1:1/gone.duckdb")]
    assert count_of(web.url + FILE) == 3


def test_processes_download_a_file_once(web: Web, cache: Path) -> None:
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(count_of(web.url + FILE))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [3] * 4
    assert [path for path, *_ in web.asked] == [CHECKSUM, FILE]


def test_file_that_was_removed_from_the_cache_is_downloaded_again(web: Web, cache: Path) -> None:
    count_of(web.url + FILE)
    shutil.rmtree(cache)
    assert count_of(web.url + FILE) == 3


def test_commands_that_read_take_a_url_or_a_file(web: Web, cache: Path, sample_warehouse: Path, tmp_path: Path) -> None:
    put(web, sample_warehouse.read_bytes())
    copied = tmp_path / "copied.duckdb"
    copied.write_bytes(sample_warehouse.read_bytes())
    with dw.open(copied) as warehouse:
        (key,) = warehouse.sql("select min(turn_key) from fct_turns").fetchall()[0]
    del web.files[CHECKSUM]
    for command in (("show", key), ("sql", "select count(*) from fct_turns"), ("tables",), ("describe", "fct_turns")):
        by_url, by_file = (run(*command, "--warehouse", place) for place in (web.url + FILE, copied))
        assert (by_url.returncode, by_url.stdout) == (by_file.returncode, by_file.stdout) == (0, by_url.stdout)
        assert by_url.stdout
    assert [path for path, *_ in web.asked] == [CHECKSUM, FILE]
    for command in ("claims", "violations"):
        assert run(command, "--json", "--warehouse", copied).stdout.startswith("[")


def test_commands_that_write_elsewhere_take_a_file(cache: Path, sample_folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copied.duckdb"
    copied.write_bytes((sample_folder / "dialogues.duckdb").read_bytes())
    for command in (
        ("export", "--form", "chat", "--sample", "3", "--quiet", "--to"),
        ("restore", "--corpus", "sgd", "--to"),
        ("score", "--corpus", "sgd", "--split", "test", "--example"),
    ):
        trees = []
        for number, place in enumerate((sample_folder, copied)):
            to = tmp_path / f"{command[0]}_{number}"
            assert run(*command, to, "--warehouse", place).returncode == 0
            files = {path.relative_to(to): path.read_text(encoding="utf-8") for path in to.rglob("*") if path.is_file()}
            # A restored file has the values of the original; the order of the slots in a state is not kept.
            trees.append({path: json.loads(text) for path, text in files.items()} if "restore" in command else files)
        assert trees[0] == trees[1] != {}
    words = ("search", "restaurant", "--json", "--warehouse")
    assert run(*words, copied).stdout == run(*words, sample_folder).stdout
    with dw.open(copied) as warehouse:
        key = warehouse.dialogues(corpus="sgd").keys[0]
    ended = run("trace", key, "--warehouse", copied)
    assert "only the folder of a warehouse names its source; give --source" in ended.stdout
    source = ("--source", sample_folder / "sample")
    by_file, by_folder = (
        run("trace", key, "--json", *source, "--warehouse", place) for place in (copied, sample_folder)
    )
    assert by_file.stdout == by_folder.stdout != ""
    ended = run("verify", "--warehouse", copied)
    assert (ended.returncode, "is not a folder" in ended.stderr) == (2, True)


def test_command_says_in_one_line_why_a_url_cannot_be_opened(web: Web, cache: Path) -> None:
    ended = run("tables", "--warehouse", f"{web.url}/none.duckdb")
    assert (ended.returncode, ended.stderr) == (1, f"error: {web.url}/none.duckdb: the server responded with 404\n")
    ended = run("tables", "--warehouse", "ftp://host/a.duckdb")
    assert (ended.returncode, ended.stderr) == (
        2,
        "error: ftp://host/a.duckdb: only http:// and https:// can be opened\n",
    )
    ended = run("status", "--warehouse", web.url + FILE)
    assert ended.returncode == 2
    assert "is a URL; only local folders can be used" in ended.stderr
    del web.files[CHECKSUM]
    ended = run("sql", "select 1 as one", "--csv", "--warehouse", web.url + FILE)
    assert (ended.returncode, ended.stdout) == (0, "one\n1\n")
    assert ended.stderr.startswith("note: http://") and ended.stderr.count("\n") == 1
