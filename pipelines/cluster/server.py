"""Spark as a Thrift server that stands: what others have started, asked over its own protocol. It runs SQL alone."""

from __future__ import annotations

import contextlib
import shutil
import urllib.parse
from collections.abc import Generator
from pathlib import Path
from typing import Any, Self

from pipelines.cluster.options import server_options
from pipelines.cluster.session import ClusterError, refuse_missing, told
from pipelines.errors import InputError
from pipelines.settings import Settings

PORT = 10_000
"""Where a Thrift server listens that was told nothing else."""


def address(master: str) -> tuple[str, int, str | None]:
    """Host, port and user of `thrift://[USER@]HOST[:PORT]`. Raises InputError for what is no such address."""
    try:
        parts = urllib.parse.urlsplit(master)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, 0
    if not host:
        raise InputError(f"DIALOGUE_SPARK_MASTER: '{master}' is no server such as thrift://HOST:{PORT}")
    return host, port, parts.username


def check(settings: Settings) -> None:
    """Raise InputError unless there is all that talking to a server needs."""
    refuse_missing("pyhive", "dbt.adapters.spark")
    address(settings.spark_master)


class Server:
    """A server that stands. It lands nothing: that is done here, and it has to see the folder of the warehouse."""

    def __init__(self, settings: Settings, scratch: Path) -> None:
        """`scratch` is the folder of the build, where tables are kept that are thrown away."""
        self._master, self._scratch = settings.spark_master, scratch
        self._connection: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def sql(self, text: str, most: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement: the names of its columns and its rows, `most` of them at the most. Raises ClusterError."""
        try:
            cursor = self._connect().cursor()
            cursor.execute(text)
            if cursor.description is None:
                return [], []
            rows = cursor.fetchall() if most is None else cursor.fetchmany(most)
            return [column[0] for column in cursor.description], [tuple(row) for row in rows]
        except Exception as error:
            raise ClusterError(f"{self._master}: {told(error)}") from error

    def close(self) -> None:
        """End the connection; the server stands."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> Any:
        if self._connection is None:
            from pyhive import hive

            host, port, user = address(self._master)
            with told_settings():
                self._connection = hive.connect(host=host, port=port, username=user)
        return self._connection


@contextlib.contextmanager
def told_settings() -> Generator[None]:
    """Let every connection that pyhive makes begin by setting what results rest on, as long as the context lasts.

    What pyhive itself would send with the request, and dbt with it, Spark 4 does not heed.
    """
    from pyhive import hive

    by_pyhive = hive.connect

    def connect(*arguments: Any, **named: Any) -> Any:
        connection = by_pyhive(*arguments, **named)
        cursor = connection.cursor()
        for name, value in server_options().items():
            cursor.execute(f"set {name}={value}")
        cursor.close()
        return connection

    hive.connect = connect
    try:
        yield
    finally:
        hive.connect = by_pyhive
