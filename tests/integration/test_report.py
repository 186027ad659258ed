"""The report as a user gets it: its numbers are those of the tables, its links work, and it needs no network."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.site import results
from dialogue_warehouse.site.contents import page_name
from dialogue_warehouse.site.rendering import harmless
from dialogue_warehouse.site.report import CLAIM_OUTCOMES, DBT_DOCS, PAGES, RULE_KINDS, outcome
from dialogue_warehouse.storage import builds
from tests.conftest import run_command
from tests.integration.browser import BACKGROUNDS, Browser

LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Page(HTMLParser):
    """Links, loaded files and anchors of a page, and the text of its tables."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.rows: list[dict[str, str | None]] = []
        self.table_rows: list[list[str]] = []
        self._cell = False
        self._said: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "a":
            self.links.append(attributes["href"])
        if tag in LOADS:
            self.loads.append(attributes[LOADS[tag]])
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if "data-row" in attributes:
            self.rows.append(attributes)
        if tag == "tr":
            self.table_rows.append([])
        if tag in ("td", "th"):
            self.table_rows[-1].append("")
        if tag == "br":
            self.handle_data(" ")
        self._cell = tag in ("td", "th") or (self._cell and tag != "tr")

    def handle_endtag(self, tag):
        if tag == "table":
            self._cell = False

    def text(self) -> str:
        """Return the whole text of the page."""
        return "".join(self._said)

    def handle_data(self, data):
        self._said.append(data)
        if self._cell and self.table_rows and self.table_rows[-1]:
            self.table_rows[-1][-1] += data


@pytest.fixture(scope="module", params=["sample_folder", "awkward_folder"])
def warehouse(request) -> Path:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def site(warehouse: Path, tmp_path_factory) -> Path:
    to = tmp_path_factory.mktemp("report") / "site"
    completed = run_command("report", "--warehouse", warehouse, "--to", to)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == f"open {to / 'index.html'}\n"
    return to


@pytest.fixture(scope="module")
def con(warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(warehouse / "dialogues.duckdb"), read_only=True) as con:
        yield con


def test_build_writes_the_same_report(warehouse: Path, site: Path) -> None:
    made = warehouse / "reports"
    assert sorted(path.name for path in made.iterdir()) == sorted(path.name for path in site.iterdir())
    for path in site.iterdir():
        assert path.read_bytes() == (made / path.name).read_bytes(), path.name


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    conversations = [path.name for path in site.glob("dialogue-*.html")]
    assert len(conversations) > 10
    pages = {name: Page(site / name) for name in [*(f"{name}.html" for name in PAGES), *conversations]}
    styles = {"report.css", "dialogue.css", "charts.css"}
    assert {path.name for path in site.iterdir()} == {*pages, *styles, "report.js", DBT_DOCS}
    broken = []
    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), name
        own = {"dialogue.css"} if name in conversations else set()
        own |= {"charts.css"} if name in ("corpora.html", "dictionary.html") else set()
        assert set(page.loads) == {"data:,", "report.css", "report.js", *own}
        for link in page.links:
            if re.match(r"https?://", link):
                continue
            target, _, fragment = link.partition("#")
            target = target.partition("?")[0] or name
            if target == DBT_DOCS:
                continue
            if target not in pages or (fragment and unquote(fragment) not in pages[target].ids):
                broken.append((name, link))
    assert broken == []
    linked = {
        link.partition("#")[0] for name, page in pages.items() if name not in conversations for link in page.links
    }
    assert set(conversations) <= linked
    for style in styles:
        assert re.findall(r"@import|url\(|https?:", (site / style).read_text()) == []
    assert re.findall(r"fetch\(|import|https?:", (site / "report.js").read_text()) == []


