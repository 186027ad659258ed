"""What the user gave a build, refused with what works instead."""

from __future__ import annotations

import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import catalogue, query
from dialogue_warehouse.settings import Settings
from pipelines.building.checks import check_input
from pipelines.building.summary import Summary, print_summary
from tests.unit.published import run
from tests.unit.test_narrowing import ONE, offer


def test_folder_of_one_corpus_is_told_the_folder_above_it(tmp_path):
    """U15: `--source FOLDER/<corpus>` is told `--source FOLDER`."""
    source = offer(tmp_path / "releases", ONE)
    paths = WarehousePaths(tmp_path / "warehouse")
    with pytest.raises(InputError, match=rf"the releases stand below --source {source}$"):
        check_input(Settings(source=source / ONE), paths)
    check_input(Settings(source=source), paths)


def test_what_is_suggested_for_a_table_works(con):
    """U15: in a query and in `describe`."""
    with pytest.raises(InputError, match='Did you mean "fct_turns"') as refused:
        query.run_query(con, "from core.fct_turn")
    assert "\n" not in str(refused.value)
    assert run(con, "from fct_turns")
    with pytest.raises(InputError, match=r"did you mean core\.fct_turns"):
        catalogue.describe_table(con, "fct_turn")


def test_escapes_are_visible_in_notices_and_warnings(tmp_path, capsys):
    """F31."""
    counted = dict.fromkeys(("passed", "warned", "failed"), 0)
    told = ["key \x1b[31mred\x07"]
    print_summary(Summary("b", tmp_path / "dialogues.duckdb", 0, [], counted, warnings=told, notices=told))
    shown = capsys.readouterr().out
    assert r"notice: key \x1b[31mred\x07" in shown
    assert r"warning: key \x1b[31mred\x07" in shown
    assert "\x1b" not in shown


def test_path_that_is_too_long_for_the_history_of_runs_is_refused(tmp_path):
    """SQLite opens no file whose path has more than 512 bytes: a build ended in an internal error."""
    folder = tmp_path / "/".join(["deep" * 25] * 4)
    with pytest.raises(InputError, match=rf"^{folder}: the path has \d+ bytes; that of a warehouse can have 400$"):
        check_input(Settings(), WarehousePaths(folder))
    check_input(Settings(), WarehousePaths(tmp_path))
