"""Commands that are printed can be pasted into the shell that they were printed in."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dialogue_warehouse.common.text import NAME, command

SCRIPT = Path(sys.executable).parent / NAME
SAYS_ITS_ARGUMENTS = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"


def script_in(folder: Path) -> Path:
    """A program of our name that prints what it is called with."""
    folder.mkdir(parents=True)
    script = folder / NAME
    script.write_text(SAYS_ITS_ARGUMENTS)
    script.chmod(0o755)
    return script


def run(line: str, folder: Path, path: str) -> list[str]:
    """What the program printed when a shell in that folder was given the line."""
    environment = {"PATH": os.pathsep.join((path, "/usr/bin", "/bin"))}
    done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("is_on_path", [True, False])
@pytest.mark.parametrize("place", ["it's here/.venv/bin", "../elsewhere/bin"])
def test_a_line_runs_the_program_with_its_arguments(tmp_path, monkeypatch, is_on_path, place):
    """U8: whether the environment is on the PATH or not, below the working folder or not."""
    here = tmp_path / "work"
    here.mkdir()
    script = script_in((here / place).resolve())
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", str(script.parent) if is_on_path else "/nowhere")
    line = command("sql", 'select "a b" from core.fct_turns -- it\'s', warehouse=here / "my warehouse")
    assert line.startswith(f"{NAME} sql ") == is_on_path
    expected = ["sql", 'select "a b" from core.fct_turns -- it\'s', "--warehouse", "my warehouse"]
    assert run(line, here, str(script.parent) if is_on_path else "/nowhere") == expected


def test_another_program_of_the_name_is_not_meant(tmp_path, monkeypatch):
    """U8: what the PATH finds is another installation."""
    monkeypatch.setattr(sys, "argv", [str(script_in(tmp_path / "ours"))])
    monkeypatch.setenv("PATH", str(script_in(tmp_path / "theirs").parent))
    assert shlex.split(command("tables"))[0] == str(tmp_path / "ours" / NAME)


def test_a_line_names_the_warehouse_where_the_command_would_take_another(tmp_path, monkeypatch):
    """U9: and only there."""
    monkeypatch.delenv("DIALOGUE_WAREHOUSE", raising=False)
    assert command("tables", warehouse=tmp_path).endswith(f" tables --warehouse {tmp_path}")
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(tmp_path))
    assert command("tables", warehouse=tmp_path).endswith(" tables")
