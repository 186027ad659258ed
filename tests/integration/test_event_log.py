"""The event log that builds write is Dagster's own: same rows, same files, and it stands wherever the folder does."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from dialogue_warehouse.paths import WarehousePaths
from pipelines.dagster_graph.instance import (
    POOL,
    OpenEventLog,
    forget_old_runs,
    open_instance,
    prepare,
    write_configuration,
)

pytestmark = pytest.mark.filterwarnings("ignore")


@dg.asset
def landed() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"rows": 3}, data_version=dg.DataVersion("one"), tags={"of": "a_test"})


@dg.asset(deps=[landed], check_specs=[dg.AssetCheckSpec("holds", asset="judged")])
def judged() -> dg.MaterializeResult:
    return dg.MaterializeResult(check_results=[dg.AssetCheckResult(passed=False, metadata={"failing": 1})])


def run_in(instance: dg.DagsterInstance) -> str:
    """Run two assets and a check; the id of the run."""
    return dg.materialize([landed, judged], instance=instance).run_id


def recorded(instance: dg.DagsterInstance, run_id: str) -> list[tuple[object, ...]]:
    """What an instance knows of a run: its events, and what it would show of the assets."""
    events = [
        (entry.dagster_event_type, entry.step_key, entry.user_message if not entry.is_dagster_event else "")
        for entry in instance.all_logs(run_id)
    ]
    shown: list[tuple[object, ...]] = []
    for key in (dg.AssetKey("landed"), dg.AssetKey("judged")):
        event = instance.get_latest_materialization_event(key)
        assert event is not None
        shown.append((key.path, dict(event.asset_materialization.metadata), dict(event.asset_materialization.tags)))
    return [*events, *shown, tuple(sorted(key.to_user_string() for key in instance.all_asset_keys()))]


def tables_of(folder: Path) -> dict[str, dict[str, tuple[object, int]]]:
    """By database and table: its definition and the number of its rows."""
    found = {}
    for path in sorted(folder.glob("*.db")):
        with sqlite3.connect(path) as con:
            tables = con.execute("select name, sql from sqlite_master where type = 'table'").fetchall()
            name = "index" if path.stem == "index" else "run"
            found[name] = {
                table: (sql, con.execute(f'select count(*) from "{table}"').fetchone()[0]) for table, sql in tables
            }
        con.close()
    return found


def test_log_kept_open_holds_what_dagsters_own_does(tmp_path: Path) -> None:
    """Fails when Dagster's storage writes other tables or rows than the one that overrides it."""
    paths = WarehousePaths(tmp_path / "ours")
    with open_instance(paths, print) as instance:
        assert isinstance(instance.event_log_storage, OpenEventLog)
        ours = run_in(instance)
        while_open = recorded(instance, ours)
    (tmp_path / "theirs").mkdir()
    with dg.DagsterInstance.from_config(str(paths.dagster_home)) as plain:
        assert type(plain.event_log_storage) is SqliteEventLogStorage
        assert recorded(plain, ours) == while_open
    with dg.DagsterInstance.local_temp(str(tmp_path / "theirs")) as instance:
        instance.event_log_storage.set_concurrency_slots(POOL, 1)
        theirs = run_in(instance)
        expected = recorded(instance, theirs)
    assert len(while_open) > 15
    neutral = [repr(entry).replace(ours, "RUN") for entry in while_open]
    assert [entry.split("'dagster/")[0] for entry in neutral] == [
        repr(entry).replace(theirs, "RUN").split("'dagster/")[0] for entry in expected
    ]
    own = tables_of(paths.dagster_home / "history" / "runs")
    assert own == tables_of(tmp_path / "theirs" / "history" / "runs")
    assert own["run"]["event_logs"][1] > 10


