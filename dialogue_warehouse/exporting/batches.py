"""Two queries at a time, each on a separate connection: most queries of an export are too short to use two cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import duckdb

from dialogue_warehouse.lineage.restoring import another

AT_ONCE = 2
Item = TypeVar("Item")
Result = TypeVar("Result")


def each(
    con: duckdb.DuckDBPyConnection,
    items: Iterable[Item],
    work: Callable[[duckdb.DuckDBPyConnection, Item], Result],
    in_one_thread: bool = False,
) -> Iterator[Result]:
    """Yield what `work` returns for each item, in their order.

    `work` gets a connection to the same core, whose temporary tables end with the item. With `in_one_thread`, a query
    has only one thread. Do not use `con` before this generator has ended.
    """

    def run(item: Item) -> Result:
        with another(con) as own:
            return work(own, item)

    [(threads,)] = con.execute("select current_setting('threads')").fetchall()
    if in_one_thread:
        con.execute("set threads = 1")
    try:
        with ThreadPoolExecutor(min(AT_ONCE, threads)) as pool:
            yield from pool.map(run, items)
    finally:
        con.execute(f"set threads = {threads}")
