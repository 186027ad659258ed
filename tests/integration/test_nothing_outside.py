"""No command, build, webserver or daemon connects to an address outside this machine.

The exception is `fetch`, which downloads from the publishers on purpose. It is run with a mirror in a folder, and once
without one, to check that its connections are found.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.paths import CLONE, WarehousePaths
from tests.integration.outside import STRACE, beside, closed_off, outside, quiet_environment, watched

BIN = Path(sys.executable).parent
PAGE = """
import sys, urllib.request as r
body = sys.argv[2].encode() if sys.argv[2:] else None
sent = r.Request('http://127.0.0.1:' + sys.argv[1], body, {'Content-Type': 'application/json'})
print(r.urlopen(sent, timeout=20).read(99))
"""
VERSION = ("3000/graphql", '{"query": "{version}"}')
CORPUS = "bbai"
"""The only corpus that is built here: all corpora are built by the same code."""
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "build": ("--corpora", CORPUS, "--replace"),
    "claims": (),
    "dashboard": (),
    "check-corpus": (CORPUS, "--no-tests"),
    "describe": ("fct_turns",),
    "diff": (),
    "export": ("--form", "chat", "--to", "{folder}/exported"),
    "fetch": ("--to", "{folder}/fetched", "--corpora", CORPUS),
    "keep": (),
    "new-corpus": ("kiosk",),
    "report": (),
    "restore": ("--corpus", CORPUS, "--to", "{folder}/restored"),
    "rollback": (),
    "score": ("--corpus", CORPUS, "--split", "test", "--example", "{folder}/example"),
    "search": ("please",),
    "show": ("{key}",),
    "simulate": ("--to", "{folder}/simulated", "--corpora", CORPUS),
    "sql": ("select count(*) from fct_turns",),
    "status": (),
    "tables": (),
    "trace": ("{key}",),
    "verify": ("--corpora", CORPUS),
    "violations": (),
}
"""Maps a command to its arguments."""


@dataclass(frozen=True)
class Warehouse:
    """Warehouse of two builds, so that commands can compare them and go back to the first. The second has one corpus."""

    root: Path
    clone: Path
    """Copy of the clone, for the files that a command writes there."""
    mirror: Path
    key: str

    def run(self, folder: Path, name: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
        """Run a command closed off; return its status, and its attempts to connect outside."""
        given = [argument.format(folder=folder, key=self.key) for argument in ARGUMENTS[name]]
        if name != "new-corpus":
            given += ["--warehouse", str(self.root)]
        return run(folder, sys.executable, "-m", "dialogue_warehouse", name, *given, cwd=self.clone, **environment)


def run(
    folder: Path, *command: str, cwd: Path = CLONE, **environment: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a command closed off; return its status, and its attempts to connect outside."""
    attempts = folder / "attempts"
    closed = closed_off(*watched(attempts, *command))
    variables = quiet_environment(folder) | environment
    ended = subprocess.run(closed, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=300)
    return ended, outside(attempts)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, sample_folder: Path, generated_sample: Path) -> Warehouse:
    folder = tmp_path_factory.mktemp("outside")
    listed = subprocess.run(["git", "ls-files"], cwd=CLONE, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        (folder / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CLONE / name, folder / "clone" / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder / "clone", check=True)  # checks ask git for the files
    root = shutil.copytree(sample_folder, folder / "warehouse", symlinks=True)
    with duckdb.connect(str(root / "dialogues.duckdb"), read_only=True) as con:
        ((key,),) = con.execute("select min(turn_key) from core.fct_turns where corpus_id = ?", [CORPUS]).fetchall()
    made = Warehouse(root, folder / "clone", generated_sample, key)
    built, wanted = made.run(folder, "build")
    assert (built.returncode, wanted) == (0, []), built.stderr
    return made


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_command_connects_to_nothing_outside(name: str, warehouse: Warehouse, tmp_path: Path) -> None:
    """A new command fails here until its arguments are added.

    The build is that of the fixture; the dashboard, which does not end, has a separate test.
    """
    if name == "dashboard":
        return
    if name == "build":
        assert len(list((warehouse.root / "builds").glob("*.duckdb"))) == 2
        return
    ended, wanted = warehouse.run(tmp_path, name, DIALOGUE_MIRROR=warehouse.mirror.as_uri())
    assert wanted == [], name
    if name == "fetch":  # the mirror has generated files, whose checksums are not the publishers'
        assert "sent another file than the listed one" in ended.stderr, ended.stderr
    else:
        assert ended.returncode == 0, ended.stderr


def test_all_commands_are_covered() -> None:
    assert ARGUMENTS.keys() == cli.commands.keys()


@pytest.mark.skipif(STRACE is None, reason="no strace here, which sees attempts that fail")
def test_connections_are_detected(warehouse: Warehouse, tmp_path: Path) -> None:
    """`fetch` from the publishers, in its threads; and a child process, by address, in both families."""
    _, wanted = warehouse.run(tmp_path, "fetch", DIALOGUE_ATTEMPTS="1")
    assert any(address.endswith(" port 53") or "looks names up" in address for address in wanted)
    code = (
        "import os, socket\n"
        "for family, address in ((socket.AF_INET, '192.0.2.1'), (socket.AF_INET6, '2001:db8::1'), (socket.AF_INET, '127.0.0.1')):\n"
        "    if os.fork() == 0:\n"
        "        socket.socket(family, socket.SOCK_STREAM).connect_ex((address, 443))\n"
        "        socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', (address, 444))\n"
    )
    _, wanted = run(tmp_path, sys.executable, "-c", code)
    assert {"192.0.2.1 port 443", "192.0.2.1 port 444", "2001:db8::1 port 443"} <= set(wanted)
    assert not any(address.startswith("127.") for address in wanted)


@pytest.fixture
def settings(warehouse: Warehouse) -> dict[str, str]:
    """Return Dagster's settings for a warehouse; only its dagster.yaml switches off Dagster's telemetry."""
    paths = WarehousePaths(warehouse.root)
    assert (paths.dagster_home / "dagster.yaml").is_file()
    return {"DIALOGUE_WAREHOUSE": str(paths.root), "DAGSTER_HOME": str(paths.dagster_home)}


def test_run_of_dagster_connects_to_nothing_outside(
    warehouse: Warehouse, settings: dict[str, str], tmp_path: Path
) -> None:
    settings |= {"DIALOGUE_WAREHOUSE": str(tmp_path / "warehouse"), "DIALOGUE_ONLY": "bbai"}
    launched, wanted = run(
        tmp_path, str(BIN / "dg"), "launch", "--job", "everything", PATH=f"{BIN}:/usr/bin:/bin", **settings
    )
    assert wanted == []
    assert launched.returncode == 0, launched.stderr[-3000:]
    assert WarehousePaths(tmp_path / "warehouse").pointer.exists()


def test_webserver_and_daemon_connect_to_nothing_outside(settings: dict[str, str], tmp_path: Path) -> None:
    """Started as by `make dagster`, with a page and one of its answers."""
    reported = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "dagster"], cwd=CLONE, capture_output=True, text=True, check=True
    ).stdout
    assert reported.endswith("-m pipelines.dagster_graph.web --daemon\n")
    attempts = tmp_path / "attempts"
    both = (BIN / "python", "-m", "pipelines.dagster_graph.web", "--daemon")
    closed = closed_off(*watched(attempts, *both))
    variables = quiet_environment(tmp_path) | settings
    log = tmp_path / "log"
    with log.open("wb") as out, subprocess.Popen(closed, cwd=CLONE, env=variables, stdout=out, stderr=out) as running:
        try:
            answers = [asked(running, *place) for place in (("3000/",), VERSION)]
            deadline = time.monotonic() + 60
            while b"SensorDaemon" not in log.read_bytes() and time.monotonic() < deadline:
                time.sleep(0.5)
        finally:
            running.kill()
    assert answers[0].startswith("b'<!DOCTYPE html>")
    assert json.loads(answers[1][2:-2])["data"]["version"]
    assert b"SensorDaemon" in log.read_bytes()
    assert outside(attempts) == []


def test_dashboard_connects_to_nothing_outside(warehouse: Warehouse, tmp_path: Path) -> None:
    """The server, started as by the command; another test checks the requests of its pages in a browser."""
    attempts = tmp_path / "attempts"
    serve = (sys.executable, "-m", "dialogue_warehouse", "dashboard", "--warehouse", warehouse.root)
    closed = closed_off(*watched(attempts, *serve))
    variables = quiet_environment(tmp_path)
    with subprocess.Popen(closed, cwd=CLONE, env=variables, stdout=subprocess.DEVNULL) as running:
        try:
            assert "<!doctype html>" in asked(running, "8501/")
            assert "42" in asked(running, "8501/answer.csv?query=select+42")
            time.sleep(2)  # for anything that a library sends after its start
        finally:
            running.kill()
    assert outside(attempts) == []


def asked(running: subprocess.Popen[bytes], place: str, *body: str) -> str:
    """Return the answer of the page of a process that is closed off, as soon as it answers."""
    deadline = time.monotonic() + 300
    while True:
        command = beside(running, sys.executable, "-c", PAGE, place, *body)
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            return answer.stdout
        assert running.poll() is None
        assert time.monotonic() < deadline, answer.stderr
        time.sleep(1)
