"""Models that do not fit into memory together run one at a time; an error about memory names the setting."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import DUCKDB, Settings
from pipelines.building import dbt, failures, spark_models

pytestmark = pytest.mark.filterwarnings("ignore")
Build = Callable[[int], tuple[dict[str, bool], Counter[str], str | None, dict[str, str]]]
LARGE = ("int_bbai__accounting", "int_abcd__accounting")
"""Two models that run in parallel; each makes a value of a given size that cannot be written to disk."""
EPHEMERAL = ("int_bbai__agents", "int_abcd__scenario_values")
"""An ephemeral model that each of them reads."""
WITH_LISTS, NUMBERS = ("fct_classifier_examples", "dim_guidelines"), 4_500_000
SMALLEST = "300MB"
PARSE = dbt.parse


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Return a function that runs both models, each with a list of that many numbers.

    It returns which passed, how often each finished, and the error with the corpora at fault.
    """
    paths, settings = WarehousePaths(tmp_path), replace(Settings(), memory_limit=SMALLEST)

    def run(numbers: int) -> tuple[dict[str, bool], Counter[str], str | None, dict[str, str]]:
        def parse(paths: WarehousePaths, engine: str = DUCKDB) -> Any:
            manifest = PARSE(paths, engine)
            table = "{{ config(materialized='table') }}"
            texts = {}
            for name, ephemeral in zip(LARGE, EPHEMERAL, strict=True):
                texts[ephemeral] = "select 1 as one"
                texts[name] = (
                    f"{table} select list(range) as numbers from range({numbers}) cross join {{{{ ref('{ephemeral}') }}}}"
                )
            for name, text in texts.items():
                manifest.nodes[f"model.dialogue_warehouse.{name}"].raw_code = text
            return manifest

        monkeypatch.setattr(dbt, "parse", parse)
        finished: list[dbt.NodeResult] = []
        results = dbt.build(
            parse(paths),
            paths,
            select=" ".join(LARGE),
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

    return run


def test_models_that_do_not_fit_together_run_one_at_a_time(build: Build) -> None:
    """Regression: a build of 8 GB ended with DuckDB's message about memory, in the smaller one of two models.

    Together the two lists need 320 MB, and either of them half of it. No model runs a third time.
    """
    passed, runs, error, _ = build(10_000_000)
    assert error is None
    assert passed == dict.fromkeys(LARGE, True)
    assert set(runs.values()) <= {1, 2}


def test_model_that_alone_does_not_fit_names_the_setting_and_no_corpus(build: Build) -> None:
    """A corpus that was at fault would be built without its new rows."""
    passed, _, error, at_fault = build(20_000_000)
    assert error is not None
    assert error.endswith(f" needs more memory than DIALOGUE_MEMORY_LIMIT allows ({SMALLEST}): set a larger limit")
    assert not any(passed.values())
    assert at_fault == {}


def test_tables_of_another_engine_that_do_not_fit_together_are_read_from_its_files_again(tmp_path: Path) -> None:
    """Regression: when memory ran out, the query of the model ran instead, without the tables that it reads."""
    paths, settings = WarehousePaths(tmp_path), replace(Settings(), memory_limit=SMALLEST)
    manifest = dbt.parse(paths)
    nodes = {name: manifest.nodes[f"model.dialogue_warehouse.{name}"] for name in WITH_LISTS}
    with duckdb.connect() as con:
        for name, node in nodes.items():
            values = [
                f"cast({f'range({NUMBERS:_})' if column.data_type.endswith('[]') else 1} as {column.data_type}) as {key}"
                for key, column in node.columns.items()
            ]
            folder = paths.spark_tables / "core" / name
            folder.mkdir(parents=True)
            con.execute(f"copy (select {', '.join(values)}) to '{folder}/part.parquet' (row_group_size 2048)")
    results = spark_models.load(manifest, paths, {node.unique_id for node in nodes.values()}, settings)
    assert {result.name: result.message for result in results if not result.is_passed} == {}
    assert {result.rows for result in results} == {1}
