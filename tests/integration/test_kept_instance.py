"""The kept Dagster instance: the reports of a build, its configuration, and its limits."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from pipelines.dagster_graph import instance as kept
from pipelines.dagster_graph.configuration import IN_POSTGRESQL, POSTGRES_URL
from pipelines.dagster_graph.instance import PUBLISHED, events_of, open_instance, prepare, report_build
from tests.running import without_rights_of_root

pytestmark = pytest.mark.filterwarnings("ignore")


@dg.asset
def landed() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"rows": 3}, data_version=dg.DataVersion("one"), tags={"of": "a_test"})


@dg.asset(deps=[landed], check_specs=[dg.AssetCheckSpec("holds", asset="judged")])
def judged() -> dg.MaterializeResult:
    return dg.MaterializeResult(check_results=[dg.AssetCheckResult(passed=False, metadata={"failing": 1})])


@dg.asset(key=PUBLISHED, deps=[judged])
def published() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"build_id": "one"})


def run_in(instance: dg.DagsterInstance) -> str:
    """Run two assets and a check, as a run of Dagster; return the id of the run."""
    return dg.materialize([landed, judged], instance=instance).run_id


@pytest.fixture(scope="module")
def built() -> dg.ExecuteInProcessResult:
    """Return the result of the same assets, and of one published asset, on an ephemeral instance."""
    return dg.materialize([published, judged, landed], instance=dg.DagsterInstance.ephemeral())


def latest(instance: dg.DagsterInstance, key: dg.AssetKey) -> dg.AssetMaterialization | None:
    """Return the latest materialization, which the page of an asset shows."""
    event = instance.get_latest_materialization_event(key)
    return event and event.asset_materialization


def check_results(instance: dg.DagsterInstance) -> list[tuple[bool, object]]:
    """Return each result of the check, the newest first, with its metadata."""
    key = dg.AssetCheckKey(judged.key, "holds")
    records = instance.event_log_storage.get_asset_check_execution_history(key, limit=100)
    evaluations = [record.event.dagster_event.event_specific_data for record in records]
    return [(one.passed, one.severity, one.metadata["failing"].value) for one in evaluations]


def test_build_is_shown_by_its_assets_and_checks_but_not_as_a_run(
    tmp_path: Path, built: dg.ExecuteInProcessResult, capsys: pytest.CaptureFixture
) -> None:
    with open_instance(WarehousePaths(tmp_path), print) as instance:
        assert latest(instance, PUBLISHED) is None
        report_build(events_of(built), WarehousePaths(tmp_path), print)
        made = latest(instance, landed.key)
        assert made is not None
        assert made.metadata["rows"].value == 3
        assert made.tags is not None
        assert (made.tags["dagster/data_version"], made.tags["of"]) == ("one", "a_test")
        for key in (judged.key, PUBLISHED):
            made = latest(instance, key)
            assert made is not None
            assert [tag for tag in made.tags or () if "input" in tag] == [], "they are about the other instance"
        assert check_results(instance) == [(False, dg.AssetCheckSeverity.ERROR, 1)]
        assert instance.get_run_records() == []
    assert capsys.readouterr().out == ""


def test_build_that_is_killed_while_it_reports_is_not_shown_as_published(
    tmp_path: Path, built: dg.ExecuteInProcessResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[object] = []
    report = dg.DagsterInstance.report_runless_asset_event

    def killed(instance: dg.DagsterInstance, event: object) -> None:
        if len(reported) == 2:
            raise KeyboardInterrupt
        reported.append(event)
        report(instance, event)

    monkeypatch.setattr(dg.DagsterInstance, "report_runless_asset_event", killed)
    with pytest.raises(KeyboardInterrupt):
        report_build(events_of(built), WarehousePaths(tmp_path), print)
    monkeypatch.undo()
    with open_instance(WarehousePaths(tmp_path), print) as instance:
        assert latest(instance, landed.key) is not None
        assert latest(instance, PUBLISHED) is None
        report_build(events_of(built), WarehousePaths(tmp_path), print)
        assert latest(instance, PUBLISHED) is not None


def events_kept(paths: WarehousePaths) -> dict[str, int]:
    """Return the number of events and of results of checks in each of Dagster's files."""
    found = {}
    for path in sorted((paths.dagster_home / "history" / "runs").glob("*.db")):
        with contextlib.closing(sqlite3.connect(path)) as con:
            for table in ("event_logs", "asset_check_executions"):
                (found[f"{path.name} {table}"],) = con.execute(f"select count(*) from {table}").fetchone()
    return found


