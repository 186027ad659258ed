"""Documents tell the truth: the dictionary is the dbt project's, the README's tree and commands are there."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.reading import descriptions
from dialogue_warehouse.settings import Settings
from tests import readme

README = (CLONE / "README.md").read_text(encoding="utf-8")


def test_dictionary_is_generated_from_the_dbt_project() -> None:
    assert descriptions.DICTIONARY.read_text(encoding="utf-8") == descriptions.dictionary()


def test_every_path_of_the_map_is_there() -> None:
    paths = re.findall(r"^\| `([a-z][\w./-]*)` \|", README, flags=re.M)
    assert len(paths) >= 6
    assert [path for path in paths if not (CLONE / path).exists()] == []


def test_every_file_of_the_architecture_is_there() -> None:
    """A name without a folder, as in `a/b.py`, `c.py`, is in the folder of the name before it."""
    page = (CLONE / "docs" / "architecture.md").read_text(encoding="utf-8")
    page = page.replace("<corpus>", registry.corpus_ids()[0])
    folder, missing, count = CLONE, [], 0
    for name in re.findall(r"`([\w./]+\.(?:py|sql|html|toml)|[\w./]+/)`", page):
        path = CLONE / name if (CLONE / name).exists() else folder / name
        missing += [] if path.exists() else [name]
        folder, count = path.parent, count + 1
    assert (missing, count > 40) == ([], True)


def test_every_command_of_the_readme_exists() -> None:
    used = set(re.findall(r"dialogue-warehouse (\w+)", README))
    assert used
    assert used <= set(cli.commands)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_has_help_and_takes_a_warehouse(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert "--warehouse" in result.output
    assert cli.commands[name].help


def test_every_setting_is_documented() -> None:
    for name in Settings.__dataclass_fields__:
        assert f"`DIALOGUE_{name.upper()}`" in README, name


def test_readme_fits_a_screen_before_the_settings() -> None:
    assert README.index("## Settings") < 7500


def test_table_of_corpora_is_what_the_corpora_declare() -> None:
    assert readme.rewrite(README) == README
    assert all(corpus.summary for corpus in registry.load_corpora())


def test_table_of_corpora_that_lacks_a_line_is_written_again() -> None:
    line = next(line for line in README.splitlines() if line.startswith(f"| {registry.corpus_ids()[0]} |"))
    assert readme.rewrite(README.replace(f"{line}\n", "")) == README
    with pytest.raises(ValueError, match="has no part between"):
        readme.rewrite(README.replace(readme.END, ""))
