"""The tables of a build, listed and described."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import duckdb
import pytest
from rich.console import Console

from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.reading import catalogue, connection, descriptions
from dialogue_warehouse.reading.descriptions import Links
from dialogue_warehouse.terminal import results
from tests.unit.published import BUILD

# The catalog


def test_tables_are_listed_with_exact_rows_and_the_first_sentence(con):
    assert [(t.schema, t.table, t.rows, t.summary) for t in catalogue.list_tables(con)] == [
        ("core", "fct_frames", 0, ""),
        ("core", "fct_turns", 3, "One row per turn, e.g. an utterance."),
        ("raw", "fruit__apples", 3, ""),
    ]


@pytest.mark.parametrize("name", ["fct_turns", "core.fct_turns", "CORE.Fct_Turns", '"core"."fct_turns"', " fct_turns "])
def test_a_table_is_described_by_any_of_its_names(con, name):
    description = catalogue.describe_table(con, name)
    assert (description.schema, description.table) == ("core", "fct_turns")
    assert description.comment.startswith("One row per turn")
    assert [(column.column, column.type, column.comment) for column in description.columns] == [
        ("turn_index", "INTEGER", None),
        ("utterance", "VARCHAR", "What was said."),
        ("note", "VARCHAR", None),
    ]


def test_a_raw_table_is_described(con):
    assert [column.column for column in catalogue.describe_table(con, "raw.fruit__apples").columns] == ["record_index"]


@pytest.mark.parametrize("name", ["fct_turn", "core.fct_trns", "FCT_TURNSS"])
def test_an_unknown_table_suggests_near_names(con, name):
    with pytest.raises(QueryError, match=r"did you mean core\.fct_turns"):
        catalogue.describe_table(con, name)


@pytest.mark.parametrize("name", ["", "zzz", "core.fct_turns; drop table x", "'"])
def test_name_without_a_near_match_is_rejected(con, name):
    with pytest.raises(QueryError, match="there is no table"):
        catalogue.describe_table(con, name)


def test_a_name_in_two_schemas_has_to_be_qualified(paths):
    with duckdb.connect(str(paths.build_database(BUILD))) as con:
        con.execute("create schema analytics; create table analytics.fct_turns (a integer)")
    with connection.open_published(paths) as con:
        with pytest.raises(QueryError, match=r"is ambiguous: core\.fct_turns or analytics\.fct_turns"):
            catalogue.describe_table(con, "fct_turns")
        assert catalogue.describe_table(con, "analytics.fct_turns").schema == "analytics"


def test_tables_and_descriptions_are_printed(con):
    stream = io.StringIO()
    console = Console(file=stream, width=100)
    results.print_tables(catalogue.list_tables(con), console)
    results.print_description(catalogue.describe_table(con, "fct_turns"), console)
    for words in ("core.fct_turns", "One row per turn, e.g. an utterance.", "More of it.", "What was said.", "VARCHAR"):
        assert words in stream.getvalue()
    assert "filled: all 67%, such as a" in stream.getvalue()
    assert "filled: always, such as Hi" in stream.getvalue()


def test_description_as_json_has_every_field(con):
    reported = json.loads(results.as_json(catalogue.describe_table(con, "fct_turns")))
    assert list(reported) == ["schema", "table", "comment", "links", "columns"]
    assert reported["columns"][2] == {
        "column": "note",
        "type": "VARCHAR",
        "comment": None,
        "filling": {"shares": {"all": 2 / 3}, "example": "a"},
    }
    empty = json.loads(results.as_json(catalogue.describe_table(con, "fct_frames")))
    assert empty["columns"][0]["filling"] is None


def test_list_of_tables_as_json_has_every_field(con):
    assert json.loads(results.as_json(catalogue.list_tables(con)))[1] == {
        "schema": "core",
        "table": "fct_turns",
        "rows": 3,
        "summary": "One row per turn, e.g. an utterance.",
    }


def test_links_are_those_of_existing_tables(con):
    """Only declared keys and joins count: this build has neither the columns nor the other tables."""
    assert catalogue.describe_table(con, "fct_turns").links == Links((), (), ("core.fct_frames",))
    assert catalogue.describe_table(con, "raw.fruit__apples").links == Links(())


# How far a column is filled


@pytest.fixture
def filled() -> Iterator[dict[str, catalogue.Filling]]:
    with duckdb.connect() as con:
        con.execute(
            """
            create table rows as
            select
                case when range < 200 then 'a' else 'b' end as corpus_id,
                case when range < 200 then range end as only_a,
                case when range >= 300 then 'x' || range end as late_b,
                case when range = 399 then repeat('long', 40) else '' end as mostly_empty,
                cast(null as integer) as nothing,
                '' as blank,
                [range] as list
            from range(400)
            """
        )
        names = [name for name, *_ in con.execute("describe rows").fetchall()]
        yield catalogue.read_filling(con, "rows", names)


@pytest.mark.parametrize(
    ("column", "words", "example"),
    [
        ("corpus_id", "always", "a"),
        ("only_a", "a", "0"),
        ("late_b", "b 50%", "x300"),
        ("mostly_empty", "always", "long" * 19 + "lon…"),
        ("nothing", "never", None),
        ("blank", "always", None),
        ("list", "always", "[0]"),
    ],
)
def test_filled_rows_are_counted_by_corpus_with_the_first_value(filled, column, words, example):
    assert (str(filled[column]), filled[column].example) == (words, example)


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0001, "<1%"), (0.0099, "<1%"), (0.01, "1%"), (0.5, "50%"), (0.999, "99%"), (0.9999999, "99%")],
)
def test_some_rows_are_distinguished_from_none_and_all(share, words):
    assert str(catalogue.Filling({"a": share, "b": 1.0, "c": 0.0}, None)) == f"a {words}, b"


# How tables are joined


def test_joins_are_the_tested_references_and_the_named_keys():
    links = descriptions.links()["core.fct_slots"]
    assert links.key == ("slot_key",)
    assert [str(join) for join in links.joins] == [
        "core.fct_turns on turn_key",
        "core.dim_slots on corpus_id, split, service, slot_name = slot",
        "core.dim_dialogues on dialogue_key",
        "core.dim_corpora on corpus_id",
    ]
    assert "core.fct_slots" in descriptions.links()["core.fct_turns"].joined_by
    assert descriptions.links()["core.dim_corpora"].joins == ()


def test_every_join_names_existing_columns():
    columns = {name: {column["name"] for column in model["columns"]} for name, model in descriptions.models().items()}
    assert len(columns) > 60
    for name, links in descriptions.links().items():
        assert set(links.key) <= columns[name], name
        for join in links.joins:
            assert set(join.columns) <= columns[name], join
            assert set(join.fields) <= columns[join.to], join
            assert name in descriptions.links()[join.to].joined_by