def test_history_of_the_assets_starts_again_after_many_builds(
    tmp_path: Path, built: dg.ExecuteInProcessResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warehouse that is built every day does not grow without limit; a run of Dagster keeps its own events."""
    monkeypatch.setattr(kept, "BUILDS_SHOWN", 3)
    paths = WarehousePaths(tmp_path)
    with open_instance(paths, print) as instance:
        run = run_in(instance)
        seen = []
        for _ in range(7):
            report_build(events_of(built), paths, print)
            shown = [len(instance.fetch_materializations(key, limit=9).records) for key in (PUBLISHED, judged.key)]
            seen.append((*shown, len(check_results(instance)), max(events_kept(paths).values())))
        assert [one[0] for one in seen] == [1, 2, 3, 1, 2, 3, 1]
        assert [one[1] for one in seen] == [2, 3, 4, 1, 2, 3, 1]
        assert [one[2] for one in seen] == [2, 3, 4, 1, 2, 3, 1]
        assert seen[-1][3] <= max(events for *_, events in seen[:4])
        assert instance.get_run_by_id(run) is not None


def test_storage_that_a_user_has_set_is_used_and_one_that_fails_is_a_notice(
    tmp_path: Path, built: dg.ExecuteInProcessResult, capsys: pytest.CaptureFixture
) -> None:
    paths, elsewhere = WarehousePaths(tmp_path / "warehouse"), tmp_path / "elsewhere"
    own = f"telemetry:\n  enabled: false\nstorage:\n  sqlite:\n    base_dir: {elsewhere}\n"
    paths.dagster_home.mkdir(parents=True)
    paths.dagster_yaml.write_text(own)
    prepare(paths)
    capsys.readouterr()  # the notice that it has fewer settings than a new one
    report_build(events_of(built), paths, print)
    assert paths.dagster_yaml.read_text() == own
    assert capsys.readouterr().out == ""
    assert list(elsewhere.rglob("*.db"))
    assert not list(paths.dagster_home.rglob("*.db"))
    for broken in ("storage: nonsense", "storage: [", "storage:\n  postgres:\n    postgres_url:\n      env: NOT_SET\n"):
        paths.dagster_yaml.write_text(broken)
        report_build(events_of(built), paths, print)
        said = capsys.readouterr().out
        assert said.startswith(f"{paths.dagster_home}: the history of this build cannot be kept there: ")
        assert said.count("\n") == 1
        assert paths.dagster_yaml.read_text() == broken


def test_variable_that_the_configuration_reads_is_named_if_it_is_not_set(
    built: dg.ExecuteInProcessResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a build without the variables of the service printed all settings that Dagster knows."""
    monkeypatch.delenv(POSTGRES_URL, raising=False)
    paths = WarehousePaths(tmp_path)
    notices: list[str] = []
    paths.dagster_home.mkdir()
    paths.dagster_yaml.write_text(IN_POSTGRESQL)
    report_build(events_of(built), paths, notices.append)
    with pytest.raises(InputError) as refused, kept.opening(paths.dagster_yaml):
        dg.DagsterInstance.from_config(str(paths.dagster_home))
    for said in (*notices, str(refused.value)):
        reason = said.partition(": You have attempted to fetch ")[2]
        assert reason.startswith(f'the environment variable "{POSTGRES_URL}" which is not set.'), said
        assert len(said) - len(str(paths.dagster_yaml)) < 400


@pytest.mark.parametrize("name", ["with space", "a%20b", "a: b", "it's", "a#b?c", "ümlaut", "{{ name }}"])
def test_instance_works_in_any_folder_and_writes_to_no_other(tmp_path: Path, name: str) -> None:
    paths = WarehousePaths(tmp_path / "place" / name)
    with open_instance(paths, print) as instance:
        run = run_in(instance)
    assert [path.name for path in (tmp_path / "place").iterdir()] == [name]
    assert (paths.dagster_home / "history" / "runs" / f"{run}.db").exists()
    assert str(tmp_path) not in paths.dagster_yaml.read_text()


def test_instance_is_found_after_its_folder_was_moved(tmp_path: Path) -> None:
    with open_instance(WarehousePaths(tmp_path / "before"), print) as instance:
        run = run_in(instance)
        events = len(instance.all_logs(run))
    shutil.move(tmp_path / "before", tmp_path / "after")
    with open_instance(WarehousePaths(tmp_path / "after"), print) as instance:
        assert len(instance.all_logs(run)) == events
    assert not (tmp_path / "before").exists()


def test_new_warehouse_has_limits_for_runs(tmp_path: Path) -> None:
    prepare(WarehousePaths(tmp_path))
    with dg.DagsterInstance.local_temp(str(WarehousePaths(tmp_path).dagster_home)) as instance:
        assert not instance.telemetry_enabled
        limits = instance.get_concurrency_config()
        assert limits.run_queue_config is not None
        assert limits.run_queue_config.max_concurrent_runs == 1
        assert (limits.pool_config.default_pool_limit, limits.pool_config.pool_granularity.value) == (1, "run")
        assert (instance.run_monitoring_enabled, instance.run_retries_enabled) == (True, False)
        assert instance.run_monitoring_max_resume_run_attempts == 0


def test_oldest_runs_are_deleted_with_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """A warehouse does not grow without limit. Dagster leaves the files of a deleted run."""
    paths = WarehousePaths(tmp_path / "ours")
    runs = []
    for _ in range(3):
        with open_instance(paths, print) as instance:
            runs.append(run_in(instance))
        printed = paths.dagster_home / "storage" / runs[-1] / "compute_logs" / "step.err"
        printed.parent.mkdir(parents=True, exist_ok=True)
        printed.touch()
    left_before = paths.dagster_home / "history" / "runs" / "11111111-2222-3333-4444-555555555555.db-wal"
    left_before.touch()
    (paths.dagster_home / "storage" / "of_somebody").touch()
    monkeypatch.setattr(kept, "RUNS_KEPT", 1)
    with open_instance(paths, print) as instance:
        assert [record.dagster_run.run_id for record in instance.get_run_records()] == [runs[-1]]
        assert instance.all_logs(runs[-1])
    assert {path.name.partition(".")[0] for path in paths.dagster_home.rglob("*.db*")} == {
        "runs",
        "index",
        "schedules",
        runs[-1],
    }
    assert {path.name for path in (paths.dagster_home / "storage").iterdir()} == {runs[-1], "of_somebody"}
    with contextlib.closing(sqlite3.connect(paths.dagster_home / "history" / "runs" / "index.db")) as con:
        assert con.execute("select distinct run_id from event_logs").fetchall() == [(runs[-1],)]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"garbage", b"SQLite format 3\x00" + b"x" * 5000])
