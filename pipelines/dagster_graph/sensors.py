"""Sensors: runs that start when files change, alerts about ended runs, killed runs, and the last check of the source.

For the concept see https://docs.dagster.io/guides/automate/sensors
"""

import hashlib
import math
import time
from collections.abc import Iterator, Sequence, Set
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import msgspec

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import source_tree
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.checked import last_check, record_check
from pipelines.building import alerts
from pipelines.dagster_graph.instance import (
    EVERYTHING,
    FETCH,
    IMPLICIT,
    REPORT,
    close_dead_runs,
    is_of_this_graph,
)
from pipelines.dagster_graph.published import CHECKED

SECONDS_BETWEEN_LOOKS = 15


class Seen(msgspec.Struct, frozen=True):
    """State that the sensor of the folder keeps between two evaluations."""

    content: str = ""
    """Content of the folder at the last evaluation."""
    since: float = 0.0
    """Time when this content was first seen, in seconds since 1970."""
    waiting: float = 0.0
    """Time when the first change was seen that no run was requested for."""
    asked_for: str = ""
    """Content for which a run was last requested."""
    built: str = ""
    """Content whose run has succeeded."""


CONTENT = "dialogue-warehouse/content"
"""Tag of a run that the sensor of the folder has requested: the content of the folder."""
REPEATS = "dialogue-warehouse/repeats"
"""Tag of a run that repeats another one, whose id it is."""
RECORDED_EVERY = timedelta(hours=6)
"""The sensor of the folder records a check that found no change as often: it looks every few seconds."""


