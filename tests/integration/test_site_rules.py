"""The links of the overview and of the page of a rule: none leads to an empty list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from starlette.testclient import TestClient

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.site.application import application
from tests.conftest import rows
from tests.integration.site_pages import HOME, Page, opened, total_on


@pytest.fixture(scope="module")
def client(sample_folder: Path) -> Iterator[TestClient]:
    with TestClient(application(WarehousePaths(sample_folder), Settings()), HOME) as client:
        yield client


def test_links_of_a_rule_lead_to_all_dialogues_of_its_cases(client: TestClient, sample_warehouse: Path) -> None:
    """Regression: a rule whose cases are by design in some corpus linked no dialogue of that corpus."""
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        counts = rows(
            con,
            "select rule_id, count(distinct dialogue_key) from quality.violations where rule_id in"
            " (select rule_id from quality.violation_rules where corpus_id is null) group by all order by all",
        )
    assert counts
    for rule, count in counts:
        links = Page(opened(client, f"/violations.html?rule={rule}")).links
        lists = [link for link in links if link.startswith("dialogues?") and not link.startswith("dialogues?key=")]
        assert sum(total_on(opened(client, f"/{link}")) for link in lists) == count, rule


def test_rule_whose_cases_are_in_no_dialogue_links_no_list_of_dialogues(
    client: TestClient, sample_warehouse: Path
) -> None:
    """Regression: the link led to an empty list."""
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        found = rows(
            con, "select rule_id, corpus_id, count(dialogue_key) = 0 from quality.violations group by all order by all"
        )
    assert {is_empty for *_, is_empty in found} == {True, False}
    for rule, corpus, is_empty in found:
        links = Page(opened(client, f"/violations.html?rule={rule}&corpus={corpus}")).links
        lists = [link for link in links if link.startswith(("dialogues?defect=", "dialogues?by_design="))]
        assert bool(lists) is not is_empty, (rule, corpus)
        assert all(total_on(opened(client, f"/{link}")) for link in lists), (rule, corpus)


def test_overview_links_no_empty_list(client: TestClient) -> None:
    """Regression: a number of 0 was a link, too."""
    links = {link for link in Page(opened(client, "/")).links if link.startswith(("claims", "violations", "expect"))}
    assert "violations.html?kind=defect" in links
    assert [link for link in sorted(links) if "Nothing matches" in opened(client, f"/{link}")] == []
