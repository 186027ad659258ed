"""Jobs and schedules: the parts of the graph that run as one, the download of the releases, and the times of both.

See https://docs.dagster.io/guides/build/jobs and https://docs.dagster.io/guides/automate/schedules
"""

from typing import Any

import dagster as dg

from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.checked import record_check
from pipelines.building import alerts, fingerprint
from pipelines.dagster_graph.instance import EVERYTHING, FETCH, hold_run, refuse_impossible_times
from pipelines.dagster_graph.resources import settings_of_run
from pipelines.ingestion import fetching
from pipelines.ingestion.fetch_display import FetchDisplay, notices, refuse_failures
from pipelines.ingestion.wanted import Result


def build_jobs(corpora: tuple[Corpus, ...]) -> list[Any]:
    """Return the job that builds everything, the download, and one job per corpus.

    The job of a corpus leaves the others as they are published.
    """
    everything = dg.define_asset_job(
        EVERYTHING,
        selection=dg.AssetSelection.all(),
        description="Land, model, audit and publish the warehouse, from the raw files to the report about it.",
        executor_def=dg.in_process_executor,
    )
    of_one = [
        dg.define_asset_job(
            corpus.corpus_id,
            selection=dg.AssetSelection.all(),
            description=f"Land {corpus.title} again and publish it; the other corpora stay as published.",
            config={"resources": {"session": {"config": {"refresh": [corpus.corpus_id]}}}},
            executor_def=dg.in_process_executor,
        )
        for corpus in corpora
    ]
    return [everything, *of_one, fetch_job()]


@dg.op(
    name="download",
    retry_policy=dg.RetryPolicy(max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL),
)
def download(context: dg.OpExecutionContext) -> None:
    """Download missing files. Dagster retries after an error of the network, not after a wrong setting."""
    hold_run(context.instance, context.run_id)
    settings = Settings.from_environment()
    to = settings.source or WarehousePaths(settings.warehouse).landing
    try:
        results = fetching.fetch(settings, to, FetchDisplay(quiet=True))
    except InputError as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    by_corpus: dict[str, list[Result]] = {}
    for result in results:
        by_corpus.setdefault(result.wanted.corpus.corpus_id, []).append(result)
    for corpus_id, fetched in by_corpus.items():
        if not any(result.cause for result in fetched):
            context.log_event(
                dg.AssetMaterialization(
                    ["landing", corpus_id],
                    description="checked at the publisher",
                    metadata={"files": len(fetched), "bytes": sum(result.bytes for result in fetched)},
                )
            )
    for notice in notices(results):
        context.log.warning(notice)
    refuse_failures(results, settings.mirror)


def fetch_job() -> dg.JobDefinition:
    """Download every listed file that is not there yet, to the source of the settings, else to `landing/`."""

    @dg.job(name=FETCH, description=fetch_job.__doc__, executor_def=dg.in_process_executor)
    def fetch() -> None:
        download()

    return fetch


def build_schedules(settings: Settings) -> list[dg.ScheduleDefinition]:
    """Return a daily build and a weekly download, at the times and in the time zone of the settings."""
    refuse_impossible_times(settings)

    @dg.schedule(
        name="daily",
        job_name=EVERYTHING,
        cron_schedule=settings.cron,
        execution_timezone=settings.timezone,
        description="Builds the source of the settings, unless the published build is up to date.",
    )
    def daily() -> dg.RunRequest | dg.SkipReason:
        return build_or_skip(settings_of_run())

    weekly = dg.ScheduleDefinition(
        name="weekly_fetch",
        job_name=FETCH,
        cron_schedule=settings.fetch_cron,
        execution_timezone=settings.timezone,
        description="Downloads files of the releases that are missing.",
    )
    return [daily, weekly]


LARGEST_COMPARED = 2 * 2**30
"""Maximum size in bytes of a source that the schedule compares. Dagster stops the schedule after sixty seconds."""


def build_or_skip(settings: Settings) -> dg.RunRequest | dg.SkipReason:
    """Return a run of everything, or a reason to skip it.

    It is skipped where it would give the published build, or the one that was rolled back. A larger source than
    LARGEST_COMPARED is left to the run, which compares it first.
    """
    paths = WarehousePaths(settings.warehouse)
    source = Source(settings, paths)
    if _size_of(source) > LARGEST_COMPARED:
        return dg.RunRequest()
    if reason := fingerprint.nothing_new(source):
        record_check(paths)
        alerts.tell_success(paths, settings)  # the source may be again as it was before a failure
        return dg.SkipReason(reason)
    return dg.RunRequest()


def _size_of(source: Source) -> int:
    """Return the size of the files of a source in bytes; 0 if it cannot be read, which the build reports."""
    try:
        return builds.total_size(release.place(path) for release in source.releases() for _, path in release.files)
    except (InputError, OSError):
        return 0
