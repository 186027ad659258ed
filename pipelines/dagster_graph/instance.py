"""The kept Dagster instance of a warehouse, in the folder `.dagster`: the history of builds that `dagster dev` shows.

Runs of Dagster's webserver and daemon are kept as Dagster keeps them. A build on the command line runs on an ephemeral
instance and reports its assets and checks to the kept one after it has published: a build that is killed does not
change the kept instance.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import dagster as dg

from dialogue_warehouse.common import files
from dialogue_warehouse.common.files import plain_path
from dialogue_warehouse.common.text import visible
from dialogue_warehouse.corpora.registry import corpus_ids
from dialogue_warehouse.errors import InputError, first_line, in_one_line, said_by_sqlite
from dialogue_warehouse.paths import WarehousePaths, absolute
from dialogue_warehouse.settings import Settings, SettingsError, folder_named, misspelt_variables, variable_of
from dialogue_warehouse.storage import ownership
from pipelines.dagster_graph import configuration

if TYPE_CHECKING:
    AssetEvent = dg.AssetMaterialization | dg.AssetCheckEvaluation

POOL = "warehouse"
"""The pool of every step that works on the warehouse."""
PUBLISHED = dg.AssetKey(["published", "dialogues"])
"""The published warehouse: the asset that is reported after all that it is made of."""
REPORT = dg.AssetKey(["published", "report"])
EVERYTHING = "everything"
FETCH = "fetch"
IMPLICIT = "__ASSET_JOB"
"""Dagster's name for the job of assets that are materialized in its UI; every project has one."""
RUNS_KEPT = 20
"""Number of newest runs whose events are kept, however they were started: a run is one to three megabytes."""
BUILDS_SHOWN = 50
"""Builds after which the history of the assets starts again: a reported build is half a megabyte."""
OF_HISTORY = ("history", "schedules", "storage")
"""Folders below Dagster's home in which it keeps its history, unless the configuration names others."""
FOR_NOW = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_NOMEM")
"""Errors of SQLite that pass: another process works on the database, or disk or memory is short."""
OF_RUNS = ("history/runs", "storage")
"""Folders below Dagster's home with the event log of a run and its output, under the run's id."""
RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PROVENANCE = ("dagster/input_", "dagster/code_version")
"""Prefixes of the tags that say what an asset was made from: code, events, and versions of data."""


SECONDS_TO_START = 300
"""Seconds after which a run that has not locked its file is dead: it starts within one minute."""
DEAD = "the process of the run was killed: it has ended without a result"


def is_of_this_graph(run: dg.DagsterRun) -> bool:
    """Return whether a run is of this graph, and not of another project that keeps its runs in the same history.

    A run that makes assets here publishes or writes the report: a part of the graph is refused.
    """
    if run.job_name == IMPLICIT:
        return not run.asset_selection or not run.asset_selection.isdisjoint({PUBLISHED, REPORT})
    return run.job_name in {EVERYTHING, FETCH, *corpus_ids()}


def _run_file(instance: dg.DagsterInstance, run_id: str) -> Path:
    """Return the file that the process of a run locks. It is removed with the run's other files."""
    return Path(instance.root_directory) / "storage" / f"{run_id}.lock"


def hold_run(instance: dg.DagsterInstance, run_id: str) -> None:
    """Lock the file of a run until this process ends: other processes can tell that the run is not dead.

    Dagster's run monitoring cannot tell this for its default run launcher, only how long a run takes.
    """
    if instance.is_persistent:
        file = _run_file(instance, run_id)
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)  # stays open: the end of the process unlocks it
        with contextlib.suppress(BlockingIOError):  # this process holds it already
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_dead(instance: dg.DagsterInstance, record: dg.RunRecord) -> bool:
    """Return whether the process of a run that has begun is gone."""
    try:
        descriptor = os.open(_run_file(instance, record.dagster_run.run_id), os.O_RDWR)
    except FileNotFoundError:
        return (datetime.now(UTC) - record.update_timestamp).total_seconds() > SECONDS_TO_START
    try:
        with files.locked(descriptor, fcntl.LOCK_EX, 0, 0):
            return True
    except BlockingIOError:
        return False


