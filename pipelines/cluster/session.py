"""Spark as a session of this process: the driver here, its executors wherever the master says.

The only module that imports pyspark. What the JVM prints goes to a file of the scratch folder, where nobody but who
looks for a fault reads it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
import signal
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pipelines.cluster import java, options
from pipelines.errors import CheckError, InputError, first_line
from pipelines.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = "spark.log"
"""Where the scratch folder has what the JVM prints."""
MISSING = (
    "DIALOGUE_ENGINE=spark needs pyspark and dbt-spark: run `make spark` in the clone, or install the extra "
    "dialogue-warehouse[spark]"
)
SECONDS_TO_END = 10
"""After which a JVM is killed that was told to end."""
Given = TypeVar("Given")
Result = TypeVar("Result")


class ClusterError(CheckError):
    """Spark did not start, or could not do what it was asked; one line."""


def check(settings: Settings) -> None:
    """Raise InputError unless there is all that a session of these settings needs."""
    refuse_missing("pyspark", "dbt.adapters.spark")
    java.check()
    options.user_options(settings.spark_conf)


def refuse_missing(*modules: str) -> None:
    """Raise InputError where one of these modules is not installed."""
    if not all(map(importlib.util.find_spec, modules)):
        raise InputError(MISSING)


class Session:
    """A session that starts when it is asked for the first time; a context manager, which ends it.

    There is one in a process at a time. Raises ClusterError where it cannot start.
    """

    def __init__(self, settings: Settings, scratch: Path) -> None:
        """`scratch` is the folder of the build: tables that are thrown away and what the JVM prints are kept there."""
        self._settings, self._scratch = settings, scratch
        self._session: SparkSession | None = None
        self._starting = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End it; what the JVM has printed stays where something went wrong, until the next session."""
        self.close()
        log = self._scratch / LOG
        said = log.read_bytes() if kind is not None and log.is_file() else None
        shutil.rmtree(self._scratch, ignore_errors=True)
        if said is not None:
            self._scratch.mkdir()
            log.write_bytes(said)

    def start(self) -> SparkSession:
        """The session, started where it is not yet."""
        with self._starting:
            if self._session is None:
                self._session = self._start()
            return self._session

    def sql(self, text: str, most: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement: the names of its columns and its rows, `most` of them at the most. Raises ClusterError."""
        session = self.start()
        try:
            found = session.sql(text)
            rows = found.collect() if most is None else found.limit(most).collect()
        except Exception as error:
            raise ClusterError(told(error)) from error
        return found.columns, [tuple(row) for row in rows]

    def run(self, function: Callable[[Given], Result], items: Iterable[Given]) -> list[Result]:
        """What a function gives for each item, in their order: a task an item, on whichever machine has time for it.

        A task that dies with its machine is run again, up to `spark.task.maxFailures` times. Function, items and
        results have to be what pickle can write. Raises ClusterError.
        """
        given = list(items)
        if not given:
            return []
        context = self.start().sparkContext
        try:
            return context.parallelize(given, len(given)).map(function).collect()
        except Exception as error:
            raise ClusterError(told(error)) from error

    def close(self) -> None:
        """End the session and its JVM."""
        if self._session is None:
            return
        with contextlib.suppress(Exception):  # a JVM that has died cannot end
            self._session.stop()
        self._session = None
        _end_jvm()

    def _start(self) -> SparkSession:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession

        # What nothing here asks pyspark for.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        shutil.rmtree(self._scratch, ignore_errors=True)  # of one that was killed
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
            context.pythonExec = options.PYTHON  # what it takes from the environment may be another Python
            return SparkSession(context)
        except BaseException as error:
            _end_jvm()
            if not isinstance(error, Exception):
                raise
            raise ClusterError(
                f"Spark does not start with master {self._settings.spark_master}: {told(error)} ({log} has more)"
            ) from error
        finally:  # pyspark puts its own in the place of what answers the keyboard
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, interrupted)


def _end_jvm() -> None:
    """End the JVM that this process has started, if there is one; nothing of it is left for the next session."""
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


def told(error: Exception) -> str:
    """What an error of Spark's says, in one line: its own sentence, and not the plan or the stack below it."""
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
