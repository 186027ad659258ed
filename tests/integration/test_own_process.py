"""The end of a command: its status, its reaction to signals, and that it leaves no process running."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dialogue_warehouse.cli import main
from dialogue_warehouse.common.processes import SELDOM
from dialogue_warehouse.paths import CLONE, WarehousePaths
from tests.running import is_alive, processes_below

RUN = "import sys; from dialogue_warehouse.cli.main import run; from dialogue_warehouse.cli.options import cli\n"
PROBE = "@cli.command()\ndef probe():\n    {}\nsys.argv = ['dialogue-warehouse', 'probe']\nrun()\n"


@pytest.fixture(autouse=True)
def answered_hangup() -> Iterator[None]:
    """Let a hangup end child processes, although `nohup` ignores it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def run_probe(body: str, **pipes: object) -> subprocess.CompletedProcess[str]:
    """Run a command with this body as the command line runs its own commands."""
    command = [sys.executable, "-c", RUN + PROBE.format(body.replace("\n", "\n    "))]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | pipes
    return subprocess.run(command, text=True, cwd=CLONE, check=False, timeout=120, **given)


def test_command_line_imports_no_module_with_exit_handlers() -> None:
    """Exit handlers registered before the command's own handler are never called; their locks are reported as leaks."""
    code = "import sys, dialogue_warehouse.cli.main; print('multiprocessing.util' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=True).stdout == "False\n"


NO_MEMORY = "error: out of memory\n"
LIMITED = (
    "error: DuckDB needs more memory than it may use: set a larger DIALOGUE_MEMORY_LIMIT"
    " (for a query, DIALOGUE_QUERY_MEMORY_LIMIT)\n"
)


@pytest.mark.parametrize(
    ("body", "status", "errors"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('what a library says')", 1, "what a library says\n"),
        ("raise KeyError('x')", 1, "internal error: KeyError: 'x' (DIALOGUE_DEBUG=1 shows where)\n"),
        (
            "import os\nos.environ['DIALOGUE_DEBUG'] = 'off'\nraise KeyError('x')",
            1,
            "internal error: KeyError: 'x' (DIALOGUE_DEBUG=1 shows where)\n",
        ),
        ("raise BrokenPipeError", 0, ""),
        ("try:\n    bytearray(1 << 62)\nexcept MemoryError as error:\n    raise RuntimeError from error", 1, NO_MEMORY),
        ("raise ImportError('x.so: failed to map segment from shared object')", 1, NO_MEMORY),
        ("import duckdb\nraise duckdb.OutOfMemoryException('Failed to allocate block (bad allocation)')", 1, NO_MEMORY),
        ("raise OSError(12, 'Cannot allocate memory')", 1, NO_MEMORY),
        (
            "import duckdb\nwith duckdb.connect(config={'memory_limit': '20MB'}) as con:\n"
            "    con.execute('select list(range) from range(10_000_000)')",
            1,
            LIMITED,
        ),
        (
            "one, other = KeyError('a ring'), ValueError()\none.__context__, other.__context__ = other, one\nraise one",
            1,
            "internal error: KeyError: 'a ring' (DIALOGUE_DEBUG=1 shows where)\n",
        ),
        ("pass", 0, ""),
    ],
)
def test_status_is_the_result_of_the_command(body: str, status: int, errors: str) -> None:
    ended = run_probe(body)
    assert (ended.returncode, ended.stderr) == (status, errors)


def test_internal_error_has_a_traceback_if_requested() -> None:
    ended = run_probe("import os\nos.environ['DIALOGUE_DEBUG'] = 'on'\nraise KeyError('x')")
    assert "Traceback" in ended.stderr


def test_closed_pipe_is_not_a_failure_but_a_full_disk_is() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = run_probe("print('x' * 1_000_000)", stdout=writing)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, "")
    with Path("/dev/full").open("w") as full:
        ended = run_probe("print('x')", stdout=full)
    assert (ended.returncode, ended.stderr) == (1, "error: standard output: No space left on device\n")


def test_unread_progress_does_not_stop_a_build() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    body = (
        "from dialogue_warehouse.common.progress import Reporter\nreporter = Reporter(quiet=False)\n"
        "[reporter.line('x') for _ in range(3)]\nprint('done')"
    )
    ended = run_probe(body, stderr=writing)
    os.close(writing)
    assert (ended.returncode, ended.stdout) == (0, "done\n")


def test_exit_handlers_of_libraries_run_and_then_nothing_more() -> None:
    """The interpreter is not finalized, because DuckDB's binding would then report leaks; threads are waited for."""
    body = (
        "import atexit, threading, time, duckdb\nprint(duckdb.sql('select 1').fetchall())\n"
        "atexit.register(lambda: print('left to the end'))\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), print('of a thread'))).start()\n"
        "class Last:\n    __del__ = lambda self: print('taken apart')\n"
        "sys.last = Last()"
    )
    ended = run_probe(body)
    assert ended.returncode == 0
    assert ended.stdout == "[(1,)]\nof a thread\nleft to the end\n"
    assert ended.stderr == ""


def test_command_collects_garbage_rarely() -> None:
    ended = run_probe("import gc; print(gc.isenabled(), gc.get_threshold())")
    assert (ended.returncode, ended.stdout) == (0, f"True {SELDOM}\n")
    usual = subprocess.run(
        [sys.executable, "-c", "import gc; print(gc.get_threshold())"], capture_output=True, text=True
    )
    assert usual.stdout != f"{SELDOM}\n"


