"""Dagster resources, and the facts that all assets share: owners, pool, freshness.

Resources are plain objects. `dagster dev` gets the quiet defaults made here; the command `build` passes its own. For
the concept see https://docs.dagster.io/guides/build/external-resources
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta

import dagster as dg

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import Settings, variable_of
from dialogue_warehouse.storage import ownership, publication
from expectations.client import AuditProcess
from pipelines.cluster import session
from pipelines.dagster_graph import instance
from pipelines.ingestion.lander import Lander

OWNERS = ["team:dialogue-warehouse"]
POOL = instance.POOL
"""The pool of every step that works on the warehouse."""


def release_freshness(settings: Settings) -> dg.FreshnessPolicy:
    """Return the policy that a release is downloaded or read by a build within so many days."""
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(days=settings.upstream_days))


def warehouse_freshness(settings: Settings) -> dg.FreshnessPolicy:
    """Return the policy that the warehouse is published within so many hours."""
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=settings.published_hours))


UNATTENDED = {"keep_going": True, "verify": True}
"""The defaults of a run of Dagster, unless the environment sets them: it runs unattended, so no one can repair a
source at once or look at the result."""


@dg.resource(
    description="Settings from the environment.",
    config_schema={
        "refresh": dg.Field(
            [str], default_value=[], description="Corpora to land; the others stay as published. None: all."
        )
    },
)
def settings_resource(context: dg.InitResourceContext) -> Settings:
    """Return settings from the `DIALOGUE_…` variables, and the corpora that the run is about."""
    asked = {name: value for name, value in UNATTENDED.items() if not os.environ.get(variable_of(name))}
    return Settings.from_environment(refresh=tuple(context.resource_config["refresh"]) or None, **asked)


@dg.resource(
    description="The warehouse folder, locked against other builds.", required_resource_keys={"settings", "reporter"}
)
def paths_resource(context: dg.InitResourceContext) -> Iterator[WarehousePaths]:
    """Yield the paths of the warehouse; its lock is held while the run lasts."""
    paths = WarehousePaths(context.resources.settings.warehouse)
    with ownership.exclusive(paths, context.resources.settings.patience):
        if context.instance is not None and instance.is_own(context.instance, paths):
            instance.forget_old_runs(context.instance)
        for mended in publication.mend(paths):
            context.resources.reporter.notice(mended)
        yield paths


@dg.resource(description="The source, read once per run.", required_resource_keys={"settings", "paths"})
def source_resource(context: dg.InitResourceContext) -> Source:
    """Return the source of the settings; it is read when the first step needs it."""
    return Source(context.resources.settings, context.resources.paths)


@dg.resource(description="The child process that audits the built database.", required_resource_keys={"settings"})
def audit_resource(context: dg.InitResourceContext) -> Iterator[AuditProcess]:
    """Yield an audit process that starts when it is first used, and ends with the run."""
    process = AuditProcess(context.resources.settings.audit_timeout)
    try:
        yield process
    finally:
        process.close()


@dg.resource(description="Spark, where the settings say so.", required_resource_keys={"settings", "paths"})
def spark_resource(context: dg.InitResourceContext) -> Iterator[session.Spark | None]:
    """Yield a Spark that starts when it is first used, and ends with the run; None where DuckDB builds."""
    session.check_engine(context.resources.settings)
    spark = session.spark_of(context.resources.settings, context.resources.paths.scratch_spark)
    with spark or contextlib.nullcontext():
        yield spark


@dg.resource(description="Lands files.", required_resource_keys={"settings", "paths", "spark"})
def lander_resource(context: dg.InitResourceContext) -> Iterator[Lander]:
    """Yield a lander whose processes start with the first large release, and end with the run."""
    with Lander(context.resources.paths.raw, context.resources.settings, context.resources.spark) as lander:
        yield lander


@dg.resource(description="Reports the progress of a build; quiet under Dagster, which has its own log.")
def reporter_resource() -> Reporter:
    """Return a quiet reporter."""
    return Reporter(quiet=True)


def default_resources() -> dict[str, dg.ResourceDefinition]:
    """Return the resources that every asset may require."""
    return {
        "settings": settings_resource,
        "paths": paths_resource,
        "source": source_resource,
        "audit": audit_resource,
        "spark": spark_resource,
        "lander": lander_resource,
        "reporter": reporter_resource,
    }