def test_index_is_asked_once_for_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster asks at each event of an asset, of which a run has several."""
    method = "_has_asset_key_index_cols_on_connection"
    asked: dict[type, int] = {OpenEventLog: 0, SqliteEventLogStorage: 0}
    for owner in asked:
        original = getattr(owner, method)

        def count(storage: OpenEventLog, *given: object, owner: type = owner, original: Any = original) -> object:
            asked[owner] += 1
            return original(storage, *given)

        monkeypatch.setattr(owner, method, count)
    with open_instance(WarehousePaths(tmp_path), print) as instance:
        run_in(instance)
    assert asked[OpenEventLog] > asked[SqliteEventLogStorage] == 1


def test_plain_storage_goes_on_where_ours_has_ended_and_ours_after_it(tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path)
    with open_instance(paths, print) as instance:
        first = run_in(instance)
    with dg.DagsterInstance.from_config(str(paths.dagster_home)) as plain:
        second = run_in(plain)
    with open_instance(paths, print) as instance:
        assert {run.run_id for run in instance.get_runs()} == {first, second}
        assert [len(instance.all_logs(run)) for run in (first, second)] == [len(instance.all_logs(first))] * 2


@pytest.mark.parametrize("name", ["with space", "a%20b", "a: b", "it's", "a#b?c", "ümlaut", "{{ name }}"])
def test_instance_stands_in_any_folder_and_in_no_other(tmp_path: Path, name: str) -> None:
    paths = WarehousePaths(tmp_path / "place" / name)
    with open_instance(paths, print) as instance:
        run = run_in(instance)
    assert [path.name for path in (tmp_path / "place").iterdir()] == [name]
    assert (paths.dagster_home / "history" / "runs" / f"{run}.db").exists()
    assert str(tmp_path) not in (paths.dagster_home / "dagster.yaml").read_text()


def test_instance_is_found_again_where_its_folder_was_moved(tmp_path: Path) -> None:
    with open_instance(WarehousePaths(tmp_path / "before"), print) as instance:
        run = run_in(instance)
        events = len(instance.all_logs(run))
    shutil.move(tmp_path / "before", tmp_path / "after")
    with dg.DagsterInstance.from_config(str(WarehousePaths(tmp_path / "after").dagster_home)) as instance:
        assert len(instance.all_logs(run)) == events
    assert not (tmp_path / "before").exists()


def test_pool_has_its_limit_before_anybody_looks_at_the_queue(tmp_path: Path) -> None:
    """A daemon that looked first started the second of two runs beside the first one."""
    built, configured, bare = (WarehousePaths(tmp_path / name) for name in ("built", "configured", "bare"))
    with open_instance(built, print):
        pass
    prepare(configured)
    write_configuration(bare)
    limits = {}
    for paths in (built, configured, bare):
        with dg.DagsterInstance.from_config(str(paths.dagster_home)) as instance:
            limits[paths.root.name] = [(one.name, one.limit) for one in instance.event_log_storage.get_pool_limits()]
    assert limits == {"built": [(POOL, 1)], "configured": [(POOL, 1)], "bare": []}


@pytest.mark.parametrize("opened", ["by a build", "by Dagster"])
def test_oldest_runs_are_forgotten_and_their_files_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, opened: str
) -> None:
    """A warehouse does not grow for ever. A run of the schedule has Dagster's own storage, which leaves files."""
    paths = WarehousePaths(tmp_path / "ours")
    write_configuration(paths)
    runs = []
    for number in range(4):
        ours = open_instance(paths, print)
        with ours if number % 2 else dg.DagsterInstance.from_config(str(paths.dagster_home)) as instance:
            runs.append(run_in(instance))
            printed = paths.dagster_home / "storage" / runs[-1] / "compute_logs" / "step.err"
            printed.parent.mkdir(parents=True, exist_ok=True)
            printed.touch()
    left_before = paths.dagster_home / "history" / "runs" / "11111111-2222-3333-4444-555555555555.db-wal"
    left_before.touch()
    (paths.dagster_home / "storage" / "of_somebody").touch()
    monkeypatch.setattr("pipelines.dagster_graph.instance.RUNS_KEPT", 1)
    home = str(paths.dagster_home)
    with open_instance(paths, print) if opened == "by a build" else dg.DagsterInstance.from_config(home) as instance:
        forget_old_runs(instance)
        assert [record.dagster_run.run_id for record in instance.get_run_records()] == [runs[-1]]
        assert recorded(instance, runs[-1])
    assert {path.name.partition(".")[0] for path in paths.dagster_home.rglob("*.db*")} == {
        "runs",
        "index",
        "schedules",
        runs[-1],
    }
    assert {path.name for path in (paths.dagster_home / "storage").iterdir()} == {runs[-1], "of_somebody"}
    with contextlib.closing(sqlite3.connect(paths.dagster_home / "history" / "runs" / "index.db")) as con:
        for table in ("event_logs", "asset_check_executions"):
            assert con.execute(f"select distinct run_id from {table}").fetchall() == [(runs[-1],)]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"garbage", b"SQLite format 3\x00" + b"x" * 5000])
def test_damaged_history_begins_anew_and_is_told(tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture) -> None:
    paths = WarehousePaths(tmp_path / "ours")
    with open_instance(paths, print) as instance:
        run_in(instance)
    (index,) = paths.dagster_home.rglob("index.db")
    for log in index.parent.glob("index.db-*"):
        log.unlink()
    index.write_bytes(content)
    with open_instance(paths, print) as instance:
        assert run_in(instance)
    assert capsys.readouterr().out == (
        f"{index}: the history of runs cannot be read, it begins anew\n" if content else ""
    )


def test_a_file_waits_for_the_disk_once_it_is_made(tmp_path: Path) -> None:
    log = OpenEventLog(str(tmp_path))
    for connect in (log.index_connection, lambda: log.run_connection("of_a_run")):
        for _ in range(2):
            with connect() as connection:
                assert connection.exec_driver_sql("pragma synchronous").scalar() == 1
    log.dispose()


def test_table_that_comes_later_is_found(tmp_path: Path) -> None:
    log = OpenEventLog(str(tmp_path))
    assert not log.has_table("later")
    with log.index_connection() as connection:
        connection.exec_driver_sql("create table later (x)")
    assert log.has_table("later")
    assert log.has_table("event_logs")
    log.dispose()
