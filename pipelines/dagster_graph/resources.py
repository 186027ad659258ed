"""The Dagster resource `session`, and the facts that all assets share: owners, pool, freshness.

A run of Dagster opens its own session; the command `build` passes the one that it has opened. For the concept see
https://docs.dagster.io/guides/build/external-resources
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import timedelta

import dagster as dg

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings, variable_of
from pipelines.building.session import Session, open_session
from pipelines.dagster_graph import instance

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


def settings_of_run(refresh: Iterable[str] = ()) -> Settings:
    """Return the settings of a run of Dagster: the `DIALOGUE_…` variables, and the corpora that the run is about."""
    asked = {name: value for name, value in UNATTENDED.items() if not os.environ.get(variable_of(name))}
    return Settings.from_environment(refresh=tuple(refresh) or None, **asked)


@dg.resource(
    description="The session of a build: settings, the locked warehouse, the source, and the processes that work.",
    config_schema={
        "refresh": dg.Field(
            [str], default_value=[], description="Corpora to land; the others stay as published. None: all."
        )
    },
)
def session_resource(context: dg.InitResourceContext) -> Iterator[Session]:
    """Yield a session with the settings of the environment; it reports nothing, because Dagster has its own log."""
    settings = settings_of_run(context.resource_config["refresh"])
    paths, reporter = WarehousePaths(settings.warehouse), Reporter(quiet=True)
    with open_session(settings, paths, reporter, settings.patience, is_checked_first=False) as session:
        if context.instance is not None and instance.is_own(context.instance, paths):
            instance.forget_old_runs(context.instance)
        yield session
