"""Suites that are made from the declarations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.corpora import suites
from dialogue_warehouse.corpora.claims import DeclarationError
from dialogue_warehouse.corpora.registry import corpus_ids
from dialogue_warehouse.corpora.suites import UNEXPECTED_ROWS, load_corpus_suite, load_marts_suites, load_suites
from tests.unit import core_tables
from tests.unit.bench import toml
from tests.unit.corpus_folders import QUERY, corpus_folder


def test_claim_becomes_an_expectation(tmp_path: Path) -> None:
    suite = load_corpus_suite("toy", corpus_folder(tmp_path, {}))
    assert suite.name == "toy"
    (expectation,) = suite.expectations
    assert (expectation.expectation_id, expectation.claim_id, expectation.table) == ("X01", "X01", "core.fct_turns")
    assert expectation.kwargs["row_condition"] == {
        "type": "comparison",
        "column": {"name": "corpus_id"},
        "operator": "==",
        "parameter": "toy",
    }


def test_claim_in_sql_becomes_an_expectation_of_this_project(tmp_path: Path) -> None:
    changes = {"type": None, "kwargs": None, "rows": None, "unexpected_rows": QUERY}
    (expectation,) = load_corpus_suite("toy", corpus_folder(tmp_path, changes)).expectations
    assert expectation.type == UNEXPECTED_ROWS
    assert expectation.kwargs == {"query": "select * from core.fct_turns"}


def test_two_suites_with_the_same_name_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = load_corpus_suite("toy", corpus_folder(tmp_path, {}))
    monkeypatch.setattr(suites, "load_marts_suites", lambda: (suite, suite))
    with pytest.raises(DeclarationError, match=r"^marts\.toml toy: suite occurs twice$"):
        load_suites([])


def test_expectation_of_several_tables_becomes_one_for_each(tmp_path: Path) -> None:
    path = tmp_path / "marts.toml"
    check = {"id": "a", "severity": "critical", "description": "d", "why": "w", "tables": ["core.x", "core.y"]}
    path.write_text(toml({"marts": [check | {"unexpected_rows": "select 1 from {table}"}]}), encoding="utf-8")
    (suite,) = load_marts_suites(path)
    assert [(entry.expectation_id, entry.kwargs["query"]) for entry in suite.expectations] == [
        ("a/x", "select 1 from core.x"),
        ("a/y", "select 1 from core.y"),
    ]


def test_state_needs_requested_slots_only_if_its_corpus_lists_them() -> None:
    """Regression: a corpus whose states have no such list had to invent an empty one."""
    (query,) = (
        expectation.kwargs["query"]
        for suite in load_marts_suites()
        for expectation in suite.expectations
        if expectation.expectation_id == "state_has_requested_slots"
    )
    with duckdb.connect() as con:
        core_tables.create(con)
        con.execute("""
            insert into core.fct_frames by name
            from (values
                ('lists', 'listed', 'NONE', []),
                ('lists', 'not listed', 'NONE', null),
                ('lists', 'no state', null, null),
                ('lists', 'only listed', null, []),
                ('lists none', 'other', 'NONE', null)
            ) as frames (corpus_id, frame_key, active_intent, requested_slots)
        """)
        assert set(con.execute(query).fetchall()) == {("not listed",), ("only listed",)}


def test_every_row_of_a_dialogue_is_compared_with_it() -> None:
    """Regression: people of a dialogue could have the split of another one."""
    may_lack_it = {"dim_split_members", "fct_classifier_examples"}  # the split is that of a list or of a file
    repeating = {table for table, columns in core_tables.contracts().items() if {"dialogue_key", "split"} <= {*columns}}
    compared = {
        expectation.table.removeprefix("core.")
        for suite in load_marts_suites()
        for expectation in suite.expectations
        if expectation.expectation_id.startswith("belongs_to_its_dialogue/")
    }
    assert compared == repeating - may_lack_it - {"dim_dialogues"}


@pytest.mark.parametrize("corpus_id", corpus_ids())
def test_suite_of_a_corpus_judges_no_other_corpus(corpus_id: str) -> None:
    """A claim about a table of several corpora names its own, in SQL or in its rows."""
    shared = {table for table, columns in core_tables.contracts().items() if "corpus_id" in columns}
    for entry in load_corpus_suite(corpus_id).expectations:
        if entry.table.partition(".")[2] in shared:
            assert corpus_id in json.dumps(entry.kwargs), entry.expectation_id


def test_marts_name_no_corpus() -> None:
    text = suites.MARTS.read_text(encoding="utf-8")
    assert [corpus_id for corpus_id in corpus_ids() if corpus_id in text] == []


def test_reading_suites_imports_no_heavy_library() -> None:
    code = (
        "import sys; from expectations import client; from dialogue_warehouse.corpora import suites; suites.load_suites();"
        " print([name for name in ('great_expectations', 'sqlalchemy', 'pandas', 'dagster') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
