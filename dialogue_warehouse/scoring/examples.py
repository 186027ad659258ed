"""Small files of predictions that are valid: gold of a few dialogues, in each form of a corpus."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dialogue_warehouse.common import files
from dialogue_warehouse.corpora.scores import load_scoring
from dialogue_warehouse.lineage.restoring import open_published_core
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.scoring.measuring import Measuring
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import ownership

DIALOGUES = 2
"""Number of dialogues in an example; more if the metrics count none of them."""


def write_examples(
    paths: WarehousePaths, settings: Settings, corpus_id: str, split: str | None, folder: Path, force: bool = False
) -> list[Path]:
    """Write a file of each form below a folder, and return them.

    Raises InputError, with nothing written, if a file exists and differs and `force` is off, or for a folder inside a
    warehouse.
    """
    ownership.refuse_owned(folder)
    scoring = load_scoring(corpus_id)
    names = {form.name: f"{corpus_id}_{form.name}{form.suffix}" for form in scoring.forms}
    with open_published_core(paths, settings) as (_, con):
        measuring = Measuring(con, scoring, split)
        _read_gold_that_counts(measuring)  # raises the error before the folder is made
        with files.folder_made(folder), tempfile.TemporaryDirectory(prefix=".example-", dir=folder) as scratch:
            for form in scoring.forms:
                records = measuring.examples(form.name)
                between, around = ("\n", ("", "\n")) if form.suffix == ".jsonl" else (",\n", ("[\n", "\n]\n"))
                (Path(scratch) / names[form.name]).write_text(between.join(records).join(around), encoding="utf-8")
            files.move_all(Path(scratch), folder, list(names.values()), force, "written")
    return [folder / name for name in names.values()]


def _read_gold_that_counts(measuring: Measuring) -> None:
    """Read gold of the first dialogues, twice as many each time, until the metrics count one of them."""
    most = DIALOGUES
    while True:
        measuring.prepare(None, False, None, most)
        measuring.read_gold()
        measuring.measure(only_totals=True)
        if measuring.rows("select 1 from units where is_scored limit 1"):
            return
        if len(measuring.rows("from selected")) < most:
            return
        most *= 2
