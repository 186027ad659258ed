"""Opening a warehouse from Python."""

from __future__ import annotations

from pathlib import Path

from dialogue_warehouse.api.warehouse import Warehouse


def open(  # noqa: A001 the name that users expect
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
        The memory that queries may use, such as `"2GB"`; the variable `DIALOGUE_QUERY_MEMORY_LIMIT` is the default.
    threads
        The threads that queries may use; the variable `DIALOGUE_THREADS` is the default.

    Returns
    -------
    Warehouse
        It is read-only. Close it, or use it in a `with` statement.

    Raises
    ------
    InputError
        If there is no warehouse at the place, or it cannot be opened.
    DownloadError
        If a URL cannot be downloaded, or the file differs from its checksum, or is not the file of a warehouse.
    """
    return Warehouse(place, raw=raw, memory_limit=memory_limit, threads=threads)
