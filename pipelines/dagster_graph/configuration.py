"""The configuration of a warehouse's Dagster instance, `.dagster/dagster.yaml`: what a new warehouse gets.

It is written once and never changed, so that the settings of an operator hold. It has no path, so that the folder can
be moved. See https://docs.dagster.io/deployment/oss/oss-instance-configuration
"""

from __future__ import annotations

import importlib.util
import os
import re
import tempfile
import urllib.parse
from collections.abc import Iterator
from typing import Any

import yaml

from dialogue_warehouse.common.files import read_regular, write_atomically
from dialogue_warehouse.errors import InputError, in_one_line
from dialogue_warehouse.paths import WarehousePaths, temporary_folder

DAGSTER_YAML = """\
# Written once, when the warehouse was new. No build, start or upgrade changes it: your own settings stay. All settings:
# https://docs.dagster.io/deployment/oss/oss-instance-configuration
telemetry:
  enabled: false
# The UI does not ask users to sign up for anything.
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
"""Variable with the URL of a PostgreSQL for the history, as postgresql+psycopg2://USER:PASSWORD@HOST/DATABASE.

It names the driver: SQLAlchemy 2.1 uses one for `postgresql://` that is not installed.
"""
IN_POSTGRESQL = f"""\
# The history is in PostgreSQL, because this variable was set when the warehouse was new.
storage:
  postgres:
    postgres_url:
      env: {POSTGRES_URL}
"""


MEND = "correct the file, or remove it: the next start writes a new one"
SHOWN = 200
"""Largest number of characters of Dagster's reason; it goes on with all settings that it knows."""
LOADED = ("run_coordinator", "run_launcher", "compute_log_manager", "scheduler")
"""Parts of an instance whose classes Dagster loads when it uses them first."""
STORAGES = ("storage", "run_storage", "event_log_storage", "schedule_storage")
"""Settings of the storage of the history."""
WRONG = "telemetry"
"""A setting that the check of the storage sets to a wrong value."""
OF_URLS = re.compile(r"%[0-9A-Fa-f]{2}|\?")
"""Text that SQLAlchemy takes for a part of a URL, so that SQLite opens a file in another folder."""


def write(paths: WarehousePaths) -> None:
    """Write the configuration of the warehouse's instance if it has none. A file that is there is never changed.

    The history is in PostgreSQL if the environment names a server now, else in SQLite. Raises InputError.
    """
    file = paths.dagster_yaml
    try:
        if not file.exists() and not file.is_symlink():
            write_atomically(file, (DAGSTER_YAML + (IN_POSTGRESQL if os.environ.get(POSTGRES_URL) else "")).encode())
    except OSError as error:
        raise InputError(
            f"{file}: cannot be written: {error.strerror}; make its folder one that this user can write to"
        ) from error


def refuse_path(paths: WarehousePaths) -> None:
    """Raise InputError for a folder in which Dagster's webserver and daemon cannot keep their history in SQLite."""
    found, path = _read(paths), OF_URLS.search(str(paths.root))
    is_elsewhere = os.environ.get(POSTGRES_URL) if found is None else found.keys() & set(STORAGES)
    if path and not is_elsewhere:
        raise InputError(
            f"{paths.root}: Dagster's webserver and daemon cannot use a folder with {path[0]} in its path, because "
            "SQLite would open another one; rename the folder"
        )


def _read(paths: WarehousePaths) -> dict[str, Any] | None:
    """Return the settings of the file; None if there is none.

    Raises InputError if it cannot be read or is not a YAML mapping.
    """
    file = paths.dagster_yaml
    try:
        found = yaml.safe_load(read_regular(file)) or {}
    except (FileNotFoundError, NotADirectoryError) as error:
        if not file.is_symlink():
            return None
        raise InputError(f"{file}: is a broken link; mount the disk that it leads to, or remove it") from error
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}; let this user read it") from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "a character or a value"
        # a log has the whole chain of errors, and the text of this one may have a password
        raise InputError(f"{file}: is not YAML: {where} cannot be read; {MEND}") from None
    if not isinstance(found, dict):
        raise InputError(f"{file}: must be a YAML mapping, such as `telemetry: {{enabled: false}}`; {MEND}")
    return found


