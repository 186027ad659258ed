"""Dagster resources: the settings, the audit process and the reporter that the assets work with.

Resources are plain objects. `dagster dev` gets the quiet defaults made here; `pipelines.building` passes its own.
For the concept see https://docs.dagster.io/guides/build/external-resources
"""

import contextlib
import os
from collections.abc import Iterator

import dagster as dg

from expectations.client import AuditProcess
from pipelines.building import instance, lock, mending
from pipelines.building.progress import Reporter
from pipelines.cluster import choosing
from pipelines.intake.lander import Lander
from pipelines.paths import WarehousePaths
from pipelines.settings import Settings

UNATTENDED = {"keep_going": True, "verify": True}
"""What a run of Dagster does unless the environment says otherwise: nobody is there to mend a source at once, or to
look at what was built."""


@dg.resource(
    description="What the user set in the environment.",
    config_schema={
        "refresh": dg.Field(
            [str], default_value=[], description="Corpora to land; the others stay as published. None: all."
        )
    },
)
def settings_resource(context: dg.InitResourceContext) -> Settings:
    """Settings from the `DIALOGUE_…` variables, and the corpora that the run is about."""
    asked = {name: value for name, value in UNATTENDED.items() if not os.environ.get(f"DIALOGUE_{name.upper()}")}
    return Settings.from_environment(refresh=tuple(context.resource_config["refresh"]) or None, **asked)


@dg.resource(
    description="The warehouse folder, held against other builds.", required_resource_keys={"settings", "reporter"}
)
def paths_resource(context: dg.InitResourceContext) -> Iterator[WarehousePaths]:
    """Where things lie; the warehouse's lock is held while the run lasts."""
    paths = WarehousePaths(context.resources.settings.warehouse)
    with lock.exclusive(paths, context.resources.settings.patience):
        if context.instance is not None and instance.is_own(context.instance, paths):
            instance.forget_old_runs(context.instance)
        for mended in mending.mend(paths):
            context.resources.reporter.notice(mended)
        yield paths


@dg.resource(description="The child process that audits the built database.", required_resource_keys={"settings"})
def audit_resource(context: dg.InitResourceContext) -> Iterator[AuditProcess]:
    """An audit process that starts when it is asked, and ends with the run."""
    process = AuditProcess(context.resources.settings.audit_timeout)
    try:
        yield process
    finally:
        process.close()


@dg.resource(description="Spark, where the settings say so.", required_resource_keys={"settings", "paths"})
def spark_resource(context: dg.InitResourceContext) -> Iterator[choosing.Spark | None]:
    """A session that starts when it is asked, and ends with the run; None where DuckDB builds."""
    choosing.check(context.resources.settings)
    spark = choosing.spark_of(context.resources.settings, context.resources.paths.scratch_spark)
    with spark or contextlib.nullcontext():
        yield spark


@dg.resource(description="What lands files.", required_resource_keys={"settings", "paths", "spark"})
def lander_resource(context: dg.InitResourceContext) -> Iterator[Lander]:
    """A lander whose processes start with the first large release, and end with the run."""
    with Lander(context.resources.paths.raw, context.resources.settings, context.resources.spark) as lander:
        yield lander


@dg.resource(description="Tells the user what the build does; quiet under Dagster, which has its own log.")
def reporter_resource() -> Reporter:
    """A quiet reporter."""
    return Reporter(quiet=True)


def default_resources() -> dict[str, dg.ResourceDefinition]:
    """The resources that every asset may require."""
    return {
        "settings": settings_resource,
        "paths": paths_resource,
        "audit": audit_resource,
        "spark": spark_resource,
        "lander": lander_resource,
        "reporter": reporter_resource,
    }