def test_numbers_of_the_overview_agree_with_the_tables(site: Path, con) -> None:
    lines = {
        row[0].split()[-1]: [cell.split() for cell in row]
        for row in Page(site / "index.html").table_rows
        if len(row) == 8 and row[1].startswith(("generated", "as published"))
    }
    overview = con.sql("select * from analytics.corpus_overview").to_arrow_table().to_pylist()
    assert set(lines) == {corpus["corpus_id"] for corpus in overview}
    checks = con.sql("select * from quality.claim_checks").to_arrow_table().to_pylist()
    is_generated = dict(con.sql("select corpus_id, is_generated from core.dim_corpora").fetchall())
    for corpus in overview:
        _, data, *counts, claims, _ = lines[corpus["corpus_id"]]
        assert (data[0] == "generated") == is_generated[corpus["corpus_id"]]
        assert counts == [
            [f"{corpus[name]:,}"] for name in ("dialogue_count", "turn_count", "violation_count", "property_count")
        ]
        own = [outcome(check) for check in checks if check["corpus_id"] == corpus["corpus_id"]]
        reported = [f"{own.count(name):,} {title}" for name, title in CLAIM_OUTCOMES.items() if name in own]
        assert " ".join(claims) == " ".join(reported)


def test_overview_tells_the_most_frequent_defects(site: Path, con) -> None:
    counts = con.sql("select count(*) from quality.violations where kind = 'defect' group by rule_id, corpus_id")
    most = sorted((count for (count,) in counts.fetchall()), reverse=True)[:8]
    text = (site / "index.html").read_text(encoding="utf-8")
    reported = re.findall(r">([\d,]+)<span class=\"hidden\"> cases? of ", text[text.index('id="wrong"') :])
    assert [int(number.replace(",", "")) for number in reported] == most


def test_ledger_has_every_claim_and_every_expectation_of_the_build(site: Path, con) -> None:
    claims = con.execute("select claim_id from quality.claims").fetchall()
    assert len(Page(site / "claims.html").rows) == len(claims) > 100
    (expectations,) = con.execute(
        "select count(distinct (suite, expectation)) from quality.expectation_results"
    ).fetchone()
    assert len(Page(site / "expectations.html").rows) == expectations
    tables = con.execute("select count(*) from duckdb_tables() where not internal").fetchone()
    assert len(Page(site / "dictionary.html").rows) == tables[0]
    assert "Built from" in (site / "dictionary.html").read_text()


def test_defects_are_listed_up_to_the_limit_and_the_rest_is_counted(site: Path, con) -> None:
    page = Page(site / "violations.html")
    text = (site / "violations.html").read_text(encoding="utf-8")
    for rule_id, corpus_id, kind, observed in con.execute(
        "select rule_id, corpus_id, coalesce(kind, 'defect'), observed from quality.violation_rules"
    ).fetchall():
        line = next(
            row for row in page.table_rows if [cell.strip() for cell in row[:2]] == [rule_id, corpus_id or "all"]
        )
        assert [cell.strip() for cell in line[2:4]] == [RULE_KINDS[kind], f"{observed:,}"]
    listed = sum(len(row) == 5 and row[0] != "File" for row in page.table_rows)
    cases = con.execute(
        "select least(count(*), ?) from quality.violations group by rule_id", [results.CASES_SHOWN]
    ).fetchall()
    assert listed >= sum(count for (count,) in cases)
    hidden = con.execute(
        "select count(*) from quality.violation_rules where observed > ?", [results.CASES_SHOWN]
    ).fetchone()
    assert text.count("more are not shown") == hidden[0]
    read = con.execute(
        "select cases_read, cases_right, cases_right_again, cases_agreed from quality.violation_rules where cases_read > 0"
    ).fetchall()
    assert read
    written = re.findall(
        r"Of ([0-9,]+) cases read by hand in the real files, ([0-9,]+) are true cases for the first reader and"
        r" ([0-9,]+) for the second; both judge ([0-9,]+) alike",
        text,
    )
    assert sorted(written) == sorted(tuple(f"{number:,}" for number in row) for row in read)
    (unread,) = con.execute(
        "select count(*) from quality.violation_rules where kind = 'defect' and cases_read is null and corpus_id <> ''"
    ).fetchone()
    assert text.count("have no case that could be read by hand") == unread > 0


def test_first_cases_of_each_rule_lead_to_the_turn_that_breaks_it(site: Path, con) -> None:
    rules = con.execute(
        """
        select
            rule_id,
            corpus_id,
            arg_min(dialogue_key, (source_file_id, record_index, turn_index, detail, row_key)) as dialogue_key,
            arg_min(detail, (source_file_id, record_index, turn_index, detail, row_key)) as detail
        from quality.violations
        where dialogue_key is not null
        group by rule_id, corpus_id
        """
    ).fetchall()
    assert len(rules) > 10
    there = {path.name: Page(path).text() for path in site.glob("dialogue-*.html")}
    of_one_corpus = {
        rule for (rule,) in con.execute("select rule_id from quality.violation_rules where corpus_id <> ''").fetchall()
    }
    for rule, _, dialogue_key, detail in rules:
        if rule in of_one_corpus:
            reported = " ".join(there[page_name(dialogue_key)].split())
            assert " ".join(f"{rule}: {harmless(detail)}".split()) in reported
            assert dialogue_key in reported


