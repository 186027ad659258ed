"""Which Spark the settings mean, if any."""

from __future__ import annotations

from pathlib import Path

from pipelines.cluster import server, session
from pipelines.cluster.options import is_server
from pipelines.settings import SPARK, Settings

Spark = session.Session | server.Server


def check(settings: Settings) -> None:
    """Raise InputError where the settings mean Spark and something that it needs is missing."""
    if settings.engine == SPARK:
        (server if is_server(settings.spark_master) else session).check(settings)


def spark_of(settings: Settings, scratch: Path) -> Spark | None:
    """The Spark of the settings, which starts when it is asked; None where DuckDB builds."""
    if settings.engine != SPARK:
        return None
    return (server.Server if is_server(settings.spark_master) else session.Session)(settings, scratch)
