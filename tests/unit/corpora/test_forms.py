"""Other forms of a release: a row becomes the record, and the record becomes the row again."""

from __future__ import annotations

import json

import msgspec
import pytest

from dialogue_warehouse.corpora import forms, registry
from dialogue_warehouse.corpora.forms import FormError
from dialogue_warehouse.releases import form_files
from tests.unit.form_rows import EXAMPLES, OFFERED, SCHEMA_GUIDED, changed, parquet, table_of


@pytest.mark.parametrize(("corpus_id", "name"), OFFERED)
def test_every_form_has_the_entities_of_its_corpus(corpus_id: str, name: str) -> None:
    form = registry.load_form(corpus_id, name)
    corpus = registry.load_corpus(corpus_id)
    assert form is not None
    assert form.name == name
    assert {table.entity for table in form.tables} <= {entity.name for entity in corpus.entities}
    for table, stem in form.stems():
        assert form.place(f"{stem}.parquet") == form.place(f"{stem}.jsonl")
        assert form.place(f"{stem}.parquet")[0] is table
    with pytest.raises(ValueError, match="is not a file of"):
        form.place("elsewhere/train.parquet")


@pytest.mark.parametrize(("corpus_id", "row", "record"), EXAMPLES)
def test_row_becomes_the_releases_record(corpus_id: str, row: dict, record: dict) -> None:
    table = table_of(corpus_id)
    ((text, read, refused),) = form_files.undo_rows(table, "x.parquet", parquet(table, [row]))
    assert json.loads(text) == record
    assert list(json.loads(text)) == list(record)
    assert (read, refused) == (row, None)
    msgspec.json.decode(text, type=registry.load_corpus(corpus_id).entities[0].record)


@pytest.mark.parametrize(("corpus_id", "row", "record"), EXAMPLES)
def test_record_becomes_the_row_again(corpus_id: str, row: dict, record: dict) -> None:
    assert table_of(corpus_id).redo(record) == row


def test_state_and_call_are_kept_if_they_are_not_empty() -> None:
    table = table_of("sgd")
    frame = "turns/frames/1"
    state = changed(SCHEMA_GUIDED, f"{frame}/state/0/requested_slots", ["time"])
    assert table.undo(state)["turns"][1]["frames"][0]["state"]["requested_slots"] == ["time"]
    result = {"service_slot_name": ["a"], "service_canonical_value": ["b"]}
    call = changed(SCHEMA_GUIDED, "turns/frames/0/service_results/0/service_results_list", [result])
    assert table.undo(call)["turns"][0]["frames"][0]["service_results"] == [{"a": "b"}]
    assert table.undo(call)["turns"][0]["frames"][0]["service_call"] == {"method": "", "parameters": {}}


@pytest.mark.parametrize("number", [0.3, 1.0, 3.0, 0.1, 1e-8, -2.5, 0.0, 123456.79])
def test_shortest_number_is_the_one_that_was_rounded(number: float) -> None:
    assert forms.shortest(forms.single_precision(number)) == number


def test_unequal_names_and_values_are_not_an_object() -> None:
    assert forms.mapping(["a"], ["b"], "/x") == {"a": "b"}
    with pytest.raises(FormError, match="lists of different length at /x: names 1, values 2"):
        forms.mapping(["a"], ["b", "c"], "/x")