def test_dictionary_has_the_joins_and_the_corpora_that_fill_a_column(site: Path, con) -> None:
    rows = {row[0].strip(): [cell.strip() for cell in row[3:]] for row in Page(site / "dictionary.html").table_rows}
    assert rows["canonical_values"][0] == "sgd"
    (first,) = con.execute(
        "select canonical_values from core.fct_actions where canonical_values <> [] limit 1"
    ).fetchone()
    assert rows["canonical_values"][1] == json.dumps(first, ensure_ascii=False)
    text = " ".join(Page(site / "dictionary.html").text().split())
    assert "core.dim_slots on corpus_id, split, service, slot_name = slot" in text


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", [*PAGES, "dialogue-*"])
def test_page_needs_no_network_and_fits_the_window(site: Path, browser: Browser, name: str, width: int) -> None:
    largest = max(site.glob(f"{name}.html"), key=lambda path: path.stat().st_size)
    visit = browser.open(largest.as_uri(), width, "light")
    assert browser.evaluate("innerWidth") == width
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    browser.evaluate(
        "document.querySelectorAll('button[aria-controls]').forEach((button) => button.click());"
        "document.querySelectorAll('details').forEach((details) => { details.open = true; })"
    )
    for scheme, color in BACKGROUNDS.items():
        browser.use(scheme)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, scheme
        assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == color
    assert [url for url in visit.requests if not url.startswith((site.as_uri(), "data:,"))] == []
    assert visit.problems == []


def test_hostile_corpus_does_no_harm(hostile_folder: Path, browser: Browser, tmp_path: Path) -> None:
    site = tmp_path / "site"
    written = run_command("report", "--warehouse", hostile_folder, "--to", site)
    assert written.returncode == 0, written.stderr
    largest = sorted(site.glob("dialogue-*.html"), key=lambda path: path.stat().st_size)[-5:]
    for page in [*largest, *(site / f"{name}.html" for name in ("corpora", "violations", "dictionary"))]:
        visit = browser.open(page.as_uri(), 360, "light")
        assert [url for url in visit.requests if not url.startswith((site.as_uri(), "data:,"))] == [], page.name
        assert visit.problems == [], page.name
        assert browser.evaluate("document.querySelectorAll('script:not([src=\"report.js\"]), img, iframe').length") == 0
        browser.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 360, page.name
    reported = "".join(page.read_text(encoding="utf-8") for page in largest)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in reported
    assert not {"\x1b", "\u202e", "\x07"} & set(reported)


def test_documentation_of_dbt_opens_without_a_network(site: Path, browser: Browser) -> None:
    browser.open("about:blank", 1280, "light")
    visit = browser.open(f"{(site / DBT_DOCS).as_uri()}#!/model/model.dialogue_warehouse.fct_turns", 1280, "light")
    waited = time.monotonic() + 30
    while "turn_key" not in browser.evaluate("document.body.innerText"):
        assert time.monotonic() < waited
        time.sleep(0.2)
    assert [url for url in visit.requests if not url.startswith((f"{site.as_uri()}/{DBT_DOCS}", "data:"))] == []
    assert visit.problems == []


def test_filters_of_a_link_and_a_search_narrow_the_ledger(site: Path, browser: Browser, con) -> None:
    browser.open(f"{(site / 'claims.html').as_uri()}?outcome=not_checkable", 1280, "light")
    shown = "[...document.querySelectorAll('[data-row]')].filter((row) => !row.hidden).map((row) => row.id)"
    found = con.execute("select count(*) from quality.claim_checks where verdict = 'not_checkable'").fetchone()
    assert len(browser.evaluate(shown)) == found[0] > 0
    (claim_id,) = con.execute("select claim_id from quality.claims order by claim_id limit 1").fetchone()
    browser.open(f"{(site / 'claims.html').as_uri()}?search={claim_id}#{claim_id}", 1280, "light")
    assert claim_id in browser.evaluate(shown)
    assert browser.evaluate(f"!document.getElementById({json.dumps(claim_id + '-more')}).hidden")


