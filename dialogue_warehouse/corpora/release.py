"""The types with which the folder of a corpus declares its release; nothing about how the release is processed.

The folder is a package `dialogue_warehouse.corpora.<corpus_id>` with `source.toml` (publication facts and every
upstream file), `schema.py` (the release's records as msgspec Structs and the entities that they belong to),
`claims.toml` (documented numbers and invariants, known defects), `simulate.py` (the same shape, generated) and
`restore.sql` (the release's own JSON, rebuilt from core). `dialogue_warehouse.corpora.registry` finds the folders.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

INTEGER_MIN, INTEGER_MAX = -(2**31), 2**31 - 1
Integer = Annotated[int, Meta(ge=INTEGER_MIN, le=INTEGER_MAX)]
"""A JSON integer that fits SQL's INTEGER; any other number is refused instead of rounded."""
NumericString = Annotated[str, Meta(pattern=r"^-?[0-9]{1,12}(\.[0-9]{1,9})?\Z")]
"""A JSON string that holds a plain decimal number, such as a time in seconds."""


def note(text: str) -> Meta:
    """Return the description of a schema field, for use inside `Annotated`."""
    return Meta(description=text)


GOAL_KINDS = ("find_shared_item", "divide_items", "fill_form", "follow_guideline", "answer", "none")
"""The goals that the dialogues of a corpus can have.

Find an item that both people have, agree on a division of items, fill the slots of a form or of a service call, follow
the agent's guideline, answer a question, or none of these.
"""


class Container(enum.Enum):
    """Layout of the records in a data file."""

    ARRAY = "array"
    """One JSON array; each element is a record."""
    ENTRIES = "entries"
    """One JSON object; each member is a record, its key is kept as `record_key`."""
    SPLITS = "splits"
    """One JSON object of arrays; each element of each array is a record, the member's key is kept as `record_key`."""
    DOCUMENT = "document"
    """One JSON value, which is the only record."""
    LINES = "lines"
    """Lines with one value each; each is `{"value": ...}`.

    In a file whose name ends with `.txt` the whole line is the value. In any other file it is a value of CSV, quoted or
    not, with or without a comma behind it.
    """
    TABLE = "table"
    """Lines of a CSV file, the first of which names the columns; each other line is an object of texts."""
    JSON_LINES = "json_lines"
    """One JSON object in each line, which is a record (JSON Lines)."""


@dataclass(frozen=True)
class Entity:
    """One kind of data file of a release.

    `record` is the msgspec type of a record. `pattern` matches the file's path inside the release. Its group `part`, if
    there is one, is the file's own word for its part (`source_part`); otherwise `part` has that word.
    """

    name: str
    record: Any
    container: Container
    pattern: str
    part: str | None = None

    def source_part(self, path: str) -> str | None:
        """Return the part that a file of this entity belongs to; None where its records contain the part.

        Raises ValueError for a file that is not of this entity.
        """
        match = re.fullmatch(self.pattern, path)
        if match is None:
            raise ValueError(f"{path} is not a file of {self.name}")
        return match.groupdict().get("part") or self.part


@dataclass(frozen=True)
class SourceFile:
    """One upstream file as listed in source.toml. Unknown facts are None."""

    path: str
    url: str
    bytes: int | None = None
    sha256: str | None = None
    git_blob_sha1: str | None = None
    is_documentation: bool = False
    mirrors: tuple[str, ...] = ()
    """Further URLs of the same bytes, tried in this order when `url` fails."""


@dataclass(frozen=True)
class Corpus:
    """A corpus as its folder declares it: publication facts, files and entities."""

    corpus_id: str
    title: str
    homepage: str
    license: str
    citation: str
    release: str
    text_kind: str
    """The kind of a text of the corpus: a `dialogue`, or a single `question`."""
    goal_kind: str
    """The goal of the corpus's dialogues, one of GOAL_KINDS."""
    files: tuple[SourceFile, ...]
    entities: tuple[Entity, ...]
    folder: Path = field(repr=False)
    annotator_count: int | None = None
    """Number of people who label the same spans independently of each other, if there are several."""
    voter_count: int | None = None
    """Number of people who vote on each question, if people vote."""
    language: str | None = None
    """The code of the language of the texts (ISO 639-1), such as `en`."""
    summary: str = ""
    """The special features of the corpus, for the README's table."""
    mirrors: tuple[str, ...] = ()
    """URLs of folders that have the same files, each at `<mirror>/<path>`; tried when a file's own URLs fail."""

    def entity_of(self, path: str) -> Entity | None:
        """Return the entity that a path of the release belongs to, or None when it is not a data file."""
        return next((entity for entity in self.entities if re.fullmatch(entity.pattern, path)), None)

    def listed(self, path: str) -> SourceFile | None:
        """Return the entry of source.toml for this path, or None."""
        return next((file for file in self.files if file.path == path), None)


def raw_table(corpus: Corpus, entity: Entity) -> str:
    """Name the raw table of an entity."""
    return f"{corpus.corpus_id}__{entity.name}"
