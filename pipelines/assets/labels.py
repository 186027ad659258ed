"""What Dagster is told of every asset alike: who answers for it, what may not run beside it, when it is stale."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from pipelines.building import instance
from pipelines.settings import Settings

OWNERS = ["team:dialogue-warehouse"]
POOL = instance.POOL
"""What every step that works on the warehouse belongs to."""


def looked_at_often_enough(settings: Settings) -> dg.FreshnessPolicy:
    """A release is looked at within so many days, by a download or by a build that reads it."""
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(days=settings.upstream_days))


def published_often_enough(settings: Settings) -> dg.FreshnessPolicy:
    """The warehouse is published within so many hours."""
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=settings.published_hours))