def check(paths: WarehousePaths) -> None:
    """Raise InputError for a configuration that cannot be read, or that Dagster does not accept.

    The storage of the history is not opened, and nothing is written. Dagster takes a second to import, so it is asked
    only about a file that an operator has changed, and not at all where it is not installed.
    """
    found, ours = _read(paths), yaml.safe_load(DAGSTER_YAML)
    if found is None or POSTGRES_URL in str(found.get("storage")):
        _refuse_unclear(os.environ.get(POSTGRES_URL, ""))
    is_usual = found in (None, ours, ours | yaml.safe_load(IN_POSTGRESQL))
    if found is None or is_usual or importlib.util.find_spec("dagster") is None:
        return
    for reason in _reasons(found):
        raise InputError(f"{paths.dagster_yaml}: Dagster does not accept it: {in_one_line(reason, SHOWN)}; {MEND}")


def _refuse_unclear(url: str) -> None:
    """Raise InputError for a URL in which a password would be taken for the host or the port, which messages name."""
    if url.count("@") > 1:
        raise InputError(f"{POSTGRES_URL}: has more than one @; write all but the one before the host as %40")
    try:
        _ = urllib.parse.urlsplit(url).port if "@" not in url else None
    except ValueError:
        raise InputError(f"{POSTGRES_URL}: has no @ before the host, and what follows : is not a port") from None


def _reasons(found: dict[str, Any]) -> Iterator[object]:
    """Yield why Dagster refuses these settings.

    Dagster has no call that checks settings without opening their storage. So all but the storage is checked in an
    instance of a temporary folder. The storage is checked beside a setting that is always wrong: Dagster then refuses
    the settings, with an error for each wrong one, before it opens anything.
    """
    import dagster as dg

    storages = {name: settings for name, settings in found.items() if name in STORAGES}
    others = {name: settings for name, settings in found.items() if name not in STORAGES}
    part = ""
    with tempfile.TemporaryDirectory(dir=temporary_folder()) as folder:
        others |= {"storage": {"sqlite": {"base_dir": folder}}}
        try:
            with dg.DagsterInstance.local_temp(folder, overrides=others) as instance:
                for part in LOADED:
                    getattr(instance, part)
        except dg.DagsterInvalidConfigError as error:
            yield from [one.message for one in error.errors] or [error]
        except Exception as error:  # an error of the import of a class, or of a class of the wrong kind
            yield f"{part}: {in_one_line(error)}"
        try:
            with dg.DagsterInstance.local_temp(folder, overrides=storages | {WRONG: "wrong"}):
                pass
        except dg.DagsterInvalidConfigError as error:
            yield from [one.message for one in error.errors if one.stack.levels != [WRONG]]
        except Exception as error:  # a form that Dagster does not expect, such as a number in place of a mapping
            yield f"storage: {in_one_line(error)}"


def lacking(paths: WarehousePaths) -> Iterator[str]:
    """Yield a notice for each thing that the configuration of this warehouse lacks, compared with a new one.

    Raises InputError for a file that is not YAML.
    """
    file, found = paths.dagster_yaml, _read(paths) or {}
    if missing := yaml.safe_load(DAGSTER_YAML).keys() - found.keys():
        names = ", ".join(sorted(missing))
        yield f"{file}: has no {names}, which new warehouses have; docs/back_up_and_upgrade.md shows what to add"
    if os.environ.get(POSTGRES_URL) and POSTGRES_URL not in str(found.get("storage")):
        yield f"{file}: does not use {POSTGRES_URL}; docs/run_it_unattended.md says what to add as `storage`"
