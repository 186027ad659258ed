"""The filters of the page of a table."""

from __future__ import annotations

import duckdb
import pytest

from dialogue_warehouse.reading.query import run_query
from dialogue_warehouse.reading.values import text_of
from dialogue_warehouse.site import browsing
from dialogue_warehouse.site.columns import draw


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


@pytest.mark.parametrize(
    "value",
    [
        """['one, "two"', 'three: four', null, 'é \\ /', chr(10) || '  x']""",
        "cast([] as text[])",
        "[1, 2]",
        "map {'a': 'b, c', 'd': null}",
        "{'a': ['b'], 'c': 1}",
        "timestamp '2016-12-03 03:51:19.5'",
        "1.0::double",
        "true",
    ],
)
def test_shown_value_contains_itself(value: str) -> None:
    """Regression: a filter searched DuckDB's text of a list or of a time, which the page does not show."""
    with duckdb.connect() as con:
        con.execute(f"create table one as select {value} as found")
        result = run_query(con, "select found from one")
        ((shown,),) = (map(text_of, row) for row in result.rows())
        ((kind,),) = con.execute("select data_type from duckdb_columns() where table_name = 'one'").fetchall()
        for field in ("found", "_contains_found"):
            condition = browsing._condition({"found": kind}, field, shown)
            assert con.execute(f"select {condition} from one").fetchall() == [(True,)], condition


def test_time_is_found_with_a_space_too() -> None:
    condition = browsing._condition({"found": "TIMESTAMP"}, "_contains_found", "2016-12-03 03")
    with duckdb.connect() as con:
        query = f"select {condition} from (select timestamp '2016-12-03 03:51:19' as found)"
        assert con.execute(query).fetchall() == [(True,)]


@pytest.mark.parametrize("values", ["-1e308, 0, 1e308", "'0.5', 'nan', 'inf', '-inf', null", "'nan'", "5e-324, 0"])
def test_chart_of_extreme_numbers_is_drawn(values: str) -> None:
    """Regression: rewards so far apart that their difference has no finite number failed the page."""
    with duckdb.connect() as con:
        con.execute(f"create table one as select unnest([{values}]::double[]) as reward")
        drawn = draw(con, "from one", "reward", "DOUBLE", has_corpora=False)
        counts = dict(con.execute(drawn["query"]).fetchall())
        ((finite,),) = con.execute("select count(*) from one where isfinite(reward)").fetchall()
    assert sum(count for part, count in counts.items() if part is not None) == finite
    assert drawn["chart"].draw()
