"""The files of a release as Python alone reads them, whatever the layout of their records is."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container


def read_file(folder: Path, corpus_id: str, path: str) -> Any:
    """Return the content of a file of a corpus; of a file of lines the list of its records."""
    content = (folder / path).read_bytes()
    text = (gzip.decompress(content) if path.endswith(".gz") else content).decode()
    entity = registry.load_corpus(corpus_id).entity_of(path)
    match entity.container if entity else Container.DOCUMENT:
        case Container.LINES:
            return [line.removesuffix(",") for line in text.splitlines()]
        case Container.TABLE:
            separator = "\t" if path.endswith((".tsv", ".tsv.gz")) else ","
            return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))
        case Container.JSON_LINES:
            return [json.loads(line) for line in text.split("\n") if line]
        case _:
            return json.loads(text)
