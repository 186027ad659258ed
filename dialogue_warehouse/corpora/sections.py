"""The queries of a corpus' own SQL file, each below a comment with its name: `-- entity: calls`."""

from __future__ import annotations

import re

from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.release import Corpus


def read_sections(corpus: Corpus, file: str, kind: str) -> dict[str, str]:
    """Return the queries of a file by name. Raises CorpusError if the corpus lacks the file."""
    try:
        text = (corpus.folder / file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CorpusError(f"{corpus.corpus_id}: {file} is missing") from error
    sections = re.split(rf"^-- {kind}: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(sections[::2], sections[1::2], strict=True))
