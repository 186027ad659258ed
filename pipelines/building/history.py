"""The row of this build and the rows of those before it, as Parquet for dbt to load."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from pipelines.building.fingerprint import code_version
from pipelines.building.state import Build
from pipelines.errors import BuildError, InputError
from pipelines.intake import writing
from pipelines.intake.databases import connect
from pipelines.intake.sql_text import identifier, literal
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.reading.changes import Changes, Side, compare
from pipelines.reading.query_errors import one_line
from pipelines.reading.recorded_changes import change_rows
from pipelines.reading.tables import open_build
from pipelines.settings import Settings

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
"""The row of `quality.builds`."""


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
"""The rows of `quality.build_changes`."""

CARRIED_OVER = ("builds", "expectation_results", "build_changes")
"""The tables of `quality` that tell of every build."""


def prepare_audit(build: Build, paths: WarehousePaths, settings: Settings) -> list[str]:
    """Write the row of this build and carry over the history of the published one, as Parquet for dbt to load.

    What of the history cannot be read, a line each; normally nothing.
    """
    for name in CARRIED_OVER:
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
    writing.write_table(paths.scratch_audit / "builds" / "results.parquet", BUILDS_COLUMNS, [row | counts])
    return _carry_over(paths, settings)


def _relative_source(build: Build, paths: WarehousePaths) -> str:
    """The source as it is published: what leads to both folders tells of a user and is nobody's business."""
    if build.source == builds.EMBEDDED_SAMPLE:
        return build.source
    return os.path.relpath(build.source, paths.root)


def _carry_over(paths: WarehousePaths, settings: Settings) -> list[str]:
    """Copy the history of the published build; a line when there is one that cannot be read."""
    build_id = builds.pointed_build(paths)
    if build_id is None:
        return []
    database = paths.build_database(build_id)
    try:
        with open_build(database, settings) as con:
            listed = "select table_name from information_schema.tables where table_schema = 'quality'"
            there = con.execute(listed).fetchall()
            for name in CARRIED_OVER:
                target = paths.scratch_audit / name / "history.parquet"
                if (name,) in there:  # another version may have published it
                    con.execute(f"copy quality.{name} to {literal(str(target))} (format parquet)")
    except (InputError, duckdb.Error) as error:
        for name in CARRIED_OVER:
            (paths.scratch_audit / name / "history.parquet").unlink(missing_ok=True)
        return [f"{database}: the history of earlier builds cannot be read, it begins anew: {one_line(error)}"]
    return []


def find_changes(build: Build, paths: WarehousePaths, settings: Settings) -> Changes | None:
    """What differs from the published build, written as Parquet for dbt to load; None where there is none to read.

    Raises BuildError when that cannot be found out: what nobody can compare is not published.
    """
    base = builds.pointed_build(paths)
    found = None
    if base is not None and _is_readable(paths.build_database(base), settings):
        before = Side(base, paths.build_database(base))
        now = Side(build.build_id, paths.scratch_database, paths.scratch_audit / "claim_checks")
        try:
            found = compare(before, now, settings, same=build.taken)
        except (InputError, duckdb.Error) as error:
            raise BuildError(f"what differs from build {base} cannot be found out: {one_line(error)}") from error
    rows = list(change_rows(found)) if found else []
    writing.write_table(paths.scratch_audit / "build_changes" / "results.parquet", CHANGES_COLUMNS, rows)
    return found


def _is_readable(database: Path, settings: Settings) -> bool:
    """Whether there is anything to compare with: one that nobody can open has been told of with its history."""
    try:
        with open_build(database, settings) as con:
            for schema, view in con.execute(
                "select schema_name, view_name from duckdb_views() where not internal"
            ).fetchall():
                con.execute(f"select count(*) from {identifier(schema)}.{identifier(view)}")
    except (InputError, duckdb.Error):
        return False
    return True


def keep_restorations(build: Build, paths: WarehousePaths, settings: Settings) -> None:
    """Carry over what was found of the files of corpora that stay as they are published."""
    target = paths.scratch_audit / "restorations" / "carried.parquet"
    target.unlink(missing_ok=True)
    base = builds.pointed_build(paths)
    if build.carried and base is not None:
        listed = ", ".join(literal(corpus_id) for corpus_id in sorted(build.carried))
        rows = f"from quality.restorations where split_part(source_file_id, '/', 1) in ({listed})"
        with open_build(paths.build_database(base), settings) as con:
            con.execute(f"copy ({rows}) to {literal(str(target))} (format parquet)")
