"""The rows of dialogues, by query: those of one dialogue, or tuples of many."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NamedTuple

import duckdb
import msgspec

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading import dialogue_parts
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.dialogue_queries import (
    CORPORA,
    QUERIES,
    QUERIES_OF_ONE,
    SOME,
    parameters_of,
    parameters_of_one,
)
from dialogue_warehouse.reading.findings import Row, read_rows


class Result(msgspec.Struct, frozen=True, gc=False):
    """A result of a call, with its values by slot."""

    key: str
    entity: dict[str, str | None]


MANY = ("turns", "frames", "acts", "spans", "annotations", "parameters", "state_slots", "calls", "results")
"""The queries with most of the rows, which stay tuples."""
PARTS = {
    "acts": msgspec.json.Decoder(tuple[dialogue_parts.Act, ...]),
    "spans": msgspec.json.Decoder(tuple[dialogue_parts.Span, ...]),
    "annotations": msgspec.json.Decoder(tuple[dialogue_parts.Annotation, ...]),
    "state_slots": msgspec.json.Decoder(tuple[dialogue_parts.StateSlot, ...]),
    "results": msgspec.json.Decoder(tuple[Result, ...]),
}
"""The queries whose last column is a list of parts as JSON, and what reads it. DuckDB writes it and msgspec reads it in
less time than Python needs to take every value from a row."""
ONLY_WITH = {
    "candidate_texts": "candidates",
    "state_slots": "frames",
    "parameters": "calls",
    "results": "calls",
    "attributes": "scenario_key",
    "scenario_values": "scenario_key",
    "guidelines": "task",
    "steps": "task",
    "prescribed": "task",
}
"""The queries that are needed only if another one has rows, or if `head` has a value in a column."""


_statements: dict[str, duckdb.Statement] = {}
"""The queries as DuckDB has parsed them, once for all dialogues of this process."""


class Rows:
    """The rows of one dialogue, without those of MANY."""

    def __init__(self, head: Row, of: dict[str, list[Row]]) -> None:
        self.head = head
        self.of = of

    def by(self, name: str, *columns: str) -> dict[Any, list[Row]]:
        """Group the rows of a query by the value of one column or of several."""
        return _grouped(self.of[name], *columns)

    @property
    def guideline(self) -> Row | None:
        """The guideline of its task."""
        return next(iter(self.of["guidelines"]), None)


class Batch(NamedTuple):
    """The rows of several dialogues."""

    rows: list[Rows]
    """Those of each existing dialogue, in the order of the keys."""
    many: dict[str, list[tuple[Any, ...]]]
    """The rows of each query of MANY, with the columns in their order. Lists of parts are read."""


Found = Set[tuple[str, str]]
"""The queries of SOME that find rows, each with a corpus."""


def read_found(con: Connection) -> Found:
    """Return which queries of SOME find rows for which corpora. A build need be asked only once.

    Raises InputError if the published build lacks one of the tables.
    """
    with _explained():
        return set(con.execute(CORPORA).fetchall())


def read_batch(connections: Sequence[Connection], keys: Sequence[str], found_by: Found | None = None) -> Batch:
    """Return the rows of dialogues. Several connections to the same build read at once, each in its thread.

    With what `read_found` returns, queries that find no rows for these corpora are not run.

    Raises InputError if the published build lacks one of the tables or columns.
    """
    if not keys:
        return Batch([], {name: [] for name in MANY})
    idle: SimpleQueue[Connection] = SimpleQueue()
    for con in connections:
        idle.put(con)
    is_one = len(keys) == 1
    texts = QUERIES_OF_ONE if is_one else QUERIES
    asked_for = parameters_of_one(keys[0]) if is_one else parameters_of(keys)
    corpora = {key.partition("/")[0] for key in keys}
    useful = {name for name, corpus in found_by if corpus in corpora} if found_by is not None else set(SOME)
    queries = [name for name in texts if name in useful or name not in SOME]

    def read(name: str) -> list[Any]:
        con = idle.get()
        try:
            return _read(con, name, texts[name], asked_for)
        finally:
            idle.put(con)

    with _explained(), _mapping(len(connections)) as each:
        first = [name for name in queries if name not in ONLY_WITH]
        found = dict(zip(first, each(read, first), strict=True))
        there = {name for name, rows in found.items() if rows}
        there |= {column for head in found["head"] for column, value in head.items() if value is not None}
        needed = [name for name in queries if ONLY_WITH.get(name) in there]
        found |= zip(needed, each(read, needed), strict=True)
    heads = {head["dialogue_key"]: head for head in found.pop("head")}
    many = {name: found.pop(name, []) for name in MANY}
    of = {name: _grouped(found.get(name, ()), "dialogue_key") for name in texts}
    rows = [Rows(heads[key], {name: of[name].get(key, []) for name in of}) for key in keys if key in heads]
    return Batch(rows, many)


def _read(con: Connection, name: str, text: str, asked_for: dict[str, Any]) -> list[Any]:
    if text not in _statements:
        (_statements[text],) = con.extract_statements(text)
    statement = _statements[text]
    if name not in MANY:
        return read_rows(con, statement, asked_for)
    rows = con.execute(statement, asked_for).fetchall()
    return [(*row[:-1], PARTS[name].decode(row[-1])) for row in rows] if name in PARTS else rows


@contextlib.contextmanager
def _mapping(number: int) -> Generator[Callable[..., Iterator[Any]]]:
    """Return a `map` that works in this number of threads."""
    if number == 1:
        yield map
    else:
        with ThreadPoolExecutor(number) as workers:
            yield workers.map


@contextlib.contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except (duckdb.BinderException, duckdb.CatalogException) as error:
        raise InputError(
            "the build was made by an older version and cannot show dialogues: build again, or open a newer copy"
        ) from error


def _grouped(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        values = tuple(row[column] for column in columns)
        groups[values[0] if len(columns) == 1 else values].append(row)
    return groups
