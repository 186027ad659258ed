"""The connection of an open warehouse: opening, refreshing and closing it."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn, TypeVar

from dialogue_warehouse.api import processes
from dialogue_warehouse.api.arguments import in_words_of_python
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import connection, damage
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.places import Place
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

Item = TypeVar("Item")


class Opened:
    """A place with a published build, and the connection to it. Threads may share it."""

    def __init__(self, place: str | Path, raw: bool, settings: Settings) -> None:
        self.settings = settings
        self._raw = raw
        self._lock = threading.Lock()
        self._notices: list[str] = []
        self.place = Place(place, self.settings, self._notices.append, raw)
        self._warn(stacklevel=5)
        self._con: Connection | None = None
        self.build_id = ""
        self._open()

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: another process needs its own connection."""
        raise TypeError("an open warehouse cannot be pickled or copied: open it again, in each process")

    @property
    def file(self) -> Path:
        """The file of the open build. It has another path after each refresh that opens another build."""
        return self.place.paths.build_database(self.build_id)

    @property
    def is_open(self) -> bool:
        """Return whether the connection is open."""
        return self._con is not None

    def refresh(self) -> bool:
        """Open the newest build if another one has been published since; return True if one was."""
        with self._lock:
            self._opened()
            is_replaced = self.place.look_again()
            self._warn(stacklevel=4)
            if not is_replaced and builds.pointed_build(self.place.paths) == self.build_id:
                return False
            self._open()  # earlier results keep the old connection open
            return True

    def close(self) -> None:
        """Close the connection, or do nothing if it is closed."""
        with self._lock:
            if self._con is not None and not processes.is_inherited(self._con):
                self._con.close()
            self._con = None

    def _open(self) -> None:
        """Open the published build; the id is read before and after, because another may be published meanwhile."""
        while True:
            build_id, _ = builds.published_build(self.place.paths)
            con = connection.open_published(self.place.paths, raw=self._raw, settings=self.settings)
            if builds.pointed_build(self.place.paths) == build_id:
                break
            con.close()
        self._con, self.build_id = processes.opened(con), build_id

    def database(self, selected_in: Path | None = None) -> Path:
        """Return the file of the open build. Raises InputError if another build has been published since.

        Raises InputError, too, if `selected_in` is the file of another build.
        """
        self._opened()
        if self.place.is_replaced():
            raise InputError(f"{self.place.named}: another build has been published since; refresh() opens it")
        build_id, database = builds.published_build(self.place.paths)
        if build_id != self.build_id:
            raise InputError(f"{self.place.named}: build {build_id} has been published since; refresh() opens it")
        if selected_in not in (None, database):
            raise InputError(
                f"{self.place.named}: the dialogues are from build {selected_in.stem}, and another build is open now; "
                "select them again"
            )
        return database

    def current(self) -> tuple[WarehousePaths, Settings]:
        """Return the paths and the settings. Raises InputError if another build has been published since."""
        self.database()
        return self.place.paths, self.settings

    def _warn(self, stacklevel: int) -> None:
        """Pass the notices of a download on, as warnings about the line of the user."""
        while self._notices:
            warnings.warn(self._notices.pop(0), UserWarning, stacklevel=stacklevel)

    def _opened(self) -> Connection:
        if self._con is None:
            raise InputError(f"{self.place.named}: the warehouse is closed; open it again")
        if processes.is_inherited(self._con):
            raise InputError(f"{self.place.named}: another process has opened the warehouse; open it again in this one")
        return self._con

    def another(self) -> Connection:
        """Return another connection, for one call."""
        with self._lock:
            return processes.opened(connection.another(self._opened()))

    @contextlib.contextmanager
    def explaining(self) -> Generator[None]:
        """Name the problem of the published build behind an error, and what an error names as Python names it."""
        with in_words_of_python():
            try:
                yield
            except Exception as error:
                if not isinstance(error, OSError) and (cause := damage.cause_of(error, self.place.paths)) is not None:
                    raise cause from error
                raise

    def explained(self, items: Generator[Item]) -> Generator[Item]:
        """Yield the same items; explain an error that occurs when they are read."""
        with self.explaining():
            yield from items
