"""The row of this build and the rows of those before it, as Parquet for dbt to load."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import pyarrow as pa

from pipelines.building.fingerprint import code_version
from pipelines.building.state import Build
from pipelines.intake import writing
from pipelines.paths import WarehousePaths

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


def prepare_audit(build: Build, paths: WarehousePaths) -> None:
    """Write the row of this build and carry over the history of the published one, as Parquet for dbt to load."""
    for name in ("builds", "expectation_results"):
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
        "source": build.source,
        "fingerprint": build.fingerprint,
        "code_version": code_version(),
        "corpora": ",".join(build.corpora),
    }
    writing.write_table(paths.scratch_audit / "builds" / "results.parquet", BUILDS_SCHEMA, [row | counts])
    published = paths.published_database()
    if published and published.exists():
        with duckdb.connect(str(published), read_only=True) as con:
            for name in ("builds", "expectation_results"):
                target = paths.scratch_audit / name / "history.parquet"
                con.execute(f"copy quality.{name} to '{str(target).replace(chr(39), chr(39) * 2)}' (format parquet)")
