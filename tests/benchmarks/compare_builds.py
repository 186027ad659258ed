"""Compare two warehouses row by row: `python -m tests.benchmarks.compare_builds BEFORE AFTER`.

BEFORE and AFTER are DuckDB files. For each table of the published schemas, compare columns and types, the number of
rows, and the rows that only one of them has (`except all` both ways). Columns that say when and where a build was made
differ between any two builds, and are left out. The exit status is 1 if anything differs.
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
"""Number of rows that are shown for each difference."""


def columns(con: duckdb.DuckDBPyConnection, database: str, table: str) -> dict[str, str]:
    """Return the columns of `schema.table` and their types."""
    schema, _, name = table.partition(".")
    found = con.execute(
        "select column_name, data_type from duckdb_columns() "
        "where database_name = ? and schema_name = ? and table_name = ? order by column_index",
        [database, schema, name],
    )
    return dict(found.fetchall())


def tables(con: duckdb.DuckDBPyConnection, database: str) -> set[str]:
    """Return the tables of a database, as `schema.table`."""
    found = con.execute(
        "select schema_name || '.' || table_name from duckdb_tables() where database_name = ?", [database]
    )
    return {name for (name,) in found.fetchall()}


def difference(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """Return the differences of a table as lines; none if there are no differences."""
    before, after = columns(con, "before", table), columns(con, "after", table)
    reported = [f"column {name}: {before.get(name)} before, {after.get(name)} after"
            for name in {**before, **after} if before.get(name) != after.get(name)]  # fmt: skip
    shared = [name for name in before if name in after]
    shared = [name for name in shared if name not in OF_THE_BUILD.get(table.partition(".")[2], set())]
    listed = ", ".join(f'"{name}"' for name in shared)
    for one, other, word in (("before", "after", "gone"), ("after", "before", "new")):
        query = f"select {listed} from {one}.{table} except all select {listed} from {other}.{table}"
        count = con.sql(query).count("*").fetchall()[0][0]
        if count:
            reported.append(f"{count:,} rows are {word}, such as")
            reported += [f"  {row}"[:400] for row in con.sql(query).limit(SHOWN).fetchall()]
    return reported


def compare(before: Path, after: Path) -> dict[str, list[str]]:
    """Return the differences of two warehouses by table; a table without differences has no lines."""
    with duckdb.connect() as con:
        con.execute("set enable_progress_bar = false")
        for name, path in (("before", before), ("after", after)):
            con.execute(f"attach '{path}' as {name} (read_only)")
        first, second = tables(con, "before"), tables(con, "after")
        reported = {table: difference(con, table) for table in sorted(first & second)}
        reported |= {table: ["only before"] for table in first - second}
        reported |= {table: ["only after"] for table in second - first}
    return reported


def main() -> int:
    """Print the differences. Return 1 if there are any, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    arguments = parser.parse_args()
    reported = compare(arguments.before, arguments.after)
    for table, lines in sorted(reported.items()):
        if lines:
            print(table, *lines, sep="\n  ")
    differing = sum(bool(lines) for lines in reported.values())
    print(f"{len(reported)} tables, {differing} differ")
    return int(bool(differing))


if __name__ == "__main__":
    raise SystemExit(main())
