"""Write generated releases in the publishers' layout, for `dialogue-warehouse simulate` and the embedded sample.

A corpus's `simulate.py` says which files there are (`plan`) and renders each of them (`render`); this module
only writes them. The content of the generated corpora does not belong here.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from dialogue_warehouse.common.files import read_regular, refuse_in_the_way
from dialogue_warehouse.common.processes import can_share, end_with_parent, naming_killed
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.generation import PlannedFile, simulator
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import InputError, naming
from dialogue_warehouse.releases import source_tree
from dialogue_warehouse.releases.source_tree import UNFINISHED
from dialogue_warehouse.releases.unpacking import VERIFIED, compare_with_listed, sha256_of

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
    """Write the generated releases of all corpora, or the named ones, to `to/<corpus_id>/<path>`.

    A release that was generated before is replaced. Raises InputError, with nothing removed, for a folder with anything
    else in it.
    """
    if scale <= 0:
        raise InputError(f"scale is {scale}, but must be above 0")
    corpus_ids = sorted({corpus.corpus_id for corpus in registry.load_corpora(corpora)})
    earlier = {folder: _generated_files(folder) for folder in (to / corpus_id for corpus_id in corpus_ids)}
    for folder, files in earlier.items():
        _empty(folder, files)
        source_tree.begin_marker(folder, scale, seed)
    tasks = [(to, corpus_id, planned, seed) for corpus_id in corpus_ids for planned in simulator(corpus_id).plan(scale)]
    tasks.sort(key=lambda task: -task[2].weight)
    written = []
    for file in _run(tasks, processes):
        written.append(file)
        if report is not None:
            report(file)
    for corpus_id in corpus_ids:
        source_tree.finish_marker(to / corpus_id)
    return sorted(written, key=lambda file: (file.corpus_id, file.path))


def _generated_files(folder: Path) -> list[Path]:
    """List the files of a release that was generated into a folder. Raises InputError for anything else there."""
    if folder.is_symlink():
        raise InputError(f"{folder}: is a link; generated releases are written into folders, not through links")
    refuse_in_the_way([folder])
    found = list(_walk(folder))
    corpus = registry.load_corpus(folder.name)
    is_generated = source_tree.holds_generated(folder)
    for path in found:
        if not (is_generated and _is_own(path, folder, corpus)):
            raise InputError(
                f"{folder}: contains files that were not generated, such as {path}; "
                "move them away or choose another folder"
            )
    return found


def _empty(folder: Path, files: list[Path]) -> None:
    """Make an empty folder: remove these files, one by one, and the folders in it."""
    for path in files:
        path.unlink()
    for below, _, _ in os.walk(folder, topdown=False):
        Path(below).rmdir()
    folder.mkdir(parents=True, exist_ok=True)


def _walk(folder: Path) -> Iterator[Path]:
    """Find all files and links below a folder; links are not followed."""
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in files)
        yield from (link for name in folders if (link := Path(parent, name)).is_symlink())


def _is_own(path: Path, folder: Path, corpus: Corpus) -> bool:
    """Return whether a simulation writes this file: one of the release, the marker, or an unfinished one."""
    name = path.relative_to(folder).as_posix().removesuffix(UNFINISHED)
    if path.is_symlink():
        return False
    return name == source_tree.MARKER or (corpus.entity_of(name) is not None and not _is_published(corpus, name, path))


def _is_published(corpus: Corpus, name: str, path: Path) -> bool:
    """Return whether a file is the publisher's, put in the place of a generated one."""
    listed = corpus.listed(name)
    if listed is None or not path.is_file() or listed.bytes not in (None, path.stat().st_size):
        return False
    data = read_regular(path)
    return compare_with_listed(corpus, name, data, sha256_of(data)) == VERIFIED


def _run(tasks: list[tuple], processes: int) -> Iterable[SimulatedFile]:
    """Write all files, in this process or in several."""
    if processes <= 1 or not can_share():
        yield from (_write(*task) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with (
        naming_killed("writes generated files"),
        ProcessPoolExecutor(processes, context, end_with_parent, (os.getpid(),)) as pool,
    ):
        futures = [pool.submit(_write, *task) for task in tasks]
        children = set(multiprocessing.active_children()) - others
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, Exception):  # they ignore Ctrl-C
                for child in children:
                    child.kill()
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
