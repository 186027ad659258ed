"""The Dagster instance of a warehouse: runs and events of its builds, in the folder that `dagster dev` shows.

dagster.yaml holds no path, so that the folder can be moved; where the event log is kept is set when the instance is
opened. See https://docs.dagster.io/deployment/oss/oss-instance-configuration

Dagster's SQLite storage makes an engine, a connection and a checkpoint for each of the 600 events of a build, and waits
for the disk at each. Here each file has one connection, which lasts as long as the instance. Measured on the sample, in
pairs on a busy machine: builds of 80 and 48 s took 121 and 113 s with Dagster's own. This overrides what Dagster does
not publish; tests/integration/test_event_log.py fails when that changes.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import dagster as dg
import sqlalchemy as sa
import sqlalchemy.event
import sqlalchemy.exc
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log.base import EventLogStorage
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._serdes import ConfigurableClassData
from sqlalchemy.pool import StaticPool

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import plain_path, write_atomically
from dialogue_warehouse.errors import InputError, is_full, is_out_of_memory
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import ownership


class OpenEventLog(SqliteEventLogStorage):
    """Dagster's SQLite event log with one open connection a file instead of one a statement."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: dict[str, sa.Engine] = {}
        self._tables: set[str] = set()
        self._has_index_columns = False
        super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, str]) -> Self:  # ty: ignore[incompatible-method-override]
        """Made by Dagster from dagster.yaml."""
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def _connect(self, shard: str) -> Generator[sa.Connection]:
        """A connection to the file of a run or to the index over all of them."""
        with self._db_lock:
            engine = self._engines.get(shard)
            if engine is None:
                arguments = {"timeout": SQLITE_BUSY_TIMEOUT_SECONDS, "check_same_thread": False}
                engine = sa.create_engine(
                    self.conn_string_for_shard(shard), poolclass=StaticPool, connect_args=arguments
                )
                sa.event.listen(engine, "connect", _wait_for_nothing)
                self._engines[shard] = engine
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
                with engine.connect() as connection:
                    connection.exec_driver_sql("pragma synchronous = normal")
            with engine.begin() as connection:
                yield connection

    def has_table(self, table_name: str) -> bool:
        """Whether the index has a table: Dagster asks at each event of an asset, and none goes away."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def _has_asset_key_index_cols_on_connection(self, conn: sa.Connection) -> bool:
        """Whether the index has what Dagster added years ago: it asks SQLite at each event of an asset."""
        if not self._has_index_columns:
            self._has_index_columns = super()._has_asset_key_index_cols_on_connection(conn)
        return self._has_index_columns

    def delete_events(self, run_id: str) -> None:
        """Forget a run, and close its file."""
        super().delete_events(run_id)
        with self._db_lock:
            engine = self._engines.pop(run_id, None)
            if engine is not None:
                engine.dispose()
            self._initialized_dbs.discard(run_id)

    def dispose(self) -> None:
        """Close every file."""
        with self._db_lock:
            for engine in self._engines.values():
                engine.dispose()
            self._engines.clear()
        super().dispose()


def runs_of_checks(storage: EventLogStorage) -> set[str]:
    """The ids of the runs of which it is kept what became of their asset checks."""
    if not isinstance(storage, SqlEventLogStorage):
        return set()
    with storage.index_connection() as connection:
        return set(connection.execute(sa.select(AssetCheckExecutionsTable.c.run_id).distinct()).scalars())


def forget_checks(storage: EventLogStorage, runs: Collection[str]) -> None:
    """Remove what became of the asset checks of these runs, which Dagster leaves for ever: 0.2 MB a run."""
    if runs and isinstance(storage, SqlEventLogStorage):
        with storage.index_connection() as connection:
            connection.execute(AssetCheckExecutionsTable.delete().where(AssetCheckExecutionsTable.c.run_id.in_(runs)))


def _wait_for_nothing(connection: sqlite3.Connection, _record: object) -> None:
    """As long as the file of a run is made: twenty transactions, of a file that has nothing in it."""
    connection.execute("pragma synchronous = off")


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
        files.remove(paths.dagster_home)
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
    checked = runs_of_checks(instance.event_log_storage)
    known = set(instance.get_run_ids())  # asked afterwards: a run that begins meanwhile is known before it writes
    for path, run_id in left.items():
        if run_id not in known:
            files.remove(path)
    forget_checks(instance.event_log_storage, checked - known)


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
