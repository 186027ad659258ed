"""Releases on disk: which files of each corpus are there, landing them side by side, and the raw layer dbt reads.

Landing itself is `pipelines.landing`; this module finds the files, spreads them over processes, and lays out one
folder a raw table with links to exactly the Parquet files of this build.
"""

from __future__ import annotations

import concurrent.futures
import gc
import json
import multiprocessing
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines import landing, registry
from pipelines.corpus import Corpus, Entity, SourceFile
from pipelines.errors import InputError
from pipelines.forms import SUFFIXES, Form
from pipelines.landing import Landed
from pipelines.paths import WarehousePaths
from pipelines.settings import FORMS, Settings

WORTH_PROCESSES = 24 * 2**20
"""Bytes of text from which starting processes costs less than it saves."""
PACKED = 6
"""Bytes of text in a byte of a gzipped release."""

CATALOG_TABLES = {
    "corpora": pa.schema(
        [(name, pa.string()) for name in ("corpus_id", "title", "homepage", "license", "citation", "release")]
    ),
    "source_files": pa.schema(
        [
            ("source_file_id", pa.string()),
            ("corpus_id", pa.string()),
            ("path", pa.string()),
            ("entity", pa.string()),
            ("source_part", pa.string()),
            ("parts", pa.list_(pa.string())),
            ("bytes", pa.int64()),
            ("sha256", pa.string()),
            ("verification", pa.string()),
            ("record_count", pa.int32()),
            ("form", pa.string()),
            ("losses", pa.list_(pa.string())),
        ]
    ),
    "source_extras": pa.schema(
        [(name, pa.string()) for name in ("source_file_id", "corpus_id", "json_pointer", "value")]
    ),
    "source_quarantine": pa.schema(
        [
            ("source_file_id", pa.string()),
            ("corpus_id", pa.string()),
            ("record_index", pa.int32()),
            ("record_pointer", pa.string()),
            ("error", pa.string()),
            ("value", pa.string()),
        ]
    ),
}
"""The raw tables about the build itself: one row a corpus, a file read, an extra key, a refused record."""


@dataclass(frozen=True)
class Release:
    """What of a corpus is at the source: data files, listed files that are missing, files that are none of ours."""

    corpus: Corpus
    folder: Path
    files: tuple[tuple[Entity, str], ...]
    missing: tuple[SourceFile, ...]
    ignored: tuple[str, ...]
    form: Form | None = None
    """The form of the files, where it is not the release's own."""


def find(corpus: Corpus, settings: Settings, paths: WarehousePaths) -> Release:
    """What of a corpus is at the source of the settings, in the form that they say."""
    if settings.source is None or settings.form == FORMS[0]:
        return find_release(corpus, settings.source or paths.sample)
    return find_form(corpus, settings.source, registry.load_form(corpus.corpus_id, settings.form))


def find_release(corpus: Corpus, source: Path) -> Release:
    """Look for a corpus below `source/<corpus_id>`; a folder that is not there is an empty release."""
    folder = source / corpus.corpus_id
    present = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    documentation = {file.path for file in corpus.files if file.is_documentation}
    files, ignored = [], []
    for path in present:
        entity = corpus.entity_of(path)
        if entity is None or path in documentation:
            ignored.append(path)
        else:
            files.append((entity, path))
    missing = tuple(file for file in corpus.files if file.path not in present and not file.is_documentation)
    return Release(corpus, folder, tuple(files), missing, tuple(ignored))


def find_form(corpus: Corpus, source: Path, form: Form | None) -> Release:
    """Look for a corpus in another form, below `source/<dataset>/<config>`; without that form it is an empty release.

    Raises InputError when a table is there twice, as Parquet and as JSON lines.
    """
    files, missing = [], []
    for table, stem in form.stems() if form else ():
        entity = next(entity for entity in corpus.entities if entity.name == table.entity)
        present = [f"{stem}{suffix}" for suffix in SUFFIXES if (source / f"{stem}{suffix}").is_file()]
        if len(present) > 1:
            raise InputError(f"{corpus.corpus_id}/{present[0]}: {present[1]} is there too, give one of them")
        files += [(entity, path) for path in present]
        if form and not present:
            missing.append(SourceFile(f"{stem}{SUFFIXES[0]}", form.homepage))
    return Release(corpus, source, tuple(files), tuple(missing), (), form)


