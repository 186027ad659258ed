"""The served pages of tables: rows with filters and an order, and the chart of a column."""

from __future__ import annotations

import html
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from starlette.testclient import TestClient

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site.application import application
from dialogue_warehouse.site.browsing import address_of_row
from tests.conftest import rows
from tests.integration.site_pages import HOME, Page, opened, total_on


@pytest.fixture(scope="module")
def con(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def client(sample_folder: Path) -> Iterator[TestClient]:
    with TestClient(application(WarehousePaths(sample_folder), Settings()), HOME) as client:
        yield client


def test_each_table_is_shown(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    listed = set(re.findall(r"tables\?_table=([\w.]+)", opened(client, "/tables")))
    expected = rows(
        con, "select schema_name || '.' || table_name from duckdb_tables() where schema_name <> 'contracts'"
    )
    assert listed == {name for (name,) in expected}
    for name in sorted(listed):
        ((count,),) = rows(con, f"select count(*) from {name}")
        assert total_on(opened(client, f"/tables?_table={name}")) == count, name


def test_rows_of_a_table_are_filtered_and_ordered(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    text = opened(client, "/tables?_table=core.fct_turns&corpus_id=sgd&role=user&_order=-turn_index")
    ((count,),) = rows(con, "select count(*) from core.fct_turns where corpus_id = 'sgd' and role = 'user'")
    assert total_on(text) == count
    query = urllib.parse.parse_qs(
        next(link for link in Page(text).links if link.startswith("answer.csv")).partition("?")[2]
    )["query"][0]
    assert rows(con, f"select count(*), max(turn_index) from ({query})")[0][0] == count
    first = rows(con, query)[0]
    assert f"<code>{first[0]}</code>" in text
    contains = opened(client, "/tables?_table=core.fct_turns&_column=utterance&_contains=PLEASE")
    ((count,),) = rows(con, "select count(*) from core.fct_turns where utterance ilike '%please%'")
    assert total_on(contains) == count
    empty = opened(client, "/tables?_table=core.fct_turns&_null=utterance")
    ((count,),) = rows(con, "select count(*) from core.fct_turns where utterance is null")
    assert total_on(empty) == count
    unknown = html.unescape(opened(client, "/tables?_table=nothing_like_it", 404))
    assert ">there is no table 'nothing_like_it'</p>" in unknown, "no command of the server"
    assert "All tables" in unknown
    hostile = urllib.parse.urlencode({"_table": "core.fct_turns", "role": "x' or true --"})
    assert "No row matches" in opened(client, f"/tables?{hostile}")


def test_rows_with_several_lines_are_found_by_a_form(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    """Regression: a form sends every line end as CRLF, so that its filter found no row."""
    of_several = "select min(query) from quality.claims where contains(query, chr(10))"
    ((query, count),) = rows(
        con, f"select query, count(*) from quality.claims where query = ({of_several}) group by all"
    )
    asked = {"_table": "quality.claims", "query": query.replace("\n", "\r\n"), "_column": "corpus_id"}
    text = opened(client, f"/tables?{urllib.parse.urlencode(asked)}")
    assert total_on(text) == count
    (as_sql,) = {link for link in Page(text).links if link.startswith("sql?")}
    assert f"{count} row" in opened(client, f"/{as_sql.replace('%0A', '%0D%0A')}")


@pytest.mark.parametrize("column", ["speaker", 'x" or 1=1'])
@pytest.mark.parametrize(
    "asked", ["{}=user", "_null={}", "_contains_{}=a", "_column={}&_contains=a", "_order=-{}"], ids=lambda asked: asked
)
def test_unknown_column_is_not_ignored(client: TestClient, asked: str, column: str) -> None:
    """Without the filter, the page would show all rows."""
    filtered = asked.format(urllib.parse.quote(column))
    shown = html.unescape(opened(client, f"/tables?_table=core.fct_turns&{filtered}", 404))
    assert f"core.fct_turns has no column '{column}'; it has turn_key, " in shown


def test_empty_value_does_not_filter(client: TestClient) -> None:
    """Regression: a typed URL with an empty value had no rows, and the links of its page had all."""
    address = "/tables?_table=core.fct_turns"
    assert client.get(f"{address}&role=&_contains_utterance=").text == client.get(address).text


def test_parts_of_ordered_rows_have_each_row_once(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    ((count,),) = rows(con, "select count(*) from core.dim_dialogues")
    for order in ("split", "-corpus_id"):
        text = "".join(
            opened(client, f"/tables?_table=core.dim_dialogues&_order={order}&_page={page}")
            for page in range(1, -(-count // 50) + 1)
        )
        keys = re.findall(r'<tr[^>]*>\s*<td[^>]*><a href="dialogues\?key=([^"&]*)', text)
        assert (len(keys), len(set(keys))) == (count, count), order


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("core.dim_dialogues", "turn_count"),
        ("core.fct_actions", "act"),
        ("core.fct_actions", "action_values"),
        ("core.dim_corpora", "is_generated"),
        ("core.fct_turns", "occurred_at"),
        ("analytics.corpus_profile", "type_token_ratio"),
        ("core.fct_service_results", "entity"),
        ("analytics.outcome_factors", "level"),
        ("core.dim_participants", "reward"),
    ],
)
def test_values_of_a_column_are_drawn(
    client: TestClient, con: duckdb.DuckDBPyConnection, table: str, column: str
) -> None:
    text = opened(client, f"/tables?_table={table}&_draw={column}&_order={column}")
    ((distinct, empty),) = rows(con, f"select count(distinct {column}), count(*) - count({column}) from {table}")
    reported = re.search(
        r'id="drawn".*?class="shown">([\d,]+) different values?(?:, ([\d,]+) rows? without one)?', text, re.S
    )
    assert [int((number or "0").replace(",", "")) for number in reported.groups()] == [distinct, empty]
    assert 'aria-label="Values"' in text
    query = next(link for link in Page(text).links if link.startswith("sql?") and "row_count" in link)
    (drawn,) = urllib.parse.parse_qs(query.partition("?")[2])["query"]
    assert rows(con, f"select sum(row_count) from ({drawn})") == rows(con, f"select count(*) from {table}")
    name = "part" if " as part," in drawn else "value"
    valued = rows(con, f"select coalesce(sum(row_count), 0) from ({drawn}) where {name} is not null")
    assert valued == rows(con, f"select count({column}) from {table}")
    assert "Filled by corpus" in text


@pytest.mark.parametrize(
    ("table", "column", "form"),
    [
        ("core.dim_corpora", "is_generated", "true"),
        ("core.fct_actions", "action_values", r'\["[^\']*"\]'),
        ("core.fct_service_results", "entity", r'\{"[^\']*"\}'),
    ],
)
def test_values_of_a_chart_are_written_as_in_the_rows(client: TestClient, table: str, column: str, form: str) -> None:
    """Regression: a chart had Python's words for them, such as True."""
    text = html.unescape(opened(client, f"/tables?_table={table}&_draw={column}"))
    assert re.search(f'title="{form}, rows: [\\d,]+"', text)
    assert not re.search(r"""title="(True|False|\['|\{')""", text)


@pytest.mark.parametrize(
    ("table", "column"), [("dim_slots", "slot_definition_key"), ("dim_guidelines", "guideline_key")]
)
def test_key_of_a_row_without_a_dialogue_leads_to_the_row(
    client: TestClient, con: duckdb.DuckDBPyConnection, table: str, column: str
) -> None:
    ((key,),) = rows(con, f"select {column} from core.{table} order by 1 limit 1")
    text = opened(client, f"/?{urllib.parse.urlencode({'key': key})}")
    assert f"core.{table}" in text
    assert total_on(text) == 1
    assert key in text


def test_key_of_a_line_is_its_file_and_its_number() -> None:
    """Every line of the sample has a dialogue, those of the whole release have not."""
    assert address_of_row("dim_split_members", "somecorpus/lists/some.csv/7") == (
        "tables?_table=core.dim_split_members&source_file_id=somecorpus/lists/some.csv&record_index=7"
    )


def test_chart_of_a_column_is_about_the_filtered_rows(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    text = opened(client, "/tables?_table=core.fct_actions&_draw=act&corpus_id=sgd")
    most = rows(con, "select act, count(*) as n from core.fct_actions where corpus_id = 'sgd' group by act order by n")
    act, count = most[-1]
    assert f"{act}, rows: {count:,}" in text
    assert "different" not in opened(client, "/tables?_table=core.fct_actions&_draw=nowhere")
