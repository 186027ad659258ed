"""A rule behind `quality.violations` is written in SQL and described in the folder of its corpus; both are required."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from jinja2 import Environment

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import load_defects
from dialogue_warehouse.paths import DBT_PROJECT

RULES = DBT_PROJECT / "models" / "marts" / "quality" / "rules"
SHARED = "shared"
COLUMNS = [
    *("rule_id", "corpus_id", "source_file_id", "record_index", "row_key", "other_key", "dialogue_key", "turn_index"),
    *("service", "slot_name", "detail"),
]


def rules_in_sql(folder: Path) -> set[str]:
    """Return the rules that the models of a folder stack."""
    found = set()
    for path in folder.glob("*.sql"):
        for call in re.findall(r"{{ stack_rules\((.*?)\) }}", path.read_text(encoding="utf-8"), re.S):
            for listed in re.findall(r"(?:turns|dialogues|definitions|files|others|slots)=\[(.*?)\]", call, re.S):
                found |= set(re.findall(r"'(\w+)'", listed))
    return found


def described_rules() -> dict[str, set[str]]:
    """Return the described rules by folder of rules; rules of all corpora belong to the shared ones."""
    shared = {defect.rule_id for defect in load_defects(None)}
    own = {name: {defect.rule_id for defect in load_defects(name)} - shared for name in registry.corpus_ids()}
    return own | {SHARED: shared}


def disagreements(folder: Path, described: dict[str, set[str]]) -> list[str]:
    """Return the rules that are only described or only written, one line each."""
    reported = []
    for corpus_id in sorted(described.keys() | {path.name for path in folder.iterdir() if path.is_dir()}):
        known, written = described.get(corpus_id, set()), rules_in_sql(folder / corpus_id)
        reported += [f"{corpus_id}: {rule} has no SQL" for rule in sorted(known - written)]
        reported += [f"{corpus_id}: {rule} is not described" for rule in sorted(written - known)]
    return reported


@pytest.mark.all_corpora
def test_every_rule_is_written_and_described() -> None:
    assert disagreements(RULES, described_rules()) == []
    assert all(rules_in_sql(folder) for folder in RULES.iterdir())


def test_rule_that_is_only_written_or_only_described_is_named(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "new__rules.sql").write_text(
        "{{ stack_rules('new', turns=['written', 'both'], relations=[ref('new__more_rules')]) }}", encoding="utf-8"
    )
    (tmp_path / "new" / "new__more_rules.sql").write_text(
        "{{ stack_rules('new', files=['hidden']) }}", encoding="utf-8"
    )
    assert disagreements(tmp_path, {"new": {"both", "described"}, "other": {"lonely"}}) == [
        "new: described has no SQL",
        "new: hidden is not described",
        "new: written is not described",
        "other: lonely has no SQL",
    ]


def stacked(ctes: str, *arguments: Any, **rules: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows of `stack_rules` for these CTEs."""
    environment = Environment(extensions=["jinja2.ext.do"], autoescape=False)
    macros = environment.from_string((DBT_PROJECT / "macros" / "rules.sql").read_text(encoding="utf-8")).module
    with duckdb.connect() as con:
        cursor = con.execute(f"{ctes} {macros.stack_rules(*arguments, **rules)}")
        return [column[0] for column in cursor.description], cursor.fetchall()


def test_corpus_without_rules_has_no_rows_in_the_same_columns() -> None:
    assert stacked("", "new") == (COLUMNS, [])


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("turns", (None, None, "row", None, "dialogue", 3)),
        ("dialogues", (None, None, "row", None, "dialogue", None)),
        ("definitions", (None, None, "row", None, None, None)),
        ("files", ("file", 7, None, None, None, None)),
    ],
)
def test_rows_of_a_rule_have_the_columns_of_their_kind(kind: str, row: tuple[Any, ...]) -> None:
    found = (
        "with broken as (select 'file' as source_file_id, 7 as record_index, 'dialogue' as dialogue_key, 3 as turn_index, "
        "'row' as row_key, 'other' as other_key, 'service' as service, 'slot' as slot_name, 'why' as detail)"
    )
    assert stacked(found, "new", **{kind: ["broken"]}) == (COLUMNS, [("broken", "new", *row, None, None, "why")])
    with_all = stacked(found, "new", **{kind: ["broken"]}, others=["broken"], slots=["broken"])
    assert with_all == (COLUMNS, [("broken", "new", *row[:3], "other", *row[4:], "service", "slot", "why")])
