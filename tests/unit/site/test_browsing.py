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


@pytest.mark.parametrize("field", ["said", "_contains_said"])
@pytest.mark.parametrize("text", ["one\ntwo", "one\r\ntwo", "one\rtwo"])
def test_line_ends_of_a_form_find_any_line_end(field: str, text: str) -> None:
    condition = browsing._condition({"said": "VARCHAR"}, field, "one\ntwo")
    assert "\n" not in condition, "the form of the page of SQL would send another line end"
    with duckdb.connect() as con:
        found = con.execute(f"select {condition} from (select unnest([?, 'one two']) as said)", [text]).fetchall()
    assert found == [(True,), (False,)]