def content_of(folder: Path, warehouse: Path | None = None) -> str:
    """Return a hash of the names, sizes and times of all files below a source; "" if there are none.

    Those of the warehouse are left out: it may be below the source, and each build changes it.
    """
    digest = hashlib.sha256()
    is_empty = True
    for name in sorted(entry.path for entry in source_tree.walk(folder, warehouse) if not entry.is_folder):
        try:
            state = (folder / name).stat()
        except OSError:  # it was removed meanwhile: the next evaluation sees another content
            continue
        digest.update(f"{name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode("utf-8", "replace"))
        is_empty = False
    return "" if is_empty else digest.hexdigest()


def look(
    folder: Path,
    seen: Seen,
    quiet_seconds: float,
    now: float,
    most_seconds: float = math.inf,
    warehouse: Path | None = None,
) -> tuple[Seen, bool]:
    """Return the state after one more evaluation, and if a run is due: once per change, when the change is complete.

    If the files have not stopped changing for `most_seconds`, it is due nevertheless.
    """
    content = content_of(folder, warehouse)
    if content != seen.content:
        is_waiting = seen.content not in ("", seen.built, seen.asked_for)
        seen = msgspec.structs.replace(seen, content=content, since=now, waiting=seen.waiting if is_waiting else now)
    is_known = content in ("", seen.built, seen.asked_for)
    is_quiet, is_overdue = now - seen.since >= quiet_seconds, now - seen.waiting >= most_seconds
    if is_known or not (is_quiet or is_overdue):
        return seen, False
    return msgspec.structs.replace(seen, asked_for=content), True


def outcome(instance: dg.DagsterInstance, content: str) -> dg.DagsterRunStatus | None:
    """Return the status of the last run that was requested for this content; None if there is no such run."""
    runs = instance.get_run_records(dg.RunsFilter(tags={CONTENT: content}), limit=1)
    return runs[0].dagster_run.status if runs else None


def folder_tick(context: dg.SensorEvaluationContext, folder: Path, settings: Settings) -> dg.SensorResult:
    """Return a run when the folder has changed completely. A content is built once its run has succeeded."""
    seen = msgspec.json.decode(context.cursor, type=Seen) if context.cursor else Seen()
    now, hours = time.time(), settings.heartbeat_hours
    seen, is_due = look(folder, seen, settings.quiet_seconds, now, hours * 3600, settings.warehouse)
    request, why = None, "files are being written"
    tags = {CONTENT: seen.content}
    if is_due:
        if now - seen.since < settings.quiet_seconds:
            context.log.warning(
                f"{folder}: files have been changing for {hours:g} hours (DIALOGUE_HEARTBEAT_HOURS); they are built now"
            )
        request = dg.RunRequest(run_key=f"{seen.content[:16]}-{seen.since:.0f}", tags=tags)
    elif not seen.content:
        why = f"{folder}: no files there"
    elif seen.content == seen.asked_for != seen.built:
        status = outcome(context.instance, seen.content)
        if status is dg.DagsterRunStatus.SUCCESS:
            seen = msgspec.structs.replace(seen, built=seen.content)
        elif status is None:  # the daemon was killed before the run was created, or the run was deleted
            request = dg.RunRequest(run_key=f"{seen.content[:16]}-{time.time():.0f}", tags=tags)
        elif status in (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED):
            why = "the run of these files did not succeed; waiting for a change"
        else:
            why = "the run of these files has not ended"
    if seen.content and seen.content == seen.built:
        why = "nothing has changed"
        _record_sometimes(WarehousePaths(settings.warehouse))
    cursor = msgspec.json.encode(seen).decode()
    return dg.SensorResult([request], cursor=cursor) if request else dg.SensorResult(skip_reason=why, cursor=cursor)


def _record_sometimes(paths: WarehousePaths) -> None:
    """Record a check that found no change, unless one was recorded lately."""
    at = last_check(paths)
    if at is None or datetime.now(UTC) - at > RECORDED_EVERY:
        record_check(paths)


# Ended runs

FIRST_LOOK_BACK = 24 * 3600
"""Seconds that the first evaluation of the sensor of runs looks back."""
AT_ONCE = 20
"""Seconds after which an evaluation ends, and leaves further alerts to the next one: Dagster stops it after sixty."""
MOST = 100
"""Largest number of ended runs that an evaluation reads."""
INTERRUPTED = dg.DagsterExecutionInterruptedError.__name__


def raised(error: Any) -> Any:
    """Return the error that a step raised, which Dagster wraps in its own errors; both are SerializableErrorInfo."""
    while error.cause is not None and hasattr(dg, error.cls_name or ""):
        error = error.cause
    return error


def error_text(error: Any) -> str:
    """Return the text of an error, without the name of its class, with which Python begins it."""
    return error.message.partition(f"{error.cls_name}: ")[2].strip() or error.message.strip()


def errors_of(instance: dg.DagsterInstance, event: dg.EventLogEntry) -> list[Any]:
    """Return why a run failed: the errors that its steps raised, and what else ended it. A killed run has none."""
    steps = instance.all_logs(event.run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
    ended = event.dagster_event
    errors = [one.dagster_event.step_failure_data.error for one in steps if one.dagster_event]
    if ended is not None and ended.event_specific_data is not None:
        errors.append(ended.job_failure_data.error)
    return [raised(error) for error in errors if error is not None]


def ended_runs(instance: dg.DagsterInstance, after: int | None) -> Iterator[tuple[int, dg.EventLogEntry, bool]]:
    """Yield the runs that ended after an event, in their order: number of the event, event, True for a success."""
    since = None if after is not None else time.time() - FIRST_LOOK_BACK
    found = []
    for kind in (dg.DagsterEventType.RUN_FAILURE, dg.DagsterEventType.RUN_SUCCESS):
        wanted = dg.RunStatusChangeRecordsFilter(kind, after_storage_id=after, after_timestamp=since)
        records = instance.fetch_run_status_changes(wanted, limit=MOST, ascending=True).records
        is_success = kind is dg.DagsterEventType.RUN_SUCCESS
        found += [(record.storage_id, record.event_log_entry, is_success) for record in records]
    yield from sorted(found, key=lambda one: one[0])[:MOST]


def repetition(instance: dg.DagsterInstance, run: dg.DagsterRun, errors: Sequence[Any]) -> dg.RunRequest | None:
    """Return a run that repeats a failed one, once: if it was killed or stopped, or was about a changed folder.

    A run that a user, or a limit of time, has ended is not repeated.
    """
    is_stopped = all(error.cls_name == INTERRUPTED for error in errors)
    if REPEATS in run.tags or not (is_stopped or CONTENT in run.tags):
        return None
    if instance.all_logs(run.run_id, of_type=dg.DagsterEventType.RUN_CANCELING):
        return None
    tags = {REPEATS: run.run_id} | {name: text for name, text in run.tags.items() if name == CONTENT}
    job = EVERYTHING if run.job_name == IMPLICIT else run.job_name
    return dg.RunRequest(run_key=f"repeats-{run.run_id}", run_config=run.run_config, tags=tags, job_name=job)


def _is_report_alone(run: dg.DagsterRun) -> bool:
    """Return whether a run has only written the report again, which does not show that building works."""
    return set(run.asset_selection or ()) == {REPORT} and run.parent_run_id is None


def runs_tick(context: dg.SensorEvaluationContext, jobs: Set[str]) -> dg.SensorResult:
    """Close dead runs, send alerts about ended ones of these jobs, and repeat those that were killed.

    An alert that raises an error fails the evaluation, and the next one sends it.
    """
    instance, settings, until = context.instance, Settings.from_environment(), time.monotonic() + AT_ONCE
    for run_id in close_dead_runs(instance):
        context.log.warning(f"run {run_id} was killed; it is closed")
    paths, cursor = WarehousePaths(settings.warehouse), context.cursor
    if paths.dagster_home.is_dir():
        paths.watched.touch()
    requests = []
    for number, event, is_success in ended_runs(instance, int(cursor) if cursor else None):
        run = instance.get_run_by_id(event.run_id)
        cursor = str(number)
        if event.job_name not in jobs or (run and not is_of_this_graph(run)):  # a run of another project
            continue
        is_fetch, unrecorded = event.job_name == FETCH, None
        if is_success and not (run and _is_report_alone(run)):
            unrecorded = (alerts.tell_downloaded if is_fetch else alerts.tell_success)(paths, settings)
        elif not is_success:
            errors = errors_of(instance, event)
            ended = event.dagster_event
            text = "\n".join(filter(None, dict.fromkeys(map(error_text, errors))))
            text = text or (ended and ended.message) or "the run failed"
            unrecorded = (alerts.tell_failed_download if is_fetch else alerts.tell_failure)(paths, settings, text)
            if run is not None and (request := repetition(instance, run, errors)):
                requests.append(request)
        if unrecorded:
            context.log.warning(unrecorded)
        if time.monotonic() > until:
            break
    return dg.SensorResult(requests, cursor=cursor)


def checked_tick(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Report a check of the source that has finished since the last evaluation, however it was started."""
    at = last_check(WarehousePaths(Settings.from_environment().warehouse))
    if at is None or at.isoformat() == context.cursor:
        return dg.SkipReason(f"no check of the source has finished{f' since {at.isoformat()}' if at else ''}")
    is_late = datetime.now(UTC) - at > timedelta(hours=1)  # the daemon was not running; freshness is counted from now
    made = [] if is_late else [dg.AssetMaterialization(CHECKED, metadata={"at": at.isoformat()})]
    return dg.SensorResult(asset_events=made, cursor=at.isoformat())


def build_sensors(jobs: list[Any]) -> list[dg.SensorDefinition]:
    """Return the sensors: of the folder that releases are dropped into, of runs, and of checks of the source."""

    @dg.sensor(
        name="folder",
        job_name=EVERYTHING,
        minimum_interval_seconds=SECONDS_BETWEEN_LOOKS,
        description="Starts a build when files below the source have changed and are complete.",
    )
    def folder(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        settings = Settings.from_environment()
        if settings.source is None:
            return dg.SkipReason("DIALOGUE_SOURCE names no folder")
        return folder_tick(context, settings.source, settings)

    @dg.sensor(
        name="runs",
        jobs=jobs,
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=SECONDS_BETWEEN_LOOKS,
        description=(
            "Sends an alert when builds or downloads begin to fail, and when they succeed again. "
            "Closes runs whose process was killed, and repeats them once."
        ),
    )
    def runs(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        return runs_tick(context, {*(job.name for job in jobs), IMPLICIT})

    @dg.sensor(
        name="checked",
        default_status=dg.DefaultSensorStatus.RUNNING,
        minimum_interval_seconds=60,
        description="Shows the last finished check of the source as a materialization of source/checked.",
    )
    def checked(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        return checked_tick(context)

    return [folder, runs, checked]
