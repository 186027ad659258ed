"""Compare two warehouses row for row: `python -m tests.benchmarks.compare_builds BEFORE AFTER`.

BEFORE and AFTER are DuckDB files. For each table of the published schemas: columns and types, the number of rows, and
how many rows stand in one of them only (`except all` both ways). What says when and where a build was made differs
between any two builds, and is left out. Exit status 1 when anything differs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb

OF_THE_BUILD = {
    "builds": {"build_id", "started_at", "finished_at", "source", "fingerprint", "code_version"},
    "expectation_results": {"build_id", "run_at"},
}
"""Columns that differ between any two builds, by table."""
SHOWN = 3
"""Rows of each difference that are shown."""


def columns(con: duckdb.DuckDBPyConnection, database: str, table: str) -> dict[str, str]:
    """The columns of `schema.table` and their types."""
    schema, _, name = table.partition(".")
    found = con.execute(
        "select column_name, data_type from duckdb_columns() "
        "where database_name = ? and schema_name = ? and table_name = ? order by column_index",
        [database, schema, name],
    )
    return dict(found.fetchall())


def tables(con: duckdb.DuckDBPyConnection, database: str) -> set[str]:
    """The tables of a database, as `schema.table`."""
    found = con.execute(
        "select schema_name || '.' || table_name from duckdb_tables() where database_name = ?", [database]
    )
    return {name for (name,) in found.fetchall()}


def difference(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """How a table differs, in lines; none where it does not."""
    before, after = columns(con, "before", table), columns(con, "after", table)
    told = [f"column {name}: {before.get(name)} before, {after.get(name)} after"
            for name in {**before, **after} if before.get(name) != after.get(name)]  # fmt: skip
    shared = [name for name in before if name in after]
    shared = [name for name in shared if name not in OF_THE_BUILD.get(table.partition(".")[2], set())]
    listed = ", ".join(f'"{name}"' for name in shared)
    for one, other, word in (("before", "after", "gone"), ("after", "before", "new")):
        query = f"select {listed} from {one}.{table} except all select {listed} from {other}.{table}"
        count = con.sql(query).count("*").fetchall()[0][0]
        if count:
            told.append(f"{count:,} rows are {word}, such as")
            told += [f"  {row}"[:400] for row in con.sql(query).limit(SHOWN).fetchall()]
    return told


def compare(before: Path, after: Path) -> dict[str, list[str]]:
    """The differences of two warehouses by table; a table that does not differ has no lines."""
    with duckdb.connect() as con:
        con.execute("set enable_progress_bar = false")
        for name, path in (("before", before), ("after", after)):
            con.execute(f"attach '{path}' as {name} (read_only)")
        first, second = tables(con, "before"), tables(con, "after")
        told = {table: difference(con, table) for table in sorted(first & second)}
        told |= {table: ["only before"] for table in first - second}
        told |= {table: ["only after"] for table in second - first}
    return told


def main() -> int:
    """Print the differences; 1 when there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    told = compare(arguments.before, arguments.after)
    for table, lines in sorted(told.items()):
        if lines:
            print(table, *lines, sep="\n  ")
    differing = sum(bool(lines) for lines in told.values())
    print(f"{len(told)} tables, {differing} differ")
    return int(bool(differing))


if __name__ == "__main__":
    raise SystemExit(main())
