"""The command `fetch`: interrupted, killed, run twice, against real files."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import ownership
from pipelines.building import alerts
from pipelines.ingestion import fetching
from pipelines.ingestion import wanted as wanted_files
from pipelines.ingestion.fetch_display import FetchDisplay, refuse_failures
from pipelines.ingestion.wanted import Outcome
from tests.conftest import CLONE, run_command
from tests.integration.downloads import (
    CONTENT,
    QUICK,
    Handler,
    cut,
    listed,
    names,
    run,
)

pytestmark = pytest.mark.usefixtures("no_proxy_of_the_machine")


def test_second_run_into_the_same_folder_is_rejected(web, tmp_path):
    with fetching.hold_folder(tmp_path), pytest.raises(CheckError, match="another fetch is running"):
        fetching.fetch(replace(QUICK, mirror=web.url), tmp_path, FetchDisplay(quiet=True))
    assert web.asked == []


DOWNLOAD = """
import json, sys
from pathlib import Path
from pipelines.ingestion import fetching, wanted as wanted_files
from dialogue_warehouse.corpora.release import Corpus, SourceFile
from pipelines.ingestion.fetch_display import FetchDisplay, refuse_failures
from dialogue_warehouse.settings import Settings
files = tuple(SourceFile(**file) for file in json.loads(sys.argv[2]))
wanted = wanted_files.plan((Corpus("demo", "Demo", "", "MIT", "", "1", "dialogue", "none", files, (), Path()),), Path(sys.argv[1]))
display = FetchDisplay(quiet=True)
display.start(wanted)
fetching.fetch_files(wanted, Settings(), display)
"""


def drip(handler: Handler, content: bytes) -> None:
    """Send half of the content, then nothing for a long time."""
    handler.answer(200, content[: len(content) // 2], Content_Length=len(content))
    time.sleep(60)


@contextlib.contextmanager
def running(*command: object, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Return a separate process, killed at the end."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(list(map(str, command)), cwd=CLONE, env=os.environ | environment, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_download_of_a_killed_process_is_continued(web, tmp_path):
    files = [listed(web, name) for name in ("a", "b")]
    web.faults["/a"] = [drip]
    facts = json.dumps([{"path": file.path, "url": file.url, "sha256": file.sha256} for file in files])
    part = tmp_path / "demo" / "a.part"
    with running(sys.executable, "-c", DOWNLOAD, tmp_path, facts):
        wait_for(lambda: part.exists() and part.stat().st_size == len(CONTENT) // 2 and names(tmp_path)[1:] == ["b"])
    assert names(tmp_path) == ["a.part", "b"]
    results = run(tmp_path, *files)
    assert [result.outcome for result in results] == [Outcome.FETCHED, Outcome.PRESENT]
    assert web.ranges("/a") == [None, f"bytes={len(CONTENT) // 2}-"]
    assert names(tmp_path) == ["a", "b"]


def one_corpus() -> Corpus:
    """A corpus with few files."""
    return min(registry.load_corpora(), key=lambda corpus: len(corpus.files))


@pytest.mark.parametrize(
    ("name", "returncode", "reported"),
    [
        ("SIGINT", 130, "interrupted; run the same command again to continue\n"),
        ("SIGTERM", 143, "interrupted; run the same command again to continue\n"),
    ],
)
def test_interrupted_command_leaves_only_parts(web, tmp_path, name, returncode, reported):
    corpus = one_corpus()
    for file in corpus.files:
        web.files[f"/{corpus.corpus_id}/{file.path}"] = b"x" * 1000
        web.faults[f"/{corpus.corpus_id}/{file.path}"] = [drip]
    command = (sys.executable, "-m", "dialogue_warehouse", "fetch", "--to", tmp_path, "--corpora", corpus.corpus_id)
    with running(*command, DIALOGUE_MIRROR=web.url) as process:
        wait_for(lambda: [path.stat().st_size for path in tmp_path.rglob("*.part")] == [500] * len(corpus.files))
        started = time.monotonic()
        process.send_signal(signal.Signals[name])
        output, errors = process.communicate(timeout=20)
        assert time.monotonic() - started < 5
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".part"}
    assert process.returncode == returncode
    assert (output, errors) == ("", reported)


def test_command_says_what_failed_and_what_to_do(web, tmp_path):
    corpus = one_corpus()
    quick = {"DIALOGUE_BACKOFF": "0.01"}
    folder = tmp_path / "files of mine"
    arguments = ("fetch", "--to", folder, "--corpora", corpus.corpus_id)
    wrong = corpus.files[0]
    web.files[f"/{corpus.corpus_id}/{wrong.path}"] = b"<html>"
    completed = run_command(*arguments, **quick, DIALOGUE_MIRROR=web.url)
    assert completed.returncode == 1
    assert corpus.license in completed.stdout
    assert "next:" not in completed.stdout
    errors = completed.stderr[completed.stderr.index("error:") :].splitlines()
    assert errors[0].startswith(
        f"error: {corpus.corpus_id}/{wrong.path}: {web.url[7:]} sent another file than the listed one: "
    )
    assert "; it is a web page; kept as " in errors[0]
    assert errors[1].strip().startswith("by hand: http")
    assert errors[2].endswith("responded with 404 Not Found")
    assert errors[3].strip().startswith("by hand: http")
    assert "another form of " in errors[-1]
    assert "Traceback" not in completed.stderr


def test_command_without_a_network_says_so_once(tmp_path):
    dead = {"DIALOGUE_BACKOFF": "0.01", "DIALOGUE_MIRROR": "http://127.0.0.1:9"}
    plain = run_command("fetch", "--to", tmp_path, **dead)
    assert plain.returncode == 1
    assert plain.stderr.count("127.0.0.1:9 cannot be reached (Connection refused)") == 2
    assert plain.stderr.count("retry    ") == plain.stderr.count("error:") == 1
    quiet = run_command("fetch", "--to", tmp_path, "--quiet", **dead)
    assert (quiet.returncode, quiet.stdout) == (1, "")
    assert quiet.stderr == plain.stderr[plain.stderr.index("error:") :].replace("\r", "")
    terminal = run_command("fetch", "--to", tmp_path, **dead, FORCE_COLOR="1")
    assert f"{len(wanted_files.plan(registry.load_corpora(), tmp_path))} files" in terminal.stderr


def test_bad_input_ends_with_status_2(tmp_path):
    (tmp_path / "file").write_text("")
    for arguments in (("--corpora", "nowhere"), ("--to", tmp_path / "file" / "x"), ("--jobs", "0")):
        completed = run_command("fetch", "--to", tmp_path / "x", *arguments)
        assert completed.returncode == 2, arguments
        assert "Traceback" not in completed.stderr
    assert run_command("fetch", DIALOGUE_MIRROR=str(tmp_path)).returncode == 2


def test_real_files_have_the_listed_checksums(web, tmp_path, real_corpora):
    there = [one for one in wanted_files.plan(registry.load_corpora(), real_corpora) if one.target.is_file()]
    right = [one for one in there if one.problem(one.target) is None]
    assert len(right) > 20
    for one in right:
        web.files[f"/{one.name}"] = one.target.read_bytes()
    settings = {"DIALOGUE_MIRROR": web.url, "DIALOGUE_BACKOFF": "0.01"}
    cut_off, *_ = (one.name for one in right if one.file.bytes and one.file.bytes > 2_000_000)
    web.faults[f"/{cut_off}"] = [cut(1_500_000)]
    arguments = ("fetch", "--warehouse", tmp_path, "--corpora", "bbai,sgd")
    completed = run_command(*arguments, **settings)
    landing = tmp_path / "landing"
    fetched = sorted(path for path in landing.rglob("*") if path.is_file())
    expected = {one.name for one in right if one.corpus.corpus_id in ("bbai", "sgd")}
    assert {path.relative_to(landing).as_posix() for path in fetched} == expected
    assert all(path.read_bytes() == (real_corpora / path.relative_to(landing)).read_bytes() for path in fetched)
    assert completed.returncode == 1
    assert f"dialogue-warehouse build --source {landing} --warehouse {tmp_path}" in completed.stdout
    assert f"{web.url.removeprefix('http://')} responded with 404 Not Found" in completed.stderr
    again = run_command(*arguments, DIALOGUE_MIRROR=real_corpora.as_uri())
    assert f"{sum(name.startswith('bbai/') for name in expected)} already there, 1 failed" in again.stderr
    assert "the mirror has no such file" in again.stderr


def test_complete_corpus_is_a_success_and_can_be_built_from(web, tmp_path, monkeypatch):
    content = b'{"a": 1}'
    file = listed(web, "a", content)
    corpus = Corpus("demo", "Demo", "", "MIT", "", "1", "dialogue", "none", (file,), (), Path())
    monkeypatch.setattr(registry, "load_corpora", lambda _only=(): (corpus,))
    results = fetching.fetch(QUICK, tmp_path, FetchDisplay(quiet=True))
    refuse_failures(results)
    assert (tmp_path / "demo" / "a").read_bytes() == content


def test_complete_download_ends_the_failure_of_the_job(web, tmp_path, monkeypatch):
    """The job `fetch` reads the same settings. A download of less, or into another folder, says nothing about it."""
    corpus = Corpus("demo", "Demo", "", "MIT", "", "1", "dialogue", "none", (listed(web, "a"),), (), Path())
    monkeypatch.setattr(registry, "load_corpora", lambda _only=(): (corpus,))
    paths = WarehousePaths(tmp_path / "warehouse")
    ownership.claim(paths)
    alerts.tell_failed_download(paths, Settings(warehouse=paths.root), "demo/a: no answer")
    for arguments in (("--corpora", "bbai"), ("--to", str(tmp_path / "other")), ()):
        assert paths.download_trouble.exists()
        ended = CliRunner().invoke(cli, ["fetch", "--warehouse", str(paths.root), *arguments])
        assert ended.exit_code == 0, ended.output
    assert not paths.download_trouble.exists()
    assert [json.loads(line)["kind"] for line in paths.alerts.read_text().splitlines()] == ["failure", "recovery"]
