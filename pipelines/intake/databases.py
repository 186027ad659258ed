"""Connect to DuckDB within the memory and the threads of the settings: every connection of a command begins here."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path

import duckdb

from pipelines.intake.sql_text import NO_PROGRESS_BAR
from pipelines.settings import Settings

_connections = itertools.count()


def connect(
    settings: Settings, database: Path | None = None, read_only: bool = False, max_vacuum_tasks: int | None = None
) -> duckdb.DuckDBPyConnection:
    """Open a database, or one in memory, with the limits of the settings.

    What does not fit into memory is put beside the database. One in memory has a folder of its own for that, and not
    the working folder, which is DuckDB's default.
    """
    config: dict[str, str | float | list[str]] = {"memory_limit": settings.memory_limit, "threads": settings.threads}
    if database is None:
        spill = f"dialogue-warehouse-{os.getpid()}-{next(_connections)}.spill"
        config["temp_directory"] = str(Path(tempfile.gettempdir(), spill))
    if max_vacuum_tasks is not None:
        config["max_vacuum_tasks"] = max_vacuum_tasks
    con = duckdb.connect(str(database or ":memory:"), read_only=read_only, config=config)
    con.execute(NO_PROGRESS_BAR)
    return con
