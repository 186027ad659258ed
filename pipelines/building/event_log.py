"""Dagster's event log, kept open: the same SQLite files that Dagster's own storage writes and reads.

Dagster's storage makes an engine, a connection and a checkpoint of the write-ahead log for each of the 600 events of a
build, and waits for the disk at each. Here each file has one connection, which lasts as long as the instance and waits
for the disk at checkpoints only; the write-ahead log makes that safe. Measured on the sample,
in pairs on a busy machine: builds of 80 and 48 s took 121 and 113 s with Dagster's own, 3 to 5 s of them busy.

It overrides what Dagster does not publish; tests/integration/test_event_log.py fails when that changes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from typing import Self

import sqlalchemy as sa
import sqlalchemy.event
from dagster._core.storage.event_log.base import EventLogStorage
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._serdes import ConfigurableClassData
from sqlalchemy.pool import StaticPool


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