class Lander:
    """Lands releases, many files side by side in processes; a context manager.

    with Lander(paths.raw, settings) as lander:
        lander.start(releases)          # returns at once; the processes work from here on
        landed = lander.land(release)   # waits for the files of one release

    Each file is landed by `landing.land_file`. Where there is little to do no process is started, because that costs
    more than it saves.
    """

    def __init__(self, target: Path, settings: Settings) -> None:
        """`target` is the folder of the raw layer."""
        self._target, self._strict, self._force = target, settings.strict, settings.force
        self._processes = settings.processes
        self._pool: concurrent.futures.ProcessPoolExecutor | None = None
        self._started: dict[str, concurrent.futures.Future[Landed]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes; what they have not begun is not done."""
        self._end()

    def start(self, releases: Iterable[Release]) -> None:
        """Begin to land every file of these releases, where processes are worth it."""
        tasks = [task for release in releases for task in self._tasks(release)]
        if self._processes == 1 or len(tasks) == 1 or sum(map(_weight, tasks)) < WORTH_PROCESSES:
            return
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            # Decoded records make no cycles: looking for some among millions of objects finds nothing.
            self._pool = concurrent.futures.ProcessPoolExecutor(self._processes, context, gc.disable)
        for task in sorted(tasks, key=_weight, reverse=True):
            self._started[_source_file_id(task)] = self._pool.submit(landing.land_file, *task)

    def land(self, release: Release) -> list[Landed]:
        """Land every file of a release, in the order of their paths. Raises LandingError for the first refused."""
        tasks = self._tasks(release)
        if not any(_source_file_id(task) in self._started for task in tasks):
            self.start([release])
        landed = [self._land(task) for task in tasks]
        if not self._started:  # nothing is left to do: what the processes hold is memory for the models
            self._end()
        return landed

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _land(self, task: tuple) -> Landed:
        started = self._started.pop(_source_file_id(task), None)
        return started.result() if started else landing.land_file(*task)

    def _tasks(self, release: Release) -> list[tuple]:
        """The arguments of `landing.land_file` for each file."""
        return [
            (release.corpus, entity, release.folder, path, self._target, self._strict, release.form, self._force)
            for entity, path in release.files
        ]


def _source_file_id(task: tuple) -> str:
    return f"{task[0].corpus_id}/{task[3]}"


def _weight(task: tuple) -> int:
    """How much there is to do for a file, in bytes of text."""
    size = (task[2] / task[3]).stat().st_size
    return size * PACKED if task[3].endswith(".gz") else size


def raw_tables(corpora: Iterable[Corpus]) -> list[str]:
    """The names of all raw tables of these corpora."""
    return [table_name(corpus, entity) for corpus in corpora for entity in corpus.entities]


def table_name(corpus: Corpus, entity: Entity) -> str:
    """The raw table of an entity."""
    return f"{corpus.corpus_id}__{entity.name}"


def link_raw(corpus: Corpus, landed: Sequence[Landed], paths: WarehousePaths) -> dict[str, list[str]]:
    """Lay out a corpus's raw tables for dbt; the Parquet files of each, relative to the warehouse folder.

    Each table has a zero-row typed file first, so that it has its columns whatever is absent.
    """
    tables: dict[str, list[str]] = {}
    for entity in corpus.entities:
        parquet = [landing.write_empty(corpus, entity, paths.raw)]
        parquet += [row.parquet for row in landed if row.entity == entity.name]
        tables[table_name(corpus, entity)] = [(paths.raw / file).relative_to(paths.root).as_posix() for file in parquet]
        folder = _fresh_folder(paths.scratch_raw / table_name(corpus, entity))
        for index, file in enumerate(parquet):
            _link(paths.raw / file, folder / f"{index:05}.parquet")
    return tables


def write_catalog(corpora: Iterable[Corpus], landed: Iterable[Landed], paths: WarehousePaths) -> dict[str, int]:
    """Write the raw tables about the build itself; their row counts."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in CATALOG_TABLES}
    for corpus in corpora:
        rows["corpora"].append({name: getattr(corpus, name) for name in CATALOG_TABLES["corpora"].names})
    for file in landed:
        identity = {"source_file_id": file.source_file_id, "corpus_id": file.corpus_id}
        facts = {name: getattr(file, name) for name in CATALOG_TABLES["source_files"].names}
        rows["source_files"].append(facts | identity)
        rows["source_extras"] += [identity | extra for extra in file.extras]
        rows["source_quarantine"] += [identity | record for record in file.quarantine]
    for name, schema in CATALOG_TABLES.items():
        write_table(rows[name], schema, _fresh_folder(paths.scratch_raw / name) / "00000.parquet")
    return {name: len(table) for name, table in rows.items()}


def write_table(rows: list[dict[str, Any]], schema: pa.Schema, parquet: Path) -> None:
    """Write rows as Parquet, all of it or nothing."""
    temporary = parquet.with_suffix(".tmp")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), temporary)
    temporary.replace(parquet)


def is_simulated(source: Path) -> dict[str, Any] | None:
    """What `SIMULATED.json` of a corpus folder says (scale, seed), None for a real release."""
    try:
        return json.loads((source / "SIMULATED.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def _fresh_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _link(target: Path, link: Path) -> None:
    """A hard link, or a copy where the file system has none."""
    try:
        os.link(target, link)
    except OSError:
        shutil.copyfile(target, link)
