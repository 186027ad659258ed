"""The tables of schema `analytics` are right, and their invariants can fail.

The right rows are those that `analytics_answers` and `profile_answers` compute from the release files without SQL: on
the disturbed sample (`disturb.py` of the fixtures), where rare cases are frequent, and on the real data if they are
available. They know the corpora of `analyst_sources`; the rows of another corpus are not compared.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.corpora.claims import load_claims
from dialogue_warehouse.paths import DBT_PROJECT
from tests.dbt_runs import compiled
from tests.integration import analytics_answers, profile_answers
from tests.integration.analyst_answers import Row
from tests.integration.analyst_sources import of_answered

TABLES = sorted(path.stem for path in (DBT_PROJECT / "models/marts/analytics").glob("*.sql"))
TABLES.remove("corpus_overview")
WRONG = {
    "act_pairs": ("acts.act < other_acts.act", "acts.act <= other_acts.act"),
    "act_transitions": (
        "partition by dialogue_key order by turn_index",
        "partition by dialogue_key order by -turn_index",
    ),
    "agent_pairs": ("right_count + other_right_count - both_right_count", "right_count + other_right_count"),
    "ballot_agreement": ("= corpora.voter_count and", ">= corpora.voter_count and"),
    "annotator_agreement": ("annotations = 1), 0)", "annotations >= 1), 0)"),
    "argument_completeness": ("coalesce(slots.status, 'accept') = 'accept'", "slots.status = 'accept'"),
    "belief_states": ("where active_intent is not null", "where true"),
    "corpus_profile": ("string_split(lower(utterance), ' ')", "string_split(utterance, ' ')"),
    "flow_profile": ("sum(retrievals.positions)", "max(retrievals.positions)"),
    "goal_outcomes": ("dialogues.outcome_reward > 0", "dialogues.outcome_reward >= 0"),
    "guideline_conformance": ("order by actions.turn_index,", "order by actions.act,"),
    "label_distribution": (
        "count(*) as dialogues,\n        sum(times) as times",
        "count(*) as dialogues,\n        count(*) as times",
    ),
    "length_distribution": ("|  | $", "| $"),
    "outcome_factors": ("min(alpha)", "max(alpha)"),
    "scenario_solvability": ("actions.turn_index desc", "actions.turn_index"),
    "selections": ("actions.turn_index desc, ", ""),
    "service_exposure": ("count(active_intent)", "count(*)"),
    "slot_profile": ("sum(case when listed.value is not null", "sum(case when annotated.value is not null"),
    "split_leakage": ("firsts.dialogues > 1", "firsts.dialogues > 0"),
    "vote_agreement": ("2 * cast(votes as bigint) > voter_count", "3 * cast(votes as bigint) > voter_count"),
    "vote_consensus": ("where top_options > 1", "where top_options > 0"),
}
"""Maps a table to a text of its model, and an error in its place: each error must be noticed."""


def comparable(rows: list[Row]) -> list[Row]:
    """Return the rows in one order, with fractions and floats to nine decimals."""

    def plain(value: Any) -> Any:
        return round(float(value), 9) if isinstance(value, Fraction | float) else value

    return sorted((tuple(plain(value) for value in row) for row in rows), key=repr)


def read(con: duckdb.DuckDBPyConnection, table: str) -> list[Row]:
    """Return the rows of a table of schema `analytics`, of the corpora with answers."""
    return con.execute(of_answered(f"from analytics.{table}")).fetchall()


@functools.cache
def answer(table: str, releases: Path) -> list[Row]:
    """Return the rows of the table, computed from the release files once."""
    (module,) = [module for module in (analytics_answers, profile_answers) if hasattr(module, table)]
    return getattr(module, table)(releases)


@pytest.mark.parametrize("table", TABLES)
def test_table_holds_what_the_files_say(source, table) -> None:
    con, releases = source
    assert comparable(read(con, table)) == comparable(answer(table, releases))


@pytest.fixture(scope="module")
def by_dbt(tmp_path_factory) -> dict[str, str]:
    """Return the SQL that dbt compiles for each table."""
    return compiled(tmp_path_factory.mktemp("analytics"), "marts.analytics")


@pytest.mark.parametrize("table", TABLES)
def test_answers_would_notice_a_wrong_model(disturbed_folder, by_dbt, table) -> None:
    right, wrong = WRONG[table]
    sql = by_dbt[table]
    assert right in sql
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        assert comparable(con.execute(of_answered(sql)).fetchall()) == comparable(read(con, table))
        slipped = con.execute(of_answered(sql.replace(right, wrong))).fetchall()
    assert comparable(slipped) != comparable(answer(table, disturbed_folder / "releases"))


@pytest.mark.parametrize("table", TABLES)
def test_no_column_is_the_same_throughout(disturbed_folder, table) -> None:
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        cursor = con.execute(f"select * exclude (corpus_id) from analytics.{table}")
        names, columns = [column[0] for column in cursor.description], zip(*cursor.fetchall(), strict=True)
    assert [name for name, values in zip(names, columns, strict=True) if len(set(map(repr, values))) == 1] == []


def test_agreement_counts_what_one_annotator_alone_marked(disturbed_folder) -> None:
    """Regression: segments with one label were left out; each of them lowers the agreement of its label."""
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
    """Return the dialogues whose reward does not follow from the selections."""
    return sum(row[-1] is False for row in read(con, "scenario_solvability"))


def leaking(con: duckdb.DuckDBPyConnection) -> int:
    """Return the dialogues whose text is in two splits, or twice in one, except for corpora of questions."""
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
    # Within a split, the questions that repeat an earlier question.
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


def test_leaderboard_is_the_published_one(real_warehouse) -> None:
    """Table 3 of the paper, truncated to two decimals; the three best agents together miss one question in nine."""
    columns = "voted_for, agent_rank, floor(10000 * precision_at_1) / 100, answerable_count, covered_share"
    found = real_warehouse.execute(
        f"select {columns} from analytics.vote_agreement where split = 'test' order by agent_rank nulls last"
    ).fetchall()
    assert {row[3] for row in found} == {1_186}
    shares = {row[0]: row[2] for row in found}
    assert [shares[name] for name in ("alexa", "google", "houndify", "adasa", "none")] == [
        *(44.09, 48.06, 32.04, 3.45),
        None,
    ]
    assert [row[0] for row in found[:4]] == ["google", "alexa", "houndify", "adasa"]
    assert [round(100 * row[4], 2) for row in found[2:3]] == [88.79]
    assert [row[4] for row in found if row[1] == 19] == [1.0]


def published_definition(con: duckdb.DuckDBPyConnection, claim_id: str) -> list[Row]:
    """Return the result of the claim's query per split, which is the publisher's table on the complete release."""
    (claim,) = [claim for claim in load_claims("sgd") if claim.claim_id == claim_id]
    with con.cursor() as cursor:
        cursor.execute("set search_path = 'core,analytics,quality'")
        found = cursor.execute(claim.query).fetchall()
    return sorted((split, *numbers) for split, kind, *numbers in found if kind == "Combined")


@pytest.mark.parametrize(
    ("claim_id", "columns"),
    [
        (
            "V2.2",
            "dialogue_count, turn_count, round(turns_per_dialogue, 3), distinct_slot_count, distinct_state_slot_count,"
            " domain_count, service_count, intent_count",
        ),
        ("V2.2b", "token_count, round(tokens_per_utterance, 3), vocabulary_count"),
        ("V2.2c", "distinct_span_value_count, distinct_state_value_count"),
    ],
)
def test_profile_has_the_definitions_of_the_published_table(real_warehouse, claim_id, columns) -> None:
    """The table of SGD's dstc8.md; the available part of the release has its rows for fewer dialogues."""
    found = real_warehouse.execute(
        f"select split, {columns} from analytics.corpus_profile where corpus_id = 'sgd' and not is_whole_corpus"
    ).fetchall()
    assert len(found) == 3
    assert comparable(found) == comparable(published_definition(real_warehouse, claim_id))


def test_ontology_is_as_large_as_documented(real_warehouse) -> None:
    """ABCD: 10 flows with the documented number of subflows each, and 55 subflows in each split that has dialogues."""
    tasks = real_warehouse.execute(
        "select split, flow, count(*) from analytics.flow_profile group by all order by all"
    ).fetchall()
    for split in {row[0] for row in tasks}:
        assert sorted(row[2] for row in tasks if row[0] == split) == sorted([3, 8, 8, 6, 8, 4, 4, 4, 6, 4])
    defined = real_warehouse.execute(
        "select count(*), count(distinct slot_name) from analytics.slot_profile where corpus_id = 'abcd' and is_defined"
    ).fetchone()
    assert defined == (26 * len({row[0] for row in tasks}), 26)


def test_unseen_services_are_the_published_ones(real_warehouse) -> None:
    unseen = [(row[1], row[4]) for row in read(real_warehouse, "service_exposure")]
    assert [unseen.count((split, False)) for split in ("train", "validation", "test")] == [0, 8, 15]
    assert [sum(split == other for other, _ in unseen) for split in ("train", "validation", "test")] == [26, 17, 21]
