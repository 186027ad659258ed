"""A listed file of a made-up corpus."""

from __future__ import annotations

from pathlib import Path

from dialogue_warehouse.corpora.release import Corpus, SourceFile
from pipelines.ingestion.wanted import Wanted, plan


def corpus(*files: SourceFile) -> Corpus:
    return Corpus("demo", "Demo", "", "MIT", "", "1", "dialogue", "none", files, (), Path())


def listed_file(tmp_path: Path, **facts) -> Wanted:
    file = SourceFile("part/a b.json", "https://example.org/data/part/a%20b.json", **facts)
    return plan((corpus(file),), tmp_path)[0]
