"""The warehouse built from the real files holds exactly what an independent recount of these files finds in them.

Every core table is compared row by row, keys included, with rows counted in plain Python (`recount`): nothing that the
project computes stands on both sides. Skipped where the real files are not at hand.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.integration import recount

TOTALS = {
    "sgd dialogues": (2_176, "select count(*) from core.dim_dialogues where corpus_id = 'sgd'"),
    "sgd turns": (37_376, "select count(*) from core.fct_turns where corpus_id = 'sgd'"),
    "sgd frames": (38_508, "select count(*) from core.fct_frames"),
    "sgd actions": (69_555, "select count(*) from core.fct_actions where corpus_id = 'sgd'"),
    "sgd spans": (28_332, "select count(*) from core.fct_slots where corpus_id = 'sgd' and annotation_type = 'span'"),
    "sgd state values": (73_284, "select count(*) from core.fct_slots where annotation_type = 'state'"),
    "sgd calls": (5_653, "select count(*) from core.fct_service_calls"),
    "sgd results": (19_477, "select count(*) from core.fct_service_results"),
    "bbai questions": (1_850, "select count(*) from core.dim_dialogues where corpus_id = 'bbai'"),
    "bbai responses": (35_150, "select count(*) from core.fct_responses"),
    "bbai empty responses": (44, "select count(*) from core.fct_responses where response = ''"),
    "bbai vote rows": (37_000, "select count(*) from core.fct_votes"),
    "bbai votes": (12_885, "select sum(votes) from core.fct_votes"),
    "bbai votes for none": (1_744, "select sum(votes) from core.fct_votes where voted_for = 'none'"),
    "bbai gold agents": (1_760, "select count(*) from core.fct_votes where is_selected and agent_id is not null"),
    "mutualfriends dialogues": (10, "select count(*) from core.dim_dialogues where corpus_id = 'mutualfriends'"),
    "mutualfriends events": (74, "select count(*) from core.fct_turns where corpus_id = 'mutualfriends'"),
    "mutualfriends items": (
        170,
        "select count(distinct (dialogue_key, agent, item_index)) from core.fct_knowledge_items",
    ),
    "taskmaster1 dialogs": (6, "select count(*) from core.dim_dialogues where corpus_id = 'taskmaster1'"),
    "abcd conversations": (3, "select count(*) from core.dim_dialogues where corpus_id = 'abcd'"),
    "abcd turns": (72, "select count(*) from core.fct_turns where corpus_id = 'abcd'"),
    "abcd candidate ids": (3_200, "select sum(len(candidate_ids)) from core.fct_candidates"),
}
"""Numbers that hold for the part of the releases in shared/corpora, and how the warehouse is asked for them."""

OWN_KEYS = {
    "dim_dialogues": "dialogue_key",
    "dim_services": "service_definition_key",
    "dim_intents": "intent_key",
    "dim_slots": "slot_definition_key",
    "dim_guidelines": "guideline_key",
    "fct_turns": "turn_key",
    "fct_frames": "frame_key",
    "fct_actions": "action_key",
    "fct_slots": "slot_key",
    "fct_votes": "vote_key",
    "fct_responses": "response_key",
    "fct_classifier_examples": "example_key",
    "fct_service_calls": "call_key",
    "fct_service_results": "result_key",
    "fct_candidates": "candidates_key",
    "fct_knowledge_items": "knowledge_key",
}
BORROWED_KEYS = {"scenario_key", "traced_key"}
"""Keys of other tables under another name: a scenario is its dialogue, a traced key is any key."""


@pytest.fixture(scope="module")
def recounted(real_corpora: Path) -> recount.Rows:
    """The rows that the files hold, counted once."""
    return recount.recount(real_corpora)


def rows_of(con: duckdb.DuckDBPyConnection, query: str) -> list[recount.Row]:
    """The rows of a query, with tuples for lists and sorted pairs for maps."""
    cursor = con.execute(query)
    types = [str(column[1]) for column in cursor.description]
    nested = [place for place, kind in enumerate(types) if kind.endswith("]") or kind.startswith("MAP")]
    rows = cursor.fetchall()
    if not nested:
        return rows
    frozen = []
    for row in rows:
        values = list(row)
        for place in nested:
            values[place] = _frozen(values[place])
        frozen.append(tuple(values))
    return frozen


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return tuple(value) if isinstance(value, list) else value


def difference(expected: list[recount.Row], found: list[recount.Row]) -> str | None:
    """None where the same rows stand on both sides, however ordered; else what differs, with the first row of each."""
    if Counter(expected) == Counter(found):
        return None
    missing, surplus = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    return "\n".join(
        [
            f"the files hold {len(expected):,} rows, the warehouse {len(found):,}",
            f"{missing.total():,} missing, the first: {_first(missing)}",
            f"{surplus.total():,} too many, the first: {_first(surplus)}",
        ]
    )


def _first(rows: Counter[recount.Row]) -> str:
    return repr(min(rows, key=repr))[:1_000] if rows else "-"


def test_every_query_has_its_recount(recounted):
    assert set(recounted) == set(recount.QUERIES)


def test_the_recount_finds_the_totals_that_are_given(recounted):
    assert recount.totals(recounted) == {name: number for name, (number, _) in TOTALS.items()}


def test_only_what_the_files_do_not_hold_is_counted_as_none(recounted):
    # utterances.json is not at hand; extras, refused records and forms that no column can show do not occur
    empty = {name for name, rows in recounted.items() if not rows}
    assert empty == {"dim_candidate_utterances", "source_exceptions", "source_extras", "source_quarantine"}


@pytest.mark.parametrize("name", recount.QUERIES)
def test_a_table_holds_what_the_files_hold(recounted, real_warehouse, name):
    found = rows_of(real_warehouse, recount.QUERIES[name])
    assert (told := difference(recounted[name], found)) is None, f"{name}: {told}"


@pytest.mark.parametrize("name", TOTALS)
def test_a_total_is_reproduced(real_corpora, real_warehouse, name):
    number, query = TOTALS[name]
    assert real_warehouse.execute(query).fetchall() == [(number,)]


def test_every_file_is_verified_against_the_listed_checksums(real_corpora, real_warehouse):
    listing = real_corpora.parent / "sources.csv"
    if not listing.is_file():
        pytest.skip(f"no {listing}: checksums cannot be compared with anything but the project's own")
    found = rows_of(real_warehouse, "select source_file_id, verification from core.dim_source_files")
    assert difference(recount.verifications(real_corpora, listing), found) is None


def test_tables_of_several_corpora_hold_no_other_corpus(recounted, real_warehouse):
    for table in ("dim_dialogues", "dim_dialogue_services", "fct_turns", "fct_actions", "fct_slots", "dim_slots"):
        names = [name for name in recounted if name.split()[0] == table and not name.endswith("channel")]
        names = [name for name in names if name != "fct_turns source_event_type"]
        expected = sum(len(recounted[name]) for name in names)
        assert real_warehouse.execute(f"select count(*) from core.{table}").fetchall() == [(expected,)], table
    services = "select distinct corpus_id from core.dim_services order by all"
    assert real_warehouse.execute(services).fetchall() == [("sgd",), ("taskmaster1",)]
    intents = "select distinct corpus_id from core.dim_intents order by all"
    assert real_warehouse.execute(intents).fetchall() == [("abcd",), ("bbai",), ("sgd",)]
    scenarios = "select distinct corpus_id from core.dim_scenarios order by all"
    assert real_warehouse.execute(scenarios).fetchall() == [("abcd",), ("mutualfriends",)]


def test_attribute_positions_of_an_item_count_from_zero(real_corpora, real_warehouse):
    gaps = """
        select dialogue_key, agent, item_index
        from core.fct_knowledge_items
        group by all
        having list_sort(list(attribute_index)) <> list_transform(range(count(*)), lambda place: place::integer)
    """
    assert real_warehouse.execute(gaps).fetchall() == []


def test_corpus_and_turn_of_a_row_agree_with_its_key(real_corpora, real_warehouse):
    facts = real_warehouse.execute(
        r"""
        select table_name, bool_or(column_name = 'turn_key')
        from duckdb_columns()
        where schema_name = 'core' and (table_name like 'fct\_%' escape '\' or table_name = 'dim_dialogues')
        group by table_name
        having bool_or(column_name = 'dialogue_key')
        """
    ).fetchall()
    assert len(facts) >= 11
    for table, has_turns in facts:
        wrong = "dialogue_key not like corpus_id || '/%'"
        if has_turns:
            wrong += " or turn_key is distinct from dialogue_key || '/' || turn_index"
        assert real_warehouse.execute(f"select count(*) from core.{table} where {wrong}").fetchall() == [(0,)], table


def test_no_key_is_the_key_of_two_rows(real_corpora, real_warehouse):
    columns = real_warehouse.execute(
        r"select table_name, column_name from duckdb_columns() where schema_name = 'core' and column_name like '%\_key' escape '\'"
    ).fetchall()
    known = {*OWN_KEYS.values(), *BORROWED_KEYS}
    own = list(OWN_KEYS.items()) + [(table, column) for table, column in columns if column not in known]
    assert set(own) <= set(columns)
    every_key = " union all ".join(
        f"select {column} as key, '{table}' as place from core.{table}" for table, column in own
    )
    repeated = real_warehouse.execute(
        f"select key, list(place) from ({every_key}) group by key having count(*) > 1 or key is null limit 3"
    ).fetchall()
    assert repeated == []


# The comparison itself can fail


@pytest.mark.parametrize(
    ("expected", "found", "told"),
    [
        ([(1, "a")], [], "1 missing, the first: (1, 'a')"),
        ([], [(1, None)], "1 too many, the first: (1, None)"),
        ([(1,), (1,)], [(1,)], "the files hold 2 rows, the warehouse 1"),
        ([("",)], [(None,)], "1 missing, the first: ('',)"),
        ([(("a", "b"),)], [(("b", "a"),)], "1 missing"),
        ([("x" * 5_000,)], [], "1 missing"),
    ],
)
def test_a_difference_is_found_and_told_shortly(expected, found, told):
    shown = difference(expected, found)
    assert told in shown
    assert len(shown) < 2_000


def test_the_order_of_rows_is_no_difference():
    assert difference([(1,), (2,), (2,)], [(2,), (1,), (2,)]) is None
