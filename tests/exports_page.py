"""Write the tables of docs/what_exports_keep.md from the ledgers of exports: `python -m tests.exports_page WAREHOUSE`.

The warehouse is that of the embedded sample, with all corpora or some: the tables of the others stay as they are. A row
is a table of core of which a form keeps something.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.exporting import losses, writing
from dialogue_warehouse.exporting.chat import ChatOptions
from dialogue_warehouse.exporting.preference import PreferenceOptions
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.reading.selection import Selection
from dialogue_warehouse.settings import Settings

PAGE = CLONE / "docs" / "what_exports_keep.md"
BEGIN, END = "<!-- forms: begin -->", "<!-- forms: end -->"
FORMS: dict[str, Any] = {
    "`chat`, `huggingface`": ChatOptions(instructions=True),
    "the same, `alternating`": ChatOptions(profile="alternating"),
    "`preference`": PreferenceOptions(),
}
"""The forms that the page compares, with their options."""
KEYS = {*losses.IN_SOURCE, "turn_key"}
"""Columns that are in `source` of every form."""

Ledger = Mapping[str, Any]


def ledger_of(folder: Path) -> Ledger:
    """Return the ledger of an export."""
    return json.loads((folder / losses.LEDGER).read_text(encoding="utf-8"))


def has_examples(options: Any, corpora: Iterable[str]) -> bool:
    """Return whether one of these corpora has what the form of these options needs."""
    needed = writing.FORMS[type(options)].needs
    return needed is None or any((registry.corpus_folder(corpus_id) / needed).is_file() for corpus_id in corpora)


def without_files(corpora: Iterable[str]) -> Ledger:
    """Return the ledger of a form for which none of these corpora has anything."""
    return {"corpora": {corpus_id: {"files": [], "tables": []} for corpus_id in corpora}}


def tables(ledgers: Mapping[str, Ledger]) -> dict[str, str]:
    """Return the table of each corpus. `ledgers` are those of the forms, by the head of their column."""
    (first, *_) = ledgers.values()
    return {corpus_id: "\n".join(_table(corpus_id, ledgers)) for corpus_id in first["corpora"]}


def _table(corpus_id: str, ledgers: Mapping[str, Ledger]) -> Iterator[str]:
    forms = {head: ledger["corpora"][corpus_id] for head, ledger in ledgers.items()}
    with_files = {head: _columns(of["tables"]) for head, of in forms.items() if of["files"]}
    yield f"### {corpus_id}"
    if lacking := [head for head in forms if head not in with_files]:
        yield f"The corpus has nothing for {', '.join(lacking)}.\n"
    yield f"| table | {' | '.join(with_files)} |"
    yield f"|---|{'---|' * len(with_files)}"
    names = next(iter(with_files.values()))
    kept = [name for name in names if any(_words(columns[name]) for columns in with_files.values())]
    for name in kept:
        cells = [_words(columns[name]) or "joinable" for columns in with_files.values()]
        yield f"| `{name.removeprefix('core.')}` | {' | '.join(cells)} |"
    rest = [f"`{name.removeprefix('core.')}`" for name in names if name not in kept]
    yield f"\nOnly joinable in every form: {', '.join(rest)}."


def _columns(entries: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the columns that have values and are not keys, by table."""
    return {
        entry["table"]: [each for each in entry["columns"] if each["values"] and each["column"] not in KEYS]
        for entry in entries
    }


def _words(columns: list[Mapping[str, Any]]) -> str:
    """Return the kept columns, with what happens to their values if not all are kept alone."""
    by_note: dict[str, list[str]] = {}
    for each in columns:
        if each["kept"] + each["merged"]:
            notes = (["in part"] if each["joinable"] + each["dropped"] else []) + (["merged"] if each["merged"] else [])
            by_note.setdefault(", ".join(notes), []).append(f"`{each['column']}`")
    return "; ".join(f"{note}: {', '.join(names)}" if note else ", ".join(names) for note, names in by_note.items())


def rewrite(document: str, ledgers: Mapping[str, Ledger]) -> str:
    """Return the document with the current tables between its markers. Raises ValueError if it has no markers.

    A corpus that is not in the ledgers keeps its table.
    """
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise ValueError(f"the document has no part between {BEGIN} and {END}")
    written = document.partition(BEGIN)[2].partition(END)[0]
    there = {part.partition("\n")[0].removeprefix("### "): part for part in re.split(r"\n\n(?=### )", written.strip())}
    current = there | tables(ledgers)
    text = "\n\n".join(current[corpus_id] for corpus_id in registry.corpus_ids() if corpus_id in current)
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", document, flags=re.S)


def main(warehouse: Path) -> None:
    """Export the warehouse in every form and write the page."""
    ledgers: dict[str, Ledger] = {}
    for head, options in FORMS.items():
        exported = next(iter(ledgers.values()), without_files([]))["corpora"]
        if ledgers and not has_examples(options, exported):
            ledgers[head] = without_files(exported)
            continue
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(warehouse=warehouse)
            writing.export_published(
                WarehousePaths(warehouse), settings, Selection(), options, Path(folder), Reporter()
            )
            ledgers[head] = ledger_of(Path(folder))
    PAGE.write_text(rewrite(PAGE.read_text(encoding="utf-8"), ledgers), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
