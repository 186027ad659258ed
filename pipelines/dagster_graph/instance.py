"""The kept Dagster instance of a warehouse, in the folder `.dagster`: the history of builds that `dagster dev` shows.

Runs of Dagster's page and daemon are kept as Dagster keeps them. A build on the command line runs on an ephemeral
instance and reports its assets and checks to the kept one after it has published: a build that is killed does not
change the kept instance. dagster.yaml holds no path, so that the folder can be moved, and may name another storage,
such as PostgreSQL. See https://docs.dagster.io/deployment/oss/oss-instance-configuration
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import plain_path, write_atomically
from dialogue_warehouse.errors import InputError, first_line, said_by_sqlite
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import ownership

if TYPE_CHECKING:
    AssetEvent = dg.AssetMaterialization | dg.AssetCheckEvaluation

DAGSTER_YAML = """\
telemetry:
  enabled: false
# The page does not ask users to sign up for anything.
nux:
  enabled: false
# One run at a time works on the warehouse: the next one waits in the queue.
concurrency:
  pools:
    default_limit: 1
    granularity: run
# What is older is forgotten; so are all runs but the last 20.
retention:
  schedule:
    purge_after_days: 90
  sensor:
    purge_after_days:
      skipped: 7
      failure: 30
      success: 90
"""
POOL = "warehouse"
"""The pool of every step that works on the warehouse; the instance limits it to one run at a time."""
PUBLISHED = dg.AssetKey(["published", "dialogues"])
"""The published warehouse: the asset that is reported last."""
RUNS_KEPT = 20
"""Number of newest runs whose events are kept, however they were started: a run is one to three megabytes."""
BUILDS_SHOWN = 50
"""Builds after which the history of the assets starts again: a reported build is half a megabyte."""
OF_RUNS = ("history/runs", "storage")
"""Folders below Dagster's home with the event log of a run and its output, under the run's id."""
RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
INPUT_POINTER = "dagster/input_event_pointer/"
"""Prefix of the tags that hold an event's number in the instance that it was made on."""


@contextlib.contextmanager
def open_instance(paths: WarehousePaths, report: Callable[[str], None]) -> Generator[dg.DagsterInstance]:
    """Open the kept instance of this warehouse; the environment's DAGSTER_HOME is neither read nor set.

    A history in SQLite that cannot be read is removed and reported; runs beyond `RUNS_KEPT` are removed.
    """
    for damaged in _damaged_databases(paths):
        report(f"{damaged}: the history of runs cannot be read, a new one is started")
        files.remove(paths.dagster_home)
        break
    write_configuration(paths)
    with dg.DagsterInstance.local_temp(str(plain_path(paths.dagster_home))) as instance:
        forget_old_runs(instance)
        _limit_pool(instance)
        yield instance


def report_build(result: dg.ExecuteInProcessResult, paths: WarehousePaths, report: Callable[[str], None]) -> None:
    """Report the assets and checks of a published build to the kept instance.

    An error here is only a notice, because the build is published. A build that is killed meanwhile has reported a part
    of its assets, and not the published warehouse.
    """
    try:
        with open_instance(paths, report) as instance:
            is_full = _forget_old_builds(instance)
            for event in events_of(result):
                if is_full and isinstance(event, dg.AssetMaterialization):  # its old checks too
                    instance.wipe_assets([event.asset_key])
                instance.report_runless_asset_event(event)
    except Exception as error:
        reason = said_by_sqlite(error) or first_line(error)
        report(f"{paths.dagster_home}: the history of this build cannot be kept there: {reason}")


def events_of(result: dg.ExecuteInProcessResult) -> list[AssetEvent]:
    """Return the events of a run without their ties to the run's own instance; `PUBLISHED` is last."""
    made = [event.step_materialization_data.materialization for event in result.get_asset_materialization_events()]
    made.sort(key=lambda one: one.asset_key == PUBLISHED)
    *others, last = [
        dg.AssetMaterialization(
            one.asset_key,
            description=one.description,
            metadata=one.metadata,
            tags={name: value for name, value in (one.tags or {}).items() if not name.startswith(INPUT_POINTER)},
        )
        for one in made
    ]
    checked = [
        dg.AssetCheckEvaluation(
            asset_key=one.asset_key,
            check_name=one.check_name,
            passed=one.passed,
            metadata=one.metadata,
            severity=one.severity,
            description=one.description,
        )
        for one in result.get_asset_check_evaluations()
    ]
    return [*others, *checked, last]


