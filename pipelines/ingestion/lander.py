"""Land many files in parallel processes. `landing` lands one file."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import multiprocessing.process
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from dialogue_warehouse.common.processes import can_share, end_with_parent, naming_killed
from dialogue_warehouse.releases.finding import Release
from dialogue_warehouse.releases.records import LandingError, state_of
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.landed import Landed
from pipelines.cluster import session
from pipelines.cluster.session import Session
from pipelines.ingestion.landing import LandingTask, land_file

WORTH_PROCESSES = 24 * 2**20
"""Bytes of text from which starting processes saves more time than it costs."""
WORK = "lands files"
"""The work of the processes, for an error about one of them."""
PACKED = 6
"""Bytes of text per byte of a gzipped release."""


class Lander:
    """Lander of releases, many files in parallel processes; a context manager.

        with Lander(paths.raw, settings) as lander:
            lander.start(releases)          # returns at once; the processes work from here on
            landed = lander.land(release)   # waits for the files of one release

    `landing.land_file` lands each file. Where there is little to do, no process is started, because that costs more
    than it saves. With a session of Spark the files are landed in its tasks instead, on any machine: every machine must
    see source and target under the same paths as this one.
    """

    def __init__(self, target: Path, settings: Settings, spark: session.Spark | None = None) -> None:
        """Land into `target`, the folder of the raw layer."""
        self._spark = spark if isinstance(spark, Session) else None
        self._is_shared = False
        self._target, self._strict, self._force = target, settings.strict, settings.force
        self._processes, self._memory_limit = settings.processes, settings.memory_limit
        self._pool: concurrent.futures.ProcessPoolExecutor | None = None
        self._children: set[multiprocessing.process.BaseProcess] = set()
        self._started: dict[str, concurrent.futures.Future[Landed]] = {}
        self._times: dict[str, list[float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the processes: tasks that have not begun are canceled, and an interrupt kills those that run."""
        if kind is not None and not issubclass(kind, Exception):
            for child in self._children:
                child.kill()
        self._end()

    def start(self, releases: Iterable[Release]) -> None:
        """Begin to land every file of these releases, where that is worth starting processes."""
        tasks = [task for release in releases for task in self._tasks(release)]
        if self._spark is not None:
            self._start_on(self._spark, tasks)
            return
        if self._processes == 1 or len(tasks) == 1 or sum(map(_weight, tasks)) < WORTH_PROCESSES:
            return
        if not can_share():
            return
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = concurrent.futures.ProcessPoolExecutor(
                self._processes, context, end_with_parent, (os.getpid(),)
            )
        others = set(multiprocessing.active_children())
        for task in sorted(tasks, key=_weight, reverse=True):
            times = self._times[task.source_file_id] = [time.perf_counter()]
            with naming_killed(WORK):
                self._started[task.source_file_id] = self._pool.submit(land_file, task)
            self._started[task.source_file_id].add_done_callback(
                lambda _, times=times: times.append(time.perf_counter())
            )
        self._children |= set(multiprocessing.active_children()) - others

    def _start_on(self, spark: Session, tasks: list[LandingTask]) -> None:
        """Land files in tasks of Spark, in one job: `land` gets the files when all of them are landed."""
        if not tasks:
            return
        if not self._is_shared:
            session.check_storage(spark, self._target)
            self._is_shared = True
        begun = time.perf_counter()
        for task, landed in zip(tasks, spark.run(land_or_refuse, tasks), strict=True):
            self._times[task.source_file_id] = [begun, time.perf_counter()]
            future: concurrent.futures.Future[Landed] = concurrent.futures.Future()
            if isinstance(landed, LandingError):
                future.set_exception(landed)
            else:
                future.set_result(landed)
            self._started[task.source_file_id] = future

    def land(self, release: Release) -> list[Landed]:
        """Land every file of a release, in the order of their paths. Raises LandingError for the first refused file."""
        tasks = self._tasks(release)
        if not any(task.source_file_id in self._started for task in tasks):
            self.start([release])
        landed = [self._land(task) for task in tasks]
        if not self._started:  # nothing is left to do; the models need the memory that the processes hold
            self._end()
        return landed

    def seconds(self, release: Release) -> float:
        """Return the seconds from the first file begun to the last one landed; 0 without processes."""
        times = [time for task in self._tasks(release) for time in self._times.get(task.source_file_id, [])]
        return max(times) - min(times) if times else 0.0

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _land(self, task: LandingTask) -> Landed:
        started = self._started.pop(task.source_file_id, None)
        if started is None:
            return land_file(task)
        with naming_killed(WORK):
            return started.result()

    def _tasks(self, release: Release) -> list[LandingTask]:
        return [
            LandingTask(
                release.corpus,
                entity,
                release.folder,
                path,
                self._target,
                strict=self._strict,
                form=release.form,
                force=self._force,
                found_as=release.found_as.get(path),
                memory_limit=self._memory_limit,
            )
            for entity, path in release.files
        ]


def land_or_refuse(task: LandingTask) -> Landed | LandingError:
    """Land a file, and return its error instead of raising it, because Spark runs a task that fails again."""
    try:
        return land_file(task)
    except LandingError as error:
        return LandingError(str(error))


def _weight(task: LandingTask) -> int:
    """Return how much work a file is, in bytes of text; 0 for a file that is gone, which is refused when it is read."""
    state = state_of(task.file)
    size = state.size if state else 0
    return size * PACKED if task.file.suffix == ".gz" else size
