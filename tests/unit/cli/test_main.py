"""An error of the command line is one line that names the command whose help says more."""

from __future__ import annotations

import re

import pytest

from dialogue_warehouse.cli import main
from dialogue_warehouse.paths import CLONE


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


def test_page_names_the_commands_that_take_every_kind_of_place() -> None:
    """Regression: it promised a file or a URL for every command that only reads, also for the dashboard."""
    taking = {
        name
        for name, command in main.cli.commands.items()
        for option in command.params
        if option.name == "warehouse" and "a published DuckDB file" in (getattr(option, "help", None) or "")
    }
    page = (CLONE / "docs/python.md").read_text(encoding="utf-8")
    listed = page.partition("Commands that read one build take the same places")[2].partition("The others")[0]
    assert set(re.findall(r"`([a-z]+)`", listed)) == taking
