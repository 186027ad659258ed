"""The configuration of a warehouse's Dagster instance, `.dagster/dagster.yaml`: what a new warehouse gets.

It is written once and never changed, so that the settings of an operator hold. It has no path, so that the folder can
be moved. See https://docs.dagster.io/deployment/oss/oss-instance-configuration
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import yaml

from dialogue_warehouse.common.files import read_regular, write_atomically
from dialogue_warehouse.errors import InputError, first_line
from dialogue_warehouse.paths import WarehousePaths

DAGSTER_YAML = """\
# Written once, when the warehouse was new. No build, start or upgrade changes it: your own settings stay. All settings:
# https://docs.dagster.io/deployment/oss/oss-instance-configuration
telemetry:
  enabled: false
# The page does not ask users to sign up for anything.
nux:
  enabled: false
# One run at a time works on the warehouse: the next one waits in the queue. If you raise the number of runs because
# other projects share this instance, the pool still lets one run at a time work on the warehouse.
concurrency:
  runs:
    max_concurrent_runs: 1
  pools:
    default_limit: 1
    granularity: run
# A run that does not start or end in this time is closed, so that the next one can start. No run is resumed: a build
# begins again.
run_monitoring:
  enabled: true
  start_timeout_seconds: 600
  cancel_timeout_seconds: 300
  max_runtime_seconds: 86400
  max_resume_run_attempts: 0
# What is older is forgotten; so are all runs but the last 20.
retention:
  schedule:
    purge_after_days: 90
  sensor:
    purge_after_days:
      skipped: 7
      failure: 30
      success: 90
"""
POSTGRES_URL = "DAGSTER_POSTGRES_URL"
"""Variable with the address of a PostgreSQL for the history, as postgresql+psycopg2://USER:PASSWORD@HOST/DATABASE.

It names the driver: SQLAlchemy 2.1 uses one for `postgresql://` that is not installed.
"""
IN_POSTGRESQL = f"""\
# The history is in PostgreSQL, because this variable was set when the warehouse was new.
storage:
  postgres:
    postgres_url:
      env: {POSTGRES_URL}
"""


def write(paths: WarehousePaths) -> None:
    """Write the configuration of the warehouse's instance if it has none. A file that is there is never changed.

    The history is in PostgreSQL if the environment names a server now, else in SQLite.
    """
    file = paths.dagster_yaml
    if not file.exists() and not file.is_symlink():
        write_atomically(file, (DAGSTER_YAML + (IN_POSTGRESQL if os.environ.get(POSTGRES_URL) else "")).encode())


def lacking(paths: WarehousePaths) -> Iterator[str]:
    """Yield a notice for each thing that the configuration of this warehouse lacks, compared with a new one.

    Raises InputError for a file that is not YAML.
    """
    file = paths.dagster_yaml
    try:
        found = yaml.safe_load(read_regular(file)) or {}
        if not isinstance(found, dict):
            raise InputError(f"{file}: must be a YAML mapping, such as `telemetry: {{enabled: false}}`")
    except (OSError, yaml.YAMLError) as error:
        raise InputError(f"{file}: cannot be read as YAML: {first_line(error)}") from error
    if missing := yaml.safe_load(DAGSTER_YAML).keys() - found.keys():
        names = ", ".join(sorted(missing))
        yield f"{file}: has no {names}, which new warehouses have; docs/back_up_and_upgrade.md shows what to add"
    if os.environ.get(POSTGRES_URL) and POSTGRES_URL not in str(found.get("storage")):
        yield f"{file}: does not use {POSTGRES_URL}; docs/run_it_unattended.md says what to add as `storage`"
