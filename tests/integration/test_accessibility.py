"""axe-core finds nothing on a page of any kind, in light and dark colors, on a phone and on a desk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.browsed_site import Site

AXE = (Path(__file__).parent / "axe_core" / "axe.min.js").read_text(encoding="utf-8")
RUN = """
axe.run(document, {resultTypes: ["violations"], ...OPTIONS}).then(({violations}) => JSON.stringify(
    violations.map(({id, nodes}) => [id, nodes.map((node) => [node.target.join(" "), node.failureSummary])])
))
"""
COLORS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules about colors. The other ones find the same in both color schemes."""
WIDTHS = pytest.mark.parametrize("width", [360, 1280])


def violations(site: Site, options: dict[str, object] | None = None) -> list[list]:
    """Return the rules that the open page breaks, with the places."""
    return json.loads(site.browser.evaluate(RUN.replace("OPTIONS", json.dumps(options or {}))))


def opened(site: Site, page: str, width: int) -> None:
    """Open a page with everything unfolded, and axe-core in it."""
    site.open(page, width)
    site.unfold()
    site.browser.evaluate(f"{AXE}; 0")


def violations_of(site: Site, pages: list[str], width: int) -> dict[str, list[list]]:
    """Return the rules that the pages break, in light and dark colors."""
    found = {}
    for page in pages:
        opened(site, page, width)
        found[page] = violations(site)
        site.browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        assert site.browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        found[page] += violations(site, COLORS)
    return {page: broken for page, broken in found.items() if broken}


@WIDTHS
def test_pages_break_no_rule(sample: Site, width: int) -> None:
    assert violations_of(sample, [*sample.pages(), "/nothing"], width) == {}


@WIDTHS
def test_pages_of_scores_break_no_rule(scored: Site, width: int) -> None:
    assert violations_of(scored, scored.score_pages(), width) == {}


def test_fault_is_found(sample: Site) -> None:
    opened(sample, "/builds", 1280)
    assert violations(sample) == []
    sample.browser.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<input type=text>')")
    assert [rule for rule, _ in violations(sample)] == ["label"]
    opened(sample, "/builds", 1280)
    sample.browser.evaluate("document.querySelector('main p').style.color = '#bbb'; 0")
    assert [rule for rule, _ in violations(sample, COLORS)] == ["color-contrast"]
