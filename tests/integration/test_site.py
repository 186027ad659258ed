"""The served pages: content, and every state in the URL."""

from __future__ import annotations

import csv
import io
import json
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from starlette.testclient import TestClient

from dialogue_warehouse.common.text import address
from dialogue_warehouse.paths import WarehousePaths, example_queries
from dialogue_warehouse.reading.search import Index
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site import quality, report
from dialogue_warehouse.site.application import MENU, WHOLE, application
from dialogue_warehouse.site.asking import divide_line
from dialogue_warehouse.site.query_process import SHOWN
from tests.conftest import rows
from tests.integration.site_pages import HOME, Page, asked, keys_on, main_of, opened, total_on


@pytest.fixture(scope="module")
def con(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def client(sample_folder: Path) -> Iterator[TestClient]:
    with TestClient(application(WarehousePaths(sample_folder), Settings()), HOME) as client:
        yield client


@pytest.mark.parametrize("name", [name for name, _ in MENU])
def test_every_page_of_the_menu_is_shown(client: TestClient, name: str) -> None:
    text = opened(client, f"/{name}")
    assert f'<a href="{name}" aria-current="page">' in text
    assert "Generated data" in text


@pytest.mark.parametrize("name", WHOLE)
def test_served_page_is_that_of_the_report(client: TestClient, sample_folder: Path, name: str) -> None:
    assert main_of(opened(client, f"/{name}")) == main_of((sample_folder / "reports" / name).read_text("utf-8"))


def test_empty_label_is_shown_without_a_link(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: its link led to all dialogues, because a URL has no empty text."""
    counts = Index.counts
    monkeypatch.setattr(Index, "counts", lambda *asked: counts(*asked) | {"": 98_765})
    text = opened(client, "/dialogues")
    assert '<li class="unnamed"><em>empty text</em> <span>98,765</span></li>' in text
    assert "<bdi></bdi>" not in text


def test_every_link_of_a_page_leads_to_a_page(client: TestClient) -> None:
    seen = set()
    for name in (*(name for name, _ in MENU), "changes.html", "dictionary.html"):
        for link in Page(opened(client, f"/{name}")).links:
            kind = re.sub(r"=[^&#]*", "=", link.partition("#")[0])
            if kind and kind not in seen and not link.startswith("http"):
                seen.add(kind)
                opened(client, urllib.parse.urljoin("/", link))
    assert len(seen) > 20


def test_first_page_has_the_published_counts(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    ((dialogues, turns),) = rows(con, "select count(*), sum(turn_count) from core.dim_dialogues")
    text = opened(client, "/")
    assert f"<b>{dialogues:,}</b> dialogues" in text
    assert f"<b>{turns:,}</b> turns" in text


# Dialogues


def test_filters_find_the_matching_dialogues(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    expected = {
        key
        for (key,) in rows(
            con,
            "select distinct dialogue_key from core.fct_actions"
            " where corpus_id = 'sgd' and act = 'GOODBYE' and split = 'validation'",
        )
    }
    found: list[str] = []
    text = opened(client, "/dialogues?corpus=sgd&act=GOODBYE&split=validation")
    assert total_on(text) == len(expected)
    while True:
        found += keys_on(text)
        after = re.search(r'<a rel="next" href="([^"]*)"', text)
        if after is None:
            break
        text = opened(client, f"/{after[1].replace('&amp;', '&')}")
    assert set(found) == expected
    assert len(found) == len(expected)


def test_words_are_found_in_all_utterances_and_marked(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    ((utterance, key),) = rows(
        con,
        "select any_value(utterance), any_value(dialogue_key) from core.fct_turns"
        " where length(utterance) between 40 and 80 and utterance ~ '[A-Za-z ]*'"
        " group by lower(utterance) having count(*) = 1 order by lower(utterance) limit 1",
    )
    quoted = '"' + utterance.upper() + '"'
    text = opened(client, f"/dialogues?{urllib.parse.urlencode({'said': quoted})}")
    assert key in keys_on(text)
    assert utterance.strip(" .?!") in Page(text).marked
    assert keys_on(opened(client, "/dialogues?said=nospeakereversaysthis")) == []
    assert "has no word" in opened(client, "/dialogues?said=%3F")
    assert opened(client, f"/dialogues?said={'w' * 3_000}").count("w" * 3_000) == 1  # in the field, but in no link


@pytest.mark.parametrize(
    ("order", "column"),
    [("longest", "turn_count desc"), ("shortest", "turn_count"), ("newest", "began desc nulls last")],
)
def test_order_of_the_address_is_kept(
    client: TestClient, con: duckdb.DuckDBPyConnection, order: str, column: str
) -> None:
    expected = rows(
        con,
        "select dialogue_key from core.dim_dialogues left join (select dialogue_key, min(occurred_at) as began"
        f" from core.fct_turns group by all) using (dialogue_key) order by {column}, corpus_id, source_file_id,"
        " record_index limit 50",
    )
    found = keys_on(opened(client, f"/dialogues?order={order}"))
    if order == "newest":
        assert found == [key for (key,) in expected]
    else:
        lengths = dict(rows(con, "select dialogue_key, turn_count from core.dim_dialogues"))
        assert [lengths[key] for key in found] == [lengths[key] for (key,) in expected]


def test_key_of_a_row_opens_its_dialogue_marked(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    keys = rows(con, "select min(turn_key), arg_min(dialogue_key, turn_key) from core.fct_turns group by corpus_id")
    for key, dialogue_key in keys:
        answer = client.get(address(key), follow_redirects=False)
        assert answer.status_code == 303
        assert answer.headers["location"].endswith(f"#turn-{key.rpartition('/')[2]}")
        text = opened(client, f"/{answer.headers['location'].partition('#')[0]}")
        assert [tag for tag, attributes in Page(text).tags if "data-marked" in attributes] == ["li"]
        assert dialogue_key in text
        read = json.loads(opened(client, f"/dialogue.json?{urllib.parse.urlencode({'key': key})}"))
        assert (read["key"], read["mark"]["key"]) == (dialogue_key, key)


def test_next_and_previous_dialogue_go_through_the_list(client: TestClient) -> None:
    listed = keys_on(opened(client, "/dialogues?corpus=sgd&order=longest"))
    text = opened(client, f"/dialogues?corpus=sgd&order=longest&key={listed[0]}")
    for key in listed[1:4]:
        following = re.search(r'<a data-key="j" href="([^"]*)"', text)[1].replace("&amp;", "&")
        text = opened(client, f"/{following}")
        assert f"<title>{key} " in text
    before = re.search(r'<a data-key="k" href="([^"]*)"', text)[1].replace("&amp;", "&")
    assert f"<title>{listed[2]} " in opened(client, f"/{before}")


def test_two_dialogues_are_compared_side_by_side(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    first, second = (
        key
        for (key,) in rows(
            con, "select min(dialogue_key) from core.dim_dialogues group by corpus_id order by 1 limit 2"
        )
    )
    text = opened(client, f"/dialogues?key={first}&against={second}")
    assert re.findall(r'<article class="dialogue"[^>]*>\s*<header>\s*<h1>(?:<[^>]*>)*([^<]*)', text) == [first, second]
    ids = [found["id"] for _, found in Page(text).tags if "id" in found]
    assert len(ids) == len(set(ids))
    swapped = next(
        link for link in Page(text).links if link.startswith(f"dialogues?key={urllib.parse.quote(second)}&against=")
    )
    assert opened(client, f"/{swapped}").index(f"{second}</bdi></h1>") < opened(client, f"/{swapped}").index(
        f"{first}</bdi></h1>"
    )
    assert "no row has the key" in opened(client, f"/dialogues?key={first}&against=nowhere/at/all", 404)


def test_defect_in_a_dialogue_leads_to_its_rule(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    key, corpus, rule = rows(
        con, "select dialogue_key, corpus_id, rule_id from quality.violations where dialogue_key is not null limit 1"
    )[0]
    link = f"violations.html?corpus={corpus}&rule={rule}"
    assert link in Page(opened(client, f"/dialogues?key={key}")).links
    text = opened(client, f"/{link}")
    assert re.search(rf'aria-expanded="true" aria-controls="{rule}-[^"]*"', text)
    assert re.search(rf'<tr class="more" id="{rule}-[^"]*">', text)


def test_unknown_key_is_refused_and_escaped(client: TestClient) -> None:
    text = opened(client, "/dialogues?key=sgd/dev/<script>alert(1)</script>", 404)
    assert "&lt;script&gt;alert" in text
    assert "<script>alert" not in text


# SQL


def test_query_is_answered_and_downloaded_in_each_form(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    query = "select corpus_id, role, count(*) as n from fct_turns group by all order by all"
    expected = rows(con, query.replace("fct_turns", "core.fct_turns"))
    text = asked(client, query)
    assert f"{len(expected)} rows." in text
    for corpus_id, role, count in expected:
        assert re.search(
            rf">{corpus_id}</bdi>\s*</td><td><bdi dir=\"auto\">{role}</bdi>\s*</td><td[^>]*><bdi[^>]*>{count}<", text
        )
    read = list(csv.reader(io.StringIO(asked(client, query, "answer.csv"))))
    assert read == [["corpus_id", "role", "n"], *([a, b, str(c)] for a, b, c in expected)]
    assert [tuple(row.values()) for row in json.loads(asked(client, query, "answer.json"))] == expected
    parquet = client.get(f"/answer.parquet?{urllib.parse.urlencode({'query': query})}").content
    assert parquet[:4] == parquet[-4:] == b"PAR1"


def test_download_has_all_rows_and_the_page_the_first(client: TestClient) -> None:
    query = f"select range as n from range({SHOWN + 500})"
    assert f"The first {SHOWN:,} rows." in asked(client, query)
    assert asked(client, query, "answer.csv").count("\n") == SHOWN + 501


def test_text_of_several_lines_has_the_line_ends_that_were_typed(client: TestClient) -> None:
    """Regression: a browser sends the line ends of the field as CRLF, which the query then had in its texts."""
    assert ">[&#34;a\\nb&#34;]</bdi>" in asked(client, "select ['a\r\nb'] as text")


@pytest.mark.parametrize("kind", ["bars", "lines", "points"])
def test_answer_is_drawn(client: TestClient, kind: str) -> None:
    text = asked(client, "select corpus_id, count(*) as n from fct_turns group by all", chart=kind, across="corpus_id")
    tags = [tag for tag, _ in Page(text).tags]
    assert tags.count("circle") == (0 if kind == "bars" else 5)
    assert tags.count("polyline") == (kind == "lines")
    assert ('class="level"' in text) == (kind == "bars")


def test_labels_of_a_chart_tell_its_rows_apart(client: TestClient) -> None:
    query = "select corpus_id, role, count(*) as n from fct_turns where corpus_id = 'sgd' group by all order by all"
    for kind in ("bars", "lines"):
        text = asked(client, query, chart=kind, across="corpus_id")
        assert text.count("sgd · system") and text.count("sgd · user"), kind
    alone = asked(client, f"select role, n from ({query})", chart="lines", across="role")
    assert "sgd ·" not in alone
    assert 'text-anchor="start">system</text>' in alone
    several = asked(client, "select corpus_id, count(*) as n from fct_turns group by all", chart="lines")
    assert several.count('text-anchor="middle"') == 3


def test_reason_why_nothing_is_drawn_is_shown(client: TestClient) -> None:
    below = asked(client, "select 'x' as name, -1 as n", chart="bars")
    assert "Bars show no values below zero" in below
    assert "The column has no values." in asked(client, "select 'x' as name, null::integer as n", chart="lines")


def test_query_keeps_its_first_line_end_in_the_field(client: TestClient) -> None:
    """A browser leaves out a line end at the beginning of a field, so that the place of an error was a line too low."""
    text = asked(client, "\nselect nowhere")
    field = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", text, re.DOTALL)[1]
    assert (field, 'data-line="2"' in text) == ("\nselect nowhere", True)


@pytest.mark.parametrize("path", example_queries(), ids=lambda path: path.stem)
def test_ready_question_is_answered(client: TestClient, path: Path) -> None:
    query = path.read_text(encoding="utf-8")
    assert urllib.parse.quote(query).replace("%20", "+")[:40] or query in opened(client, "/sql")
    assert "Download all rows" in asked(client, query)


@pytest.mark.parametrize(
    ("query", "reported"),
    [
        ("select 1 +", "syntax error"),
        ("drop table core.fct_turns", "only SELECT and EXPLAIN"),
        ("select * from read_csv('/etc/passwd')", "neither read nor write files"),
        ("select '<script>alert(1)</script>' from nowhere", "nowhere"),
    ],
)
def test_refused_query_says_why(client: TestClient, query: str, reported: str) -> None:
    text = asked(client, query)
    assert reported in text
    assert "<script>alert" not in text
    assert reported in asked(client, query, "answer.csv", 400)


def test_place_of_an_error_is_marked() -> None:
    query = "select 1,\n  nothing_here from fct_turns"
    place = divide_line(query, (2, "nothing_here"))
    assert place == {"number": 2, "before": "  ", "at": "nothing_here", "after": " from fct_turns"}
    assert divide_line(query, (7, "x")) is None


def test_query_without_rows_says_so(client: TestClient) -> None:
    assert "The query has no rows." in asked(client, "select 1 where false")


# Quality


def test_claims_are_filtered_on_the_server(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    expected = rows(
        con,
        "select claim_id from quality.claim_checks where corpus_id = 'bbai' and verdict = 'not_checkable' order by 1",
    )
    text = opened(client, "/claims.html?corpus=bbai&outcome=not_checkable")
    assert re.findall(r'<tbody id="([^"]*)" data-row', text) == [report.anchor(claim_id) for (claim_id,) in expected]
    one = opened(client, f"/claims.html?claim={expected[0][0]}")
    assert len(re.findall(r"<tbody id=", one)) == 1
    assert "<blockquote>" in one
    assert 'aria-expanded="true"' in one
    assert 'class="filters"' not in one
    assert "claims.html" in Page(one).links
    nothing = opened(client, "/claims.html?search=nosuchwords")
    assert len(re.findall(r"<tbody id=", nothing)) == 0
    assert "Nothing matches" in nothing


def test_claim_is_shown_as_in_the_report(client: TestClient, sample_folder: Path) -> None:
    written = (sample_folder / "reports" / "claims.html").read_text("utf-8")
    shown = opened(client, "/claims.html?corpus=bbai")
    claims = re.findall(r'<tbody id="[^"]*" data-row.*?</tbody>', shown, re.DOTALL)
    run = re.compile(r'<p class="note"><a href="sql\?query=[^"]*">Run this SQL</a></p>')
    assert claims
    assert all(run.sub("", claim) in written for claim in claims)
    assert sum(len(run.findall(claim)) for claim in claims) > 1


def test_expectations_are_filtered_and_listed_in_parts(
    client: TestClient, con: duckdb.DuckDBPyConnection, sample_folder: Path
) -> None:
    def names_on(text: str) -> list[str]:
        return re.findall(r'<tbody id="([^"]*)" data-row', text)

    results = rows(con, "select suite, expectation, severity from quality.expectation_results order by all")
    names = [report.anchor(f"{suite}-{expectation}") for suite, expectation, _ in results]
    parts = [opened(client, f"/expectations.html?page={page}") for page in range(1, -(-len(names) // 50) + 1)]
    assert [name for part in parts for name in names_on(part)] == names
    assert names_on((sample_folder / "reports" / "expectations.html").read_text("utf-8")) == names
    of_sgd = [name for name, (suite, _, _) in zip(names, results, strict=True) if suite == "sgd"]
    assert names_on(opened(client, "/expectations.html?suite=sgd")) == of_sgd[:50]
    assert names_on(opened(client, "/expectations.html?result=not+judged")) == []
    suite, expectation, severity = results[0]
    found = f"/expectations.html?search={expectation}&suite={suite}&severity={severity}&result=passed"
    assert names[0] in names_on(opened(client, found))


def test_all_cases_of_a_rule_are_listed_in_parts(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    ((rule, corpus, count),) = rows(
        con,
        "select rule_id, corpus_id, observed from quality.violation_rules where corpus_id is not null"
        " order by observed desc limit 1",
    )
    text = opened(client, f"/violations.html?rule={rule}&corpus={corpus}")
    listed = 0
    while True:
        listed += text.count('<td class="detail">')
        after = re.search(r'<a rel="next" href="([^"]*)"', text)
        if after is None:
            break
        text = opened(client, f"/{after[1].replace('&amp;', '&')}")
    assert listed == count


def test_cases_of_a_rule_of_all_corpora_are_limited_to_one(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    rule, corpus, count = rows(
        con,
        """
        select rule_id, corpus_id, count(*) from quality.violations
        where rule_id in (select rule_id from quality.violation_rules group by 1 having bool_and(corpus_id is null))
        group by rule_id, corpus_id
        qualify count(*) over (partition by rule_id) > 1
        order by all limit 1
        """,
    )[0]
    for page in (f"/violations.html?rule={rule}&corpus={corpus}", f"/violations.html?corpus={corpus}"):
        text = opened(client, page)
        listed = re.search(rf'<tbody id="{rule}-all".*?(?=<tbody id|</main>)', text, re.DOTALL)[0]
        assert f'data-head="Cases">{count}<' in listed
        assert {name.partition("/")[0] for name in re.findall(r"<tr><td>([^<]+)</td>", listed)} == {corpus}
        cases = f"Cases 1 to {count} of {count} " if "rule=" in page else f'&amp;corpus={corpus}">All {count} case'
        assert cases in listed


def test_defects_of_a_corpus_are_those_that_the_overview_counts(
    client: TestClient, con: duckdb.DuckDBPyConnection
) -> None:
    """Regression: a rule of all corpora was listed beside the corpus' own entry for it, also as another kind."""
    counts = "select corpus_id, kind, count(*) from quality.violations group by all order by all"
    for corpus, kind, count in rows(con, counts):
        text = opened(client, f"/violations.html?corpus={corpus}&kind={kind}")
        cases = re.findall(r'data-head="Cases">([\d,]+)<', text)
        assert sum(int(one.replace(",", "")) for one in cases) == count, (corpus, kind)


def test_rule_of_all_corpora_without_a_case_in_one_is_not_called_unknown(
    client: TestClient, con: duckdb.DuckDBPyConnection
) -> None:
    """Regression: the page, which a link from an earlier build opens, said that there is no such rule."""
    rule, corpus = rows(
        con,
        "select rule_id, corpora.corpus_id from quality.violation_rules as rules cross join core.dim_corpora as corpora"
        " where rules.corpus_id is null and (rule_id, corpora.corpus_id) not in (select (rule_id, corpus_id) from"
        " quality.violations union all select (rule_id, corpus_id) from quality.violation_rules where corpus_id <> '')"
        " order by all limit 1",
    )[0]
    text = opened(client, f"/violations.html?rule={rule}&corpus={corpus}", 404)
    assert f"the rule &#39;{rule}&#39; has no case in &#39;{corpus}&#39;" in text


def test_worst_defects_of_the_overview_lead_to_their_cases(client: TestClient) -> None:
    links = [link for link in Page(opened(client, "/index.html")).links if "rule=" in link]
    assert links
    for link in links:
        address, _, at = link.partition("#")
        assert f'id="{at}"' in opened(client, f"/{address}"), link


def test_rule_that_several_corpora_have_is_listed_for_each(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    rule, corpora = rows(
        con,
        "select rule_id, list(corpus_id order by corpus_id) from quality.violation_rules group by all"
        " having count(*) > 1 and bool_and(corpus_id is not null) order by all limit 1",
    )[0]
    text = opened(client, f"/violations.html?rule={rule}")
    assert sorted(re.findall(rf'<tbody id="{rule}-(\w+)"', text)) == corpora


def test_rule_without_cases_has_a_page(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    ((rule,),) = rows(con, "select rule_id from quality.violation_rules where observed = 0 order by all limit 1")
    text = opened(client, f"/violations.html?rule={rule}")
    assert "No case in this build." in text
    assert "Nothing matches" not in text
    assert "violations.html" in Page(text).links


@pytest.mark.parametrize(
    ("asked", "refusal"),
    [
        ("claims.html?claim=ZZ99", "there is no claim &#39;ZZ99&#39;"),
        ("violations.html?rule=nosuchrule", "there is no rule &#39;nosuchrule&#39;"),
        (
            "violations.html?rule=reused_dialogue_id&corpus=nosuch",
            "rule &#39;reused_dialogue_id&#39; of &#39;nosuch&#39;",
        ),
        ("claims.html?claim=A01&corpus=sgd", "the claim &#39;A01&#39; does not match the other filters of this URL"),
        (
            "violations.html?rule=unknown_key&kind=nosuch",
            "the rule &#39;unknown_key&#39; does not match the other filters of this URL",
        ),
        ("builds?build=nosuch", "there is no build &#39;nosuch&#39;"),
    ],
)
def test_unknown_claim_rule_and_build_are_refused(client: TestClient, asked: str, refusal: str) -> None:
    text = opened(client, f"/{asked}", 404)
    assert refusal in text
    assert asked.partition("?")[0] in Page(text).links


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("sgd/dev/1_0000", "sgd/dev/1_00000"),
        ("sgd/dev/1_00000/2/frame", "sgd/dev/1_00000/2"),
        ("sgd/dev/1_00000/999", "sgd/dev/1_00000"),
    ],
)
def test_unknown_key_links_the_nearest_one(client: TestClient, key: str, near: str) -> None:
    text = opened(client, f"/dialogues?key={key}", 404)
    (link,) = [link for link in Page(text).links if link.startswith("dialogues?")]
    assert f"<code>{near}</code>" in text
    assert f'data-row="{"/".join(near.split("/")[:3])}"' in opened(client, f"/{link}")


def test_key_like_no_other_links_no_dialogue(client: TestClient) -> None:
    links = Page(opened(client, "/dialogues?key=nowhere/at/all", 404)).links
    assert not [link for link in links if link.startswith("dialogues?")]


def test_builds_agree_with_the_table(client: TestClient, con: duckdb.DuckDBPyConnection) -> None:
    text = opened(client, "/builds?figure=turn_count")
    for build_id, turns in rows(con, "select build_id, turn_count from quality.builds"):
        assert build_id in text
        assert f"{turns:,}" in text


def test_builds_that_are_not_shown_are_counted(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a page with the newest 50 builds said that it had all of them."""
    assert "All published builds" in opened(client, "/builds")
    monkeypatch.setattr(quality, "ROWS", 0)
    assert "The 0 newest of the 1 published builds" in opened(client, "/builds")
