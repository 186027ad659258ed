"""The documents are correct: the dictionary agrees with the dbt project, and every named file and command exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.cli.options import BAD_INPUT, CHECK_FAILED
from dialogue_warehouse.cli.process import SIGNALS
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.reading import descriptions
from dialogue_warehouse.settings import Settings
from tests import readme, settings_page

CODE = ("dialogue_warehouse", "pipelines", "expectations")
README = (CLONE / "README.md").read_text(encoding="utf-8")


@pytest.mark.all_corpora
def test_dictionary_is_generated_from_the_dbt_project() -> None:
    assert descriptions.is_current(), "run `python -m dialogue_warehouse.reading.descriptions`"


def test_every_path_of_the_map_exists() -> None:
    page = (CLONE / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = page.partition("## The folders\n")[2].partition("\n## ")[0]
    paths = re.findall(r"^\| `([a-z][\w./-]*)` \|", listed, flags=re.M)
    assert len(paths) >= 6
    assert [path for path in paths if not (CLONE / path).exists()] == []


def test_every_file_of_the_architecture_page_exists() -> None:
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


AT_THE_TOP = [CLONE / name for name in ("README.md", "CHANGELOG.md", "SECURITY.md")]
PAGES = [*AT_THE_TOP, CLONE / "warehouse" / "README.md", *sorted((CLONE / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CLONE).as_posix())
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    blocks = "".join(re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S))
    for name, rest in re.findall(r"^ *dialogue-warehouse ([a-z-]+)(.*)$", blocks, flags=re.M):
        assert name in cli.commands
        known = {option for given in cli.commands[name].params for option in (*given.opts, *given.secondary_opts)}
        assert set(re.findall(r" (--[a-z-]+)", rest.partition(" #")[0])) <= known, name


def test_every_command_and_option_is_on_a_page() -> None:
    reference = CLONE / "docs" / "python_reference.md"
    text = "".join(
        page.read_text(encoding="utf-8") for page in PAGES if page != reference and page.name != "CHANGELOG.md"
    )
    for name, command in cli.commands.items():
        assert f"dialogue-warehouse {name}" in text
        options = {option for given in command.params for option in given.opts if option.startswith("--")}
        assert {option for option in options if not re.search(rf"{option}(?![\w-])", text)} == set(), name


def test_page_about_operation_has_every_exit_status() -> None:
    page = (CLONE / "docs" / "run_it_unattended.md").read_text(encoding="utf-8")
    _, _, table = page.partition("**Exit statuses.**")
    statuses = re.findall(r"^\| ([\d, ]+) \|", table.partition("**State for a monitor.**")[0], flags=re.M)
    stopped = ", ".join(str(128 + number) for number in sorted(SIGNALS))
    assert statuses == ["0", str(CHECK_FAILED), str(BAD_INPUT), stopped]


def versions(changelog: str) -> list[tuple[str, str]]:
    """Return the headings of versions, the newest first, each with its date."""
    return re.findall(r"^## \[(\S+)\](?: - (\d{4}-\d\d-\d\d))?$", changelog, flags=re.M)


def test_changelog_has_the_version_of_the_package_and_what_comes_next() -> None:
    package = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    unreleased, newest, *older = versions((CLONE / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert unreleased == ("Unreleased", "")
    assert newest[0] == package
    numbers = [tuple(map(int, number.split("."))) for number, _ in (newest, *older)]
    assert numbers == sorted(numbers, reverse=True)
    assert all(date for _, date in (newest, *older))


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_has_help_and_takes_a_warehouse(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert "--warehouse" in result.output
    assert cli.commands[name].help


def test_page_of_settings_agrees_with_the_settings() -> None:
    page = settings_page.PAGE.read_text(encoding="utf-8")
    assert settings_page.rewrite(page) == page
    line = next(line for line in page.splitlines() if line.startswith("| `DIALOGUE_STRICT` |"))
    assert settings_page.rewrite(page.replace(f"{line}\n", "")) == page
    with pytest.raises(ValueError, match="has no part between"):
        settings_page.rewrite(page.replace(settings_page.END, ""))


def test_page_of_settings_names_every_other_variable_that_a_command_reads() -> None:
    """DAGSTER_HOME is for Dagster's own commands, and the command itself sets PYTHONUTF8."""
    texts = [path.read_text(encoding="utf-8") for folder in CODE for path in (CLONE / folder).rglob("*.py")]
    read = {name for text in texts for name in re.findall(r'\benviron\.(?:get|setdefault)\("(\w+)"', text)}
    page = settings_page.PAGE.read_text(encoding="utf-8")
    assert "XDG_STATE_HOME" in read
    assert {name for name in read if f"`{name}`" not in page} == {"DAGSTER_HOME", "PYTHONUTF8"}


def test_every_setting_is_in_one_group_with_a_description() -> None:
    from pipelines.dagster_graph.resources import UNATTENDED  # Dagster takes seconds to import

    grouped = [name for names in settings_page.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(Settings.__dataclass_fields__)
    assert settings_page.descriptions().keys() == Settings.__dataclass_fields__.keys()
    assert {name for name, text in settings_page.DEFAULTS.items() if "runs of Dagster" in text} == UNATTENDED.keys()


@pytest.mark.all_corpora
def test_readme_is_short_and_links_every_page() -> None:
    """Without the table of corpora, which has a line for each."""
    text = re.sub(f"{readme.BEGIN}.*{readme.END}", "", README, flags=re.DOTALL)
    assert len(text.encode()) < 8300
    assert [page.name for page in (CLONE / "docs").glob("*.md") if f"](docs/{page.name})" not in README] == []


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in (*PAGES, CLONE / "tests" / "README.md"):
        for target, anchor in re.findall(r"\]\(([\w./:-]*)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8")):
            if not re.match("https?://", target):
                file = page.parent / target if target else page
                assert file.exists(), (page.name, target)
                assert not anchor or anchor in anchors(file), (page.name, target, anchor)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.all_corpora
def test_table_of_corpora_agrees_with_the_corpora() -> None:
    is_current = readme.rewrite(README) == README
    assert is_current, "run `python -m tests.readme`"
    assert all(corpus.summary for corpus in registry.load_corpora())


def test_table_of_corpora_that_lacks_a_line_is_written_again() -> None:
    line = next(line for line in README.splitlines() if line.startswith(f"| {registry.corpus_ids()[0]} |"))
    assert readme.rewrite(README.replace(f"{line}\n", "")) == README
    with pytest.raises(ValueError, match="has no part between"):
        readme.rewrite(README.replace(readme.END, ""))
