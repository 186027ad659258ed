"""The filters of the page of a table."""

from __future__ import annotations

import duckdb
import pytest

from dialogue_warehouse.site import browsing


@pytest.mark.parametrize("text", ["ΟΔΟΣ", "İstanbul", "Straße", "it's"])
def test_text_contains_itself(text: str) -> None:
    """Regression: Python and DuckDB have other small letters for the last letter of a Greek word, and for İ."""
    condition = browsing._condition({"said": "VARCHAR"}, "_contains_said", text)
    with duckdb.connect() as con:
        assert con.execute(f"select {condition} from (select ? as said)", [text]).fetchall() == [(True,)]