def test_tables_are_sorted_by_a_click(site: Path, browser: Browser) -> None:
    browser.open((site / "violations.html").as_uri(), 1280, "light")
    cases = "[...document.querySelectorAll('#rules > tbody')].map((one) => one.rows[0].cells[3].textContent)"
    press = "[...document.querySelectorAll('#rules > thead button')][3].click()"
    first = [int(text.replace(",", "")) for text in browser.evaluate(cases)]
    browser.evaluate(press)
    assert [int(text.replace(",", "")) for text in browser.evaluate(cases)] == sorted(first)
    browser.evaluate(press)
    falling = [int(text.replace(",", "")) for text in browser.evaluate(cases)]
    assert falling == sorted(first, reverse=True)
    assert falling != first
    assert browser.evaluate("document.querySelectorAll('#rules > thead [aria-sort]').length") == 1


def test_search_of_the_dictionary_lists_the_table_of_that_name_first(site: Path, browser: Browser) -> None:
    browser.open(f"{(site / 'dictionary.html').as_uri()}?search=fct_turns", 1280, "light")
    shown = "[...document.querySelectorAll('[data-row]')].filter((row) => !row.hidden).map((row) => row.id)"
    found = browser.evaluate(shown)
    assert found[0] == "fct_turns"
    assert len(found) > 5


def test_browser_notices_planted_problems(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        '<div style="width: 900px">wide</div><script src="https://example.org/x.js"></script><script>oops()</script>'
    )
    visit = browser.open(page.as_uri(), 360, "light")
    assert "https://example.org/x.js" in visit.requests
    assert len(visit.problems) == 2
    assert browser.evaluate("document.documentElement.scrollWidth") > 360


EARLIER = "20200101T000000000000Z"
"""The build before the one with changes."""
HOSTILE = "sgd/dev/<script>alert(1)</script>&amp;/0"
"""Key that a corpus could have."""


