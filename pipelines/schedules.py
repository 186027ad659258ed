"""Schedules: what starts by the clock, once somebody has switched it on.

For the concept see https://docs.dagster.io/guides/automate/schedules
"""

import dagster as dg

from pipelines.building import fingerprint
from pipelines.errors import InputError
from pipelines.jobs import EVERYTHING, FETCH
from pipelines.settings import Settings


def build_schedules(settings: Settings) -> list[dg.ScheduleDefinition]:
    """A build a day and a look at the publishers a week, at the times and in the time zone of the settings."""

    @dg.schedule(
        name="daily",
        job_name=EVERYTHING,
        cron_schedule=settings.cron,
        execution_timezone=settings.timezone,
        description="Builds the source of the settings, unless what is published is just that.",
    )
    def daily() -> dg.RunRequest | dg.SkipReason:
        return build_or_skip(Settings.from_environment())

    weekly = dg.ScheduleDefinition(
        name="weekly_fetch",
        job_name=FETCH,
        cron_schedule=settings.fetch_cron,
        execution_timezone=settings.timezone,
        description="Downloads what of the releases is not there yet.",
    )
    return [daily, weekly]


def build_or_skip(settings: Settings) -> dg.RunRequest | dg.SkipReason:
    """A run of everything; a reason why there is none, where it would come to what is published or was rolled back."""
    try:
        if (published := fingerprint.unchanged(settings)) is not None:
            return dg.SkipReason(f"nothing has changed since build {published}")
        if fingerprint.rolled_back(settings):
            return dg.SkipReason("nothing has changed since the build that was rolled back")
    except InputError:  # the run says it, and is told of
        pass
    return dg.RunRequest()
