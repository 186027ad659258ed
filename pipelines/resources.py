"""Dagster resources: the settings, the audit process and the reporter that the assets work with.

Resources are plain objects. `dagster dev` gets the quiet defaults made here; `pipelines.building` passes its own.
For the concept see https://docs.dagster.io/guides/build/external-resources
"""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg

from expectations.client import AuditProcess
from pipelines.reporting import Reporter
from pipelines.settings import Settings


@dg.resource(description="What the user set in the environment.")
def settings_resource() -> Settings:
    """Settings from the `DIALOGUE_…` variables."""
    return Settings.from_environment()


@dg.resource(description="The child process that audits the built database.")
def audit_resource() -> Iterator[AuditProcess]:
    """An audit process that starts when it is asked, and ends with the run."""
    process = AuditProcess()
    try:
        yield process
    finally:
        process.close()


@dg.resource(description="Tells the user what the build does; quiet under Dagster, which has its own log.")
def reporter_resource() -> Reporter:
    """A quiet reporter."""
    return Reporter(quiet=True)


def default_resources() -> dict[str, dg.ResourceDefinition]:
    """The resources that every asset may require."""
    return {"settings": settings_resource, "audit": audit_resource, "reporter": reporter_resource}
