"""The published build as the server reads it: one open database, a cursor for each reader, and what is kept for it.

A build that is published while the server runs is opened at the next request; readers of the one before keep it until
they end. Each reader has a time limit, and only some read at the same time: the others get the response "busy". DuckDB
would keep all that was ever read in memory, so its memory is limited; a page that needs more is read again, alone.
"""

from __future__ import annotations

import contextlib
import copy
import re
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from dialogue_warehouse.common.database import OUT_OF_MEMORY
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import damage, search
from dialogue_warehouse.reading.connection import Connection, another, build_of, open_published
from dialogue_warehouse.reading.query import Patience, StoppedError
from dialogue_warehouse.settings import Settings, bytes_of, variable_of
from dialogue_warehouse.site.contents import Reading
from dialogue_warehouse.site.kept import Kept
from dialogue_warehouse.storage import builds

Read = TypeVar("Read")
ORDINARY = 96 * 10**6
"""Bytes that DuckDB may use for the pages of all readers, including the parts of the build that it keeps in memory."""
READERS = 4
"""Readers at the same time."""
WAIT = 10.0
"""Seconds that another one waits for its turn."""
LIMIT = 10.0
"""Seconds in which a page must be read."""
PAGES_KEPT = 200
"""Pages, tables and parts of lists that are kept for a build."""


class BusyError(InputError):
    """The server has no time, or not enough memory, for this page."""


class Build:
    """One open build."""

    def __init__(self, build_id: str, con: Connection, paths: WarehousePaths) -> None:
        self.build_id, self.con, self.paths = build_id, con, paths
        self.reading = Reading(con, paths)
        """The contents of the report's pages."""
        self.kept = Kept(most=PAGES_KEPT)
        self.readers = 0
        self._lock = threading.Lock()
        self._indexes: list[search.Index] = []

    def on(self, con: Connection) -> Build:
        """Return the same build, with what is kept for it, read with another connection."""
        other = copy.copy(self)
        other.con, other.reading = con, self.reading.on(con)
        return other

    def close(self) -> None:
        """Close the database and the index."""
        for index in self._indexes:
            index.close()
        self.con.close()

    def index(self, cursor: Connection) -> search.Index:
        """Return the search index."""
        with self._lock:
            if not self._indexes:
                self._indexes.append(search.open_index(cursor, self.paths))
            return self._indexes[0]


class Published:
    """The published build of a warehouse, whichever that is at the moment."""

    def __init__(self, paths: WarehousePaths, settings: Settings, scores: Path | None = None) -> None:
        """Read within the memory of the settings: what is over after ORDINARY is for pages that need more."""
        self.paths, self.scores = paths, scores
        share = bytes_of(settings.memory_limit)
        ordinary = min(ORDINARY, share)
        self._ordinary = replace(settings, memory_limit=f"{ordinary}B")
        self._larger = replace(settings, memory_limit=f"{share - ordinary}B") if share > 2 * ordinary else None
        self._larger_lock = threading.Lock()
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(READERS)
        self._build: Build | None = None

    def build_id(self) -> str:
        """Return the id of the published build. Raises InputError if there is none."""
        return builds.published_build(self.paths)[0]

    @contextlib.contextmanager
    def build(self) -> Generator[Build]:
        """Give the published build, opened, to a reader. Raises InputError if there is none."""
        with self._lock:
            build_id = self.build_id()
            if self._build is None or self._build.build_id != build_id:
                con = open_published(self.paths, settings=self._ordinary, scores=self.scores)
                before, self._build = self._build, Build(build_id, con, self.paths)
                if before is not None and not before.readers:
                    before.close()
            build = self._build
            build.readers += 1
        try:
            yield build
        finally:
            with self._lock:
                build.readers -= 1
                if build is not self._build and not build.readers:
                    build.close()

    def close(self) -> None:
        """Close the build; its last reader closes it if there is one."""
        with self._lock:
            build, self._build = self._build, None
            if build is not None and not build.readers:
                build.close()

    def read(self, make: Callable[[Build, Connection], Read]) -> Read:
        """Read something from the published build. Raises InputError, and BusyError if it takes too much."""
        if not self._turns.acquire(timeout=WAIT):
            raise BusyError("the server is busy; try again in a moment")
        end = time.monotonic() + LIMIT
        try:
            with self.build() as build:
                try:
                    with contextlib.closing(another(build.con)) as cursor:
                        return _within(cursor, end, lambda: make(build, cursor))
                except Exception as error:
                    if OUT_OF_MEMORY not in str(error) or self._larger is None:
                        raise
                with self._with_more_memory(build, end) as con:
                    return _within(con, end, lambda: make(build.on(con), con))
        except StoppedError as error:
            raise BusyError(f"this page took more than {LIMIT:g} seconds; add filters, or query with SQL") from error
        except InputError:
            raise
        except Exception as error:
            if OUT_OF_MEMORY in str(error):
                limit = variable_of("query_memory_limit")
                text = f"this page needs more memory than the server may use; add filters, or set a larger {limit}"
                raise BusyError(text) from error
            raise damage.cause_of(error, self.paths) or error from error
        finally:
            self._turns.release()

    @contextlib.contextmanager
    def _with_more_memory(self, build: Build, end: float) -> Generator[Connection]:
        """Open the build a second time, for one page that needs more memory; it is given back when the page is read."""
        if not self._larger_lock.acquire(timeout=max(0.0, end - time.monotonic())):
            raise BusyError("the server is busy; try again in a moment")
        try:
            con = open_published(self.paths, settings=self._larger, scores=self.scores)
            with contextlib.closing(con):
                if build_of(con) != build.build_id:
                    raise BusyError("another build has just been published; try again in a moment")
                yield con
        finally:
            self._larger_lock.release()


def _within(con: Connection, end: float, make: Callable[[], Read]) -> Read:
    """Return what a page reads with this connection until `end`."""
    return Patience(con, max(0.0, end - time.monotonic())).wait_for(make)


def bound(settings: Settings, processes: int) -> Settings:
    """Return the share of one of several processes in the memory that the server may use."""
    return settings.for_queries().for_each(processes)


def file_name(text: str, suffix: str) -> str:
    """Return a name for a downloaded file."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', text)[:100]}.{suffix}"
