"""Write a selection in a form: a file for each corpus and split, all of them or none."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from dialogue_warehouse.common import files
from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.exporting import chat
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.lineage.restoring import open_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.selection import NO_SPLIT, Dialogue, Selection, select_published
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds


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

    Raises InputError, with nothing written, if a corpus has no messages or an existing file differs and `force` is off.
    """
    build_id, database = builds.published_build(paths)
    dialogues = select_published(paths, settings, selection)
    if builds.pointed_build(paths) != build_id:
        raise InputError("another build was published meanwhile; run the same command again")
    _refuse_without_messages(dialogues)
    folder.mkdir(parents=True, exist_ok=True)
    exported = []
    with (
        tempfile.TemporaryDirectory(prefix=".exporting-", dir=folder) as scratch,
        open_core(database, settings) as con,
    ):
        for (corpus_id, split), group in groupby(dialogues, key=lambda one: (one.corpus_id, one.split)):
            path = f"{corpus_id}/{split or NO_SPLIT}{chat.SUFFIX}"
            (Path(scratch) / path).parent.mkdir(exist_ok=True)
            with reporter.stage("export", path) as stage:
                corpus = registry.load_corpus(corpus_id)
                counts = chat.write(con, corpus, list(group), Path(scratch) / path, options, stage.update)
                stage.detail, stage.counts = f"{counts['examples']:,} examples", counts
            exported.append(Exported(path, counts))
        files.move_all(Path(scratch), folder, [one.path for one in exported], force, "exported")
    return exported


def _refuse_without_messages(dialogues: Sequence[Dialogue]) -> None:
    for corpus_id in sorted({dialogue.corpus_id for dialogue in dialogues}):
        if not (registry.corpus_folder(corpus_id) / chat.MESSAGES_SQL).is_file():
            raise InputError(
                f"{corpus_id}: cannot be exported as chat, because it has no {chat.MESSAGES_SQL}; "
                "--corpora selects other corpora"
            )
