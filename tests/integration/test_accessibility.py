"""axe-core finds nothing on a page of any kind, in dark colors on a phone and in light colors on a desk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.browsed_site import Site

AXE = (Path(__file__).parent / "axe_core" / "axe.min.js").read_text(encoding="utf-8")
RUN = """
axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => JSON.stringify(
    violations.map(({id, nodes}) => [id, nodes.map((node) => [node.target.join(" "), node.failureSummary])])
))
"""
SCREENS = pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
"""A phone and a desk. A rule about colors finds the same at both widths, any other one in both color schemes."""


def violations(site: Site) -> list[list]:
    """Return the rules that the open page breaks, with the places."""
    return json.loads(site.browser.evaluate(RUN))


def opened(site: Site, page: str, width: int, scheme: str) -> None:
    """Open a page with everything unfolded, and axe-core in it."""
    site.open(page, width, scheme)
    site.unfold()
    site.browser.evaluate(f"{AXE}; 0")


def violations_of(site: Site, pages: list[str], width: int, scheme: str) -> dict[str, list[list]]:
    """Return the rules that the pages break."""
    found = {}
    for page in pages:
        opened(site, page, width, scheme)
        assert site.browser.evaluate(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        found[page] = violations(site)
    return {page: broken for page, broken in found.items() if broken}


@SCREENS
def test_pages_break_no_rule(sample: Site, width: int, scheme: str) -> None:
    assert violations_of(sample, [*sample.pages(), "/nothing"], width, scheme) == {}


@SCREENS
def test_pages_of_scores_break_no_rule(scored: Site, width: int, scheme: str) -> None:
    assert violations_of(scored, scored.score_pages(), width, scheme) == {}


@pytest.mark.parametrize(("scheme", "faint"), [("light", "#bbb"), ("dark", "#444")])
def test_fault_is_found(sample: Site, scheme: str, faint: str) -> None:
    opened(sample, "/builds", 1280, scheme)
    assert violations(sample) == []
    sample.browser.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<input type=text>')")
    sample.browser.evaluate(f"document.querySelector('main p').style.color = '{faint}'; 0")
    assert {rule for rule, _ in violations(sample)} == {"color-contrast", "label"}
