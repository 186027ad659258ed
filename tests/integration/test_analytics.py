"""The tables of schema `analytics` about the quality of the corpora are right, and their invariants can fail.

Right is what `analytics_answers` finds in the release files without SQL: on the embedded sample, on the sample disturbed
(`disturb.py` of the fixtures), where rare things are frequent, and on the real data where they are.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.paths import DBT_PROJECT
from tests.integration import analytics_answers
from tests.integration.analyst_answers import Row

TABLES = sorted(path.stem for path in (DBT_PROJECT / "models/marts/analytics").glob("*.sql"))
TABLES.remove("corpus_overview")
WRONG = {
    "annotator_agreement": ("annotations = 1), 0)", "annotations >= 1), 0)"),
    "belief_states": ("where active_intent is not null", "where true"),
    "guideline_conformance": ("order by actions.turn_index,", "order by actions.act,"),
    "scenario_solvability": ("actions.turn_index desc", "actions.turn_index"),
    "selections": ("actions.turn_index desc, ", ""),
    "service_exposure": ("count(active_intent)", "count(*)"),
    "split_leakage": ("firsts.dialogues > 1", "firsts.dialogues > 0"),
    "vote_agreement": ("2 * cast(votes as bigint) > voter_count", "3 * cast(votes as bigint) > voter_count"),
    "vote_consensus": ("where top_options > 1", "where top_options > 0"),
}
"""Table -> what stands in its model, and a slip: each must be noticed."""


def comparable(rows: list[Row]) -> list[Row]:
    """The rows in one order, their fractions and floats to nine decimals."""

    def plain(value: Any) -> Any:
        return round(float(value), 9) if isinstance(value, Fraction | float) else value

    return sorted((tuple(plain(value) for value in row) for row in rows), key=repr)


def read(con: duckdb.DuckDBPyConnection, table: str) -> list[Row]:
    """The rows of a table of schema `analytics`."""
    return con.execute(f"from analytics.{table}").fetchall()


def answer(table: str, releases: Path) -> list[Row]:
    """The rows of the table as the release files have them."""
    return getattr(analytics_answers, table)(releases)


@pytest.mark.parametrize("table", TABLES)
def test_table_holds_what_the_files_say(source, table) -> None:
    con, releases = source
    assert comparable(read(con, table)) == comparable(answer(table, releases))


@pytest.mark.parametrize("table", TABLES)
def test_answers_would_notice_a_wrong_model(disturbed_folder, table) -> None:
    right, wrong = WRONG[table]
    (path,) = disturbed_folder.rglob(f"compiled/**/analytics/{table}.sql")
    sql = path.read_text(encoding="utf-8")
    assert right in sql
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        assert comparable(con.execute(sql).fetchall()) == comparable(read(con, table))
        slipped = con.execute(sql.replace(right, wrong)).fetchall()
    assert comparable(slipped) != comparable(answer(table, disturbed_folder / "releases"))


@pytest.mark.parametrize("table", TABLES)
def test_no_column_is_the_same_throughout(disturbed_folder, table) -> None:
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        cursor = con.execute(f"select * exclude (corpus_id) from analytics.{table}")
        names, columns = [column[0] for column in cursor.description], zip(*cursor.fetchall(), strict=True)
    assert [name for name, values in zip(names, columns, strict=True) if len(set(map(repr, values))) == 1] == []


def test_agreement_counts_what_one_annotator_alone_marked(disturbed_folder) -> None:
    """T6: of the segments with one label, which used to drop out, each lowers the agreement of its label."""
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        counts = con.execute(
            "select spans_by_both, spans_by_one, span_f1, least_span_precision from analytics.annotator_agreement"
        ).fetchall()
    mixed = [count for count in counts if count[0] and count[1]]
    assert mixed
    assert all(0 < least < f1 < 1 for _, _, f1, least in mixed)
    assert {f1 for by_both, by_one, f1, _ in counts if not by_one} == {1.0}
    assert {f1 for by_both, by_one, f1, _ in counts if not by_both} == {0.0}


def test_every_table_has_its_answer_and_its_slip() -> None:
    assert set(WRONG) == set(TABLES)


def unearned(con: duckdb.DuckDBPyConnection) -> int:
    """Dialogues whose reward does not follow from the selections."""
    return sum(row[-1] is False for row in read(con, "scenario_solvability"))


def leaking(con: duckdb.DuckDBPyConnection) -> int:
    """Dialogues of another corpus's kind of text than questions that stand in two splits or in one twice."""
    return sum(row[7] for row in read(con, "split_leakage") if row[1] == "dialogue")


@pytest.mark.parametrize("invariant", [unearned, leaking])
def test_invariant_holds_in_the_release_and_fails_where_it_is_broken(
    real_warehouse, disturbed_folder, invariant
) -> None:
    assert invariant(real_warehouse) == 0
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        assert invariant(con) > 0


def test_questions_are_shared_as_measured(real_warehouse) -> None:
    leaks = {
        row[2:4]: (row[6], row[7] - row[6]) for row in read(real_warehouse, "split_leakage") if row[1] == "question"
    }
    assert leaks["train", "test"][0] == 31
    # Within a split, the questions that repeat an earlier one.
    assert leaks["train", "train"][1] == 22
    assert leaks["test", "test"][1] == 10


def test_votes_are_distributed_as_measured(real_warehouse) -> None:
    levels = {row[2]: row[3] for row in read(real_warehouse, "vote_consensus")}
    assert levels == {1: 16, 2: 508, 3: 719, 4: 511, 5: 96}
    options = {row[2]: row for row in read(real_warehouse, "vote_agreement")}
    assert {name: options[name][7] for name in ("google", "alexa", "houndify", "adasa", "jokes")} == {
        "google": 571,
        "alexa": 523,
        "houndify": 380,
        "adasa": 41,
        "jokes": 5,
    }
    assert options["none"][6] == 1_744
    assert sum(row[6] for row in options.values()) == 11_141 + 1_744


def test_unseen_services_are_the_published_ones(real_warehouse) -> None:
    unseen = [(row[1], row[4]) for row in read(real_warehouse, "service_exposure")]
    assert [unseen.count((split, False)) for split in ("train", "validation", "test")] == [0, 8, 15]
    assert [sum(split == other for other, _ in unseen) for split in ("train", "validation", "test")] == [26, 17, 21]
