"""The Dagster resource `session`, and the facts that all assets share: owners, pool, freshness.

A run of Dagster opens its own session; the command `build` passes the one that it has opened. A run of a part of the
graph is canceled, because a build is published whole; a canceled run shows no asset as failed. For the concept see
https://docs.dagster.io/guides/build/external-resources
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

import dagster as dg

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.common.text import visible
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings, variable_of
from dialogue_warehouse.storage import builds
from pipelines.building import publishing
from pipelines.building.session import Session, open_session
from pipelines.building.state import PART_REFUSED
from pipelines.dagster_graph import instance
from pipelines.ingestion import settling

OWNERS = ["team:dialogue-warehouse"]
POOL = instance.POOL
"""The pool of every step that works on the warehouse."""


def release_freshness(settings: Settings) -> dg.FreshnessPolicy:
    """Return the policy that a release is downloaded or read by a build within this number of days."""
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(days=settings.upstream_days))


def check_freshness(settings: Settings) -> dg.FreshnessPolicy:
    """Return the policy that a check of the source finishes within this number of hours."""
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=settings.heartbeat_hours))


UNATTENDED = {"keep_going": True, "verify": True}
"""The defaults of a run of Dagster, unless the environment sets them: it runs unattended, so no one can repair a
source at once or look at the result."""


def settings_of_run(refresh: Iterable[str] = ()) -> Settings:
    """Return the settings of a run of Dagster: the `DIALOGUE_…` variables, and the corpora that the run is about."""
    asked = {name: value for name, value in UNATTENDED.items() if not os.environ.get(variable_of(name))}
    return Settings.from_environment(refresh=tuple(refresh) or None, **asked)


class LogReporter(Reporter):
    """Reporter that writes stages and notices to the log of a run, which the Dagster UI shows."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__(quiet=True)
        self.log = log

    def notice(self, text: str) -> None:
        """Record a notice, and log it as a warning."""
        super().notice(text)
        self.log.warning(visible(text))

    def line(self, text: str, event: str = "progress", /, **fields: object) -> None:
        """Log the result of a stage."""
        self.log.info(visible(text))


def session_resource(whole: Sequence[dg.AssetsDefinition], report: dg.AssetsDefinition) -> dg.ResourceDefinition:
    """Return the resource. A run must make the `whole` graph, or the report about what is published alone."""

    @dg.resource(
        description="The session of a build: settings, the locked warehouse, the source, and the processes that work.",
        config_schema={
            "refresh": dg.Field(
                [str], default_value=[], description="Corpora to land; the others stay as published. None: all."
            )
        },
    )
    def session(context: dg.InitResourceContext) -> Iterator[Session]:
        settings = settings_of_run(context.resource_config["refresh"])
        paths = WarehousePaths(settings.warehouse)
        kept, run = context.instance, context.run
        if kept is not None and run is not None:
            instance.hold_run(kept, run.run_id)
            if is_part(run, whole, report):
                instance.cancel(kept, run, PART_REFUSED)
        reporter = _reporter(context)
        if settings.source is not None:
            limits = settings.quiet_seconds, settings.patience
            notice = settling.wait(settings.source, *limits, reporter.line, paths.root)
            if notice is not None:
                reporter.notice(notice)
        with open_session(settings, paths, reporter, settings.patience, is_checked_first=False) as session:
            if kept is not None and instance.is_own(kept, paths):
                instance.close_dead_runs(kept)
                instance.forget_old_runs(kept)
            yield session

    return session


def _reporter(context: dg.InitResourceContext) -> Reporter:
    return LogReporter(context.log) if context.log is not None else Reporter(quiet=True)


def is_part(run: dg.DagsterRun, whole: Sequence[dg.AssetsDefinition], report: dg.AssetsDefinition) -> bool:
    """Return whether a run makes a part of the graph: some assets were selected, or it continues after a failed step.

    A run names the selected assets, or the steps, or neither where it makes everything.
    """
    selected, steps = set(run.asset_selection or ()), set(run.step_keys_to_execute or ())
    if selected == report.keys or (not selected and steps == {report.op.name}):
        return False
    lacks_assets = selected and not all(asset.keys <= selected for asset in whole)
    lacks_steps = steps and not {asset.op.name for asset in whole} <= steps
    return bool(lacks_assets or lacks_steps)


def end_early(context: dg.AssetExecutionContext, session: Session) -> None:
    """End a build that publishes nothing new. Its steps yield nothing; the log and the published asset say why."""
    if not publishing.end_early(session):
        return
    context.log.info(session.nothing_new)
    published = builds.pointed_build(session.paths)
    context.log_event(
        dg.AssetObservation(
            instance.PUBLISHED,
            description=session.nothing_new,
            metadata={"published_build": published or "none"},
        )
    )
