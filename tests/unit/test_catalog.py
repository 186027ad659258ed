"""The tables of a build, listed and described."""

from __future__ import annotations

import io

import duckdb
import pytest
from rich.console import Console

from pipelines.reading import catalog, catalog_display, connection
from pipelines.reading.query_errors import QueryError
from tests.unit.published import BUILD

# The catalog


def test_tables_are_listed_with_exact_rows_and_the_first_sentence(con):
    assert [(t.schema, t.table, t.rows, t.summary) for t in catalog.list_tables(con)] == [
        ("core", "fct_frames", 0, ""),
        ("core", "fct_turns", 3, "One row per turn, e.g. an utterance."),
        ("raw", "fruit__apples", 3, ""),
    ]


@pytest.mark.parametrize("name", ["fct_turns", "core.fct_turns", "CORE.Fct_Turns", '"core"."fct_turns"', " fct_turns "])
def test_a_table_is_described_by_any_of_its_names(con, name):
    description = catalog.describe_table(con, name)
    assert (description.schema, description.table) == ("core", "fct_turns")
    assert description.comment.startswith("One row per turn")
    assert [(column.column, column.type, column.comment) for column in description.columns] == [
        ("turn_index", "INTEGER", None),
        ("utterance", "VARCHAR", "What was said."),
        ("note", "VARCHAR", None),
    ]


def test_a_raw_table_is_described(con):
    assert [column.column for column in catalog.describe_table(con, "raw.fruit__apples").columns] == ["record_index"]


@pytest.mark.parametrize("name", ["fct_turn", "core.fct_trns", "FCT_TURNSS"])
def test_an_unknown_table_suggests_near_names(con, name):
    with pytest.raises(QueryError, match=r"did you mean core\.fct_turns"):
        catalog.describe_table(con, name)


@pytest.mark.parametrize("name", ["", "zzz", "core.fct_turns; drop table x", "'"])
def test_a_name_that_is_near_nothing_is_refused(con, name):
    with pytest.raises(QueryError, match="there is no table"):
        catalog.describe_table(con, name)


def test_a_name_in_two_schemas_has_to_be_qualified(paths):
    with duckdb.connect(str(paths.build_database(BUILD))) as con:
        con.execute("create schema analytics; create table analytics.fct_turns (a integer)")
    with connection.open_published(paths) as con:
        with pytest.raises(QueryError, match=r"analytics\.fct_turns and core\.fct_turns: say which"):
            catalog.describe_table(con, "fct_turns")
        assert catalog.describe_table(con, "analytics.fct_turns").schema == "analytics"


def test_tables_and_descriptions_are_printed(con):
    stream = io.StringIO()
    console = Console(file=stream, width=100)
    catalog_display.print_tables(catalog.list_tables(con), console)
    catalog_display.print_description(catalog.describe_table(con, "fct_turns"), console)
    for words in ("core.fct_turns", "One row per turn, e.g. an utterance.", "More of it.", "What was said.", "VARCHAR"):
        assert words in stream.getvalue()
