"""The JSON that stands at a pointer of a source file."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from typing import Any

from pipelines.corpora import registry
from pipelines.corpora.room import Container
from pipelines.errors import InputError

ARRAY_INDEX = re.compile(r"0|[1-9][0-9]*")


class TraceError(InputError):
    """A key leads nowhere; the message says how far it leads."""


def read_document(published: dict[str, Any], data: bytes) -> Any:
    """The file as one JSON value; of a file of lines, the values of its lines."""
    if published["path"].endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise TraceError(f"{published['source_file_id']}: broken gzip, {error}") from error
    entity = registry.load_corpus(published["corpus_id"]).entity_of(published["path"])
    if entity is not None and entity.container is Container.LINES:
        return [line.removesuffix(",") for line in data.decode().split("\n")[:-1]]
    return json.loads(data)


def json_at(document: Any, pointer: str | None) -> str | None:
    """The JSON at a pointer, None where nothing stands."""
    if pointer is None:
        return None
    try:
        return json.dumps(resolve(document, pointer), ensure_ascii=False)
    except LookupError:
        return None


def resolve(document: Any, pointer: str) -> Any:
    """What stands at a JSON pointer (RFC 6901). Raises LookupError when nothing does."""
    value = document
    if pointer and not pointer.startswith("/"):
        raise LookupError(pointer)
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        match value:
            case dict() if name in value:
                value = value[name]
            case list() if ARRAY_INDEX.fullmatch(name) and int(name) < len(value):
                value = value[int(name)]
            case _:
                raise LookupError(pointer)
    return value
