"""The open warehouse of the Python API."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from dialogue_warehouse.common.text import Verdict
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading import catalogue, connection, findings, query
from dialogue_warehouse.reading.catalogue import TableDescription, TableSummary
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.places import Place
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

if TYPE_CHECKING:
    import duckdb

Names = str | Iterable[str]
"""One name, or several."""


def open_warehouse(
    place: str | Path, *, raw: bool = False, memory_limit: str | None = None, threads: int | None = None
) -> Warehouse:
    """Open a published warehouse to read it.

    Parameters
    ----------
    place
        The folder of a warehouse, a published DuckDB file, a folder of Parquet tables (`builds/<build>.tables`), or
        the URL of a published DuckDB file. A URL is downloaded once into the cache: `DIALOGUE_CACHE`, else
        `dialogue-warehouse` in `XDG_CACHE_HOME`, else in `~/.cache`.
    raw
        Adds the landed files of the release as the schema `raw`. Only the folder of a warehouse has them.
    memory_limit
        The memory that queries may use, such as `"2GB"`; `DIALOGUE_QUERY_MEMORY_LIMIT` is the default.
    threads
        The threads that queries may use; `DIALOGUE_THREADS` is the default.

    Returns
    -------
    Warehouse
        It is read-only. Close it, or use it in a `with` statement.

    Raises
    ------
    InputError
        If there is no warehouse at the place, or it cannot be opened.
    DownloadError
        If a URL cannot be downloaded, or the file differs from its checksum.
    """
    return Warehouse(place, raw=raw, memory_limit=memory_limit, threads=threads)


class Warehouse:
    """A published warehouse, open and read-only. `dialogue_warehouse.open` returns one.

    Threads may share it: each call opens another connection to the same build. Until `refresh` is called, it shows the
    build that was published when it was opened.
    """

    def __init__(
        self, place: str | Path, *, raw: bool = False, memory_limit: str | None = None, threads: int | None = None
    ) -> None:
        """Open it, as `dialogue_warehouse.open` does."""
        self._settings = Settings.from_environment(query_memory_limit=memory_limit, threads=threads).for_queries()
        self._raw = raw
        self._lock = threading.Lock()
        self._place = Place(place)
        self._con: Connection | None = None
        self._build_id = ""
        self._open()

    @property
    def build_id(self) -> str:
        """The id of the open build: the time of its start, in UTC."""
        return self._build_id

    @property
    def place(self) -> str:
        """The place that was opened, as it was given."""
        return self._place.named

    def sql(self, text: str, /, **parameters: Any) -> duckdb.DuckDBPyRelation:
        """Run one SELECT or EXPLAIN, in the sandbox of the command `sql`.

        Parameters
        ----------
        text
            The query. Tables need no schema name.
        **parameters
            The values of `$name` in the query.

        Returns
        -------
        duckdb.DuckDBPyRelation
            DuckDB's relation. It runs when it is read: `.fetchall()`, or with the library installed `.df()` (pandas),
            `.pl()` (polars) and `.to_arrow_table()` (pyarrow). Reading it may raise an error of DuckDB.

        Raises
        ------
        QueryError
            If the text is not one SELECT or EXPLAIN, or names something that is not there.
        """
        return query.run_query(self._another(), text, parameters).relation()

    def tables(self) -> list[TableSummary]:
        """List every table with its schema, its number of rows and the first sentence of its description."""
        with self._another() as con:
            return catalogue.list_tables(con)

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return all rows of a table, such as `fct_turns` or `core.fct_turns`, as DuckDB's relation.

        Raises
        ------
        QueryError
            If there is no such table; it names similar ones.
        """
        con = self._another()
        return con.sql(f"from {catalogue.address_of(con, name)}")

    def describe(self, name: str) -> TableDescription:
        """Describe a table: its grain, key, joins and columns, and which corpora fill them.

        Raises
        ------
        QueryError
            If there is no such table; it names similar ones.
        """
        with self._another() as con:
            return catalogue.describe_table(con, name)

    def claims(
        self, *, corpus: Names = (), verdict: Verdict | None = None, unexpected: bool = False
    ) -> duckdb.DuckDBPyRelation:
        """Return the claims of the corpora's documents, each with the number in the data and a verdict.

        Parameters
        ----------
        corpus
            Only the claims about this corpus, or about these.
        verdict
            Only claims with this verdict.
        unexpected
            Only claims whose verdict or number is not the recorded one.
        """
        text = findings.claims_query(words(corpus, "corpus"), verdict, unexpected, is_short=False)
        return self.sql(text)

    def violations(
        self, *, corpus: Names = (), rule: str | None = None, summary: bool = False
    ) -> duckdb.DuckDBPyRelation:
        """Return the violations: each row that breaks a rule, with its file, record and turn.

        Parameters
        ----------
        corpus
            Only the violations in this corpus, or in these.
        rule
            Only violations of this rule.
        summary
            Return the rules with their numbers of violations instead.

        Raises
        ------
        InputError
            If there is no such corpus or rule.
        """
        with self._another() as con:
            findings.refuse_unknown_rule(con, rule, self._place.paths.root)
        return self.sql(findings.violations_query(words(corpus, "corpus"), rule, summary, is_short=False))

    def refresh(self) -> bool:
        """Open the newest build if another one has been published since; return True if one was.

        If a URL was opened, a newer file is downloaded. Results that were made before still show the old build.

        Raises
        ------
        InputError, DownloadError
            As `dialogue_warehouse.open` does. Then the old build stays open.
        """
        with self._lock:
            self._opened()
            if not self._place.look_again() and builds.pointed_build(self._place.paths) == self._build_id:
                return False
            self._open()  # earlier results keep the old connection open
            return True

    def close(self) -> None:
        """Close it. Results that have not been read are lost. It may be closed twice."""
        with self._lock:
            if self._con is not None:
                self._con.close()
                self._con = None

    def __enter__(self) -> Warehouse:
        """Return itself; the end of the `with` statement closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        """Close it."""
        self.close()
        return False

    def __repr__(self) -> str:
        return f"<Warehouse {self.place!r}, {f'build {self._build_id}' if self._con else 'closed'}>"

    def _open(self) -> None:
        """Open the published build; the id is read before and after, because another may be published meanwhile."""
        while True:
            build_id, _ = builds.published_build(self._place.paths)
            con = connection.open_published(self._place.paths, raw=self._raw, settings=self._settings)
            if builds.pointed_build(self._place.paths) == build_id:
                break
            con.close()
        self._con, self._build_id = con, build_id

    def _opened(self) -> Connection:
        if self._con is None:
            raise InputError(f"{self.place}: the warehouse is closed; open it again")
        return self._con

    def _another(self) -> Connection:
        """Return another connection, for one call."""
        with self._lock:
            return connection.another(self._opened())


def words(given: Names, what: str) -> tuple[str, ...]:
    """Return names as a tuple. Raises InputError for one that is not a text."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"{what}: {wrong[0]!r} is not a text")
    return names
