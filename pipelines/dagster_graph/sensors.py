"""Sensors: runs that start when files change, and alerts about runs that have ended.

For the concept see https://docs.dagster.io/guides/automate/sensors
"""

import hashlib
import time
from pathlib import Path
from typing import Any

import dagster as dg
import msgspec

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import source_tree
from dialogue_warehouse.settings import Settings
from pipelines.building import alerts
from pipelines.building.state import PartError
from pipelines.dagster_graph.jobs import EVERYTHING, FETCH

SECONDS_BETWEEN_LOOKS = 15


class Seen(msgspec.Struct, frozen=True):
    """State that the sensor of the folder keeps between two evaluations."""

    content: str = ""
    """Content of the folder at the last evaluation."""
    since: float = 0.0
    """Time when this content was first seen, in seconds since 1970."""
    asked_for: str = ""
    """Content for which a run was last requested."""


def content_of(folder: Path) -> str:
    """Return a hash of the names, sizes and times of all files that a build would look at; "" if there are none."""
    digest = hashlib.sha256()
    is_empty = True
    for name in sorted(entry.path for entry in source_tree.walk(folder) if not entry.is_folder):
        try:
            state = (folder / name).stat()
        except OSError:  # it was removed meanwhile: the next evaluation sees another content
            continue
        digest.update(f"{name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode("utf-8", "replace"))
        is_empty = False
    return "" if is_empty else digest.hexdigest()


def look(folder: Path, seen: Seen, quiet_seconds: float, now: float) -> tuple[Seen, bool]:
    """Return the state after one more evaluation, and if a run is due: once per change, when the change is complete."""
    content = content_of(folder)
    if content != seen.content:
        seen = Seen(content, now, seen.asked_for)
    if not content or content == seen.asked_for or now - seen.since < quiet_seconds:
        return seen, False
    return Seen(content, seen.since, content), True


def raised(error: Any) -> Any:
    """Return the error that a step raised, which Dagster wraps in its own errors; both are SerializableErrorInfo."""
    while error.cause is not None and hasattr(dg, error.cls_name or ""):
        error = error.cause
    return error


def error_text(error: Any) -> str:
    """Return the text of an error, without the name of its class, with which Python begins it."""
    return error.message.partition(f"{error.cls_name}: ")[2].strip() or error.message.strip()


def errors_of(context: dg.RunFailureSensorContext) -> list[Any]:
    """Return why a run failed: the errors that its steps raised, and what else ended it."""
    errors = [event.step_failure_data.error for event in context.get_step_failure_events()]
    errors.append(context.failure_event.job_failure_data.error)
    return [raised(error) for error in errors if error is not None]


def _warn(context: dg.RunStatusSensorContext, unrecorded: str | None) -> None:
    """Log that an alert could not be recorded."""
    if unrecorded:
        context.log.warning(unrecorded)


def build_sensors() -> list[dg.SensorDefinition]:
    """Return the sensor of the folder that releases are dropped into, and the sensors that send alerts about runs."""

    @dg.run_failure_sensor(
        name="tell_failure",
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends one alert for each failure of a run, to the channels of the settings.",
    )
    def tell_failure(context: dg.RunFailureSensorContext) -> None:
        errors = errors_of(context)
        if PartError.__name__ in {error.cls_name for error in errors}:
            return
        told = "\n".join(dict.fromkeys(map(error_text, errors))) or context.failure_event.message or "the run failed"
        settings = Settings.from_environment()
        _warn(context, alerts.tell_failure(WarehousePaths(settings.warehouse), settings, told))

    @dg.run_status_sensor(
        run_status=dg.DagsterRunStatus.SUCCESS,
        name="tell_success",
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends an alert when a run succeeds after a failure.",
    )
    def tell_success(context: dg.RunStatusSensorContext) -> None:
        if context.dagster_run.job_name != FETCH:
            settings = Settings.from_environment()
            _warn(context, alerts.tell_success(WarehousePaths(settings.warehouse), settings))

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
        seen = msgspec.json.decode(context.cursor, type=Seen) if context.cursor else Seen()
        seen, is_due = look(settings.source, seen, settings.quiet_seconds, time.time())
        cursor = msgspec.json.encode(seen).decode()
        if is_due:
            return dg.SensorResult([dg.RunRequest(run_key=f"{seen.content[:16]}-{seen.since:.0f}")], cursor=cursor)
        why = "nothing has changed" if seen.content == seen.asked_for else "files are being written"
        return dg.SensorResult(skip_reason=why if seen.content else f"{settings.source}: no files there", cursor=cursor)

    return [folder, tell_failure, tell_success]
