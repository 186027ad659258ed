"""A key is traced to the JSON of the record that was landed, whatever else its file contains."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container
from dialogue_warehouse.lineage.tracing import _find_place, _Found, _Place, read_json_at
from dialogue_warehouse.reading.findings import TraceError

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


def test_models_whose_pointer_leads_nowhere_are_named(tmp_path: Path) -> None:
    """Regression: the message said only that the file, which is the one that was read, has no value there."""
    corpus_id, path = FILES[Container.ARRAY]
    file = tmp_path / Path(path).name
    file.write_text('[{"turns": []}]', encoding="utf-8")
    source_file = {"corpus_id": corpus_id, "path": path, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    found = _Found()
    found.read(file, source_file, _Place(f"{corpus_id}/{path}", 0, "/0", "/0/turns/4", None))
    models = f"int_{corpus_id}__pointer_forms or int_{corpus_id}__key_pointers"
    assert found.changed == f"{corpus_id}/{path}: has no value at /0/turns/4, where {models} leads"


def test_key_of_a_dialogue_without_a_form_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: the message said that it comes from several records."""
    monkeypatch.setattr("dialogue_warehouse.lineage.tracing.read_rows", lambda *_: [])
    row = {"corpus_id": "tram", "dialogue_key": "tram/train/1"}
    with pytest.raises(TraceError, match=r"no form in int_tram__pointer_forms fits this key: add one$"):
        _find_place(None, "fct_slots", "tram/train/1/0/label/mood", row)  # ty: ignore[invalid-argument-type]
