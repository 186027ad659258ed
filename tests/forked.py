"""The command in processes that start with its libraries imported: four seconds per build are spent once per session.

`python -m tests.forked FOLDER MODULE` is the process that they are forked from: one for the command, one for the audit
that builds start as a separate process (`tests/launch.py` replaces it there). It imports what the module imports,
without starting a thread. For each connection to `FOLDER/socket` it forks a process that runs the program, with the
arguments, the variables and the streams that the connection sent. Closing the connection kills the program.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from dialogue_warehouse.settings import TELEMETRY_OFF, silence_telemetry
from expectations import client
from tests import launch

CLONE = Path(__file__).resolve().parent.parent
COMMAND, AUDIT = "dialogue_warehouse", "expectations.audit"
IMPORTED = {
    COMMAND: (
        "dialogue_warehouse.cli.main",
        "pipelines.dagster_graph.build",
        "dialogue_warehouse.common.progress",
        "pipelines.building.summary",
        "pipelines.dagster_graph.graph",
        "dialogue_warehouse.site.report",
        "pipelines.ingestion.simulating",
        "dagster._core.execution.execute_in_process",
        "dagster._core.instance.factory",
        "dagster._core.workspace.load",
        "dagster._daemon.controller",
        "dbt.adapters.duckdb",
        "dbt.cli.main",
        "dbt.task.build",
        "networkx",
        "rich.table",
    ),
    AUDIT: ("expectations.audit", "expectations.validation"),
}
"""Libraries that a build and its audit import, or most of them. Modules that are not installed are skipped."""
Calls = list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]]
SET_BY_LIBRARIES = {*TELEMETRY_OFF, "MPLBACKEND", "SF_PARTNER", "_RJEM_MALLOC_CONF"}
"""Variables that a process sets when it runs the command, or imports Dagster or Polars."""


def variables() -> dict[str, str]:
    """Return the variables of this process that a command gets: those of the caller of the tests and of the test.

    Settings of this project are left out, and so are the name of the test and the variables that libraries set for
    their process.
    """
    ours = ("DIALOGUE_", "PYTEST_CURRENT_TEST")
    return {
        name: value for name, value in os.environ.items() if not name.startswith(ours) and name not in SET_BY_LIBRARIES
    }


USUAL = variables()


class Server:
    """Process that a program is forked from; it ends with the process that started it."""

    def __init__(self, program: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="forked-"))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", self.folder, program],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=CLONE,
            env=USUAL | (client.ONE_THREAD if program == AUDIT else {}),
        )

    def run(self, arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run the program with these additional variables, like `subprocess.run` with captured output."""
        with (
            Path(os.devnull).open() as nothing,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            launch.connect(str(self.folder / "socket"), lambda: self._process.poll() is None) as connection,
        ):
            socket.send_fds(connection, [b"."], [stream.fileno() for stream in (nothing, out, err)])
            connection.sendall(json.dumps([arguments, environment]).encode() + b"\n")
            status = int(connection.makefile().read())
            reported = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (out, err)]
        return subprocess.CompletedProcess([COMMAND, *arguments], status, *reported)

    def close(self) -> None:
        """End the process."""
        with self._process:  # closes its standard input, and waits
            shutil.rmtree(self.folder)


AUDITS = "FORKED_AUDITS"
"""Variable that gives a command the socket at which it requests its audit."""
CLONED = "FORKED_CLONE"
"""Variable that gives a command the copied clone that it builds with."""
_servers: dict[str, Server] = {}
_starting = threading.Lock()


def changed() -> set[str]:
    """Return the names of the variables that are not as they were at the start."""
    return {name for name, _ in variables().items() ^ USUAL.items()}


def server() -> Server | None:
    """Return the process that commands are forked from, one per session; None if the variables have changed."""
    if changed():
        return None
    _server_of(AUDIT)
    return _server_of(COMMAND)


def _server_of(program: str) -> Server:
    """Return the process that a program is forked from."""
    with _starting:
        if program not in _servers:
            _servers[program] = Server(program)
        return _servers[program]


def audits() -> dict[str, str]:
    """Return the variable that gives a command the process that its audit is forked from."""
    return {AUDITS: str(_server_of(AUDIT).folder / "socket")}


def audit_command() -> list[str]:
    """Return the command that forks an audit, in place of `expectations.client.command`."""
    return [sys.executable, "-IS", launch.__file__, audits()[AUDITS]]


def end() -> None:
    """End these processes."""
    while _servers:
        _servers.popitem()[1].close()


def serve(folder: Path, program: str) -> None:
    """Fork a process for each connection, until standard input ends."""
    silence_telemetry()
    at_end: Calls = []
    with mock.patch.object(
        atexit, "register", lambda call, *given, **named: at_end.append((call, given, named)) or call
    ):
        for name in IMPORTED[program]:
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(name)
    assert threading.active_count() == len(list(Path("/proc/self/task").iterdir())) == 1, "a fork would copy its locks"
    gc.collect()
    gc.freeze()  # memory that is never accessed stays shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "starting"))
        listening.listen(64)
        (folder / "starting").rename(folder / "socket")
        while True:
            ready, *_ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in ready:  # the process that started it has ended, or ends it
                return
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    listening.close()
                    _look_after(connection, program, at_end)


def _look_after(connection: socket.socket, program: str, at_end: Calls) -> None:
    """Run the program of a connection in a separate process and report its status; kill it if the client leaves."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    arguments, environment = json.loads(connection.makefile().readline())
    process = os.fork()
    if process == 0:
        connection.close()
        _become(program, arguments, environment, streams, at_end)
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(process)
    ready, *_ = select.select([ended, connection], [], [])
    if ended not in ready:
        os.kill(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(str(status).encode())
    os._exit(0)


def _use_clone(clone: Path) -> None:
    """Make the modules of this process read the folders of a copied clone: dbt's project, and the code for its hash."""
    original = CLONE  # this module is among them
    for module in list(sys.modules.values()):
        for name in ("CLONE", "DBT_PROJECT", "DBT_LAST_PARSE"):
            place = getattr(module, "__dict__", {}).get(name)
            if isinstance(place, Path) and place.is_relative_to(original):
                setattr(module, name, clone / place.relative_to(original))


def _become(program: str, arguments: list[str], environment: dict[str, str], streams: list[int], at_end: Calls) -> None:
    """Do what `python -m` does with the program after it has started. Does not return.

    Exit handlers of libraries are registered after the first ones of the program, as if the libraries were imported
    then.
    """
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    register = atexit.register

    def register_all(*given: Any, **named: Any) -> None:
        atexit.register = register
        for call, others, further in [(given[0], given[1:], named), *at_end]:
            register(call, *others, **further)

    atexit.register = register_all
    audits, clone = environment.pop(AUDITS, None), environment.pop(CLONED, None)
    os.environ.update(environment)
    if clone is not None:
        _use_clone(Path(clone))
    if audits is not None:
        client.command = lambda: [sys.executable, "-IS", launch.__file__, audits]
    sys.argv[1:] = arguments if program == COMMAND else [str(os.getppid())]
    runpy.run_module(program, run_name="__main__", alter_sys=True)
    os._exit(70)  # the process ends by itself


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2])
    os._exit(0)  # DuckDB's reports of leaks are not printed
