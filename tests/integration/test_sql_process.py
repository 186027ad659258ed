"""The command `sql` as a separate process: timeouts and interrupts."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dialogue_warehouse.paths import CLONE, WarehousePaths
from tests.conftest import run_command
from tests.running import processes_below
from tests.unit.published import make_build

ENDLESS = "with recursive t as (select 1 as n union all select n + 1 from t) select max(n) from t"
COMMAND = (sys.executable, "-m", "dialogue_warehouse", "sql")
HEEDLESS = "select list_sum(list_transform(range(50000000), lambda x: x * 2))"
"""Query with a single step, in which DuckDB does not check for interrupts."""


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    """Return a warehouse with one published build."""
    paths = WarehousePaths(tmp_path)
    make_build(paths)
    return paths


@pytest.mark.parametrize("text", [ENDLESS, HEEDLESS])
def test_slow_query_times_out(paths, text):
    """Also a query that does not react to interrupts."""
    started = time.monotonic()
    done = subprocess.run(
        [*COMMAND, "--warehouse", str(paths.root), "--timeout", "0.5", text],
        cwd=CLONE,
        capture_output=True,
        text=True,
        check=False,
    )
    reported = "error: stopped after 0.5 seconds; DIALOGUE_QUERY_TIMEOUT, or --timeout of `sql`, allows more\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", reported)
    assert time.monotonic() - started < 15


def test_limits_of_the_environment_apply_to_a_query(paths: WarehousePaths, tmp_path: Path) -> None:
    """Each limit is reached, and the message names the setting to raise; the same query passes with a higher limit."""
    to = tmp_path / "result.parquet"
    text = "select range, md5(range::varchar) as text from range(1000000) order by text"

    def ask(limit: str, *options: object) -> subprocess.CompletedProcess[str]:
        return run_command("sql", "--warehouse", paths.root, *options, text, DIALOGUE_QUERY_MEMORY_LIMIT=limit)

    for options, place in (((), ""), (("--parquet", to), f"{to}: ")):
        refused = ask("60MB", *options)
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
        assert refused.stderr.startswith(f"error: {place}Out of Memory Error: ")
        assert refused.stderr.endswith("; DIALOGUE_QUERY_MEMORY_LIMIT allows more\n")
    assert not to.exists()
    passed = ask("400MB", "--parquet", to)
    assert (passed.returncode, to.exists()) == (0, True), passed.stderr
    done = run_command("sql", "--warehouse", paths.root, ENDLESS, DIALOGUE_QUERY_TIMEOUT="0.5")
    assert done.returncode == 2
    assert (
        done.stderr == "error: stopped after 0.5 seconds; DIALOGUE_QUERY_TIMEOUT, or --timeout of `sql`, allows more\n"
    )


@pytest.mark.parametrize("text", [ENDLESS, HEEDLESS])
def test_an_interrupt_ends_a_query_at_once_and_quietly(paths, text):
    """Status 130 and one word, whatever the query does."""
    arguments = [*COMMAND, "--warehouse", str(paths.root), text]
    with subprocess.Popen(arguments, cwd=CLONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.5)
        assert process.poll() is None
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, reported = process.communicate(timeout=30)
    assert (process.returncode, output, reported) == (130, "", "interrupted\n")
    assert time.monotonic() - started < 3


class Terminal:
    """Shell of `sql` on a separate terminal."""

    def __init__(self, paths: WarehousePaths) -> None:
        self._ours, theirs = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        command = ["setsid", "--ctty", "--wait", *COMMAND, "--warehouse", str(paths.root)]
        self.process = subprocess.Popen(command, cwd=CLONE, env=environment, **streams)
        os.close(theirs)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until a new text arrives."""
        said, deadline = "", time.monotonic() + 60
        while text not in said:
            assert time.monotonic() < deadline, said
            if select.select([self._ours], [], [], 0.2)[0]:
                said += os.read(self._ours, 1 << 16).decode(errors="replace")

    def close(self) -> int:
        os.close(self._ours)
        return self.process.wait(30)


def test_shell_continues_after_an_interrupted_query(paths: WarehousePaths) -> None:
    """Regression: after an interrupted query, the shell ended with the status of the signal. Now it continues.

    Its status is that of leaving the shell.
    """
    terminal = Terminal(paths)
    terminal.wait_for("sql>")
    terminal.type(f"{ENDLESS};\r")
    terminal.wait_for("[?2004l")  # the input is accepted
    time.sleep(1)
    terminal.type("\x03")
    terminal.wait_for("interrupted")
    terminal.type("select 41 + 1 as n;\r")
    terminal.wait_for("42")
    terminal.type("\\q\r")
    assert terminal.process.wait(30) == 0
    terminal.close()


def test_other_signal_ends_the_shell_even_in_a_query(paths: WarehousePaths) -> None:
    terminal = Terminal(paths)
    terminal.wait_for("sql>")
    terminal.type(f"{ENDLESS};\r")
    terminal.wait_for("[?2004l")
    time.sleep(1)
    (shell,) = processes_below(terminal.process.pid) or (terminal.process.pid,)
    os.kill(shell, signal.SIGTERM)
    terminal.wait_for("interrupted")
    assert terminal.process.wait(30) == 143
    terminal.close()
