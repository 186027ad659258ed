"""The page about faults: each failure names a test that exists, and each wait has the limit that the code has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dialogue_warehouse.paths import CLONE
from dialogue_warehouse.settings import Settings
from pipelines.dagster_graph.configuration import DAGSTER_YAML
from tests.faults.__main__ import FAULTS, PAGE, page

TEXT = PAGE.read_text(encoding="utf-8")


def rows(document: str, title: str) -> list[list[str]]:
    """Return the cells of each row of the table below a heading."""
    part = document.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ") and not set(line) <= set("|- ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def names_in(file: Path) -> set[str]:
    """Return the names of the tests of a module."""
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


def missing_tests(document: str) -> Iterator[str]:
    """Yield each failure without a test, and each test that does not exist."""
    for failure, *others, shown_by in rows(document, "What is handled"):
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", shown_by)
        if len(others) != 3 or not named or shown_by.count("`") != 2 * len(named):
            yield failure
        for name, test in named:
            file = CLONE / "tests" / name
            if not file.is_file() or test not in names_in(file):
                yield f"{name}::{test}"


def limit_of(place: str) -> float:
    """Return the value of a constant or field, `folder/module.py:NAME`, or of a setting of `dagster.yaml`."""
    file, _, name = place.partition(":")
    if file == "dagster.yaml":
        return yaml.safe_load(DAGSTER_YAML)["run_monitoring"][name]
    for node in ast.walk(ast.parse((CLONE / file).read_text(encoding="utf-8"))):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name) and target.id == name:
            value = ast.literal_eval(node.value) if node.value else None
            return value["statement_timeout"] if isinstance(value, dict) else value
    raise LookupError(place)


def wrong_limits(document: str) -> Iterator[str]:
    """Yield each wait whose limit is not that of the code."""
    for what, limit, _, place in rows(document, "Waits and their limits"):
        if limit.partition(" ")[0] != f"{limit_of(place.strip('`')):g}":
            yield what


def test_each_handled_failure_names_tests_that_exist() -> None:
    assert len(rows(TEXT, "What is handled")) > 25
    assert [*missing_tests(TEXT)] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("::test_", "::test_no_"),
        ("`integration/test_week.py", "`integration/test_month.py"),
        ("`unit/ingestion/test_lander.py::test_file_that_changes_at_every_read_is_rejected`", "-"),
    ],
)
def test_missing_test_is_found(before: str, after: str) -> None:
    assert before in TEXT
    assert [*missing_tests(TEXT.replace(before, after))] != []


def test_each_wait_has_the_limit_of_the_code() -> None:
    assert len(rows(TEXT, "Waits and their limits")) > 15
    assert [*wrong_limits(TEXT)] == []
    assert [*wrong_limits(TEXT.replace("| 900 s |", "| 901 s |"))] == ["the audit"]


def test_settings_of_the_page_exist() -> None:
    named = set(re.findall(r"DIALOGUE_[A-Z_]+", TEXT))
    assert len(named) > 5
    assert {name for name in named if not hasattr(Settings(), name.removeprefix("DIALOGUE_").lower())} == set()


def test_results_are_written_between_the_markers_alone() -> None:
    assert page({}, TEXT) == TEXT
    results = rows(TEXT, "Results of `make faults`")
    assert [row[0] for row in results] == [row.title for row in FAULTS]
    line = next(line for line in TEXT.splitlines() if line.startswith(f"| {FAULTS[0].title} | "))
    assert f"| {FAULTS[0].title} | not yet | | | | |" in page({}, TEXT.replace(f"{line}\n", ""))
    with pytest.raises(ValueError, match="has no part between"):
        page({}, TEXT.replace("<!-- faults: end -->", ""))