def test_command_called_as_a_function_does_not_change_the_process(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    def state() -> tuple[object, ...]:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        return handlers, gc.isenabled(), gc.get_threshold(), dict(os.environ), Path.cwd()

    before = state()
    assert main.main(["tables", "--warehouse", str(tmp_path)]) == 2
    assert main.main(["status", "--warehouse", str(tmp_path)]) == 1  # nothing is published
    assert state() == before
    capsys.readouterr()


LANDING = """
import sys
from pipelines.ingestion import lander
from dialogue_warehouse.cli.main import run
if __name__ == "__main__":
    lander.WORTH_PROCESSES = 0
    sys.argv = ["dialogue-warehouse", "build", "--quiet", *sys.argv[1:]]
    run()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_signal_ends_a_build_its_children_and_its_lock(name: str, sample_folder: Path, tmp_path: Path) -> None:
    """The signal is sent while processes land and one audits; a second signal is not needed."""
    script = tmp_path / "landing.py"
    script.write_text(LANDING)
    paths = WarehousePaths(tmp_path / "warehouse")
    command = [sys.executable, str(script), "--source", str(sample_folder / "sample"), "--warehouse", str(paths.root)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=CLONE) as build:
        deadline = time.monotonic() + 120
        children: dict[int, str] = {}
        while not {"spawn_main", "expectations.audit"} <= {
            word for command in children.values() for word in ("spawn_main", "expectations.audit") if word in command
        }:
            assert build.poll() is None, build.communicate()
            assert time.monotonic() < deadline, children
            time.sleep(0.01)
            children = processes_below(build.pid)
        time.sleep(0.3)
        children |= processes_below(build.pid)
        build.send_signal(signal.Signals[name])
        _, errors = build.communicate(timeout=60)
        if name == "SIGKILL":
            assert build.returncode == -signal.SIGKILL
            assert "resource_tracker" not in errors
        else:
            assert build.returncode == 128 + signal.Signals[name]
            assert errors == "interrupted\n"
    ended = time.monotonic() + 20
    while any(map(is_alive, children)) and time.monotonic() < ended:
        time.sleep(0.05)
    assert [command for process, command in children.items() if is_alive(process)] == []
    with paths.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not paths.pointer.exists()


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_signal_ends_a_simulation_and_its_children(name: str, tmp_path: Path) -> None:
    """Regression: the processes that write files stayed for ever when the command was killed."""
    command = [sys.executable, "-m", "dialogue_warehouse", "simulate", "--to", str(tmp_path), "--scale", "1"]
    variables = os.environ | {"DIALOGUE_PROCESSES": "2"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=CLONE, env=variables) as simulation:
        deadline = time.monotonic() + 120
        children: dict[int, str] = {}
        while sum("spawn_main" in command for command in children.values()) < 2 or not [*tmp_path.rglob("*.json")]:
            assert simulation.poll() is None, simulation.communicate()
            assert time.monotonic() < deadline, children
            time.sleep(0.05)
            children = processes_below(simulation.pid)
        simulation.send_signal(signal.Signals[name])
        _, errors = simulation.communicate(timeout=60)
    assert (simulation.returncode, errors) == ((130, "interrupted\n") if name == "SIGINT" else (-signal.SIGKILL, ""))
    ended = time.monotonic() + 20
    while any(map(is_alive, children)) and time.monotonic() < ended:
        time.sleep(0.05)
    assert [command for process, command in children.items() if is_alive(process)] == []


def test_signal_that_a_library_swallows_still_ends_the_command() -> None:
    body = (
        "import time\nprint('begun', flush=True)\nwhile True:\n"
        "    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        pass"
    )
    command = [sys.executable, "-c", RUN + PROBE.format(body.replace("\n", "\n    "))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CLONE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signal_during_the_destruction_of_an_object_is_not_lost(name: str) -> None:
    """Python cannot raise it there, and would only print a message; it is raised later, and the command cleans up."""
    body = (
        "import os, signal, time\n"
        f"class Destroyed:\n    __del__ = lambda self: (os.kill(os.getpid(), signal.{name}), time.sleep(60))\n"
        "Destroyed()\nprint('swallowed')\n"
        "try:\n    time.sleep(60)\nfinally:\n    print('let go of')"
    )
    ended = run_probe(body)
    assert (ended.returncode, ended.stdout) == (128 + signal.Signals[name], "swallowed\nlet go of\n")
    assert ended.stderr == "interrupted\n"


def test_other_errors_that_python_cannot_raise_are_printed() -> None:
    ended = run_probe("class Destroyed:\n    __del__ = lambda self: 1 / 0\nDestroyed()\nprint('done')")
    assert (ended.returncode, ended.stdout) == (0, "done\n")
    assert "ZeroDivisionError" in ended.stderr


def test_ignored_signal_stays_ignored() -> None:
    body = "import os, signal\nos.kill(os.getpid(), signal.SIGHUP)\nprint('lives on')"
    command = [sys.executable, "-c", RUN + PROBE.format(body.replace("\n", "\n    "))]
    ended = subprocess.run(["nohup", *command], capture_output=True, text=True, cwd=CLONE, check=False)
    assert (ended.returncode, ended.stdout) == (0, "lives on\n")