def test_damaged_history_starts_again_and_is_reported(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture
) -> None:
    """A file that SQLite cannot read is replaced, because nothing can be stored in it. The configuration stays."""
    paths = WarehousePaths(tmp_path / "ours")
    with open_instance(paths, print) as instance:
        run_in(instance)
    own = "# mine\n" + paths.dagster_yaml.read_text()
    paths.dagster_yaml.write_text(own)
    (index,) = paths.dagster_home.rglob("index.db")
    for log in index.parent.glob("index.db-*"):
        log.unlink()
    index.write_bytes(content)
    with open_instance(paths, print) as instance:
        assert run_in(instance)
    assert capsys.readouterr().out == (
        f"{index}: the history of runs cannot be read, a new one is started\n" if content else ""
    )
    assert paths.dagster_yaml.read_text() == own


def test_history_that_this_user_cannot_open_is_kept(as_another_user: Path) -> None:
    """Regression: it counted as damaged and was removed, if only its files belonged to another user."""
    paths = WarehousePaths(as_another_user)
    databases = kept._databases(paths)
    assert databases
    with pytest.raises(InputError, match=r"the history that it names cannot be opened"):
        prepare(paths)
    assert kept._databases(paths) == databases


@pytest.fixture
def as_another_user() -> Iterator[Path]:
    """Return a warehouse with a history in files of another user, in folders in which everybody may write."""
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        prepare(WarehousePaths(Path(folder)))
        for file in (Path(folder), *Path(folder).rglob("*")):
            file.chmod(0o000 if file.suffix == ".db" else 0o777)
        with without_rights_of_root():
            yield Path(folder)
