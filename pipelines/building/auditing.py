"""Asking for the audit of the built database: as soon as the models are done, so that it runs while Dagster is told."""

from __future__ import annotations

from expectations.client import AuditProcess
from pipelines.building import history
from pipelines.building.state import Build
from pipelines.paths import WarehousePaths
from pipelines.settings import Settings


def begin(audit: AuditProcess, build: Build, paths: WarehousePaths, settings: Settings) -> list[str]:
    """Ask for the audit of every suite, once what tells of earlier builds is beside the database.

    What of the history cannot be read, a line each. Nobody has the database open for writing, until it is answered.
    """
    notices = history.prepare_audit(build, paths, settings)
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
            "config": {"memory_limit": settings.memory_limit_of_each(settings.threads), "threads": 1},
        }
    )
    return notices
