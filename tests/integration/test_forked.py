"""A forked command behaves like a started one: it prints the same and ends in the same way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import forked
from tests.conftest import CLONE, run_command


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
def test_forked_command_prints_and_ends_like_a_started_one(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = run_command(*arguments)
    monkeypatch.setattr(forked, "server", lambda: None)
    other = run_command(*arguments)
    assert Path(one.args[0]).name != Path(other.args[0]).name, "both were run in the same way"
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)
    assert one.stdout or one.stderr


def test_libraries_in_the_process_of_the_tests_change_nothing(tmp_path: Path) -> None:
    """Variables that they set on import are not passed to a command; otherwise no command would be forked."""
    libraries = "dagster, dagster_dbt, dbt.cli.main, great_expectations, pandas, polars, pyarrow, starlette"
    code = f"import os; before = {{*os.environ}}; import {libraries}; print('set', *{{*os.environ}} - before)"
    file = tmp_path / "imports.py"  # pyspark ends a process whose main module has no file
    file.write_text(code, encoding="utf-8")
    reported = subprocess.run(
        [sys.executable, file],
        capture_output=True,
        text=True,
        cwd=CLONE,
        env=forked.variables(),
        check=True,
    )
    said, *variables = reported.stdout.split()
    assert said == "set"
    assert set(variables) <= forked.SET_BY_LIBRARIES


def test_settings_are_passed_to_it_and_removed_again(sample_folder: Path) -> None:
    assert run_command("sql", "select 42", DIALOGUE_WAREHOUSE=str(sample_folder)).stdout.split().count("42") == 2
    assert "DIALOGUE_WAREHOUSE" not in os.environ
    assert run_command("sql", "select 42", DIALOGUE_WAREHOUSE="/nowhere").returncode == 2


def test_other_variables_start_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert forked.variables() == forked.USUAL, "a test leaves variables behind"
    assert forked.server() is not None
    monkeypatch.setenv("LC_ALL", "C")
    assert forked.server() is None
    assert run_command("--help").returncode == 0


def test_it_is_killed_with_the_process_that_waits_for_it(sample_folder: Path, tmp_path: Path) -> None:
    """For example if the tests themselves are killed: no process is left."""
    query = "select count(*) from range(1_000_000_000_000)"
    wait = (
        f"from tests.conftest import run_command; run_command('sql', {query!r}, '--warehouse', {str(sample_folder)!r})"
    )

    def wait_for(least: int, most: int) -> None:
        end = time.monotonic() + 120
        while not least <= len(found := subprocess.run(seen, capture_output=True, check=False).stdout.split()) <= most:
            assert time.monotonic() < end, found
            time.sleep(0.1)

    seen = ["pgrep", "-f", f"tests[.]forked {tmp_path}"]
    with subprocess.Popen(
        [sys.executable, "-c", wait], cwd=CLONE, env=forked.variables() | {"TMPDIR": str(tmp_path)}
    ) as waiting:
        wait_for(3, 99)  # the server, the process that watches the command, the command
        waiting.kill()
    wait_for(0, 0)
