"""Write the table of the corpora into the README, from the declarations of the corpora: `python -m tests.readme`."""

from __future__ import annotations

import re

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import CLONE

README = CLONE / "README.md"
BEGIN, END = "<!-- corpora: begin -->", "<!-- corpora: end -->"


def corpora_table() -> str:
    """Return a table with one line per corpus: its id, its title and its special property."""
    lines = ["| corpus_id | corpus | what is special about it |", "|---|---|---|"]
    lines += [f"| {corpus.corpus_id} | {corpus.title} | {corpus.summary} |" for corpus in registry.load_corpora()]
    return "\n".join(lines)


def rewrite(document: str) -> str:
    """Return the document with the current table between its marks."""
    if document.count(BEGIN) != 1 or document.count(END) != 1:
        raise ValueError(f"the document has no part between {BEGIN} and {END}")
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{corpora_table()}\n{END}", document, flags=re.S)


if __name__ == "__main__":
    README.write_text(rewrite(README.read_text(encoding="utf-8")), encoding="utf-8")
