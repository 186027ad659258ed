"""The Dagster instance of a warehouse: runs and events of its builds, in the folder that `dagster dev` is shown.

What is written into dagster.yaml holds wherever the folder is moved; where the event log stands is said when the
instance is opened. For the concept see https://docs.dagster.io/deployment/oss/oss-instance-configuration
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import sqlalchemy.exc
from dagster._core.instance.ref import InstanceRef

from pipelines.building import event_log
from pipelines.building.event_log import OpenEventLog
from pipelines.building.plain_path import plain_path
from pipelines.errors import InputError, is_full, is_out_of_memory
from pipelines.intake import own_files, ownership
from pipelines.intake.writing import write_atomically
from pipelines.paths import WarehousePaths

DAGSTER_YAML = """\
telemetry:
  enabled: false
# Nobody is asked on the page to sign up for anything.
nux:
  enabled: false
# One run at a time works on the warehouse: the next one waits in the queue.
concurrency:
  pools:
    default_limit: 1
    granularity: run
# What is older is forgotten; a build forgets all but its last 20 runs too.
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
"""What every step that works on the warehouse belongs to: the instance lets one run at a time into it."""
RUNS_KEPT = 20
"""Runs whose events are kept, the newest, whoever started them: a run is one to three megabytes."""
OF_RUNS = ("history/runs", "storage")
"""Where Dagster puts the event log of a run and what it printed, below its home, under the run's id."""
RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class HistoryEndsError(BaseException):
    """No room or no memory: the history of runs cannot go on. No Exception: Dagster prints those, and logs on."""


class _Instance(dg.DagsterInstance):
    def handle_new_event(self, *arguments: Any, **named: Any) -> None:
        """Keep an event. Raises HistoryEndsError."""
        try:
            super().handle_new_event(*arguments, **named)
        except sqlalchemy.exc.OperationalError as error:
            if is_full(error) or is_out_of_memory(error):
                raise HistoryEndsError from error
            raise


@contextlib.contextmanager
def open_instance(paths: WarehousePaths, report: Callable[[str], None]) -> Generator[dg.DagsterInstance]:
    """The instance of this warehouse, for a build; the environment's DAGSTER_HOME is neither read nor set.

    A history that cannot be read begins anew, which is reported; runs beyond `RUNS_KEPT` are forgotten.
    """
    for damaged in _damaged_databases(paths):
        report(f"{damaged}: the history of runs cannot be read, it begins anew")
        own_files.remove(paths.dagster_home)
        break
    write_configuration(paths)
    home = plain_path(paths.dagster_home)
    log = {
        "module": OpenEventLog.__module__,
        "class": OpenEventLog.__name__,
        "config": {"base_dir": str(home / "history" / "runs")},  # where Dagster itself puts it
    }
    reference = InstanceRef.from_dir(str(home), overrides={"event_log_storage": log})
    with _Instance.from_ref(reference) as instance:
        forget_old_runs(instance)
        _limit_pool(instance)
        yield instance


def forget_old_runs(instance: dg.DagsterInstance) -> None:
    """Remove the runs beyond `RUNS_KEPT` from the history, but for those that wait or run.

    Dagster leaves the event log of a run that it has forgotten, empty and as large as it was, what the run printed, and
    what became of its checks: 1.8 MB a run, found by `make faults`.
    """
    for record in instance.get_run_records()[RUNS_KEPT:]:
        if record.dagster_run.is_finished:
            instance.delete_run(record.dagster_run.run_id)
    home = Path(instance.root_directory)
    paths = [path for folder in OF_RUNS for path in home.glob(f"{folder}/*")]
    left = {path: found.group() for path in paths if (found := RUN_ID.match(path.name))}
    checked = event_log.runs_of_checks(instance.event_log_storage)
    known = set(instance.get_run_ids())  # asked afterwards: a run that begins meanwhile is known before it writes
    for path, run_id in left.items():
        if run_id not in known:
            own_files.remove(path)
    event_log.forget_checks(instance.event_log_storage, checked - known)


def is_own(instance: dg.DagsterInstance, paths: WarehousePaths) -> bool:
    """Tell if an instance is that of this warehouse, and not one that others keep their runs in too."""
    return instance.is_persistent and Path(instance.root_directory) == paths.dagster_home


def write_configuration(paths: WarehousePaths) -> None:
    """Tell Dagster how the instance of this warehouse works.

    In one step: whoever reads it meanwhile, such as a page that starts beside the daemon, reads all of it.
    """
    write_atomically(paths.dagster_home / "dagster.yaml", DAGSTER_YAML.encode())


def prepare(paths: WarehousePaths) -> None:
    """Configure the instance of this warehouse, so that page and daemon can start."""
    ownership.claim(paths)
    write_configuration(paths)
    with dg.DagsterInstance.from_config(str(paths.dagster_home)) as instance:
        _limit_pool(instance)


def _limit_pool(instance: dg.DagsterInstance) -> None:
    """Give the pool its limit, or the daemon finds none when it first looks at the queue, and starts all that wait."""
    if POOL not in instance.event_log_storage.get_concurrency_keys():
        instance.event_log_storage.initialize_concurrency_limit_to_default(POOL)


def _damaged_databases(paths: WarehousePaths) -> Iterator[Path]:
    """Dagster's databases that SQLite cannot read."""
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
        prepare(WarehousePaths(Path(sys.argv[1]).absolute()))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
