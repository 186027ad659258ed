"""Dagster shows models while dbt makes them, with their rows; an interrupt ends dbt and closes the database."""

import contextlib
import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from dialogue_warehouse.errors import CheckError
from dialogue_warehouse.paths import WarehousePaths
from pipelines.building import dbt

with warnings.catch_warnings(action="ignore"):  # of a library of dagster-dbt
    from pipelines.dagster_graph import models

pytestmark = pytest.mark.filterwarnings("ignore")
SLOW = "select count(*) as row_count from range(1000000000) as a cross join range(1000000000) as b"
"""A query that takes hours."""


def result(name: str, is_passed: bool = True, rows: int | None = None) -> dbt.NodeResult:
    """Return the result of a model, or of the test of a model."""
    kind = "test" if name.startswith("sound") else "model"
    return dbt.NodeResult(f"{kind}.{name}", name, kind == "test", is_passed, 0.5, int(not is_passed), "", "", rows=rows)


def run_step(run: Callable[[dbt.Watch], models.Outcome], instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """Run a step of two tables, one with a check, whose run of dbt is this function."""
    specs = [dg.AssetSpec(name, metadata={models.UNIQUE_ID: f"model.{name}"}) for name in ("first", "second")]
    checks = [dg.AssetCheckSpec("sound", asset="second", metadata={models.UNIQUE_ID: "test.sound"})]

    @dg.multi_asset(specs=specs, check_specs=checks)
    def step(context: dg.AssetExecutionContext) -> Iterator[Any]:
        events = models.Events(context)
        with contextlib.ExitStack() as ending:
            results, error = yield from models.watched(run, events.early, ending)
        yield from events.rest(results)
        if error is not None:
            raise error

    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    return dg.materialize([step], instance=instance, run_config=quiet, raise_on_error=False)


def rows_of(instance: dg.DagsterInstance, name: str) -> list[Any]:
    """Return the rows in the materializations of a table, the last first."""
    records = instance.fetch_materializations(dg.AssetKey(name), limit=9).records
    made = [record.asset_materialization for record in records]
    return [one.metadata["dagster/row_count"].value for one in made if one]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def test_model_is_shown_while_the_next_one_is_made(instance: dg.DagsterInstance) -> None:
    seen = []

    def run(watch: dbt.Watch) -> models.Outcome:
        results = [result("first", rows=3), result("second", rows=4), result("sound")]
        watch.finished(results[0])
        deadline = time.monotonic() + 60
        while not rows_of(instance, "first") and time.monotonic() < deadline:
            time.sleep(0.02)
        seen.extend(rows_of(instance, "first"))
        for finished in results[1:]:
            watch.finished(finished)
        return models.Outcome(results, None)

    ran = run_step(run, instance)
    assert ran.success
    assert seen == [3]
    assert (rows_of(instance, "first"), rows_of(instance, "second")) == ([3], [4])
    assert [one.passed for one in ran.get_asset_check_evaluations()] == [True]


def test_second_run_without_a_corpus_is_shown_too(instance: dg.DagsterInstance) -> None:
    """The failure of the first run is not: its check passes in the end."""

    def run(watch: dbt.Watch) -> models.Outcome:
        for rows, is_passed in ((3, False), (2, True)):
            results = [result("first", rows=rows), result("second", rows=rows), result("sound", is_passed)]
            for finished in results:
                watch.finished(finished)
        return models.Outcome(results, None)

    ran = run_step(run, instance)
    assert ran.success
    assert rows_of(instance, "first") == [2, 3]
    assert [one.passed for one in ran.get_asset_check_evaluations()] == [True]


def test_final_failure_is_shown(instance: dg.DagsterInstance) -> None:
    """The table that passed is shown, so is the check that failed, and the step fails."""
    results = [result("first", rows=3), result("second", rows=4), result("sound", is_passed=False)]

    def run(watch: dbt.Watch) -> models.Outcome:
        for finished in results:
            watch.finished(finished)
        return models.Outcome(results, CheckError("test sound: 1 row fails"))

    ran = run_step(run, instance)
    assert not ran.success
    assert rows_of(instance, "first") == [3]
    assert [one.passed for one in ran.get_asset_check_evaluations()] == [False]


def test_check_of_a_reused_table_is_shown_after_the_table(instance: dg.DagsterInstance) -> None:
    def run(watch: dbt.Watch) -> models.Outcome:
        watch.finished(result("sound"))
        return models.Outcome([result("first"), result("second"), result("sound")], None)

    ran = run_step(run, instance)
    assert ran.success
    shown = ("ASSET_MATERIALIZATION", "ASSET_CHECK_EVALUATION")
    kinds = [event.event_type_value for event in ran.all_events if event.event_type_value in shown]
    assert kinds == [shown[0], shown[0], shown[1]]


def slow_run(paths: WarehousePaths, ended: list[bool]) -> Callable[[dbt.Watch], models.Outcome]:
    """Return a run of dbt that makes three tables, each for hours, two at a time; it notes that it was ended."""
    manifest = dbt.parse(paths)
    names = ("stg_bbai__options", "stg_abcd__scenario_values", "stg_sgd__nested_turns")
    for name in names:
        manifest.nodes[f"model.dialogue_warehouse.{name}"].raw_code = "{{ config(materialized='table') }}" + SLOW

    def run(watch: dbt.Watch) -> models.Outcome:
        with pytest.raises(dbt.InterruptedRunError):  # else the build would continue without these corpora
            dbt.build(manifest, paths, select=" ".join(names), command="run", watch=watch)
        ended.append(True)
        return models.Outcome([], None)

    return run


@pytest.mark.parametrize("moment", ["while dbt works", "while an event is stored"])
def test_interrupt_ends_the_queries_of_dbt_and_closes_the_database(tmp_path: Path, moment: str) -> None:
    """Regression: Dagster does not return to a step if an interrupt is raised while it stores an event of the step.

    dbt went on, the lock of the warehouse was free, and the process did not end.
    """
    paths = WarehousePaths(tmp_path)
    sent, ended = [], []
    run = slow_run(paths, ended)

    def interrupt() -> None:
        while not paths.scratch_staging.exists():
            time.sleep(0.02)
        time.sleep(0.5)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def first_at_once(watch: dbt.Watch) -> models.Outcome:
        watch.finished(result("first"))
        return run(watch)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt), contextlib.ExitStack() as ending:
        if moment == "while dbt works":
            list(models.watched(run, lambda _: iter(()), ending))
        else:
            step = models.watched(first_at_once, lambda one: iter([one]), ending)  # not closed, as in Dagster
            next(step)
            time.sleep(60)
    assert time.monotonic() - sent[0] < 10
    assert ended == [True]
    gc.collect()  # the errors of the nodes refer to dbt's connections
    with duckdb.connect(str(paths.scratch_staging)) as con:
        assert con.execute("select count(*) from duckdb_tables()").fetchall() == [(0,)]
