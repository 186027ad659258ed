"""An error of the command line is one line that names the command whose help says more."""

from __future__ import annotations

import pytest

from dialogue_warehouse.cli import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tabels"], "error: No such command 'tabels'. Did you mean 'tables'? (see `"),
        (["export"], "error: Missing option '--form'. Choose from: chat, huggingface, preference (see `"),
        (["build", "--foo"], "error: No such option '--foo'. (Did you mean one of: '--force', '--form'?) (see `"),
        (["build", "--source"], "error: Option '--source' requires an argument"),
        (["sql", "a", "b"], "error: Got unexpected extra argument (b) (see `"),
    ],
)
def test_wrong_command_line_is_refused_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith(message)


def test_command_without_arguments_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([]) == 2
    assert "  build         Build the warehouse" in capsys.readouterr().err