@pytest.fixture(scope="module")
def changed_site(awkward_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a build with changes of every kind; the clock was set back since the build before."""
    paths = WarehousePaths(shutil.copytree(awkward_folder, tmp_path_factory.mktemp("changed") / "warehouse"))
    build_id, database = builds.published_build(paths)
    database.chmod(0o644)
    with duckdb.connect(str(database)) as con:
        con.execute(
            f"insert into quality.builds select * replace ('{EARLIER}' as build_id, 'elsewhere' as source, "
            "started_at + interval 1 day as started_at, finished_at + interval 1 day as finished_at) from quality.builds"
        )
        claims = con.execute(
            "select claim_id from quality.claims where corpus_id = 'sgd' order by 1 limit 2"
        ).fetchall()
        rules = con.execute(
            "(from quality.violation_rules where corpus_id = 'sgd' limit 1) union all "
            "(from quality.violation_rules where corpus_id is null limit 1)"
        ).fetchall()
        names = [rule[0] for rule in rules]
        two, another = [claim_id for (claim_id,) in claims], ["reproduced: 2", "refuted: [[2, null]]"]
        for kind, table, corpus, change, count, keys, before, after in (
            ("row", "core.fct_turns", "sgd", "added", 12345, [HOSTILE, "b", "c"], None, None),
            ("row", "core.fct_votes", "bbai", "removed", 1, ["bbai/test/00000/vote/none"], None, None),
            ("claim", "quality.claim_checks", "sgd", "changed", 2, two, ["reproduced: 1"] * 2, another),
            ("claim", "quality.claim_checks", "sgd", "removed", 1, ["gone"], ["vacuous"], [None]),
            ("rule", "quality.violations", "sgd", "changed", 2, names, ["0", "1"], ["7", "0"]),
            ("column", None, None, "changed", 1, ["core.fct_frames.mood is new, VARCHAR"], None, None),
        ):
            values = [build_id, EARLIER, kind, table, corpus, change, count, keys, before, after]
            con.execute("insert into quality.build_changes values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    to = tmp_path_factory.mktemp("report") / "site"
    completed = run_command("report", "--warehouse", paths.root, "--to", to)
    assert completed.returncode == 0, completed.stderr
    return to


def test_first_build_has_no_earlier_build(site: Path) -> None:
    text = (site / "changes.html").read_text(encoding="utf-8")
    assert "First build: nothing to compare with." in text
    assert "data-row" not in text


def test_changes_lead_to_the_table_the_claim_and_the_rule(changed_site: Path) -> None:
    """If this build still has them; a claim that was removed has no place on its page."""
    page = Page(changed_site / "changes.html")
    links = [link for link in page.links if "#" in link and not link.startswith("#")]
    assert sorted(link.partition("#")[0] for link in links) == [
        *("claims.html", "claims.html", "dictionary.html", "dictionary.html", "violations.html", "violations.html")
    ]
    for link in links:
        name, _, fragment = link.partition("#")
        assert unquote(fragment) in Page(changed_site / name).ids, link
    lines = [[" ".join(cell.split()) for cell in row] for row in page.table_rows]
    assert ["bbai", "core.fct_votes", "removed", "1", "bbai/test/00000/vote/none"] in lines
    assert not [link for link in page.links if "vote/none" in link]
    assert ["sgd", "core.fct_turns", "added", "12,345", f"{HOSTILE} open b c and 12,342 more"] in lines
    assert ["sgd", "gone", "removed", "vacuous", "–"] in lines
    assert [line[2:] for line in lines if line[0] == "sgd" and line[2] in ("another verdict", "changed")] == [
        ["another verdict", "reproduced: 1", "refuted: 2 NULL"],  # before the one with another number
        ["changed", "reproduced: 1", "reproduced: 2"],
        ["changed", "0", "7"],
        ["changed", "1", "0"],
    ]
    assert ["core.fct_frames.mood is new, VARCHAR"] in lines
    assert "<script>alert" not in (changed_site / "changes.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [360, 1280])
def test_page_of_changes_fits_the_window_and_narrows_to_a_kind(
    changed_site: Path, browser: Browser, width: int
) -> None:
    address = (changed_site / "changes.html").as_uri()
    visit = browser.open(address, width, "light")
    for scheme in BACKGROUNDS:
        browser.use(scheme)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, scheme
    assert visit.problems == []
    shown = "[...document.querySelectorAll('section')].filter((one) => one.offsetHeight).map((one) => one.innerText)"
    assert len(browser.evaluate(shown)) == 4
    browser.open("about:blank", width, "light")
    browser.open(f"{address}?kind=rule&corpus=sgd", width, "light")
    (rules,) = browser.evaluate(shown)
    assert rules.startswith("Rules with another number of cases")
    assert browser.evaluate("document.querySelector('[data-shown]').innerText") == "2 of 8 changes"


def test_foreign_report_folder_is_rejected_in_one_line(warehouse: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    completed = run_command("report", "--warehouse", warehouse, "--to", tmp_path)
    assert completed.returncode == 2
    assert (
        completed.stderr
        == f"error: {tmp_path} contains something other than a report: not overwritten; `report --to FOLDER` writes one elsewhere\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_report_replaces_an_earlier_one(site: Path, warehouse: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "site")
    (tmp_path / "site" / page_name("a dialogue that is gone")).write_text("old")
    assert run_command("report", "--warehouse", warehouse, "--to", tmp_path / "site").returncode == 0
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == sorted(path.name for path in site.iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_nothing_published_names_the_folders_that_lead_to_the_source(awkward_folder: Path, awkward_releases: Path):
    """Regression: the absolute path of the releases, with a user's name, was in quality.builds and on five pages."""
    above = os.path.commonpath([awkward_folder, awkward_releases])
    reported = os.path.relpath(awkward_releases, awkward_folder)
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        assert con.execute("select distinct source from quality.builds").fetchall() == [(reported,)]
        tables = con.execute("select format('{}.{}', schema_name, table_name) from duckdb_tables()").fetchall()
        found = [
            name for (name,) in tables if con.sql(f"from {name} as t where contains(cast(t as varchar), '{above}')")
        ]
    pages = [page for page in (awkward_folder / "reports").rglob("*") if page.is_file()]
    found += [page.name for page in pages if above.encode() in page.read_bytes()]
    assert (found, len(pages) > 4) == ([], True)
