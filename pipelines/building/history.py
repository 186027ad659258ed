"""Tables about the builds, which dbt loads: the row of this build in `quality.builds`, and the rows of earlier builds.

Where an expectation stops a build, the first rows that break it are looked up in the built database, and each is traced
to its file and record by `core.source_of`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from dialogue_warehouse.common import files
from dialogue_warehouse.common.database import connect, identifier, limits, literal, one_line
from dialogue_warehouse.corpora.claims import read_claims
from dialogue_warehouse.corpora.registry import corpus_ids
from dialogue_warehouse.corpora.suites import UNEXPECTED_ROWS, Expectation
from dialogue_warehouse.errors import BuildError, InputError, quoted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.changes import Changes, Side, change_rows, compare
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.builds import open_build
from expectations.client import AuditProcess
from pipelines.building.fingerprint import code_version
from pipelines.building.state import Build

BUILDS_COLUMNS = {
    "build_id": "varchar",
    "started_at": "timestamp",
    "finished_at": "timestamp",
    "source": "varchar",
    "fingerprint": "varchar",
    "code_version": "varchar",
    "corpora": "varchar",
    "dialogue_count": "integer",
    "turn_count": "integer",
    "action_count": "integer",
    "slot_count": "integer",
    "violation_count": "integer",
}
"""The columns of `quality.builds`."""


CHANGES_COLUMNS = {
    "build_id": "varchar",
    "base_build_id": "varchar",
    "kind": "varchar",
    "table_name": "varchar",
    "corpus_id": "varchar",
    "change": "varchar",
    "row_count": "integer",
    "first_keys": "varchar[]",
    "first_before": "varchar[]",
    "first_after": "varchar[]",
}
"""The columns of `quality.build_changes`."""

HISTORY_TABLES = ("builds", "expectation_results", "build_changes")
"""The tables of `quality` with rows of every build."""


def prepare_audit(build: Build, paths: WarehousePaths, settings: Settings) -> list[str]:
    """Write the row of this build and copy the history of the published one, as Parquet for dbt to load.

    Returns a line if the history cannot be read.
    """
    for name in HISTORY_TABLES:
        folder = paths.scratch_audit / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "history.parquet").unlink(missing_ok=True)
    counted = {"dialogue_count": "core.dim_dialogues", "turn_count": "core.fct_turns"}
    counted |= {"action_count": "core.fct_actions", "slot_count": "core.fct_slots"}
    counted |= {"violation_count": "(from quality.violations where kind = 'defect')"}
    with connect(settings, paths.scratch_database, read_only=True) as con:
        counts = {name: con.sql(f"from {table}").count("*").fetchall()[0][0] for name, table in counted.items()}
    row = {
        "build_id": build.build_id,
        "started_at": build.started_at.replace(tzinfo=None),
        "finished_at": datetime.now(UTC).replace(tzinfo=None),
        "source": _relative_source(build, paths),
        "fingerprint": build.fingerprint,
        "code_version": code_version(),
        "corpora": ",".join(build.corpora),
    }
    files.write_table(paths.scratch_audit / "builds" / "results.parquet", BUILDS_COLUMNS, [row | counts], settings)
    return _copy_history(paths, settings)


def _relative_source(build: Build, paths: WarehousePaths) -> str:
    """Return the source relative to the warehouse: an absolute path would publish private details of the user."""
    if build.source == builds.EMBEDDED_SAMPLE:
        return build.source
    return os.path.relpath(build.source, paths.root)


def _copy_history(paths: WarehousePaths, settings: Settings) -> list[str]:
    """Copy the history of the published build. Return a line if it cannot be read."""
    build_id = builds.pointed_build(paths)
    if build_id is None:
        return []
    database = paths.build_database(build_id)
    try:
        with open_build(database, settings) as con:
            listed = "select table_name from information_schema.tables where table_schema = 'quality'"
            there = con.execute(listed).fetchall()
            for name in HISTORY_TABLES:
                target = paths.scratch_audit / name / "history.parquet"
                if (name,) in there:  # another version, which has no such table, may have published it
                    con.execute(f"copy quality.{name} to {literal(str(target))} (format parquet)")
    except (InputError, duckdb.Error) as error:
        for name in HISTORY_TABLES:
            (paths.scratch_audit / name / "history.parquet").unlink(missing_ok=True)
        return [f"{database}: the history of earlier builds cannot be read, a new one is started: {one_line(error)}"]
    return []


def find_changes(build: Build, paths: WarehousePaths, settings: Settings) -> Changes | None:
    """Find the differences from the published build and write them as Parquet for dbt to load.

    Returns None where there is no published build that can be read. Raises BuildError where the comparison fails: a
    build that cannot be compared is not published.
    """
    base = builds.pointed_build(paths)
    found = None
    if base is not None and _is_readable(paths.build_database(base), settings):
        before = Side(base, paths.build_database(base))
        now = Side(build.build_id, paths.scratch_database, paths.scratch_audit / "claim_checks")
        try:
            found = compare(before, now, settings, same=build.reused)
        except (InputError, duckdb.Error) as error:
            raise BuildError(f"the new tables cannot be compared with build {base}: {one_line(error)}") from error
    rows = list(change_rows(found)) if found else []
    files.write_table(paths.scratch_audit / "build_changes" / "results.parquet", CHANGES_COLUMNS, rows, settings)
    return found


def _is_readable(database: Path, settings: Settings) -> bool:
    """Return whether a database can be opened and compared with; one that cannot was reported with its history."""
    try:
        with open_build(database, settings) as con:
            for schema, view in con.execute(
                "select schema_name, view_name from duckdb_views() where not internal"
            ).fetchall():
                con.execute(f"select count(*) from {identifier(schema)}.{identifier(view)}")
    except (InputError, duckdb.Error):
        return False
    return True


def copy_restorations(build: Build, paths: WarehousePaths, settings: Settings) -> None:
    """Copy the restorations of the corpora that fall back from the published build."""
    target = paths.scratch_audit / "restorations" / "published.parquet"
    target.unlink(missing_ok=True)
    base = builds.pointed_build(paths)
    if build.fallbacks and base is not None:
        listed = ", ".join(literal(corpus_id) for corpus_id in sorted(build.fallbacks))
        rows = f"from quality.restorations where split_part(source_file_id, '/', 1) in ({listed})"
        with open_build(paths.build_database(base), settings) as con:
            con.execute(f"copy ({rows}) to {literal(str(target))} (format parquet)")


CASES_SHOWN = 3
"""The largest number of cases that a failure names."""


def first_cases(database: Path, suite: str, expectation: Expectation, settings: Settings) -> list[str]:
    """Return the first rows that break an expectation, as text; none where the expectation is about a number."""
    query = _cases_query(suite, expectation)
    if query is None:
        return []
    with connect(settings, database, read_only=True) as con:
        try:
            found = con.sql(f"from ({query}) order by all limit {CASES_SHOWN}")
            rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error:  # the expectation failed because its query fails, and its message says so
            return []
        return [_describe_row(con, row) for row in rows]


def _cases_query(suite: str, expectation: Expectation) -> str | None:
    """Return the SQL that selects the rows that break an expectation; None where it is not about rows."""
    if expectation.type == UNEXPECTED_ROWS:
        return expectation.kwargs["query"]
    if suite in corpus_ids():
        recorded = {entry.id: entry.unexpected_rows for _, entry in read_claims(suite).claims}
        if recorded.get(expectation.expectation_id):
            return recorded[expectation.expectation_id]
    broken = _broken(expectation.type, expectation.kwargs)
    if broken is None:
        return None
    return f"from {expectation.table} where {_conditions(expectation.kwargs.get('row_condition'))} {broken}"


def _broken(kind: str, kwargs: Mapping[str, Any]) -> str | None:
    """Return the condition, for the end of a WHERE, that rows meet which break this expectation; else None."""
    named = kwargs.get("column_list") or [kwargs[name] for name in ("column", "column_A", "column_B") if name in kwargs]
    columns = [identifier(name) for name in named]
    match kind:
        case "expect_column_values_to_be_between":
            limits = {"<": kwargs.get("min_value"), ">": kwargs.get("max_value")}
            outside = [f"{columns[0]} {sign} {limit}" for sign, limit in limits.items() if limit is not None]
            return f"and ({' or '.join(outside)})"
        case "expect_column_value_lengths_to_equal":
            return f"and length({columns[0]}) <> {kwargs['value']}"
        case "expect_column_pair_values_to_be_equal":
            return f"and {columns[0]} is distinct from {columns[1]}"
        case "expect_column_pair_values_a_to_be_greater_than_b":
            return f"and not {columns[0]} > {columns[1]}"
        case "expect_column_values_to_not_be_null":
            return f"and {columns[0]} is null"
        case "expect_column_values_to_be_null":
            return f"and {columns[0]} is not null"
        case "expect_column_values_to_be_in_set":
            return f"and {columns[0]} not in ({', '.join(map(literal, kwargs['value_set']))})"
        case "expect_column_values_to_be_unique" | "expect_compound_columns_to_be_unique":
            return f"qualify count(*) over (partition by {', '.join(columns)}) > 1"
    return None


def _conditions(condition: Mapping[str, Any] | None) -> str:
    """Return the row condition of an expectation as SQL; the suites have no other conditions."""
    if condition is None:
        return "true"
    if condition["type"] == "and":
        return " and ".join(_conditions(part) for part in condition["conditions"])
    value = condition["parameter"]
    values = value if isinstance(value, list) else [value]
    return f"{identifier(condition['column']['name'])} in ({', '.join(map(literal, values))})"


def _describe_row(con: duckdb.DuckDBPyConnection, row: Mapping[str, Any]) -> str:
    """Describe a row by file, record and key, or by its values if it has no key or an unknown one."""
    keys = [value for name, value in row.items() if name.endswith("_key") and isinstance(value, str)]
    key = max(keys, key=lambda value: value.count("/"), default=None)
    if row.get("source_file_id") and row.get("record_index") is not None:
        return f"{_place(row['source_file_id'], row['record_index'])}{f' ({quoted(key)})' if key else ''}"
    if key is not None:
        with contextlib.suppress(duckdb.Error):
            query = f"select source_file_id, record_index, json_pointer from core.source_of({literal(key)})"
            if found := con.execute(query).fetchall():
                return f"{_place(*found[0])} ({quoted(key)})"
    values = ", ".join(f"{name} {quoted(value)}" for name, value in row.items() if value is not None)
    return " ".join(values.split())


def _place(source_file_id: str, record_index: int, pointer: str | None = None) -> str:
    return f"{source_file_id} record {record_index}{f' at {quoted(pointer)}' if pointer else ''}"


def begin(audit: AuditProcess, build: Build, paths: WarehousePaths, settings: Settings) -> list[str]:
    """Write the row and the history of the build, then begin the audit of every suite.

    Returns a line if the history cannot be read. No process may have the database open for writing until the audit has
    answered.
    """
    notices = prepare_audit(build, paths, settings)
    audit.begin(
        {
            "database": str(paths.scratch_database),
            "suites": "all",
            "corpora": list(build.corpora),
            "output": str(paths.scratch_audit),
            "build_id": build.build_id,
            "run_at": build.started_at.isoformat(),
            "scales": build.scales,
            "processes": settings.threads,
            "config": limits(settings.for_each(settings.threads)),
        }
    )
    return notices
