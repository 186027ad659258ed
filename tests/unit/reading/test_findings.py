"""Tracing: every key of core leads back to the source."""

from __future__ import annotations

import duckdb
import pytest
import yaml

from dialogue_warehouse.paths import DBT_PROJECT
from dialogue_warehouse.reading.findings import KEYED_TABLES, TraceError, find_row

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
