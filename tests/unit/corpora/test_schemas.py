"""Each field of a corpus's schema is described, has a type in SQL, and accepts no unknown keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec import inspect

from dialogue_warehouse.corpora import column_types, registry
from dialogue_warehouse.corpora.release import Container, Entity


def structs_of(kind: inspect.Type, place: str) -> Iterator[tuple[str, inspect.StructType]]:
    """Return every struct of a type, including the type itself, with its place."""
    match kind:
        case inspect.Metadata():
            yield from structs_of(kind.type, place)
        case inspect.ListType():
            yield from structs_of(kind.item_type, place)
        case inspect.DictType():
            yield from structs_of(kind.value_type, place)
        case inspect.UnionType():
            for option in kind.types:
                yield from structs_of(option, place)
        case inspect.StructType():
            yield place, kind
            for field in kind.fields:
                yield from structs_of(field.type, f"{place}.{field.name}")


def is_described(kind: inspect.Type) -> bool:
    """Return whether a field's type has a description, in one of its options."""
    options = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    notes = [option for option in options if isinstance(option, inspect.Metadata)]
    return any((note.extra_json_schema or {}).get("description") for note in notes)


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_every_schema_field_is_described_and_has_a_sql_type(corpus_id: str) -> None:
    for entity in registry.load_corpus(corpus_id).entities:
        kind = inspect.type_info(entity.record)
        column_types.duckdb_type(kind)
        for place, struct in structs_of(kind, entity.name):
            assert struct.forbid_unknown_fields, struct.cls
            missing = [f"{place}.{field.name}" for field in struct.fields if not is_described(field.type)]
            assert missing == [], f"{corpus_id}/schema.py: no note(…) describes these keys"


def has_record_of_its_container(entity: Entity) -> bool:
    """Return whether the record is a struct if the container makes objects: of lines, those with a `value` alone."""
    if entity.container not in (Container.LINES, Container.TABLE):
        return True
    kind = inspect.type_info(entity.record)
    names = [field.encode_name for field in kind.fields] if isinstance(kind, inspect.StructType) else []
    return names == ["value"] if entity.container is Container.LINES else names != []


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_record_of_lines_is_an_object(corpus_id: str) -> None:
    wrong = [each.name for each in registry.load_corpus(corpus_id).entities if not has_record_of_its_container(each)]
    assert wrong == [], (
        f"{corpus_id}/schema.py: a record of LINES is a Struct with the one field `value`, "
        "and a record of a TABLE is a Struct with a field for each column"
    )


@pytest.mark.parametrize("container", [Container.LINES, Container.TABLE])
def test_text_as_the_record_of_lines_is_noticed(container: Container) -> None:
    """Regression: each line was refused with "Expected `str`, got `object`"."""
    assert not has_record_of_its_container(Entity("lines", str, container, r"a\.txt"))


def patterns_of(kind: inspect.Type) -> Iterator[str]:
    """Return the patterns of the texts of a field's type."""
    match kind:
        case inspect.Metadata():
            yield from patterns_of(kind.type)
        case inspect.UnionType():
            for option in kind.types:
                yield from patterns_of(option)
        case inspect.StrType(pattern=str() as pattern):
            yield pattern


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_no_pattern_accepts_a_line_break_at_the_end(corpus_id: str) -> None:
    """In a pattern, `$` does, which `\\Z` does not."""
    for entity in registry.load_corpus(corpus_id).entities:
        for place, struct in structs_of(inspect.type_info(entity.record), entity.name):
            for field in struct.fields:
                assert [pattern for pattern in patterns_of(field.type) if pattern.endswith("$")] == [], place
