"""The JSON that stands at a pointer of a source file."""

from __future__ import annotations

import json
from typing import Any

from pipelines.corpora import registry
from pipelines.corpora.room import Container
from pipelines.intake.json_pointer import resolve
from pipelines.intake.unpacking import unpack


def read_document(corpus_id: str, path: str, data: bytes) -> Any:
    """The file as one JSON value; of a file of lines, the values of its lines. Raises LandingError for broken gzip."""
    text = unpack(f"{corpus_id}/{path}", data).content
    entity = registry.load_corpus(corpus_id).entity_of(path)
    if entity is not None and entity.container is Container.LINES:
        return [line.removesuffix(",") for line in text.decode().split("\n")[:-1]]
    return json.loads(text)


def json_at(document: Any, pointer: str | None) -> str | None:
    """The JSON at a pointer, None where nothing stands."""
    if pointer is None:
        return None
    try:
        return json.dumps(resolve(document, pointer), ensure_ascii=False)
    except LookupError:
        return None
