"""The warehouse of the real files, and of the sample, has exactly the rows that an independent recount of them finds.

Every core table is compared row by row, keys included, with rows counted in plain Python (`recount`): no code of the
project computes both sides. The tests of real files are skipped if these are not available.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests import fixtures
from tests.contract.battery import DERIVED
from tests.integration import recount

PARTS = fixtures.load_all("recount")
QUERIES = [
    pytest.param(corpus_id, name, id=f"{corpus_id}: {name}")
    for corpus_id, part in PARTS.items()
    for name in part.QUERIES
]
TOTALS = [
    pytest.param(corpus_id, name, id=f"{corpus_id}: {name}")
    for corpus_id, part in PARTS.items()
    for name in part.TOTALS
]

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
CHOSEN = [
    *(("dim_dialogues", column) for column in ("split", "channel", "collection_method")),
    ("dim_dialogue_services", "domain"),
]
"""Tables that each corpus has, and their columns whose values are words of this project."""
BORROWED_KEYS = {"scenario_key", "traced_key"}
"""Keys of other tables under another name: a scenario is its dialogue, a traced key is any key."""


@pytest.fixture(scope="module")
def recounted(real_corpora: Path) -> dict[str, recount.Rows]:
    """Return the rows of the files of each corpus, counted once; a corpus without real files has none."""
    there = {corpus_id: part for corpus_id, part in PARTS.items() if (real_corpora / corpus_id).is_dir()}
    return {corpus_id: recount.recount(part, real_corpora / corpus_id) for corpus_id, part in there.items()}


def counted(recounted: dict[str, recount.Rows], corpus_id: str) -> recount.Rows:
    """Return the rows of one corpus."""
    if corpus_id not in recounted:
        pytest.skip(f"no real files of {corpus_id}")
    return recounted[corpus_id]


def rows_of(con: duckdb.DuckDBPyConnection, query: str) -> list[recount.Row]:
    """Return the rows of a query, with tuples for lists and sorted pairs for maps."""
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
    """Return None if both sides have the same rows in any order; else the differences, with the first row of each."""
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


@pytest.mark.parametrize("corpus_id", PARTS)
def test_every_query_has_its_recount(recounted, corpus_id):
    empty = {name for name in PARTS[corpus_id].QUERIES if not counted(recounted, corpus_id).get(name)}
    assert empty == PARTS[corpus_id].EMPTY
    assert set(recounted[corpus_id]) <= set(PARTS[corpus_id].QUERIES)


@pytest.mark.parametrize(("corpus_id", "name"), TOTALS)
def test_recount_finds_the_given_total(recounted, corpus_id, name):
    number, _, recounts = PARTS[corpus_id].TOTALS[name]
    assert recounts(counted(recounted, corpus_id)) == number


@pytest.mark.parametrize(("corpus_id", "name"), QUERIES)
def test_table_has_the_rows_of_the_files(recounted, real_warehouse, corpus_id, name):
    found = rows_of(real_warehouse, PARTS[corpus_id].QUERIES[name])
    reported = difference(counted(recounted, corpus_id).get(name, []), found)
    assert reported is None, f"{corpus_id} {name}: {reported}"


@pytest.fixture(scope="module")
def sampled(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return the warehouse built from the embedded sample: a new corpus may have no real files here."""
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


@pytest.mark.parametrize("corpus_id", PARTS)
def test_tables_have_the_rows_of_the_sample(sampled, generated_sample, corpus_id):
    """A wrong role or split, which `restore.sql` does not read, is noticed without real files too."""
    expected, part = recount.recount(PARTS[corpus_id], generated_sample / corpus_id), PARTS[corpus_id]
    found = {name: difference(expected.get(name, []), rows_of(sampled, part.QUERIES[name])) for name in part.QUERIES}
    assert {name: reported for name, reported in found.items() if reported} == {}


@pytest.mark.parametrize("corpus_id", PARTS)
def test_every_table_with_dialogues_of_the_corpus_is_recounted(sampled, corpus_id):
    tables = sampled.execute(
        "select table_name from duckdb_columns() where schema_name = 'core' and column_name = 'dialogue_key'"
    ).fetchall()
    rows = f"select 1 from core.{{}} where corpus_id = '{corpus_id}' limit 1"
    filled = {table for (table,) in tables if sampled.execute(rows.format(table)).fetchall()}
    missing = filled - {name.split()[0].partition(".")[0] for name in PARTS[corpus_id].QUERIES}
    assert missing == set(), f"add a query of these tables to QUERIES of tests/fixtures/{corpus_id}/recount.py"


