"""Models that do not fit into memory together run one at a time; an error about memory names the setting."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from pipelines.building import dbt, failures

pytestmark = pytest.mark.filterwarnings("ignore")
LARGE = ("stg_bbai__options", "stg_abcd__scenario_values")
"""Two models that run in parallel; the last of these makes a value of a given size that cannot be written to disk."""
DEPENDENT = "int_bbai__accounting"
SMALLEST = "300MB"


def build(folder: Path, numbers: int) -> tuple[dict[str, bool], Counter[str], str | None, dict[str, str]]:
    """Run both models, each with a list of that many numbers, and a model that needs the first of them.

    Return which passed, how often each finished, and the error with the corpora at fault.
    """
    paths, settings = WarehousePaths(folder), replace(Settings(), memory_limit=SMALLEST)
    manifest = dbt.parse(paths)
    table = "{{ config(materialized='table') }}"
    for name in LARGE:
        manifest.nodes[
            f"model.dialogue_warehouse.{name}"
        ].raw_code = f"{table} select list(range) as numbers from range({numbers})"
    manifest.nodes[f"model.dialogue_warehouse.{DEPENDENT}"].raw_code = f"{table} select 1 as one"
    finished: list[dbt.NodeResult] = []
    results = dbt.build(
        manifest,
        paths,
        select=" ".join((*LARGE, DEPENDENT)),
        command="run",
        watch=dbt.Watch(finished.append),
        settings=settings,
    )
    error = failures.failure(results, paths, settings=settings)
    return (
        {result.name: result.is_passed for result in results},
        Counter(result.name for result in finished),
        str(error) if error else None,
        dict(error.at_fault) if error else {},
    )


def test_models_that_do_not_fit_together_run_one_at_a_time(tmp_path: Path) -> None:
    """Regression: a build of 8 GB ended with DuckDB's message about memory, in the smaller one of two models.

    Together the two lists need 320 MB, and either of them half of it. The model that passed does not run again.
    """
    passed, runs, error, _ = build(tmp_path, 10_000_000)
    assert error is None
    assert passed == dict.fromkeys((*LARGE, DEPENDENT), True)
    assert sorted(runs[name] for name in LARGE) == [1, 2]


def test_model_that_alone_does_not_fit_names_the_setting_and_no_corpus(tmp_path: Path) -> None:
    """A corpus that was at fault would be built without its new rows."""
    passed, _, error, at_fault = build(tmp_path, 20_000_000)
    assert error is not None
    assert error.endswith(f" needs more memory than DIALOGUE_MEMORY_LIMIT allows ({SMALLEST}): set a larger limit")
    assert not any(passed.values())
    assert at_fault == {}
