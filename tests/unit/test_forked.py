"""A command that is forked is the command: what it prints and how it ends are those of one that is started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import forked
from tests.conftest import CLONE, run_command


def started(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, started."""
    words = [sys.executable, "-m", "pipelines.cli", *map(str, arguments)]
    variables = os.environ | environment
    return subprocess.run(words, capture_output=True, text=True, cwd=CLONE, env=variables, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("build", "--help"),
        ("nothing",),
        ("sql", "select 1", "--warehouse", "/nowhere"),
        ("tables", "--warehouse", "/nowhere"),
    ],
)
def test_it_says_and_ends_as_one_that_is_started(arguments: tuple[str, ...]) -> None:
    one, other = run_command(*arguments), started(*arguments)
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert one.stdout or one.stderr


def test_settings_reach_it_and_do_not_stay(sample_folder: Path) -> None:
    assert run_command("sql", "select 42", DIALOGUE_WAREHOUSE=str(sample_folder)).stdout.split().count("42") == 2
    assert "DIALOGUE_WAREHOUSE" not in os.environ
    assert run_command("sql", "select 42", DIALOGUE_WAREHOUSE="/nowhere").returncode == 2


def test_other_variables_have_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    assert forked.server() is not None
    monkeypatch.setenv("LC_ALL", "C")
    assert forked.server() is None
    assert run_command("--help").returncode == 0


def test_it_is_killed_where_nobody_listens_any_more(sample_folder: Path) -> None:
    """As a test that takes too long is ended: in the middle of waiting."""
    server = forked.Server()
    waiting = [f"pgrep -f 'tests[.]forked {server.folder}'"]
    endless = ["sql", "select count(*) from range(1_000_000_000_000)", "--warehouse", str(sample_folder)]

    def processes() -> int:
        return len(subprocess.run(waiting, shell=True, capture_output=True, check=False).stdout.split())

    def wait_for(number: int) -> None:
        end = time.monotonic() + 60
        while processes() != number:
            assert time.monotonic() < end
            time.sleep(0.1)

    def interrupted(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, interrupted)
    try:
        signal.setitimer(signal.ITIMER_REAL, 8)
        with pytest.raises(TimeoutError):
            server.run(endless, {})
        wait_for(1)
    finally:
        server.close()
    wait_for(0)
