"""The published database agrees with the dictionary."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from dialogue_warehouse.reading import descriptions
from dialogue_warehouse.reading.findings import read_rows
from tests.contract.battery import VOCABULARIES


def test_database_has_exactly_the_documented_columns_with_their_comments(awkward_folder: Path) -> None:
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        found = con.execute(
            "select schema_name || '.' || table_name, column_name, comment is not null and comment <> '' "
            "from duckdb_columns() where schema_name in ('core', 'analytics', 'quality')"
        ).fetchall()
    documented = set()
    for section in descriptions.dictionary().split("\n### ")[1:]:
        table = section.split("\n", 1)[0]
        documented |= {(table, column, True) for column in re.findall(r"^\| (\w+) \| (?!type)", section, flags=re.M)}
    assert set(found) == {column for column in documented if not column[0].startswith("raw.")}
    assert any(table.startswith("raw.") for table, _, _ in documented)  # whose database is not published


class Column(NamedTuple):
    """Column of a published table, and what is in it."""

    table: str
    name: str
    text: str
    is_required: bool
    nulls: int
    least: Any
    most: Any


@pytest.fixture(scope="module")
def columns(sample_folder: Path, awkward_folder: Path) -> list[Column]:
    """Return the columns of the sample and of the hand-written releases, which have the rare cases."""
    found = []
    for folder in (sample_folder, awkward_folder):
        with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
            declared = con.execute(
                "select schema_name || '.' || table_name, column_name, comment, not is_nullable, data_type in ('INTEGER', "
                "'BIGINT', 'DOUBLE') from duckdb_columns() where schema_name in ('core', 'analytics', 'quality')"
            ).fetchall()
            for table, name, text, is_required, is_number in declared:
                range_of = f"min({name}), max({name})" if is_number else "null, null"
                values = con.execute(f"select count(*) - count({name}), {range_of} from {table}").fetchall()[0]
                found.append(Column(table, name, text, is_required, *values))
    return found


def untrue(columns: Iterable[Column]) -> set[tuple[str, str, str]]:
    """Return what the descriptions say, or leave out, and the rows contradict."""
    found = set()
    for column in columns:
        _, _, table = column.table.partition(".")
        terms = VOCABULARIES.get(f"{table}.{column.name}", VOCABULARIES.get(column.name))
        if terms and {*re.findall("`(.+?)`", column.text)} != {*terms}:
            found.add((column.table, column.name, "not the terms of dbt_project.yml"))
        if column.is_required and "NULL" in column.text:
            found.add((column.table, column.name, "never NULL"))
        if column.nulls and "NULL" not in column.text:
            found.add((column.table, column.name, "NULL is not explained"))
    return found | out_of_range([column for column in columns if column.least is not None])


def out_of_range(columns: Iterable[Column]) -> set[tuple[str, str, str]]:
    """Return the columns whose numbers do not begin or end where the description says."""
    found = set()
    firsts = defaultdict(list)
    for column in columns:
        if "from 0 to 1" in column.text:
            if not 0 <= column.least <= column.most <= 1:
                found.add((column.table, column.name, "not from 0 to 1"))
        elif (start := re.search(r"from ([01])\b", column.text)) and isinstance(column.least, int):
            firsts[column.text, int(start[1])].append(column)
    # A table can lack the first one: no call is in the first turn. Then another table with this column has it.
    for (_, start), alike in firsts.items():
        if min(column.least for column in alike) != start:
            found |= {(column.table, column.name, f"not from {start}") for column in alike}
    return found


def test_descriptions_are_true(columns: list[Column]) -> None:
    """Terms are all listed, NULL is explained where it occurs and only there, and positions begin where they say."""
    assert untrue(columns) == set()


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        (Column("core.t", "channel", "`spoken` or another", True, 0, None, None), "not the terms of dbt_project.yml"),
        (Column("core.t", "service", "Service; NULL if there is none.", True, 0, None, None), "never NULL"),
        (Column("core.t", "service", "Service.", False, 1, None, None), "NULL is not explained"),
        (Column("core.t", "position", "Position, from 0.", True, 0, 1, 2), "not from 0"),
        (Column("core.t", "agent_rank", "Rank, from 1.", True, 0, 0, 2), "not from 1"),
        (Column("core.t", "share", "Share, from 0 to 1.", True, 0, 0.0, 1.5), "not from 0 to 1"),
    ],
)
def test_untrue_description_is_noticed(column: Column, wrong: str) -> None:
    assert untrue([column]) == {(*column[:2], wrong)}


def read_comment(folder: Path, table: str, column: str) -> str:
    with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
        ((text,),) = con.execute(
            "select comment from duckdb_columns() where schema_name || '.' || table_name = ? and column_name = ?",
            [table, column],
        ).fetchall()
    return text


@pytest.mark.parametrize("table", ["core.dim_intents", "core.dim_slots"])
def test_keys_of_definitions_have_a_documented_form(sample_folder: Path, table: str) -> None:
    """Regression: the form of the keys of corpora without services, or with two lists of slots, was another one."""
    (key,) = descriptions.links()[table].key
    with duckdb.connect(str(sample_folder / "dialogues.duckdb"), read_only=True) as con:
        definitions = read_rows(con, f"from {table}")
    forms = re.findall(r"`([^`]*<\w+>)`", read_comment(sample_folder, table, key))
    other = [
        row[key]
        for row in definitions
        if not any(
            row[key].endswith(form.replace("<", "{").replace(">", "}").format_map(row))
            and form.startswith("/") == (row["service"] is not None)
            for form in forms
        )
    ]
    assert other == []


@pytest.mark.parametrize(
    ("table", "name", "text", "condition"),
    [
        ("core.dim_agents", "source_name", "NULL if there is no such key", "position is null"),
        ("core.dim_intent_slots", "default_value", "NULL for other slots", "requirement <> 'optional'"),
        ("core.fct_votes", "gold_position", "NULL if the list does not name it", "not is_selected"),
        ("analytics.corpus_profile", "tokens_per_utterance", "NULL if there are no utterances", "utterance_count = 0"),
        (
            "analytics.guideline_conformance",
            "extra_acts",
            "NULL if there are none, and if no acts are prescribed",
            "extra_count = 0 or prescribed_count = 0",
        ),
        ("analytics.flow_profile", "exact_share", "NULL if there are no dialogues", "dialogue_count = 0"),
        ("quality.violation_rules", "observed_in_files", "NULL if the two numbers were not compared", "not is_guarded"),
    ],
)
def test_null_is_where_the_description_says_and_only_there(
    sample_folder: Path, awkward_folder: Path, table: str, name: str, text: str, condition: str
) -> None:
    assert text in read_comment(sample_folder, table, name)
    for folder in (sample_folder, awkward_folder):
        with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
            other = read_rows(con, f"from {table} where ({name} is null) is distinct from ({condition})")
        assert other == [], folder
