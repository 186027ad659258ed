"""Runs that have ended, however: killed ones are closed and repeated, every failure sends an alert, none is lost.

Dagster leaves a run as started when its process and the daemon are killed, and the runs behind it wait for ever:
https://github.com/dagster-io/dagster/issues/4319
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import dagster as dg
import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.storage import ownership
from dialogue_warehouse.storage.checked import record_check
from dialogue_warehouse.storage.health import find_problems
from pipelines.building import alerts
from pipelines.dagster_graph import health
from pipelines.dagster_graph import instance as kept
from pipelines.dagster_graph.instance import DEAD, PUBLISHED, close_dead_runs, hold_run, open_instance
from pipelines.dagster_graph.jobs import build_jobs
from pipelines.dagster_graph.published import REPORT
from pipelines.dagster_graph.sensors import CONTENT, REPEATS, build_sensors

pytestmark = pytest.mark.filterwarnings("ignore")
SENSORS = {sensor.name: sensor for sensor in build_sensors(build_jobs(()))}
RUNNING = """
import sys, time
import dagster as dg
from pipelines.dagster_graph.instance import hold_run

@dg.op
def wait(context: dg.OpExecutionContext) -> None:
    hold_run(context.instance, context.run_id)
    print(context.run_id, flush=True)
    time.sleep(600)

@dg.job
def everything() -> None:
    wait()

with dg.DagsterInstance.local_temp(sys.argv[1]) as instance:
    everything.execute_in_process(instance=instance)
"""
"""A process that runs a job until it is killed."""


@dg.op
def step() -> None:
    pass


@dg.job
def everything() -> None:
    step()


@dg.op
def broken() -> None:
    raise ValueError("sgd/a.json: not JSON")


@dg.job(name="everything")
def failing() -> None:
    broken()


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WarehousePaths:
    paths = WarehousePaths(tmp_path / "warehouse")
    ownership.claim(paths)
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(paths.root))
    return paths


@pytest.fixture
def instance(paths: WarehousePaths) -> Iterator[dg.DagsterInstance]:
    with open_instance(paths, print) as instance:
        yield instance


def tick(instance: dg.DagsterInstance, cursor: str | None = None, name: str = "runs") -> Any:
    return SENSORS[name].evaluate_tick(dg.build_sensor_context(cursor=cursor, instance=instance))


def alerts_of(paths: WarehousePaths) -> list[tuple[str, str]]:
    """Return the kind of each alert, and the line with its reason."""
    lines = paths.alerts.read_text().splitlines() if paths.alerts.exists() else []
    return [(alert["kind"], alert["text"].splitlines()[1]) for alert in map(json.loads, lines)]


def begin(instance: dg.DagsterInstance, event: dg.DagsterEventType, **tags: str) -> dg.DagsterRun:
    """Return a run of which this was the last event."""
    run = instance.create_run_for_job(everything, tags={name.replace("_", "-"): text for name, text in tags.items()})
    instance.report_dagster_event(dg.DagsterEvent(event.value, run.job_name), run.run_id)
    return run


def status(instance: dg.DagsterInstance, run: dg.DagsterRun | str) -> dg.DagsterRunStatus:
    found = instance.get_run_by_id(run if isinstance(run, str) else run.run_id)
    assert found is not None
    return found.status


def test_killed_run_is_closed_reported_and_repeated_once(paths: WarehousePaths, instance: dg.DagsterInstance) -> None:
    """A run that lives is left alone; its repetition, killed too, is the last one."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNING, paths.dagster_home], cwd=CLONE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    assert close_dead_runs(instance) == []
    assert status(instance, run_id) is dg.DagsterRunStatus.STARTED
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = tick(instance)
    (request,) = found.run_requests
    assert status(instance, run_id) is dg.DagsterRunStatus.FAILURE
    assert alerts_of(paths) == [("failure", DEAD)]
    assert (request.job_name, request.tags[REPEATS]) == ("everything", run_id)
    again = begin(instance, dg.DagsterEventType.RUN_START, **request.tags)
    instance.report_run_failed(again)
    assert tick(instance, found.cursor).run_requests == []