@pytest.mark.parametrize(("table", "column"), CHOSEN)
@pytest.mark.parametrize("corpus_id", PARTS)
def test_column_that_no_file_has_is_recounted(corpus_id, table, column):
    """A wrong value of it is in no restored file; each corpus has these columns, and few have a claim about them."""
    queries = [query for name, query in PARTS[corpus_id].QUERIES.items() if name.partition(".")[0] == table]
    message = f"tests/fixtures/{corpus_id}/recount.py: no query of {table} has {column}"
    assert any(re.search(rf"\b{column}\b", query) for query in queries), message


@pytest.mark.parametrize("corpus_id", PARTS)
def test_most_spans_of_the_sample_quote_the_text_between_their_offsets(sampled, corpus_id):
    """Restored files are equal even if a model passes on offsets that mean something else, such as the last character."""
    [(spans, wrong)] = sampled.execute(
        """
        select
            count(*),
            count(*) filter (
                where slots.value <> substring(turns.utterance, slots.start_char + 1, slots.end_char - slots.start_char)
            )
        from core.fct_slots as slots
        inner join core.fct_turns as turns on slots.turn_key = turns.turn_key
        where slots.annotation_type = 'span' and slots.corpus_id = ?
        """,
        [corpus_id],
    ).fetchall()
    assert 2 * wrong <= spans, "start_char counts code points from 0, and end_char is the one after the last character"


@pytest.mark.parametrize("name", recount.SHARED)
def test_shared_table_has_the_rows_of_the_files(recounted, real_corpora, real_warehouse, name):
    expected = recount.recount_shared({corpus_id: PARTS[corpus_id] for corpus_id in recounted}, real_corpora)[name]
    found = rows_of(real_warehouse, recount.SHARED[name])
    assert (reported := difference(expected, found)) is None, f"{name}: {reported}"


@pytest.mark.parametrize(("corpus_id", "name"), TOTALS)
def test_a_total_is_reproduced(recounted, real_warehouse, corpus_id, name):
    counted(recounted, corpus_id)
    number, query, _ = PARTS[corpus_id].TOTALS[name]
    assert real_warehouse.execute(query).fetchall() == [(number,)]


def test_every_file_is_verified_against_the_listed_checksums(recounted, real_corpora, real_warehouse):
    listing = real_corpora.parent / "sources.csv"
    if not listing.is_file():
        pytest.skip(f"no {listing}: checksums cannot be compared with anything but the project's own")
    found = rows_of(real_warehouse, "select source_file_id, verification from core.dim_source_files")
    parts = {corpus_id: PARTS[corpus_id] for corpus_id in recounted}
    assert difference(recount.verifications(parts, real_corpora, listing), found) is None


def test_tables_of_several_corpora_hold_no_other_rows(recounted, real_warehouse):
    for table in ("dim_dialogues", "dim_dialogue_services", "fct_turns", "fct_actions", "fct_slots", "dim_slots"):
        expected = sum(
            len(rows) for tables in recounted.values() for name, rows in tables.items() if name.split()[0] == table
        )
        assert real_warehouse.execute(f"select count(*) from core.{table}").fetchall() == [(expected,)], table


def test_tables_have_only_rows_of_corpora_that_publish_them(recounted, real_warehouse):
    tables = {name.split()[0].partition(".")[0] for rows in recounted.values() for name in rows}
    for table in sorted(tables):
        found = {row[0] for row in real_warehouse.execute(f"select distinct corpus_id from core.{table}").fetchall()}
        entity = table.partition("_")[2]
        publishing = {
            corpus_id
            for corpus_id, rows in recounted.items()
            if entity in DERIVED.get(corpus_id, [])
            or any(name.split()[0].startswith(table) for name, of in rows.items() if of)
        }
        assert found <= publishing, table


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


def test_no_two_rows_have_the_same_key(real_corpora, real_warehouse):
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
    ("expected", "found", "reported"),
    [
        ([(1, "a")], [], "1 missing, the first: (1, 'a')"),
        ([], [(1, None)], "1 too many, the first: (1, None)"),
        ([(1,), (1,)], [(1,)], "the files hold 2 rows, the warehouse 1"),
        ([("",)], [(None,)], "1 missing, the first: ('',)"),
        ([(("a", "b"),)], [(("b", "a"),)], "1 missing"),
        ([("x" * 5_000,)], [], "1 missing"),
    ],
)
def test_difference_is_found_and_reported_briefly(expected, found, reported):
    shown = difference(expected, found)
    assert reported in shown
    assert len(shown) < 2_000


def test_order_of_rows_is_not_a_difference():
    assert difference([(1,), (2,), (2,)], [(2,), (1,), (2,)]) is None
