"""Automatic runs in Dagster's own terms: ticks of schedules and sensors, reported failures, and queued runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from dialogue_warehouse.errors import BuildError, CheckError
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, ownership
from dialogue_warehouse.storage.checked import last_check
from dialogue_warehouse.storage.publication import roll_back
from tests.conftest import build_warehouse

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("forked_audits")]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.fixture
def paths(tmp_path: Path, sample_folder: Path, monkeypatch: pytest.MonkeyPatch) -> WarehousePaths:
    """Return the sample's warehouse, which the environment names."""
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(paths.root))
    monkeypatch.setenv("DIALOGUE_PATIENCE", "0.01")
    monkeypatch.setenv("DIALOGUE_QUIET_SECONDS", "0.01")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return paths


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the graph; a run, a tick and a sensor read the environment's settings again."""
    from pipelines.dagster_graph.graph import assemble

    return assemble(Settings(warehouse=tmp_path_factory.mktemp("definitions")))


@pytest.fixture
def instance(paths: WarehousePaths) -> Iterator[Any]:
    """Return Dagster's instance in the warehouse, as webserver and daemon use it."""
    import dagster as dg

    with dg.DagsterInstance.local_temp(str(paths.dagster_home)) as instance:
        yield instance


def alerts_of(paths: WarehousePaths) -> list[dict[str, Any]]:
    """Return the alerts."""
    return [json.loads(line) for line in paths.alerts.read_text().splitlines()] if paths.alerts.exists() else []


def test_schedules_are_off_and_at_the_times_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, paths: WarehousePaths
) -> None:
    import dagster as dg

    from pipelines.definitions import definitions

    monkeypatch.setenv("DIALOGUE_CRON", "30 5 * * 1-5")
    monkeypatch.setenv("DIALOGUE_FETCH_CRON", "@monthly")
    monkeypatch.setenv("DIALOGUE_TIMEZONE", "Europe/Berlin")
    schedules = {schedule.name: schedule for schedule in definitions().schedules}
    assert {name: schedule.cron_schedule for name, schedule in schedules.items()} == {
        "daily": "30 5 * * 1-5",
        "weekly_fetch": "@monthly",
    }
    for schedule in schedules.values():
        assert schedule.execution_timezone == "Europe/Berlin"
        assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED


def tick(definitions: Any) -> Any:
    """Return the result of a tick of the daily schedule."""
    import dagster as dg

    return definitions.get_schedule_def("daily").evaluate_tick(dg.build_schedule_context())


