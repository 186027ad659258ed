"""Build a warehouse: check the input, run the asset graph in this process, and summarize.

It is the same graph that `dagster dev` shows, run by Dagster's in-process executor on an ephemeral instance. The build
is reported to the kept instance afterwards. The audit's child process imports Great Expectations while landing and
models run.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.errors import naming
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import ownership
from pipelines.building import alerts, fingerprint, publishing, state
from pipelines.building.session import Session, open_session
from pipelines.building.summary import Summary, summarize
from pipelines.dagster_graph import configuration

if TYPE_CHECKING:
    import dagster as dg

    from pipelines.dagster_graph.graph import Graph
    from pipelines.dagster_graph.instance import AssetEvent


LoadGraph = Callable[[Settings], "Graph"]
"""A function that returns all assets. It imports Dagster, so it is called when the other processes have started."""


def build_warehouse(settings: Settings, reporter: Reporter, load_graph: LoadGraph) -> Summary:
    """Build the warehouse of the settings' source and publish it, unless the published build is up to date.

    Raises InputError for bad input (no release there, a file that is refused, a wrong dagster.yaml), BuildError for a
    check that failed or a build that could not be made. In both cases the published build does not change, and an alert
    goes to the channels of the settings.
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
            reporter.line(f"notice: {unrecorded}", "notice", text=unrecorded)
        raise
    unrecorded = alerts.tell_success(paths, settings)
    return replace(summary, notices=[*summary.notices, unrecorded]) if unrecorded else summary


def _build(settings: Settings, paths: WarehousePaths, reporter: Reporter, load_graph: LoadGraph) -> Summary:
    with open_session(settings, paths, reporter) as session:
        configuration.check(paths)
        state.announce(session)
        if not fingerprint.compare(session):
            session.check()
            _run_graph(session, load_graph)
        if session.nothing_new:
            publishing.end_early(session)
            if session.nothing_new == fingerprint.ROLLED_BACK:
                reporter.notice(f"{session.nothing_new}: `build --force` publishes it again")
            return replace(summarize(settings, paths, reporter), is_unchanged=True)
    return summarize(settings, paths, reporter)


def _run_graph(session: Session, load_graph: LoadGraph) -> None:
    """Make all assets with this session and report them. An error of a step is raised as it is."""
    reporter = session.reporter
    with reporter.stage("load", "framework") as stage:
        session.start()
        import dagster as dg

        graph = load_graph(session.settings)
        stage.detail = "Dagster and dbt"
    from pipelines.dagster_graph.instance import events_of

    logging.getLogger("dagster").addHandler(logging.NullHandler())  # without one, Python prints its warnings
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        run = functools.partial(dg.materialize, run_config=quiet, instance=instance, resources={"session": session})
        events = events_of(run([*graph.external, *graph.warehouse]))
        if events:
            _finish(session, events, lambda: run([graph.report]))


def _finish(session: Session, events: list[AssetEvent], write_site: Callable[[], dg.ExecuteInProcessResult]) -> None:
    """Write the site about the published build while its events are reported to the kept instance.

    Python does most of the work for the events, and DuckDB for the site. The site itself is reported last.
    """
    from pipelines.dagster_graph.instance import events_of, report_build

    written: Future[list[AssetEvent]] = Future()

    def all_events() -> Iterator[AssetEvent]:
        yield from events
        yield from written.result()

    with ThreadPoolExecutor(1, thread_name_prefix="history") as pool:
        pool.submit(report_build, all_events(), session.paths, session.reporter.notice)
        try:
            written.set_result(events_of(write_site()))
        finally:
            if not written.done():
                written.set_result([])
