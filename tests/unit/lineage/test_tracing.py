"""A key is traced to the JSON of the record that was landed, whatever else its file contains."""

from __future__ import annotations

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container
from dialogue_warehouse.lineage.tracing import read_json_at

DEEP = "[" * 5000 + "]" * 5000
FILES = {
    entity.container: (
        corpus.corpus_id,
        next(file.path for file in corpus.files if corpus.entity_of(file.path) is entity),
    )
    for corpus in registry.load_corpora()
    for entity in corpus.entities
    if not any(file.path.endswith(".gz") and corpus.entity_of(file.path) is entity for file in corpus.files)
}


def at(container: Container, text: str, *pointers: str | None) -> list[str | None]:
    return list(read_json_at(*FILES[container], text.encode(), pointers))


def test_records_are_found_beside_unreadable_ones() -> None:
    """Regression: a record with thousands of levels made the trace of every key of its file an internal error."""
    text = f'[{DEEP}, {{"a/b": ["é", 1.10]}}, "\\ud83d"]'
    assert at(Container.ARRAY, text, "/1", "/1/a~1b/1", None, "/1/c", "/9", "") == [
        '{"a/b": ["é", 1.1]}',
        "1.1",
        None,
        None,
        None,
        None,
    ]


def test_first_of_equal_keys_is_shown() -> None:
    """The record that was landed, not the one that a reader of the whole file would keep."""
    assert at(Container.ENTRIES, '{"a": [1], "a": [2], "b": []}', "/a", "/a/0", "/b") == ["[1]", "1", "[]"]


def test_documents_and_lines_are_found() -> None:
    assert at(Container.DOCUMENT, '\ufeff{"a": {"b": 5}}', "", "/a/b") == ['{"a": {"b": 5}}', "5"]
    assert at(Container.LINES, "dlg-1,\ndlg-2,\n", "/1", "/2") == ['"dlg-2"', None]


def test_lone_surrogate_is_shown_as_it_is_written() -> None:
    """Everything that is shown must be valid UTF-8."""
    (value,) = at(Container.ARRAY, r'[{"zz": "\ud83d"}]', "/0")
    assert value == r'{"zz": "\ud83d"}'
