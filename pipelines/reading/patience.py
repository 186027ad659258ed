"""A query that runs while somebody waits: no longer than they want to, and no longer than until Ctrl-C.

DuckDB looks for signals between two steps of a query, if at all. So it works in a thread, and this one waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import duckdb

from pipelines.reading.query_errors import QueryError

Result = TypeVar("Result")
HEED = 0.3
"""Seconds that a query has to heed an interrupt; what does not is left behind, and ends with the process."""


class Patience:
    """Waits for the steps of one query, all together so many seconds; None stands for ever."""

    def __init__(self, con: duckdb.DuckDBPyConnection, seconds: float | None = None) -> None:
        self._con, self._seconds = con, seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    def wait_for(self, step: Callable[[], Result]) -> Result:
        """What a step gives or raises. Raises QueryError when time is up, KeyboardInterrupt at once when it comes."""
        given: list[Any] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                given.append(step())
            except BaseException as error:
                raised.append(error)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        try:
            worker.join(None if self._end is None else max(0.0, self._end - time.monotonic()))
        except KeyboardInterrupt:
            self._stop(worker)
            raise
        if worker.is_alive():
            self._stop(worker)
            raise QueryError(
                f"given up after {self._seconds:g} seconds; --timeout SECONDS or DIALOGUE_QUERY_TIMEOUT gives it more"
            )
        if raised:
            raise raised[0]
        return given[0]

    def _stop(self, worker: threading.Thread) -> None:
        self._con.interrupt()
        worker.join(HEED)
