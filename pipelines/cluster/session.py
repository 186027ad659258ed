"""Spark as a session of this process or as a Thrift server, as the settings say. Imports pyspark.

In a session, the driver is in this process and the executors are where the master says; every machine must see the
folder of the warehouse under the same path. A server only runs SQL. The output of the JVM goes to a file in the scratch
folder.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse
import uuid
import warnings
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dialogue_warehouse.errors import CheckError, InputError, first_line
from dialogue_warehouse.settings import SPARK, Settings
from pipelines.cluster import options
from pipelines.cluster.options import is_server, server_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOG = "spark.log"
"""The file of the scratch folder with the output of the JVM."""
MISSING = (
    "DIALOGUE_ENGINE=spark needs pyspark and dbt-spark: run `make spark` in the clone, or install the extra "
    "dialogue-warehouse[spark]"
)
STANDALONE = "spark://"
SECONDS_TO_ANSWER = 10
"""Seconds to wait until a master accepts a connection."""
SECONDS_TO_END = 10
"""Seconds to wait for a JVM to end before it is killed."""
Given = TypeVar("Given")
Result = TypeVar("Result")


class ClusterError(CheckError):
    """Spark did not start, or a request to it failed; one line."""


def check_session(settings: Settings) -> None:
    """Raise InputError unless everything is installed that a session of these settings needs."""
    refuse_missing("pyspark", "dbt.adapters.spark")
    options.check()
    options.user_options(settings.spark_conf)


def refuse_missing(*modules: str) -> None:
    """Raise InputError where one of these modules is not installed."""
    if not all(map(importlib.util.find_spec, modules)):
        raise InputError(MISSING)


class Session:
    """A Spark session. It starts when it is first used, and ends with the `with` block.

    A process has one session at a time. Raises ClusterError where it cannot start.
    """

    def __init__(self, settings: Settings, scratch: Path) -> None:
        """Keep temporary tables and the output of the JVM in `scratch`, a folder of the build."""
        self._settings, self._scratch = settings, scratch
        self._session: SparkSession | None = None
        self._starting = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the session. After an error the output of the JVM is kept until the next session."""
        self.close()
        log = self._scratch / LOG
        said = log.read_bytes() if kind is not None and log.is_file() else None
        shutil.rmtree(self._scratch, ignore_errors=True)
        if said is not None:
            self._scratch.mkdir()
            log.write_bytes(said)

    def start(self) -> SparkSession:
        """Return the session; start it if it has not started."""
        with self._starting:
            if self._session is None:
                self._session = self._start()
            return self._session

    def sql(self, text: str, most: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement. Return the names of its columns and its rows, at most `most` of them.

        Raises ClusterError.
        """
        session = self.start()
        try:
            found = session.sql(text)
            rows = found.collect() if most is None else found.limit(most).collect()
        except Exception as error:
            raise ClusterError(one_line(error)) from error
        return found.columns, [tuple(row) for row in rows]

    def run(self, function: Callable[[Given], Result], items: Iterable[Given]) -> list[Result]:
        """Return the result of a function for each item, in their order.

        Each item is a task on any machine that is free.

        A task whose machine fails is run again, up to `spark.task.maxFailures` times. Function, items and results must
        be picklable. Raises ClusterError.
        """
        given = list(items)
        if not given:
            return []
        context = self.start().sparkContext
        try:
            return context.parallelize(given, len(given)).map(function).collect()
        except Exception as error:
            raise ClusterError(one_line(error)) from error

    def close(self) -> None:
        """End the session and its JVM."""
        if self._session is None:
            return
        with contextlib.suppress(Exception):  # a JVM that has died cannot end
            self._session.stop()
        self._session = None
        _end_jvm()

    def _start(self) -> SparkSession:
        refuse_silent(self._settings.spark_master)
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession

        # Hide a warning about pandas, which is not used here.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        shutil.rmtree(self._scratch, ignore_errors=True)  # left by a killed session
        self._scratch.mkdir(parents=True)
        conf = SparkConf(loadDefaults=False)
        conf.setAll(options.session_options(self._settings, self._scratch).items())
        log = self._scratch / LOG
        interrupted = signal.getsignal(signal.SIGINT)
        try:
            with log.open("w") as out:
                SparkContext._gateway = launch_gateway(conf, popen_kwargs={"stdout": out, "stderr": out})
            SparkContext._jvm = SparkContext._gateway.jvm
            context = SparkContext(conf=conf)
            context.setLogLevel("ERROR")
            context.pythonExec = options.PYTHON  # pyspark takes another Python from the environment
            return SparkSession(context)
        except BaseException as error:
            _end_jvm()
            if not isinstance(error, Exception):
                raise
            raise ClusterError(
                f"Spark does not start with master {self._settings.spark_master}: {one_line(error)} ({log} has more)"
            ) from error
        finally:  # pyspark replaces the handler of SIGINT
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, interrupted)


def refuse_silent(master: str) -> None:
    """Raise ClusterError if a standalone master accepts no connection; Spark itself tries for a minute.

    A master may be several machines, `spark://HOST:PORT,HOST:PORT`, of which one is enough.
    """
    if not master.startswith(STANDALONE):
        return
    reasons = []
    for place in master.removeprefix(STANDALONE).split(","):
        host, _, port = place.rpartition(":")
        reason = _refusal(host.strip("[]"), port)
        if reason is None:
            return
        reasons.append(f"{place}: {reason}")
    raise ClusterError(f"Spark does not start with master {master}: {'; '.join(reasons)}")


def _refusal(host: str, port: str | int) -> str | None:
    """Return the reason that a place accepts no connection within SECONDS_TO_ANSWER; None if it accepts one."""
    try:
        socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
    except (OSError, ValueError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def _end_jvm() -> None:
    """End the JVM that this process has started, if there is one, so that the next session starts a new one."""
    from pyspark import SparkContext

    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    if gateway is None:
        return
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process = gateway.proc
    process.stdin.close()
    try:
        process.wait(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def one_line(error: Exception) -> str:
    """Return the message of an error of Spark in one line, without the plan or the stack below it."""
    java_error = getattr(error, "java_exception", None)
    of_a_server = getattr(error.args[0], "status", None) if error.args else None
    text = str(getattr(of_a_server, "errorMessage", None) or error)
    if java_error is not None:
        with contextlib.suppress(Exception):
            text = str(java_error.getMessage() or java_error.toString())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    of_python = [line for line in lines if re.match(r"(\w+\.)*\w*(Error|Exception): ", line)]
    if of_python and "Traceback" in text:
        return of_python[-1]
    return lines[0] if lines else first_line(error)


PORT = 10_000
"""The default port of a Thrift server."""


def address(master: str) -> tuple[str, int, str | None]:
    """Return host, port and user of `thrift://[USER@]HOST[:PORT]`. Raises InputError for any other text."""
    try:
        parts = urllib.parse.urlsplit(master)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, 0
    if not host:
        raise InputError(f"DIALOGUE_SPARK_MASTER: '{master}' is not a server such as thrift://HOST:{PORT}")
    return host, port, parts.username


def check_server(settings: Settings) -> None:
    """Raise InputError unless everything is installed that a connection to a server needs."""
    refuse_missing("pyhive", "dbt.adapters.spark")
    address(settings.spark_master)


class Server:
    """A running server.

    It lands no files: this process does that, and the server must see the folder of the warehouse.
    """

    def __init__(self, settings: Settings, scratch: Path) -> None:
        """Keep temporary tables in `scratch`, a folder of the build."""
        self._master, self._scratch = settings.spark_master, scratch
        self._connection: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def sql(self, text: str, most: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement. Return the names of its columns and its rows, at most `most` of them.

        Raises ClusterError.
        """
        try:
            cursor = self._connect().cursor()
            cursor.execute(text)
            if cursor.description is None:
                return [], []
            rows = cursor.fetchall() if most is None else cursor.fetchmany(most)
            return [column[0] for column in cursor.description], [tuple(row) for row in rows]
        except Exception as error:
            raise ClusterError(f"{self._master}: {one_line(error)}") from error

    def close(self) -> None:
        """End the connection; the server keeps running."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> Any:
        if self._connection is None:
            host, port, user = address(self._master)
            if (reason := _refusal(host, port)) is not None:  # the library waits as long as the system does
                raise ClusterError(reason)
            from pyhive import hive

            with server_settings():
                self._connection = hive.connect(host=host, port=port, username=user)
        return self._connection


@contextlib.contextmanager
def server_settings() -> Generator[None]:
    """Set the options that results depend on in every connection that pyhive makes, as long as the context lasts.

    Spark 4 ignores the options that pyhive itself, and dbt through it, sends with the request.
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


TASKS = 8
"""Number of tasks that check the storage; Spark spreads them over all its machines."""


def check_storage(spark: Session, folder: Path) -> None:
    """Raise InputError where a task does not see a file of this folder, or where its own file is not seen here."""
    folder.mkdir(parents=True, exist_ok=True)
    seen_there = folder / f".seen.{os.getpid()}.{uuid.uuid4().hex}.tmp"
    seen_there.write_bytes(b"")
    names = [(str(seen_there), f"{seen_there}.{number}.tmp") for number in range(TASKS)]
    try:
        for (_, written), (host, why) in zip(names, spark.run(_look, names), strict=True):
            why = why or ("" if Path(written).is_file() else "files that it writes there are not visible here")
            if why:
                raise InputError(
                    f"{folder}: {host}, a machine of the cluster, does not share this folder ({why}): put the "
                    "warehouse and the source on storage that every machine sees under the same path"
                )
    finally:
        for path in (seen_there, *(Path(written) for _, written in names)):
            path.unlink(missing_ok=True)


def _look(names: tuple[str, str]) -> tuple[str, str]:
    """Return the machine that this task runs on, and the reason that it cannot land files there, else ""."""
    there, written = map(Path, names)
    host = socket.gethostname()
    if not there.is_file():
        return host, "files that are written here are not visible there"
    try:
        written.write_bytes(b"")
    except OSError as error:
        return host, f"it cannot write there: {error.strerror}"
    return host, ""


Spark = Session | Server


def check_engine(settings: Settings) -> None:
    """Raise InputError where the settings select Spark and something that it needs is missing."""
    if settings.engine == SPARK:
        (check_server if is_server(settings.spark_master) else check_session)(settings)


def spark_of(settings: Settings, scratch: Path) -> Spark | None:
    """Return the Spark of the settings, which starts when it is first used; None where DuckDB builds."""
    if settings.engine != SPARK:
        return None
    return (Server if is_server(settings.spark_master) else Session)(settings, scratch)