def test_run_without_a_process_is_closed_when_it_had_time_to_start(
    paths: WarehousePaths, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was killed before it could lock its file, in each of its states; one that waits is not touched."""
    begun = {
        dg.DagsterRunStatus.STARTING: begin(instance, dg.DagsterEventType.RUN_STARTING),
        dg.DagsterRunStatus.STARTED: begin(instance, dg.DagsterEventType.RUN_START),
        dg.DagsterRunStatus.CANCELING: begin(instance, dg.DagsterEventType.RUN_CANCELING),
        dg.DagsterRunStatus.NOT_STARTED: instance.create_run_for_job(everything),
    }
    assert close_dead_runs(instance) == []
    assert {before: status(instance, run) for before, run in begun.items()} == {before: before for before in begun}
    monkeypatch.setattr(kept, "SECONDS_TO_START", 0)
    kept.prepare(paths)
    assert [status(instance, run) for run in begun.values()] == [
        dg.DagsterRunStatus.FAILURE,
        dg.DagsterRunStatus.FAILURE,
        dg.DagsterRunStatus.CANCELED,
        dg.DagsterRunStatus.NOT_STARTED,
    ]


def test_run_of_this_process_is_alive_and_its_file_is_removed_with_it(
    paths: WarehousePaths, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(instance, dg.DagsterEventType.RUN_START)
    hold_run(instance, run.run_id)
    monkeypatch.setattr(kept, "SECONDS_TO_START", 0)
    assert close_dead_runs(instance) == []
    instance.delete_run(run.run_id)
    kept.forget_old_runs(instance)
    assert [path.name for path in (paths.dagster_home / "storage").iterdir() if run.run_id in path.name] == []


def test_failures_and_recoveries_are_reported_in_their_order(
    paths: WarehousePaths, instance: dg.DagsterInstance
) -> None:
    """All while the daemon was not running: the last state is that of the last run."""
    run = failing.execute_in_process(instance=instance, raise_on_error=False)
    everything.execute_in_process(instance=instance)
    instance.report_run_failed(begin(instance, dg.DagsterEventType.RUN_START), "out of memory")
    everything.execute_in_process(instance=instance)
    cursor = tick(instance).cursor
    assert [kind for kind, _ in alerts_of(paths)] == ["failure", "recovery", "failure", "recovery"]
    assert [text for kind, text in alerts_of(paths) if kind == "failure"] == ["sgd/a.json: not JSON", "out of memory"]
    tick(instance, cursor)
    assert len(alerts_of(paths)) == 4
    assert run.run_id != cursor


@pytest.mark.parametrize("loses", ["settings", "alert"])
def test_failure_that_cannot_be_reported_is_reported_later(
    paths: WarehousePaths, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, loses: str
) -> None:
    """Dagster's own sensors of run failures continue with the next run when they raise an error."""
    failing.execute_in_process(instance=instance, raise_on_error=False)
    with monkeypatch.context() as broken_meanwhile:
        if loses == "settings":
            broken_meanwhile.setenv("DIALOGUE_ALERT_WEBHOOK", "nonsense")
        else:

            def full(*_: object) -> None:
                raise OSError("disk full")

            broken_meanwhile.setattr(alerts, "tell_failure", full)
        with pytest.raises(Exception, match=r"nonsense|disk full|ALERT_WEBHOOK"):
            tick(instance)
    assert alerts_of(paths) == []
    tick(instance)
    assert alerts_of(paths) == [("failure", "sgd/a.json: not JSON")]


def test_only_killed_runs_and_those_of_a_changed_folder_are_repeated(instance: dg.DagsterInstance) -> None:
    failed = failing.execute_in_process(instance=instance, raise_on_error=False).run_id
    of_folder = failing.execute_in_process(instance=instance, raise_on_error=False, tags={CONTENT: "abc"}).run_id
    canceled = begin(instance, dg.DagsterEventType.RUN_CANCELING)
    instance.report_run_canceled(canceled)
    too_long = begin(instance, dg.DagsterEventType.RUN_START)
    instance.report_run_canceling(too_long)
    instance.report_run_failed(too_long)
    (request,) = tick(instance).run_requests
    assert (request.tags[REPEATS], request.tags[CONTENT]) == (of_folder, "abc")
    assert failed != of_folder


def test_run_that_only_writes_the_report_again_is_not_a_recovery(
    paths: WarehousePaths, instance: dg.DagsterInstance
) -> None:
    """Regression: materializing the report in the UI sent `the build succeeds again`, and `status` forgot the failure."""

    @dg.asset(key=PUBLISHED)
    def dialogues() -> None: ...

    @dg.asset(key=REPORT, deps=[PUBLISHED])
    def report() -> None: ...

    job = dg.Definitions(assets=[dialogues, report]).resolve_implicit_global_asset_job_def()
    failing.execute_in_process(instance=instance, raise_on_error=False)
    job.execute_in_process(instance=instance, asset_selection=[REPORT])
    cursor = tick(instance).cursor
    assert [kind for kind, _ in alerts_of(paths)] == ["failure"]
    assert paths.trouble.exists()
    job.execute_in_process(instance=instance, asset_selection=[PUBLISHED, REPORT])
    tick(instance, cursor)
    assert [kind for kind, _ in alerts_of(paths)] == ["failure", "recovery"]


def test_downloads_and_builds_fail_and_recover_apart(paths: WarehousePaths, instance: dg.DagsterInstance) -> None:
    """Regression: an alert called a failed download a build, and the next build sent that builds succeed again."""

    @dg.job(name="fetch")
    def failing_fetch() -> None:
        broken()

    @dg.job(name="fetch")
    def fetch() -> None:
        step()

    failing_fetch.execute_in_process(instance=instance, raise_on_error=False)
    everything.execute_in_process(instance=instance)
    cursor = tick(instance).cursor
    assert alerts_of(paths) == [("failure", "sgd/a.json: not JSON")]
    assert f"The download for {paths.root} has failed." in paths.alerts.read_text()
    problems = [problem.kind for problem in find_problems(paths)]
    assert problems == ["nothing_published", "download_failed"]
    failing.execute_in_process(instance=instance, raise_on_error=False)
    fetch.execute_in_process(instance=instance)
    tick(instance, cursor)
    assert [kind for kind, _ in alerts_of(paths)] == ["failure", "failure", "recovery"]
    assert f"The download for {paths.root} succeeds again." in paths.alerts.read_text()
    assert [problem.kind for problem in find_problems(paths)] == ["nothing_published", "build_failed"]


def test_run_of_another_project_is_neither_reported_nor_repeated(
    paths: WarehousePaths, instance: dg.DagsterInstance
) -> None:
    @dg.job
    def other() -> None:
        broken()

    other.execute_in_process(instance=instance, raise_on_error=False, tags={CONTENT: "abc"})
    found = tick(instance)
    assert (found.run_requests, alerts_of(paths)) == ([], [])
    assert found.cursor


def test_runs_of_another_project_are_left_alone(
    paths: WarehousePaths, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: its runs of five minutes were closed as dead, and its assets had alerts and started a build here."""

    @dg.asset
    def other() -> None:
        broken()

    @dg.job
    def other_job() -> None:
        step()

    job = dg.Definitions(assets=[other]).resolve_implicit_global_asset_job_def()
    runs = [
        instance.create_run_for_job(job, asset_selection=frozenset({other.key})),
        instance.create_run_for_job(other_job),
    ]
    for run in runs:
        instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.RUN_START.value, run.job_name), run.run_id)
    monkeypatch.setattr(kept, "SECONDS_TO_START", 0)
    found = tick(instance)
    assert [status(instance, run) for run in runs] == [dg.DagsterRunStatus.STARTED] * 2
    for run in runs:
        instance.report_run_failed(run)
    found = tick(instance, found.cursor)
    assert (found.run_requests, alerts_of(paths)) == ([], [])


def test_finished_check_of_the_source_is_shown_once(paths: WarehousePaths, instance: dg.DagsterInstance) -> None:
    """By the command, a run or a sensor: freshness is about checks, as the warehouse may never change."""
    assert "no check of the source has finished" in tick(instance, name="checked").skip_message
    record_check(paths)
    found = tick(instance, name="checked")
    assert [event.asset_key for event in found.asset_events] == [dg.AssetKey(["source", "checked"])]
    assert "has finished since" in tick(instance, found.cursor, name="checked").skip_message
    paths.checked.write_text('{"at": "2026-01-01T00:00:00+00:00"}')  # while the daemon was not running
    late = tick(instance, found.cursor, name="checked")
    assert (late.asset_events, late.cursor) == ([], "2026-01-01T00:00:00+00:00")


def test_watching_is_recorded_for_the_health_check(paths: WarehousePaths, instance: dg.DagsterInstance) -> None:
    assert not paths.watched.exists()
    tick(instance)
    os.utime(paths.watched, (0, 0))
    tick(instance)
    assert paths.watched.stat().st_mtime > 0


def test_daemon_is_healthy_while_it_evaluates_its_sensor(
    paths: WarehousePaths, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture
) -> None:
    """Dagster's own check of the daemon says that it lives even if the graph cannot be loaded."""
    assert health.main(["daemon"]) == 1
    assert "has not evaluated the sensor `runs` yet" in capsys.readouterr().err
    tick(instance)
    capsys.readouterr()
    assert health.main(["daemon"]) == 0
    assert capsys.readouterr().out == "daemon works; nothing is published yet\n"
    os.utime(paths.watched, (0, 0))
    assert health.main(["daemon"]) == 1
    assert capsys.readouterr().err.startswith("error: the daemon has not evaluated the sensor `runs` for ")


def test_graph_that_webserver_and_daemon_cannot_load_sends_an_alert(paths: WarehousePaths) -> None:
    """A broken file of dbt takes every sensor away; a command of a user prints the error instead."""
    from pipelines.dagster_graph.graph import tell_unloaded

    error = InputError("dbt cannot parse the project: models/x.yml")
    with click.Context(click.Command("list")):
        tell_unloaded(error)
    assert not paths.alerts.exists()
    with click.Context(click.Command("grpc")):
        tell_unloaded(error)
    assert alerts_of(paths) == [("failure", str(error))]
