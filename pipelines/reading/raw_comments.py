"""What the raw tables hold, in the words of the rooms' schemas: comments of a connection, a part of the dictionary."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from msgspec import inspect

from pipelines.corpora import registry
from pipelines.corpora.room import Corpus, Entity, raw_table
from pipelines.intake import rawtypes
from pipelines.intake.sql_text import identifier, literal

OF_LANDING = {
    "source_file_id": "the file that the record stands in",
    "source_part": "the part of the release that the file's own place names",
    "record_index": "position of the record in its file's array or object, from 0",
    "record_pointer": "JSON pointer to the record in its file",
    "record_key": "the key that the record has in its file's object",
}
"""What landing adds to each record."""


@dataclass(frozen=True)
class RawColumn:
    """A field of the records of a raw table."""

    name: str
    type: str
    description: str


@dataclass(frozen=True)
class RawTable:
    """A raw table: the records of one entity of a release."""

    name: str
    description: str
    columns: tuple[RawColumn, ...]


def raw_tables(corpus: Corpus) -> Iterator[RawTable]:
    """The raw tables of a corpus, as its schema describes them; what landing adds is left out."""
    for entity in corpus.entities:
        yield _raw_table(corpus, entity)


def _raw_table(corpus: Corpus, entity: Entity) -> RawTable:
    kind = inspect.type_info(entity.record)
    columns = []
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            columns.append(RawColumn(field.encode_name, rawtypes.duckdb_type(field.type), _described(field.type)))
    what = f"One row per record of {corpus.title}, {entity.name}: every published field, nested as published."
    return RawTable(raw_table(corpus, entity), what, tuple(columns))


def _described(kind: inspect.Type) -> str:
    """The note of a field, which stands at its type or inside a union of it."""
    match kind:
        case inspect.Metadata():
            own = (kind.extra_json_schema or {}).get("description")
            return own or _described(kind.type)
        case inspect.UnionType():
            return next(filter(None, map(_described, kind.types)), "")
    return ""


def comments_on(table: str, present: Collection[str]) -> Iterator[str]:
    """The statements that describe the view of a raw table and the columns that it has, as DuckDB takes them."""
    corpus_id = table.partition("__")[0]
    if corpus_id not in registry.corpus_ids():
        return
    for described in raw_tables(registry.load_corpus(corpus_id)):
        if described.name == table:
            yield f"comment on view raw.main.{identifier(table)} is {literal(described.description)}"
            texts = OF_LANDING | {column.name: column.description for column in described.columns}
            for name in texts.keys() & set(present):
                text = literal(texts[name])
                yield f"comment on column raw.main.{identifier(table)}.{identifier(name)} is {text}"
