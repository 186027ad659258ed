"""Writes generated releases in the publishers' own layout, for `dialogue-warehouse simulate` and the embedded sample.

A room's `simulate.py` says which files there are (`plan`) and what stands in one of them (`render`); this module only
writes them. What the generated corpora look like does not belong here.
"""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from pipelines.corpora import registry
from pipelines.corpora.generation import PlannedFile, simulator
from pipelines.errors import InputError, naming
from pipelines.intake import generated
from pipelines.intake.generated import UNFINISHED
from pipelines.processes import can_share

SAMPLE_SCALE = 0.01
"""The scale of the embedded sample: small, but with each awkward case in it."""


@dataclass(frozen=True)
class SimulatedFile:
    """One file that was written."""

    corpus_id: str
    path: str
    bytes: int


def simulate(
    to: Path,
    scale: float,
    seed: int = 0,
    corpora: tuple[str, ...] = (),
    processes: int = 1,
    report: Callable[[SimulatedFile], None] | None = None,
) -> list[SimulatedFile]:
    """Write the generated releases of all rooms, or the named ones, to `to/<corpus_id>/<path>`.

    A release that was generated before is replaced; a folder that holds anything else is refused.
    """
    if scale <= 0:
        raise InputError(f"scale is {scale}, it has to be above 0")
    corpus_ids = tuple(sorted(set(corpora))) or registry.corpus_ids()
    unknown = [corpus_id for corpus_id in corpus_ids if corpus_id not in registry.corpus_ids()]
    if unknown:
        raise InputError(f"{unknown[0]}: no such corpus; there are {', '.join(registry.corpus_ids())}")
    for corpus_id in corpus_ids:
        _prepare(to / corpus_id, scale, seed)
    tasks = [(to, corpus_id, planned, seed) for corpus_id in corpus_ids for planned in simulator(corpus_id).plan(scale)]
    tasks.sort(key=lambda task: -task[2].weight)
    written = []
    for file in _run(tasks, processes):
        written.append(file)
        if report is not None:
            report(file)
    for corpus_id in corpus_ids:
        generated.finish_marker(to / corpus_id)
    return sorted(written, key=lambda file: (file.corpus_id, file.path))


def _prepare(folder: Path, scale: float, seed: int) -> None:
    """An empty folder with an unfinished marker, which says that what follows is generated."""
    if generated.holds_generated(folder):
        shutil.rmtree(folder)
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} holds files that were not generated; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    generated.begin_marker(folder, scale, seed)


def _run(tasks: list[tuple], processes: int) -> Iterable[SimulatedFile]:
    """Write all files, in this process or in several."""
    if processes <= 1 or not can_share():
        yield from (_write(*task) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=processes, mp_context=context) as pool:
        futures = [pool.submit(_write, *task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _write(to: Path, corpus_id: str, planned: PlannedFile, seed: int) -> SimulatedFile:
    """Render one file beside its place, then move it there."""
    path = to / corpus_id / planned.path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + UNFINISHED)
    size = 0
    with naming(unfinished), unfinished.open("wb") as stream:
        for piece in simulator(corpus_id).render(planned, seed):
            size += stream.write(piece)
    unfinished.replace(path)
    return SimulatedFile(corpus_id, planned.path, size)
