"""The JSON that stands at a pointer of a source file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pipelines.corpora import registry
from pipelines.corpora.room import Container
from pipelines.intake.json_pointer import beginning, resolve
from pipelines.intake.records import split_records
from pipelines.intake.strict_json import shown
from pipelines.intake.unpacking import unpack

DEEPEST_RECORD = 2
"""Most tokens in the pointer of a record: its part and its index."""


def read_json_at(
    corpus_id: str, path: str, data: bytes, pointers: Iterable[str | None], found_as: str | None = None
) -> Iterator[str | None]:
    """The JSON at each pointer of a file, None where nothing stands; only the records that it stands in are read.

    `path` is the file's in its release, `found_as` its name at the source where that is another.
    Of records with equal keys the first is meant, which is the one that was landed. Raises LandingError for a file that
    is no JSON.
    """
    texts = _texts(corpus_id, path, data, found_as or path)
    for pointer in pointers:
        yield None if pointer is None else _json_at(texts, pointer)


def _texts(corpus_id: str, path: str, data: bytes, found_as: str) -> dict[str, bytes]:
    """The JSON text of each record by its pointer; of a file of lines, the values of its lines."""
    where = f"{corpus_id}/{path}"
    text = unpack(f"{corpus_id}/{found_as}", data).content
    entity = registry.load_corpus(corpus_id).entity_of(path)
    if entity is None:
        return {"": text}
    texts: dict[str, bytes] = {}
    for record in split_records(entity, where, text)[1]:
        is_value = entity.container is Container.LINES and not record.refused
        texts.setdefault(
            record.pointer, json.dumps(json.loads(record.text)["value"]).encode() if is_value else record.text
        )
    return texts


def _json_at(texts: dict[str, bytes], pointer: str) -> str | None:
    """What stands at a pointer into a record."""
    for depth in range(DEEPEST_RECORD + 1):
        record = beginning(pointer, depth)
        if record in texts:
            try:
                found = resolve(json.loads(texts[record]), pointer[len(record) :])
            except LookupError:
                return None
            text = json.dumps(found, ensure_ascii=False)
            return text if shown(text) == text else json.dumps(found)
    return None