def test_daily_builds_when_something_has_changed_and_not_what_was_rolled_back(
    paths: WarehousePaths, definitions: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = builds.pointed_build(paths)
    assert len(tick(definitions).run_requests) == 1  # a run also compares the files, which this build has not done
    monkeypatch.setenv("DIALOGUE_VERIFY", "0")
    assert tick(definitions).skip_message == f"nothing has changed since build {published}"
    build_warehouse(paths.root, "--corpora", "bbai", "--replace")
    monkeypatch.setenv("DIALOGUE_ONLY", "bbai")
    assert "nothing has changed since build" in tick(definitions).skip_message
    roll_back(paths)
    assert builds.pointed_build(paths) == published
    assert tick(definitions).skip_message == "nothing has changed since the build that was rolled back"
    monkeypatch.setenv("DIALOGUE_ONLY", "sgd")
    (request,) = tick(definitions).run_requests
    assert request.run_key is None


def test_daily_leaves_a_source_that_is_not_there_to_the_run(
    paths: WarehousePaths, definitions: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DIALOGUE_SOURCE", str(tmp_path / "nothing"))
    assert len(tick(definitions).run_requests) == 1


class Folder:
    """Sensor of a folder, tick by tick, at times that the test chooses."""

    def __init__(self, definitions: Any, instance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        from pipelines.dagster_graph import sensors

        self.sensor, self.instance = definitions.get_sensor_def("folder"), instance
        self.cursor: str | None = None
        self.now = 1_000.0
        monkeypatch.setattr(sensors.time, "time", lambda: self.now)

    def look(self, after: float) -> Any:
        import dagster as dg

        self.now += after
        tick = self.sensor.evaluate_tick(dg.build_sensor_context(cursor=self.cursor, instance=self.instance))
        self.cursor = tick.cursor
        return tick

    def run(self, request: Any, succeeds: bool = True) -> None:
        """Run a requested run, with another job: only its tags and its end matter here."""
        import dagster as dg

        @dg.op
        def end() -> None:
            if not succeeds:
                raise ValueError

        @dg.job
        def other() -> None:
            end()

        other.execute_in_process(QUIET, self.instance, tags=request.tags, raise_on_error=False)


def test_folder_is_built_once_a_change_when_it_is_quiet(
    definitions: Any, instance: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "releases"
    folder = Folder(definitions, instance, monkeypatch)
    assert folder.look(0).skip_message == "DIALOGUE_SOURCE names no folder"
    monkeypatch.setenv("DIALOGUE_SOURCE", str(source))
    monkeypatch.setenv("DIALOGUE_QUIET_SECONDS", "60")
    assert folder.look(15).skip_message == f"{source}: no files there"
    (source / "sgd").mkdir(parents=True)
    (source / "sgd" / "a.json").write_text("[")
    assert folder.look(15).skip_message == "files are being written"
    (source / "sgd" / "a.json").write_text("[1]")
    assert folder.look(50).skip_message == "files are being written"  # it has changed in the meantime
    assert folder.look(50).skip_message == "files are being written"
    (first,) = folder.look(15).run_requests
    folder.run(first)
    for seconds in (15, 1_000_000):
        assert folder.look(seconds).skip_message == "nothing has changed"
    state = (source / "sgd" / "a.json").stat()
    (source / "sgd" / "a.json").write_text("[2]")  # of the same size
    os.utime(source / "sgd" / "a.json", ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert folder.look(15).skip_message == "files are being written"
    (second,) = folder.look(60).run_requests
    folder.run(second)
    assert folder.look(15).skip_message == "nothing has changed"
    (source / "sgd" / "b.json").write_text("[]")
    (source / "sgd" / "b.json").unlink()
    assert folder.look(15).skip_message == "nothing has changed"
    assert first.run_key != second.run_key
    shutil.rmtree(source)
    assert folder.look(15).skip_message == f"{source}: no files there"


def test_folder_is_not_built_before_its_run_has_succeeded(
    definitions: Any, instance: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, paths: WarehousePaths
) -> None:
    """The daemon is stopped in the middle of a run, or before it has created one: the files are not built then."""
    source = tmp_path  # the warehouse, which changes meanwhile, is in it
    (source / "sgd").mkdir(parents=True)
    (source / "sgd" / "a.json").write_text("[]")
    monkeypatch.setenv("DIALOGUE_SOURCE", str(source))
    folder = Folder(definitions, instance, monkeypatch)
    folder.look(0)
    (lost,) = folder.look(100).run_requests
    (again,) = folder.look(15).run_requests  # the first one was never created
    assert (again.tags, again.run_key == lost.run_key) == (lost.tags, False)
    run = instance.create_run_for_job(definitions.resolve_job_def("everything"), tags=again.tags)
    paths.checked.unlink(missing_ok=True)
    assert folder.look(15).skip_message == "the run of these files has not ended"
    instance.report_run_failed(run)
    for _ in range(2):
        assert folder.look(15).skip_message == "the run of these files did not succeed; waiting for a change"
    assert last_check(paths) is None
    folder.run(again)  # the sensor `runs` repeats it
    assert folder.look(15).skip_message == "nothing has changed"
    checked = last_check(paths)
    assert checked is not None
    assert folder.look(15).skip_message == "nothing has changed"
    assert last_check(paths) == checked  # it is not recorded at every look
    (source / "sgd" / "a.json").write_text("[1]")
    folder.look(15)
    assert len(folder.look(100).run_requests) == 1


def test_folder_that_never_stops_changing_is_built_after_a_limit(
    definitions: Any, instance: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = tmp_path / "releases"
    source.mkdir()
    monkeypatch.setenv("DIALOGUE_SOURCE", str(source))
    monkeypatch.setenv("DIALOGUE_QUIET_SECONDS", "60")
    monkeypatch.setenv("DIALOGUE_HEARTBEAT_HOURS", "1")
    folder = Folder(definitions, instance, monkeypatch)
    due = []
    for number in range(250):
        (source / "growing.json").write_text("x" * number)
        if requests := folder.look(30).run_requests:
            due.append(number)
            folder.run(requests[0])
    assert due == [120, 241]  # an hour after the first change, and after the first one that was not built


def run(definitions: Any, instance: Any, job: str = "everything", **options: Any) -> Any:
    return definitions.resolve_job_def(job).execute_in_process(
        run_config=QUIET, instance=instance, raise_on_error=False, **options
    )


def tell(definitions: Any, instance: Any, cursor: str | None = None) -> Any:
    """Let the sensor of runs see the runs that have ended; return its result."""
    import dagster as dg

    context = dg.build_sensor_context(cursor=cursor, instance=instance)
    return definitions.get_sensor_def("runs").evaluate_tick(context)


def test_first_failure_of_a_run_and_its_recovery_are_reported_once(
    paths: WarehousePaths, definitions: Any, instance: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A truncated file, then a held lock, then success: three failed runs, two reported failures, one recovery.

    The last run starts while the file is being copied, and waits for it.
    """
    source = tmp_path / "releases"
    shutil.copytree(paths.sample / "bbai", source / "bbai")
    cut = source / "bbai" / "test_classifier.json"
    text = cut.read_bytes()
    cut.write_bytes(text[: len(text) // 2])
    monkeypatch.setenv("DIALOGUE_SOURCE", str(source))
    monkeypatch.setenv("DIALOGUE_ONLY", "bbai")
    monkeypatch.setenv("DIALOGUE_REPLACE", "1")
    cursor = None
    for quiet in ("0.01", "60"):
        monkeypatch.setenv("DIALOGUE_QUIET_SECONDS", quiet)
        failed = run(definitions, instance)
        assert not failed.success
        cursor = tell(definitions, instance, cursor).cursor
    assert f"{cut}: is still being written after 0.01 seconds (DIALOGUE_PATIENCE); the files are read as they are" in [
        entry.message for entry in instance.all_logs(failed.run_id)
    ]
    (first,) = alerts_of(paths)
    assert first["text"].splitlines()[1].startswith("bbai/test_classifier.json: not JSON, cut off")
    assert "Traceback" not in first["text"]
    with ownership.exclusive(paths):
        run(definitions, instance)
    cursor = tell(definitions, instance, cursor).cursor
    assert alerts_of(paths)[1]["text"].splitlines()[1] == f"{paths.root}: another build is running"
    monkeypatch.setenv("DIALOGUE_QUIET_SECONDS", "5")
    monkeypatch.setenv("DIALOGUE_PATIENCE", "300")
    cut.write_bytes(text[:-9])
    copying = threading.Timer(4, cut.write_bytes, [text])
    copying.start()
    well = run(definitions, instance)
    assert well.success
    assert not copying.is_alive()
    tell(definitions, instance, cursor)
    assert [line["kind"] for line in alerts_of(paths)] == ["failure", "failure", "recovery"]
    assert "rows removed" in alerts_of(paths)[2]["text"]


def test_a_run_waits_for_a_build_that_ends_in_time(tmp_path: Path) -> None:
    import time

    paths = WarehousePaths(tmp_path)
    with ownership.exclusive(paths):
        began, waited = time.monotonic(), []

        def wait() -> None:
            with ownership.exclusive(paths, patience=30):
                waited.append(time.monotonic() - began)

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(1)
    thread.join(20)
    assert 1 < waited[0] < 20
    with ownership.exclusive(paths), pytest.raises(BuildError, match="another build is running"):
        wait_no_longer = ownership.exclusive(paths, patience=0.2)
        wait_no_longer.__enter__()


def test_a_part_of_the_graph_is_canceled_and_turns_no_asset_red(
    paths: WarehousePaths, definitions: Any, instance: Any
) -> None:
    """Steps that depend on each other cannot be separated, as on the page of one asset, or after a failed step."""
    import dagster as dg

    from pipelines.building.state import PART_REFUSED

    def of(*keys: dg.AssetKey) -> Any:
        job = definitions.resolve_implicit_global_asset_job_def()
        return job.execute_in_process(
            run_config=QUIET, instance=instance, raise_on_error=False, asset_selection=list(keys)
        )

    graph = definitions.resolve_asset_graph()
    published = builds.pointed_build(paths)
    with pytest.raises(dg.DagsterInvalidSubsetError, match="models"):
        of(dg.AssetKey(["core", "fct_turns"]))
    models = graph.get(dg.AssetKey(["core", "fct_turns"])).execution_set_entity_keys
    assets = [key for key in models if isinstance(key, dg.AssetKey)]
    assert len(assets) > 50
    assert {check.asset_key for check in models if isinstance(check, dg.AssetCheckKey)} <= set(assets)
    landed = [key for key in graph.materializable_asset_keys if key.path[0] == "raw"]
    whole, report, audit = (
        dg.AssetKey(path) for path in (["published", "dialogues"], ["published", "report"], ["audit", "build_changes"])
    )
    for keys in (assets, landed, [whole], [whole, report], [audit]):
        ended = of(*keys)
        assert {record.asset_entry.last_run_id for record in instance.get_asset_records(keys)} == {ended.run_id}
        assert instance.get_run_by_id(ended.run_id).status is dg.DagsterRunStatus.CANCELED
        (asked,) = instance.all_logs(ended.run_id, of_type=dg.DagsterEventType.RUN_CANCELING)
        assert asked.dagster_event.message == PART_REFUSED
        assert instance.all_logs(ended.run_id, of_type=dg.DagsterEventType.STEP_FAILURE) == []
        assert tell(definitions, instance).run_requests == []
    assert alerts_of(paths) == []
    assert builds.pointed_build(paths) == published
    assert of(report).success  # it is about the published build, and can be made again


@pytest.mark.parametrize(
    ("command", "option", "selected", "message"),
    [
        ("launch", "assets", "core/fct_turns", "a part of the graph cannot be built alone"),
        ("launch", "assets", "group:core", "a part of the graph cannot be built alone"),
        ("launch", "assets", "published/dialogues", "a part of the graph cannot be built alone"),
        ("launch", "assets", "landing/sgd", "a part of the graph cannot be built alone"),
        ("materialize", "select", "core/fct_turns,published/report", "a part of the graph cannot be built alone"),
        ("launch", "assets", "nothing", "'nothing'"),
        ("launch", "assets", "a b((", "a b(("),
        ("launch", "assets", "*", None),
        ("launch", "assets", "*,published/report", None),
        ("launch", "assets", "published/report", None),
        ("launch", "assets", None, None),
        ("launch", "job", "core/fct_turns", None),
        ("list", "select", "core/fct_turns", None),
    ],
)
def test_command_of_dagster_that_selects_a_part_is_refused_in_one_line(
    definitions: Any, command: str, option: str, selected: str | None, message: str | None
) -> None:
    """As the definitions see it while that command loads them."""
    from pipelines.dagster_graph.graph import SelectionError, refuse_part

    with click.Context(click.Command(command)) as context:
        context.params = {option: selected}
        if message is None:
            assert refuse_part(definitions) is definitions
            return
        with pytest.raises(SelectionError, match=re.escape(message)) as refused:
            refuse_part(definitions)
    assert (refused.value.exit_code, "\n" in refused.value.format_message()) == (2, False)


def test_launch_of_one_model_is_refused_before_anything_runs(paths: WarehousePaths) -> None:
    import dagster as dg

    def runs() -> int:
        with dg.DagsterInstance.local_temp(str(paths.dagster_home)) as instance:
            return instance.get_runs_count()

    before = runs()
    environment = os.environ | {"DAGSTER_HOME": str(paths.dagster_home), "DAGSTER_DISABLE_TELEMETRY": "1"}
    refused = subprocess.run(
        [Path(sys.executable).with_name("dg"), "launch", "--assets", "core/fct_turns"],
        capture_output=True,
        text=True,
        cwd=CLONE,
        env=environment,
        check=False,
    )
    assert (refused.returncode, refused.stdout, refused.stderr) == (
        2,
        "",
        "Error: a part of the graph cannot be built alone, because a build is published whole: "
        "run the job `everything`\n",
    )
    assert runs() == before


def test_every_check_runs_with_what_it_checks(definitions: Any) -> None:
    import dagster as dg

    graph = definitions.resolve_asset_graph()
    for key in graph.asset_check_keys:
        assert key in graph.get(key.asset_key).execution_set_entity_keys, key  # and never without its asset
        assert graph.get(key).description, key
    for key in graph.materializable_asset_keys | graph.external_asset_keys:
        node = graph.get(key)
        assert node.description, key
        assert node.owners == ["team:dialogue-warehouse"], key
        assert node.kinds, key
        assert node.group_name != "default", key
    assert graph.get(dg.AssetKey(["source", "checked"])).freshness_policy is not None
    assert graph.get(dg.AssetKey(["published", "dialogues"])).freshness_policy is None  # it may never change
    assert graph.get(dg.AssetKey(["landing", "sgd"])).freshness_policy is not None


def test_releases_that_were_read_are_shown_so(paths: WarehousePaths) -> None:
    """`landing` is the time at which a build read the release."""
    import dagster as dg

    with dg.DagsterInstance.local_temp(str(paths.dagster_home)) as instance:
        for corpus_id in ("bbai", "sgd"):
            event = instance.get_latest_materialization_event(dg.AssetKey(["landing", corpus_id]))
            assert event is not None
            assert event.asset_materialization is not None
            assert event.asset_materialization.metadata["files"].value > 0


def test_download_is_noted_and_tried_again(
    definitions: Any, instance: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, generated_sample: Path
) -> None:
    """The mirror has one corpus: this one is recorded, the missing ones are reported and worth a retry."""
    import dagster as dg

    from pipelines.dagster_graph import jobs

    mirror = tmp_path / "mirror"
    shutil.copytree(generated_sample / "mutualfriends", mirror / "mutualfriends")
    monkeypatch.setenv("DIALOGUE_MIRROR", mirror.as_uri())
    monkeypatch.setenv("DIALOGUE_SOURCE", str(tmp_path / "to"))
    monkeypatch.setenv("DIALOGUE_ONLY", "mutualfriends")
    with pytest.raises(CheckError, match="mutualfriends/"):  # the generated files are not those that are listed
        jobs.download(dg.build_op_context(instance=instance))
    assert jobs.download.retry_policy.max_retries == 3
    assert jobs.download.retry_policy.backoff is dg.Backoff.EXPONENTIAL
    (tmp_path / "file").touch()
    monkeypatch.setenv("DIALOGUE_SOURCE", str(tmp_path / "file" / "below"))
    with pytest.raises(dg.Failure) as raised:
        jobs.download(dg.build_op_context(instance=instance))
    assert raised.value.allow_retries is False


def test_a_run_keeps_going_and_verifies_unless_these_are_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dagster as dg

    from pipelines.dagster_graph.published import report_asset
    from pipelines.dagster_graph.resources import session_resource, settings_of_run

    settings = settings_of_run()
    assert (settings.keep_going, settings.verify, settings.refresh) == (True, True, ())
    monkeypatch.setenv("DIALOGUE_KEEP_GOING", "0")
    monkeypatch.setenv("DIALOGUE_VERIFY", "off")
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(tmp_path))
    config = {"session": {"config": {"refresh": ["sgd"]}}}
    with dg.build_resources({"session": session_resource([], report_asset())}, resource_config=config) as resources:
        settings = resources.session.settings
    assert (settings.keep_going, settings.verify, settings.refresh) == (False, False, ("sgd",))


def test_a_run_never_replaces_real_files_by_the_sample(
    tmp_path: Path, definitions: Any, real_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A "Materialize all" without a source, on a warehouse of real files."""
    import dagster as dg

    paths = WarehousePaths(shutil.copytree(real_folder, tmp_path / "warehouse", ignore=shutil.ignore_patterns("raw")))
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(paths.root))
    monkeypatch.setenv("DIALOGUE_PATIENCE", "0.01")
    published = builds.pointed_build(paths)
    monkeypatch.delenv("DIALOGUE_SOURCE", raising=False)
    with dg.DagsterInstance.local_temp(str(paths.dagster_home)) as instance:
        assert not run(definitions, instance).success
        tell(definitions, instance)
    assert "would be replaced by generated ones" in alerts_of(paths)[0]["text"]
    assert builds.pointed_build(paths) == published
