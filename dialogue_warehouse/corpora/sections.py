"""The files of a corpus that say how it is restored, exported and scored, and the queries in them.

A query is below a comment with its name: `-- entity: calls`.
"""

from __future__ import annotations

import re
from pathlib import Path

from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.release import Corpus


def file_of(corpus: Corpus, name: str, usual: Path | None = None) -> Path:
    """Return the corpus's own file, or else the default one. Raises CorpusError if there is neither."""
    path = corpus.folder / name
    if path.is_file():
        return path
    if usual is None:
        raise CorpusError(f"{corpus.corpus_id}: {name} is missing")
    return usual


def read_sections(path: Path, kind: str) -> dict[str, str]:
    """Return the queries of a file by name."""
    sections = re.split(rf"^-- {kind}: (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return dict(zip(sections[::2], sections[1::2], strict=True))
