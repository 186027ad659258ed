"""Write a selection in a form: a file for each corpus and split, and the loss ledger; all of them or none."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
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
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.exporting import chat, losses
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.lineage.restoring import open_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import NO_SPLIT, Dialogue, Selection, select_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

FORM = "chat"


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
    with (
        tempfile.TemporaryDirectory(prefix=".exporting-", dir=folder) as scratch,
        open_core(database, settings) as con,
    ):
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
