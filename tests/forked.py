"""The command in processes that begin with its libraries imported: what takes a build three seconds is done once a session.

`python -m tests.forked FOLDER` is the process that they are forked from. It imports what a build imports and nothing
starts a thread; for each connection to `FOLDER/socket` it forks a process that becomes the command, with the
arguments, the variables and the streams that came with it. Whoever closes the connection has the command killed.
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
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from pipelines.settings import TELEMETRY_OFF, silence_telemetry

CLONE = Path(__file__).resolve().parent.parent
COMMAND = "pipelines.cli"
IMPORTED = (
    "pipelines.cli.main",
    "pipelines.building.build",
    "pipelines.building.progress",
    "pipelines.building.summary",
    "pipelines.assets.graph",
    "pipelines.report.site",
    "pipelines.intake.simulating",
    "dagster._core.execution.execute_in_process",
    "dagster._core.instance.factory",
    "dagster._core.workspace.load",
    "dagster._daemon.controller",
    "dbt.adapters.duckdb",
    "dbt.cli.main",
    "dbt.task.build",
    "networkx",
    "rich.table",
)
"""What a build imports, or the greater part of it; a module that is not there is imported by no build either."""
Calls = list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]]
SECONDS = 300
"""After which a server that does not begin is given up."""


SET_BY_LIBRARIES = {*TELEMETRY_OFF, "MPLBACKEND", "SF_PARTNER", "_RJEM_MALLOC_CONF"}
"""What a process has in its variables as soon as it has called the command, or imported Streamlit, Dagster or Polars."""


def variables() -> dict[str, str]:
    """The variables of this process that a command is given: those of whoever began the tests, and what a test sets.

    Settings of ours are not among them, nor the name of the test, nor what libraries set for the process they are in.
    """
    ours = ("DIALOGUE_", "PYTEST_CURRENT_TEST")
    return {
        name: value for name, value in os.environ.items() if not name.startswith(ours) and name not in SET_BY_LIBRARIES
    }


USUAL = variables()


class Server:
    """The process of which commands are forked; it ends with the one that started it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="forked-"))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=CLONE,
            env=USUAL,
        )

    def run(self, arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run the command with these variables besides, as `subprocess.run` does that captures what it prints."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, self._connect() as connection:
            socket.send_fds(connection, [b"."], [out.fileno(), err.fileno()])
            connection.sendall(json.dumps([arguments, environment]).encode() + b"\n")
            status = int(connection.makefile().read())
            told = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (out, err)]
        return subprocess.CompletedProcess([COMMAND, *arguments], status, *told)

    def close(self) -> None:
        """End the process."""
        with self._process:  # closes its standard input, and waits
            shutil.rmtree(self.folder)

    def _connect(self) -> socket.socket:
        """A connection, as soon as the libraries are imported."""
        end = time.monotonic() + SECONDS
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(self.folder / "socket"))
                return connection
            except OSError:
                connection.close()
                if self._process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.05)


_servers: list[Server] = []


def server() -> Server | None:
    """The process that commands are forked from, one a session; None while variables are not as when the tests began."""
    if variables() != USUAL:
        return None
    if not _servers:
        _servers.append(Server())
    return _servers[0]


def end() -> None:
    """End that process."""
    while _servers:
        _servers.pop().close()


def serve(folder: Path) -> None:
    """Fork a process for each connection, until standard input ends."""
    silence_telemetry()
    at_end: Calls = []
    with mock.patch.object(
        atexit, "register", lambda call, *given, **named: at_end.append((call, given, named)) or call
    ):
        for name in IMPORTED:
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(name)
    assert threading.active_count() == len(list(Path("/proc/self/task").iterdir())) == 1, "a fork would copy its locks"
    gc.collect()
    gc.freeze()  # what is never looked at stays shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "starting"))
        listening.listen(64)
        (folder / "starting").rename(folder / "socket")
        while True:
            ready, *_ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in ready:  # whoever started it has ended, or ends it
                return
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    listening.close()
                    _look_after(connection, at_end)


def _look_after(connection: socket.socket, at_end: Calls) -> None:
    """Run the command of a connection in a process of its own, and tell its status; killed where nobody listens."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 2)
    arguments, environment = json.loads(connection.makefile().readline())
    process = os.fork()
    if process == 0:
        connection.close()
        _become_the_command(arguments, environment, streams, at_end)
    ended = os.pidfd_open(process)
    ready, *_ = select.select([ended, connection], [], [])
    if ended not in ready:
        os.kill(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(str(status).encode())
    os._exit(0)


def _become_the_command(arguments: list[str], environment: dict[str, str], streams: list[int], at_end: Calls) -> None:
    """What `python -m pipelines.cli` does once it is started. Does not return.

    What the libraries want done at the end is registered after what the command registers first, as if imported then.
    """
    for target, stream in enumerate([os.open(os.devnull, os.O_RDONLY), *streams]):
        os.dup2(stream, target)
        os.close(stream)
    register = atexit.register

    def register_all(*given: Any, **named: Any) -> None:
        atexit.register = register
        for call, others, further in [(given[0], given[1:], named), *at_end]:
            register(call, *others, **further)

    atexit.register = register_all
    os.environ.update(environment)
    sys.argv[1:] = arguments
    runpy.run_module(COMMAND, run_name="__main__", alter_sys=True)
    os._exit(70)  # it ends by itself


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
    os._exit(0)  # what DuckDB calls leaks is told nobody
