"""The sides of a comparison of two builds."""

from __future__ import annotations

from pathlib import Path

import duckdb

from dialogue_warehouse.reading.changes import CLAIM_CHECKS, Side


def test_folder_of_the_warehouse_is_not_a_value(tmp_path: Path) -> None:
    """DuckDB can read `corpus_id=mine` in a path as the value of the column `corpus_id` in each row."""
    folder = tmp_path / "corpus_id=mine"
    folder.mkdir()
    with duckdb.connect() as con:
        con.execute(f"copy (select 'sgd' as corpus_id) to '{folder}/results.parquet' (format parquet)")
        relation = Side("b", tmp_path / "b.duckdb", folder).relation("own", CLAIM_CHECKS)
        assert con.execute(f"from {relation}").fetchall() == [("sgd",)]
