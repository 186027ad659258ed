"""The row of this build and the rows of those before it, as Parquet for dbt to load."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import duckdb
import pyarrow as pa

from pipelines.building.fingerprint import code_version
from pipelines.building.state import Build
from pipelines.intake import writing
from pipelines.intake.sql_text import literal
from pipelines.paths import WarehousePaths
from pipelines.reading import builds
from pipelines.reading.query_errors import one_line

BUILDS_SCHEMA = pa.schema(
    [
        ("build_id", pa.string()),
        ("started_at", pa.timestamp("us")),
        ("finished_at", pa.timestamp("us")),
        ("source", pa.string()),
        ("fingerprint", pa.string()),
        ("code_version", pa.string()),
        ("corpora", pa.string()),
        ("dialogue_count", pa.int32()),
        ("turn_count", pa.int32()),
        ("action_count", pa.int32()),
        ("slot_count", pa.int32()),
        ("violation_count", pa.int32()),
    ]
)
"""The row of `quality.builds`."""


CARRIED_OVER = ("builds", "expectation_results")
"""The tables of `quality` that tell of every build."""


def prepare_audit(build: Build, paths: WarehousePaths) -> list[str]:
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
    with duckdb.connect(str(paths.scratch_database), read_only=True) as con:
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
    writing.write_table(paths.scratch_audit / "builds" / "results.parquet", BUILDS_SCHEMA, [row | counts])
    return _carry_over(paths)


def _relative_source(build: Build, paths: WarehousePaths) -> str:
    """The source as it is published: what leads to both folders tells of a user and is nobody's business."""
    if build.source == builds.EMBEDDED_SAMPLE:
        return build.source
    return os.path.relpath(build.source, paths.root)


def _carry_over(paths: WarehousePaths) -> list[str]:
    """Copy the history of the published build; a line when there is one that cannot be read."""
    build_id = builds.pointed_build(paths)
    if build_id is None:
        return []
    database = paths.build_database(build_id)
    try:
        with duckdb.connect(str(database), read_only=True) as con:
            for name in CARRIED_OVER:
                target = paths.scratch_audit / name / "history.parquet"
                con.execute(f"copy quality.{name} to {literal(str(target))} (format parquet)")
    except duckdb.Error as error:
        for name in CARRIED_OVER:
            (paths.scratch_audit / name / "history.parquet").unlink(missing_ok=True)
        return [f"{database}: the history of earlier builds cannot be read, it begins anew: {one_line(error)}"]
    return []
