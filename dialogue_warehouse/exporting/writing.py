"""Write a selection in a form: a file for each corpus and split, and the loss ledger; all of them or none."""

from __future__ import annotations

import contextlib
import errno
import tempfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import msgspec

from dialogue_warehouse.common import files
from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import NO_SPACE, InputError, is_full, naming
from dialogue_warehouse.exporting import chat, losses
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.lineage.restoring import open_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import NO_SPLIT, Dialogue, Selection, select_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

FORM = "chat"
SCRATCH = ".exporting-"
"""Beginning of the name of a temporary folder."""


class Exported(NamedTuple):
    """A written file, relative to the folder of the export, and its counts."""

    path: str
    counts: dict[str, int]


def export_published(
    paths: WarehousePaths,
    settings: Settings,
    selection: Selection,
    options: ChatOptions,
    folder: Path,
    reporter: Reporter,
    force: bool = False,
) -> list[Exported]:
    """Write the selected dialogues of the published build below a folder, and return what was written.

    Raises InputError, with nothing written, if an existing file differs and `force` is off.
    """
    build_id, database = builds.published_build(paths)
    dialogues = select_published(paths, settings, selection)
    if builds.pointed_build(paths) != build_id:
        raise InputError("another build was published meanwhile; run the same command again")
    folder.mkdir(parents=True, exist_ok=True)
    exported = []
    with _scratch_in(folder) as scratch, open_core(database, settings) as con:
        ledger: dict[str, Any] = {"form": FORM, "options": asdict(options), "corpora": {}}
        for corpus_id, of_corpus in groupby(dialogues, key=lambda one: one.corpus_id):
            con.execute(losses.EXPORTED)
            corpus = registry.load_corpus(corpus_id)
            of_files = list(_write_corpus(con, corpus, list(of_corpus), Path(scratch), options, reporter))
            counts = {one.path: one.counts for one in of_files}
            ledger["corpora"][corpus_id] = {"files": counts, "tables": losses.count(con, corpus)}
            exported += of_files
        content = msgspec.json.format(msgspec.json.encode(ledger), indent=1)
        (Path(scratch) / losses.LEDGER).write_bytes(content + b"\n")
        paths_written = [*(one.path for one in exported), losses.LEDGER]
        files.move_all(Path(scratch), folder, paths_written, force, "exported")
    return exported


@contextlib.contextmanager
def _scratch_in(folder: Path) -> Generator[str]:
    """Yield a temporary folder inside the folder of the export, which no other export writes into meanwhile.

    Temporary folders of exports that were killed are removed. An error about a full disk gets the folder's name.
    Raises InputError if another export writes there.
    """
    with files.alone_in(folder) as is_alone:
        if is_alone is False:
            raise InputError(f"{folder}: another export writes there; wait until it has ended, or name another folder")
        for left in folder.glob(f"{SCRATCH}*") if is_alone else ():
            files.remove(left)
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder) as scratch, naming(folder):
            try:
                yield str(files.plain_path(Path(scratch)))  # DuckDB writes there
            except duckdb.IOException as error:
                if is_full(error):
                    raise OSError(errno.ENOSPC, NO_SPACE, str(folder)) from error
                raise


def _write_corpus(
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Sequence[Dialogue],
    scratch: Path,
    options: ChatOptions,
    reporter: Reporter,
) -> Iterator[Exported]:
    """Write a file for each split of a corpus."""
    for split, group in groupby(dialogues, key=lambda one: one.split):
        path = f"{corpus.corpus_id}/{split or NO_SPLIT}{chat.SUFFIX}"
        (scratch / path).parent.mkdir(exist_ok=True)
        with reporter.stage("export", path) as stage:
            counts = chat.write(con, corpus, list(group), scratch / path, options, stage.update)
            stage.detail, stage.counts = f"{counts['examples']:,} examples", counts
        yield Exported(path, counts)