def _forget_old_builds(instance: dg.DagsterInstance) -> bool:
    """Tell if the history of the assets must start again; if so, remove the events that belong to no run.

    Each asset still shows its last materialization, until it is wiped and reported again.
    """
    kept = instance.fetch_materializations(PUBLISHED, limit=BUILDS_SHOWN).records
    if len(kept) < BUILDS_SHOWN:
        return False
    for run_id in {record.event_log_entry.run_id for record in kept}:
        if instance.get_run_by_id(run_id) is None:
            instance.delete_run(run_id)
    return True


def forget_old_runs(instance: dg.DagsterInstance) -> None:
    """Remove the runs beyond `RUNS_KEPT` from the history, but for those that wait or run.

    Dagster keeps the event log of a run that it has deleted, empty but as large as before, and the run's output. It
    also keeps the results of the run's checks, some 0.2 MB, until their assets are wiped.
    """
    for record in instance.get_run_records()[RUNS_KEPT:]:
        if record.dagster_run.is_finished:
            instance.delete_run(record.dagster_run.run_id)
    home = Path(instance.root_directory)
    paths = [path for folder in OF_RUNS for path in home.glob(f"{folder}/*")]
    left = {path: found.group() for path in paths if (found := RUN_ID.match(path.name))}
    # read after that: a run that begins meanwhile is known before it writes
    known = {record.dagster_run.run_id for record in instance.get_run_records()}
    for path, run_id in left.items():
        if run_id not in known:
            files.remove(path)


def is_own(instance: dg.DagsterInstance, paths: WarehousePaths) -> bool:
    """Tell if an instance is that of this warehouse, and not one that others keep their runs in too."""
    return instance.is_persistent and Path(instance.root_directory) == paths.dagster_home


def write_configuration(paths: WarehousePaths, configuration: str | None = None) -> None:
    """Write this configuration of the warehouse's instance, or the default one where neither it nor a file exists.

    The file is replaced in one step: a process that reads it meanwhile, such as a page that starts beside the daemon,
    reads all of it.
    """
    file = paths.dagster_home / "dagster.yaml"
    if configuration is not None or not file.is_file():
        write_atomically(file, (configuration or DAGSTER_YAML).encode())


def prepare(paths: WarehousePaths, configuration: str | None = None) -> None:
    """Configure the instance of this warehouse, so that page and daemon can start."""
    ownership.claim(paths)
    write_configuration(paths, configuration)
    with dg.DagsterInstance.local_temp(str(paths.dagster_home)) as instance:
        _limit_pool(instance)


def _limit_pool(instance: dg.DagsterInstance) -> None:
    """Set the limit of the pool; without it the daemon, when it starts, would begin all waiting runs at once."""
    if POOL not in instance.event_log_storage.get_concurrency_keys():
        instance.event_log_storage.initialize_concurrency_limit_to_default(POOL)


def _damaged_databases(paths: WarehousePaths) -> Iterator[Path]:
    """Yield Dagster's databases that SQLite cannot read."""
    if paths.dagster_home.exists() and not paths.dagster_home.is_dir():
        yield paths.dagster_home
    for database in sorted(paths.dagster_home.rglob("*.db")):
        try:
            with contextlib.closing(sqlite3.connect(database)) as con:
                is_sound = con.execute("pragma quick_check(1)").fetchall() == [("ok",)]
        except sqlite3.DatabaseError:
            is_sound = False
        if not is_sound:
            yield database


if __name__ == "__main__":
    try:
        given = [Path(name).read_text(encoding="utf-8") for name in sys.argv[2:3]]
        prepare(WarehousePaths(Path(sys.argv[1]).absolute()), *given)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
