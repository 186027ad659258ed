"""The Dagster instance of a warehouse: runs and events of its builds, in the folder that `dagster dev` is shown.

What is written into dagster.yaml holds wherever the folder is moved; where the event log stands is said when the
instance is opened. For the concept see https://docs.dagster.io/deployment/oss/oss-instance-configuration
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

import dagster as dg
from dagster._core.instance.ref import InstanceRef

from pipelines.building.event_log import OpenEventLog
from pipelines.building.plain_path import plain_path
from pipelines.paths import WarehousePaths

DAGSTER_YAML = "telemetry:\n  enabled: false\n"


@contextlib.contextmanager
def open_instance(paths: WarehousePaths) -> Generator[dg.DagsterInstance]:
    """The instance of this warehouse, for a build; the environment's DAGSTER_HOME is neither read nor set."""
    paths.dagster_home.mkdir(parents=True, exist_ok=True)
    (paths.dagster_home / "dagster.yaml").write_text(DAGSTER_YAML, encoding="utf-8")
    home = plain_path(paths.dagster_home)
    event_log = {
        "module": OpenEventLog.__module__,
        "class": OpenEventLog.__name__,
        "config": {"base_dir": str(home / "history" / "runs")},  # where Dagster itself puts it
    }
    reference = InstanceRef.from_dir(str(home), overrides={"event_log_storage": event_log})
    with dg.DagsterInstance.from_ref(reference) as instance:
        yield instance
