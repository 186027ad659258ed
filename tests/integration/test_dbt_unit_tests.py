"""Each unit test of a model passes, and fails if an expected row is removed; a build runs no unit test.

The unit tests are in YAML beside the models. Their rows are SQL, so they run in an empty database.
tests/unit/test_models_are_proven.py checks which models need a unit test. See
https://docs.getdbt.com/docs/build/unit-tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dialogue_warehouse.paths import DBT_PROJECT, WarehousePaths
from pipelines.building import dbt
from tests.dbt_runs import run_dbt

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

Outcomes = dict[str, str]
"""Maps a unit test to pass, fail or error, and dbt's message."""


def written_unit_tests() -> list[str]:
    """Return the names of the unit tests in the YAML beside the models."""
    files = (yaml.load(path.read_bytes(), yaml.CSafeLoader) for path in (DBT_PROJECT / "models").rglob("*.yml"))
    return sorted(test["name"] for file in files for test in file.get("unit_tests", []))


NAMES = written_unit_tests()


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> WarehousePaths:
    return WarehousePaths(tmp_path_factory.mktemp("unit_tests"))


@pytest.fixture(scope="module")
def parsed(paths: WarehousePaths) -> Callable[[], Manifest]:
    """Return a copy of the project's manifest at each call, so that runs do not see each other's changes."""
    return dbt.parse(paths).deepcopy


def run_unit_tests(manifest: Manifest, paths: WarehousePaths) -> Outcomes:
    """Run all unit tests at once."""
    results = run_dbt(manifest, paths, "test", "--select", "test_type:unit")
    return {of.node.name: f"{of.status} {of.message or ''}".strip() for of in results}


@pytest.fixture(scope="module")
def outcomes(parsed: Callable[[], Manifest], paths: WarehousePaths) -> Outcomes:
    """Return the results of the unit tests as they are written."""
    return run_unit_tests(parsed(), paths)


def without_first_row(rows: Any) -> Any:
    """Return the rows that a unit test expects, without the first; for SQL, without one row."""
    return f"select * from (\n{rows}\n) as expected offset 1" if isinstance(rows, str) else rows[1:]


@pytest.fixture(scope="module")
def robbed_outcomes(parsed: Callable[[], Manifest], paths: WarehousePaths) -> Outcomes:
    """Return the results with one expected row less in each unit test, so that the model returns one row too many."""
    manifest = parsed()
    for test in manifest.unit_tests.values():
        test.expect.rows = without_first_row(test.expect.rows)
    return run_unit_tests(manifest, paths)


def test_every_unit_test_is_run(outcomes: Outcomes) -> None:
    assert sorted(outcomes) == NAMES
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_unit_test_holds(outcomes: Outcomes, name: str) -> None:
    assert outcomes[name] == "pass"


@pytest.mark.parametrize("name", NAMES)
def test_unit_test_fails_on_a_row_that_it_does_not_expect(robbed_outcomes: Outcomes, name: str) -> None:
    status, _, difference = robbed_outcomes[name].partition(" ")
    assert status == "fail"
    assert "actual differs from expected" in difference.lower()


def nodes_of_a_build(manifest: Manifest, paths: WarehousePaths) -> set[str]:
    """Return the kinds of nodes with results, for the build of a model with a unit test and a data test."""
    results = dbt.build(manifest, paths, select="vote_consensus")
    assert "vote_consensus" in {result.name for result in results}
    return {result.unique_id.partition(".")[0] for result in results}


def test_build_runs_no_unit_test(parsed: Callable[[], Manifest], paths: WarehousePaths) -> None:
    """The model itself fails here, because the warehouse is empty; only the list of nodes that dbt runs counts."""
    assert nodes_of_a_build(parsed(), paths) == {"model", "test"}


def test_build_without_the_option_would_run_unit_tests(
    parsed: Callable[[], Manifest], paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dbt, "ONLY_DATA", ())
    assert "unit_test" in nodes_of_a_build(parsed(), paths)
