"""The published build as the server reads it: one open database, a cursor for each reader, and what is kept for it.

A build that is published while the server runs is opened at the next request; readers of the one before keep it until
they end. Each reader has a time limit, and only some read at the same time: the others get the answer "busy".
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeVar

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import damage, search
from dialogue_warehouse.reading.connection import Connection, another, open_published
from dialogue_warehouse.reading.query import Patience, StoppedError
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site.contents import Reading
from dialogue_warehouse.site.kept import Kept
from dialogue_warehouse.storage import builds

Read = TypeVar("Read")
READERS = 4
"""Readers at the same time."""
WAIT = 10.0
"""Seconds that another one waits for its turn."""
LIMIT = 10.0
"""Seconds in which a page must be read."""
PAGES_KEPT = 200
"""Pages, tables and parts of lists that are kept for a build."""


class BusyError(InputError):
    """The server has no time for this page now."""


class Build:
    """One open build."""

    def __init__(self, build_id: str, con: Connection, paths: WarehousePaths) -> None:
        self.build_id, self.con, self.paths = build_id, con, paths
        self.reading = Reading(con, paths)
        """The contents of the report's pages."""
        self.kept = Kept(most=PAGES_KEPT)
        self.readers = 0
        self._lock = threading.Lock()
        self._index: search.Index | None = None

    def close(self) -> None:
        """Close the database and the index."""
        if self._index is not None:
            self._index.close()
        self.con.close()

    def index(self, cursor: Connection) -> search.Index:
        """Return the search index."""
        with self._lock:
            if self._index is None:
                self._index = search.open_index(cursor, self.paths)
            return self._index


class Published:
    """The published build of a warehouse, whichever that is at the moment."""

    def __init__(self, paths: WarehousePaths, settings: Settings, scores: Path | None = None) -> None:
        self.paths, self.settings, self.scores = paths, settings, scores
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
                con = open_published(self.paths, settings=self.settings, scores=self.scores)
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
        """Read something from the published build. Raises InputError, and BusyError if that takes too long."""
        if not self._turns.acquire(timeout=WAIT):
            raise BusyError("the server is busy; try again in a moment")
        try:
            with self.build() as build, contextlib.closing(another(build.con)) as cursor:
                return Patience(cursor, LIMIT).wait_for(lambda: make(build, cursor))
        except StoppedError as error:
            raise BusyError(f"this page took more than {LIMIT:g} seconds; narrow it, or ask in SQL") from error
        except InputError:
            raise
        except Exception as error:
            raise damage.cause_of(error, self.paths) or error from error
        finally:
            self._turns.release()


def bound(settings: Settings, processes: int) -> Settings:
    """Return the share of one of several processes in the memory that the server may use."""
    return settings.for_queries().for_each(processes)


def file_name(text: str, suffix: str) -> str:
    """Return a name for a downloaded file."""
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', text)[:100]}.{suffix}"
