"""Build a warehouse: check the input, run the asset graph in this process, and summarize.

It is the same graph that `dagster dev` shows, run by Dagster's in-process executor on an ephemeral instance. The build
is reported to the kept instance afterwards. The audit's child process imports Great Expectations while landing and
models run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import BuildError, naming
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import ownership, publication
from expectations.client import AuditError, AuditProcess
from pipelines.building import alerts, checks, fingerprint, publishing
from pipelines.building.checks import check_before_building, check_input
from pipelines.building.summary import Summary, summarize
from pipelines.cluster import session
from pipelines.ingestion.lander import Lander

if TYPE_CHECKING:
    import dagster as dg


LoadGraph = Callable[[Settings], "dg.JobDefinition"]
"""A function that returns the job that builds everything. It imports Dagster, so it is called when the other processes
have started."""


def build_warehouse(settings: Settings, reporter: Reporter, load_graph: LoadGraph) -> Summary:
    """Build the warehouse of the settings' source and publish it, unless the published build is up to date.

    Raises InputError for bad input (no release there, a file that is refused), BuildError for a check that failed or a
    build that could not be made. In both cases the published build does not change, and an alert goes to the channels
    of the settings.
    """
    paths = WarehousePaths(settings.warehouse)
    try:
        with naming(paths.root):
            summary = _build(settings, paths, reporter, load_graph)
    except ownership.BusyError:  # the build that holds the lock sends its own alerts
        raise
    except Exception as error:
        is_there = paths.root.is_dir()  # a folder that cannot be made needs no alert
        text = str(error) or type(error).__name__
        unrecorded = alerts.tell_failure(paths, settings, text) if is_there else None
        if unrecorded and os.access(paths.root, os.W_OK):  # else the error is already about the whole folder
            reporter.line(f"notice: {unrecorded}")
        raise
    unrecorded = alerts.tell_success(paths, settings)
    return replace(summary, notices=[*summary.notices, unrecorded]) if unrecorded else summary


def _build(settings: Settings, paths: WarehousePaths, reporter: Reporter, load_graph: LoadGraph) -> Summary:
    source = Source(settings, paths)
    check_input(settings, paths, source)
    with ownership.exclusive(paths):
        for mended in publication.mend(paths):
            reporter.notice(mended)
        if not settings.force and fingerprint.unchanged(settings, source):
            for left in publishing.tidy(paths, settings):  # of a build killed after it had published
                reporter.notice(left)
            for line in source.ignored_lines():
                reporter.notice(line)
            return replace(summarize(settings, paths, reporter), is_unchanged=True)
        check_before_building(settings, paths, source)
        spark = session.spark_of(settings, paths.scratch_spark)
        with (
            AuditProcess(settings.audit_timeout) as audit,
            spark or contextlib.nullcontext(),
            Lander(paths.raw, settings, spark) as lander,
        ):
            resources = {"settings": settings, "audit": audit, "lander": lander, "reporter": reporter, "paths": paths}
            try:
                _run_graph(resources | {"spark": spark, "source": source}, load_graph)
            except BaseException as error:
                if (told := _told(error, settings, paths)) is not None:
                    raise told from error
                raise
    return summarize(settings, paths, reporter)


def _told(error: BaseException, settings: Settings, paths: WarehousePaths) -> BuildError | None:
    """Return a one-line error for a library's error that has a meaning for a build; None for any other error."""
    if (full := checks.explain_full_disk(error, settings, paths)) is not None:
        return full
    if isinstance(error, AuditError):
        return BuildError(str(error))
    return None


def _run_graph(resources: dict[str, Any], load_graph: LoadGraph) -> None:
    """Run the job `everything` with our own resources and report it. An error of a step is raised as it is."""
    settings, paths, reporter, audit, lander = (
        resources[name] for name in ("settings", "paths", "reporter", "audit", "lander")
    )
    with reporter.stage("load", "framework") as stage:
        audit.start()
        if settings.source is not None:
            corpora = registry.load_corpora(settings.refresh or settings.only)
            lander.start(resources["source"].release(corpus) for corpus in corpora)
        import dagster as dg

        from pipelines.dagster_graph.instance import report_build

        job = load_graph(settings)
        stage.detail = "Dagster and dbt"
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(run_config=quiet, instance=instance, resources=resources)
        report_build(result, paths, reporter.notice)