def close_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Close the runs whose process was killed, so that the runs behind them in the queue start; return their ids.

    A run that was being canceled is canceled, every other one has failed: its alert is sent and it is repeated once.
    Runs of other projects lock no file, so they are left alone.
    """
    unfinished = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
    closed = []
    for record in instance.get_run_records(dg.RunsFilter(statuses=unfinished)):
        run_id = record.dagster_run.run_id
        if not is_of_this_graph(record.dagster_run) or not _is_dead(instance, record):
            continue
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:  # it ended meanwhile
            continue
        if run.status == dg.DagsterRunStatus.CANCELING:
            instance.report_run_canceled(run, DEAD)
        else:
            instance.report_run_failed(run, DEAD)
        closed.append(run_id)
    return closed


def cancel(instance: dg.DagsterInstance, run: dg.DagsterRun, reason: str) -> NoReturn:
    """End this run as canceled, with a reason in its log; a canceled run shows no asset as failed."""
    instance.report_run_canceling(run, reason)
    raise dg.DagsterExecutionInterruptedError(reason)


@contextlib.contextmanager
def open_instance(paths: WarehousePaths, report: Callable[[str], None]) -> Generator[dg.DagsterInstance]:
    """Open the kept instance of this warehouse; the environment's DAGSTER_HOME is neither read nor set.

    A history in SQLite that cannot be read is removed and reported; runs beyond `RUNS_KEPT` are removed.
    """
    for damaged in _damaged_databases(paths):
        report(f"{damaged}: the history of runs cannot be read, a new one is started")
        _remove_history(paths)
        break
    configuration.write(paths)
    with dg.DagsterInstance.local_temp(str(plain_path(paths.dagster_home))) as instance:
        close_dead_runs(instance)
        forget_old_runs(instance)
        yield instance


def report_build(events: Iterable[AssetEvent], paths: WarehousePaths, report: Callable[[str], None]) -> None:
    """Report the assets and checks of a published build to the kept instance.

    An error here is only a notice, because the build is published. A build that is killed meanwhile has reported a part
    of its assets, and the published warehouse only if its models and checks are reported.
    """
    try:
        with open_instance(paths, report) as instance:
            is_full = _forget_old_builds(instance)
            with _kept_open(paths):
                for event in events:
                    if is_full and isinstance(event, dg.AssetMaterialization):  # its old checks too
                        instance.wipe_assets([event.asset_key])
                    instance.report_runless_asset_event(event)
    except Exception as error:
        reason = said_by_sqlite(error) or _of_settings(error) or first_line(error)
        report(f"{paths.dagster_home}: the history of this build cannot be kept there: {reason}")


@contextlib.contextmanager
def _kept_open(paths: WarehousePaths) -> Generator[None]:
    """Keep a connection to each of Dagster's databases, so that SQLite does not write its log back at each event.

    It does so when the last connection is closed, and Dagster closes its connection after each event: half of the time.
    """
    with contextlib.ExitStack() as connections:
        for database in _databases(paths):
            con = connections.enter_context(contextlib.closing(sqlite3.connect(database)))
            con.execute("select count(*) from sqlite_master").fetchall()
        yield


def events_of(result: dg.ExecuteInProcessResult) -> list[AssetEvent]:
    """Return the events of a run without their ties to the run's own instance; `PUBLISHED` is last.

    Events and versions of that instance are not in the kept one, where each asset would be shown as stale. Without
    them, Dagster compares the times of the events, and an asset is reported after those that it was made from. There
    are none if the run has made no asset of `published`, because nothing was published.
    """
    made = [event.step_materialization_data.materialization for event in result.get_asset_materialization_events()]
    if not any(one.asset_key.path[0] == PUBLISHED.path[0] for one in made):
        return []
    materialized = [
        dg.AssetMaterialization(
            one.asset_key,
            description=one.description,
            metadata=one.metadata,
            tags={name: value for name, value in (one.tags or {}).items() if not name.startswith(PROVENANCE)},
        )
        for one in made
    ]
    checked = [
        dg.AssetCheckEvaluation(
            asset_key=one.asset_key,
            check_name=one.check_name,
            passed=one.passed,
            metadata=one.metadata,
            severity=one.severity,
            description=one.description,
        )
        for one in result.get_asset_check_evaluations()
    ]
    return sorted([*materialized, *checked], key=_is_published)


def _is_published(event: AssetEvent) -> bool:
    """Return whether an event is the materialization of the published warehouse."""
    return isinstance(event, dg.AssetMaterialization) and event.asset_key == PUBLISHED


def _forget_old_builds(instance: dg.DagsterInstance) -> bool:
    """Return whether the history of the assets must start again; if so, remove the events that belong to no run.

    Each asset still shows its last materialization, until it is wiped and reported again.
    """
    kept = instance.fetch_materializations(PUBLISHED, limit=BUILDS_SHOWN).records
    if len(kept) < BUILDS_SHOWN:
        return False
    for run_id in {record.event_log_entry.run_id for record in kept}:
        if instance.get_run_by_id(run_id) is None:
            instance.delete_run(run_id)
    return True


def forget_old_runs(instance: dg.DagsterInstance) -> None:
    """Remove the runs beyond `RUNS_KEPT` from the history, but for those that wait or run.

    Dagster keeps the event log of a run that it has deleted, empty but as large as before, and the run's output. It
    also keeps the results of the run's checks, some 0.2 MB, until their assets are wiped.
    """
    for record in instance.get_run_records()[RUNS_KEPT:]:
        if record.dagster_run.is_finished:
            instance.delete_run(record.dagster_run.run_id)
    home = Path(instance.root_directory)
    paths = [path for folder in OF_RUNS for path in home.glob(f"{folder}/*")]
    left = {path: found.group() for path in paths if (found := RUN_ID.match(path.name))}
    # read after that: a run that begins meanwhile is known before it writes
    known = {record.dagster_run.run_id for record in instance.get_run_records()}
    for path, run_id in left.items():
        if run_id not in known:
            files.remove(path)


def is_own(instance: dg.DagsterInstance, paths: WarehousePaths) -> bool:
    """Return whether an instance is that of this warehouse, and not one that others keep their runs in too."""
    return instance.is_persistent and Path(instance.root_directory) == paths.dagster_home


def prepare(paths: WarehousePaths, report: Callable[[str], None] = print) -> None:
    """Configure the instance of this warehouse and close its dead runs, so that webserver and daemon can start.

    Raises an InputError if the history cannot be opened: its database does not answer, or its settings are wrong.
    """
    configure(paths)
    for notice in configuration.lacking(paths):
        report(notice)
    with opening(paths.dagster_yaml), open_instance(paths, report):
        pass


def refuse_impossible_times(settings: Settings) -> None:
    """Raise SettingsError for a time of the settings that Dagster does not accept; its own error names no setting."""
    for name, cron in {"cron": settings.cron, "fetch_cron": settings.fetch_cron}.items():
        try:
            dg.ScheduleDefinition(name=name, job_name=EVERYTHING, cron_schedule=cron)
        except dg.DagsterInvalidDefinitionError:
            raise SettingsError(f"{variable_of(name)}: '{cron}' is not a time that can occur") from None


def configure(paths: WarehousePaths) -> None:
    """Make the folder a warehouse with a configuration. Raises InputError for one that Dagster cannot use."""
    configuration.refuse_path(paths)
    ownership.claim(paths)
    configuration.write(paths)
    configuration.check(paths)


@contextlib.contextmanager
def opening(file: Path) -> Generator[None]:
    """Turn the error of an instance that cannot be opened into an InputError that names its file and what to do."""
    try:
        yield
    except Exception as error:
        reason = _of_settings(error) or in_one_line(error.__cause__ or error, configuration.SHOWN)
        raise InputError(
            f"{file}: the history that it names cannot be opened: {reason}; "
            "start its database or correct the file and the variables that it reads"
        ) from error


def _of_settings(error: Exception) -> str | None:
    """Return why Dagster refuses a value of its settings; None for another error.

    The error itself begins with all settings that Dagster knows, and the reason, such as a variable that is not set,
    comes before a trace.
    """
    if not isinstance(error, dg.DagsterInvalidConfigError) or not error.errors:
        return None
    return in_one_line(error.errors[0].message.partition("\n\nStack Trace:")[0].rpartition("Error: ")[2]).rstrip(".")


def _remove_history(paths: WarehousePaths) -> None:
    """Remove what Dagster has written in its default places; the configuration and all else stays."""
    if paths.dagster_home.is_dir():
        for name in OF_HISTORY:
            files.remove(paths.dagster_home / name)
    else:
        files.remove(paths.dagster_home)


def _databases(paths: WarehousePaths) -> list[Path]:
    """Return the files of SQLite in which Dagster keeps its history."""
    return sorted(path for name in OF_HISTORY for path in (paths.dagster_home / name).rglob("*.db"))


def _damaged_databases(paths: WarehousePaths) -> Iterator[Path]:
    """Yield Dagster's databases that SQLite cannot read."""
    if paths.dagster_home.exists() and not paths.dagster_home.is_dir():
        yield paths.dagster_home
    for database in _databases(paths):
        try:
            with contextlib.closing(sqlite3.connect(database)) as con:
                is_sound = con.execute("pragma quick_check(1)").fetchall() == [("ok",)]
        except sqlite3.DatabaseError as error:
            is_sound = _is_kept_away(error, database)
        if not is_sound:
            yield database


def _is_kept_away(error: sqlite3.DatabaseError, database: Path) -> bool:
    """Return whether a database cannot be opened now, or not by this user, which says nothing about its content."""
    is_allowed = all(os.access(path, os.R_OK | os.W_OK, effective_ids=True) for path in (database, database.parent))
    return not is_allowed or getattr(error, "sqlite_errorname", "").startswith(FOR_NOW)


def main(arguments: list[str] | None = None) -> int:
    """Prepare a warehouse for Dagster: check settings, make folder and configuration, repair the history."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.dagster_graph.instance", description=main.__doc__)
    parser.add_argument("warehouse", help="folder of the warehouse")
    given = parser.parse_args(arguments)
    try:
        refuse_impossible_times(Settings.from_environment())
        for misspelt in misspelt_variables():
            print(f"note: {misspelt}", file=sys.stderr)
        prepare(WarehousePaths(absolute(folder_named(given.warehouse, "warehouse"))))
    except InputError as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
