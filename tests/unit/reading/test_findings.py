"""Tracing: every key of core leads back to the source."""

from __future__ import annotations

import duckdb
import pytest
import yaml

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import DBT_PROJECT
from dialogue_warehouse.reading import findings
from dialogue_warehouse.reading.findings import KEYED_TABLES, TraceError, find_row
from dialogue_warehouse.reading.selection import Selection, select
from tests.unit import core_tables

NOT_OWN = {"dim_scenarios": "scenario_key", "dim_key_pointers": "traced_key"}
"""Unique columns whose keys belong to other tables."""


def test_every_key_of_core_can_be_traced() -> None:
    keyed = {}
    for path in (DBT_PROJECT / "models/marts/core").glob("*.yml"):
        for model in yaml.safe_load(path.read_text(encoding="utf-8"))["models"]:
            (declared,) = [test["sound_rows"]["arguments"] for test in model["data_tests"] if "sound_rows" in test]
            for key in declared["keys"]:
                if isinstance(key, str) and key.endswith("_key"):
                    keyed[model["name"]] = key
    lines = {"dim_split_members"}
    assert keyed == {name: key for name, key in KEYED_TABLES.items() if name not in lines} | NOT_OWN


def test_key_is_found_in_a_build_without_some_of_the_tables() -> None:
    with duckdb.connect() as con:
        con.execute("create schema core")
        con.execute(
            "create table core.dim_dialogues as select 'c' as corpus_id, 'c/s/1' as dialogue_key, '1' as dialogue_id"
        )
        con.execute("create table core.fct_votes as select 'c/s/1' as dialogue_key, 'c/s/1/vote/a' as vote_key")
        assert find_row(con, "c/s/1")[0] == "dim_dialogues"
        assert find_row(con, "c/s/1/vote/a") == ("fct_votes", {"dialogue_key": "c/s/1", "vote_key": "c/s/1/vote/a"})
        with pytest.raises(TraceError, match=r"no row has the key 'c/s/1/vote/b'; core\.dim_dialogues has 'c/s/1'"):
            find_row(con, "c/s/1/vote/b")


UNDECODED = "\udcff"
"""A byte of a command line that is not UTF-8, as Python reads it."""


@pytest.mark.parametrize(
    ("key", "reported"), [(UNDECODED, "not valid UTF-8$"), ("a\nb", r"^no row has the key 'a\\nb'; ")]
)
def test_error_about_a_key_is_one_line(key: str, reported: str) -> None:
    """Regression: a byte that is not UTF-8 was an error of DuckDB, and a line end made two lines."""
    with duckdb.connect() as con:
        core_tables.create(con)
        with pytest.raises(TraceError, match=reported):
            find_row(con, key)


def test_key_with_very_many_parts_takes_few_queries() -> None:
    """Regression: each of its beginnings was looked up in every table, thousands of them for a key of a URL."""
    queries = []

    class Counting:
        def execute(self, query: object, parameters: object = None) -> duckdb.DuckDBPyConnection:
            queries.append(query)
            return con.execute(query, parameters)

    with duckdb.connect() as con:
        core_tables.create(con)
        for key in ("c/s" + "/a" * 5_000, "c/s" + "/a" * 10):
            with pytest.raises(TraceError, match=r"^no row has the key 'c/s(/a)+'"):
                find_row(Counting(), key)  # ty: ignore[invalid-argument-type]
    assert len(queries) < 200


@pytest.mark.parametrize("name", ["", "x", UNDECODED])
def test_unknown_name_is_rejected_even_if_it_is_empty(name: str) -> None:
    """Regression: the empty name of a rule or claim found all of them."""
    with duckdb.connect() as con:
        con.execute("create schema quality")
        con.execute("create table quality.claims as select 'A01' as claim_id")
        con.execute("create table quality.violation_rules as select 'blank' as rule_id")
        for refuse, known in ((findings.refuse_unknown_claim, "A01"), (findings.refuse_unknown_rule, "blank")):
            refuse(con, known)
            refuse(con, None)
            with pytest.raises(InputError, match=r"there is no (claim|rule)"):
                refuse(con, name)


def test_short_rules_compare_the_known_cases_with_those_in_the_same_files() -> None:
    """Regression: the cases of all files were beside the number that is known of some of them."""
    with duckdb.connect() as con:
        con.execute("""
            create schema quality;
            create table quality.violation_rules as
            from (values
                ('same', 'a', 'defect', 32, 10, 10, true),
                ('other', 'a', 'defect', 10, 9, 10, true),
                ('apart', 'a', 'defect', 10, null, 10, false),
                ('unknown', 'a', 'defect', 10, null, null, false)
            ) as rules (rule_id, corpus_id, kind, observed, observed_in_files, expected, is_guarded)
        """)
        short = con.execute(findings.violations_query((), None, is_summary=True, detail="short")).fetchall()
    assert {rule: as_known for rule, *_, as_known in short} == {
        "same": True,
        "other": False,
        "apart": None,
        "unknown": None,
    }


def test_selected_key_that_is_not_utf_8_is_rejected() -> None:
    with duckdb.connect() as con:
        core_tables.create(con)
        with pytest.raises(InputError, match=r"^--keys: no dialogue has the key [^\n]* not valid UTF-8$"):
            select(con, Selection(keys=(UNDECODED,)))
