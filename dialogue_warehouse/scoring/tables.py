"""The tables of results: in memory, or in a DuckDB file that keeps the runs of several predictions."""

from __future__ import annotations

from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import connect, literal, one_line
from dialogue_warehouse.corpora.sections import read_sections
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import ownership

RESULTS_SQL = Path(__file__).with_name("results.sql")
SCHEMA = "scores"
"""The name under which the tables are attached: `scores.metrics`."""
STORAGE = "v1.5.0"
"""The oldest version of DuckDB's format that has all that the tables need; older clients can open it."""


def refuse_place(file: Path) -> None:
    """Raise InputError for a path at which no file of results can be."""
    ownership.refuse_owned(file)
    if file.is_dir() or not file.parent.is_dir():
        raise InputError(f"{file}: is a folder, or its folder does not exist")


def attach(con: duckdb.DuckDBPyConnection, file: Path | None = None) -> bool:
    """Attach the results in memory, or in a file that is made if it does not exist.

    Returns whether there are tables already. Raises InputError.
    """
    if file is None:
        con.execute(f"attach ':memory:' as {SCHEMA}")
        return False
    # Without the type, DuckDB attaches a file of another kind, such as JSON, as a database in memory.
    is_there = file.exists()
    option = "type duckdb" if is_there else f"type duckdb, storage_version {literal(STORAGE)}"
    try:
        con.execute(f"attach {literal(file)} as {SCHEMA} ({option})")
    except duckdb.Error as error:
        raise InputError(f"{file}: is not a file of results, or is in use: {one_line(error)}") from error
    # A run that was killed before it made the tables leaves a file without one, which can be filled.
    if con.execute("select 1 from duckdb_tables() where database_name = ? limit 1", [SCHEMA]).fetchall():
        check_columns(con, file)
        return True
    return False


def check_columns(con: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Raise InputError if the attached file lacks a table or a column of the results."""
    query = "select table_name, column_name from duckdb_columns() where database_name = ?"
    there = set(con.execute(query, [SCHEMA]).fetchall())
    with connect(Settings()) as own:
        attach(own)
        make(own)
        needed = own.execute(f"{query} order by table_oid, column_index", [SCHEMA]).fetchall()
    lacking = next((f"{table}.{column}" for table, column in needed if (table, column) not in there), None)
    if lacking is not None:
        raise InputError(f"{file}: is not a file of results of this version: it lacks {lacking}; name another file")


def names() -> list[str]:
    """Return the names of the tables."""
    return list(read_sections(RESULTS_SQL, "part"))


def make(con: duckdb.DuckDBPyConnection) -> None:
    """Make the tables that do not exist."""
    for statements in read_sections(RESULTS_SQL, "part").values():
        con.execute(statements)
