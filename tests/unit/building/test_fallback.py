"""The corpus and dialogue that caused a failure are found with the query that failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from pipelines.building import fallback

QUERY = "select corpus_id, dialogue_key, cast(said as integer) as number from main.said"
CONVERSION = "Conversion Error: Could not convert string 'seven' to INT32"


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("create schema core")
        con.execute(
            "create table core.dim_dialogues as "
            "from (values ('sgd/dev/3', 'sgd/dev/dialogues_001.json', 3)) as one (dialogue_key, source_file_id, record_index)"
        )
        con.execute("create table said (corpus_id varchar, dialogue_key varchar, said varchar)")
        rows = [("sgd", f"sgd/dev/{number}", str(number)) for number in range(6)]
        con.executemany("insert into said values (?, ?, ?)", [*rows, ("abcd", "abcd/train/1", "1")])
        yield con


def select_from(con: duckdb.DuckDBPyConnection) -> fallback.Select:
    def select(query: str, most: int) -> tuple[list[str], list[tuple[Any, ...]]]:
        rows = con.execute(query)
        return [column[0] for column in rows.description], rows.fetchmany(most)

    return select


def test_row_that_is_null_names_its_corpus_file_and_record(con: duckdb.DuckDBPyConnection) -> None:
    """For example the length of a MutualFriends message without text.

    Regression: the error had neither file nor corpus.
    """
    con.execute("update said set said = null where dialogue_key = 'sgd/dev/3'")
    message = "Constraint Error: NOT NULL constraint failed: numbers.number"
    place, about = fallback.locate(QUERY, message, ("marts", "core"), select_from(con))
    assert place == ", the first: corpus_id=sgd, dialogue_key=sgd/dev/3 (sgd/dev/dialogues_001.json, record 3)"
    assert about == {"sgd"}


@pytest.mark.parametrize("folders", [("marts", "core"), ("intermediate", "sgd")])
def test_value_that_cannot_be_converted_is_found_by_bisection(
    con: duckdb.DuckDBPyConnection, folders: tuple[str, ...]
) -> None:
    con.execute("update said set said = 'seven' where dialogue_key = 'sgd/dev/3'")
    place, about = fallback.locate(QUERY, CONVERSION, folders, select_from(con))
    assert (place, about) == (", of sgd/dev/3 (sgd/dev/dialogues_001.json, record 3)", {"sgd"})


def test_rows_of_two_corpora_name_no_single_dialogue(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("update said set said = 'seven' where dialogue_key in ('sgd/dev/3', 'abcd/train/1')")
    assert fallback.locate(QUERY, CONVERSION, ("marts",), select_from(con)) == ("", {"sgd", "abcd"})


def test_query_that_fails_for_no_row_names_nothing(con: duckdb.DuckDBPyConnection) -> None:
    broken = f"{QUERY} where error('no file') is null"
    assert fallback.locate(broken, "no file", ("marts",), select_from(con)) == ("", set())
    assert fallback.locate("", "skipped", ("marts",), select_from(con)) == ("", set())


def test_rows_name_their_corpus_by_key_file_or_column() -> None:
    rows = [("unknown word", "abcd/train/4711", 1), ("sgd, dialogue, train", None), ("bbai",)]
    assert fallback.of_rows(rows) == {"abcd", "sgd", "bbai"}
    assert fallback.of_rows([*rows, ("unknown word", "abcdef/1", 1)]) == set()
    assert fallback.of_rows([]) == set()
    assert fallback.named(("staging", "mutualfriends", "friends")) == {"mutualfriends"}


def test_failure_without_a_corpus_blames_no_corpus() -> None:
    first, second, other = ("one", {"sgd", "abcd"}), ("two", {"abcd"}), ("three", set())
    assert fallback.at_fault([first, second]) == {"abcd": "one", "sgd": "one"}
    assert fallback.at_fault([first, other]) == {}
    assert fallback.at_fault([]) == {}
