"""The served pages of scores in a real browser: layout, requests, the choice of a metric, links to dialogues and SQL."""

from __future__ import annotations

import pytest

from tests.integration.browsed_site import Site

LINK = "document.querySelector('main a[href^=\"scores.html?run=\"]')"
LOADED = "document.readyState === 'complete'"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280, 1600])
def test_every_page_fits_and_sends_no_request_elsewhere(scored: Site, width: int, scheme: str) -> None:
    pages = scored.score_pages()
    assert len(pages) > 2
    for page in pages:
        visit = scored.open(page, width, scheme)
        scored.unfold()
        assert scored.browser.evaluate("document.documentElement.scrollWidth") <= width, page
        assert (scored.foreign(visit), visit.problems) == ([], []), page


def test_run_opens_from_the_menu_and_back_returns(scored: Site) -> None:
    visit = scored.open("/")
    scored.browser.evaluate("document.querySelector('header a[href=\"scores.html\"]').click()")
    scored.once(f"Boolean({LINK}) && {LOADED}")
    name = scored.browser.evaluate(f"{LINK}.innerText")
    scored.browser.evaluate(f"{LINK}.click()")
    scored.once(f"location.search.startsWith('?run=') && {LOADED}")
    assert scored.browser.evaluate("document.querySelector('h1').innerText").startswith(name)
    scored.browser.evaluate("setTimeout(() => history.back())")
    scored.once(f"document.querySelector('h1').innerText === 'Scores' && {LOADED}")
    assert (scored.foreign(visit), visit.problems) == ([], [])


def test_chosen_metric_is_in_the_address_and_in_the_heading(scored: Site) -> None:
    scored.open("/scores.html")
    chosen = scored.browser.evaluate(
        "(() => { const select = document.querySelector('main [name=metric]');"
        " select.selectedIndex = select.options.length - 1; return select.value; })()"
    )
    scored.browser.evaluate("document.querySelector('main [type=submit]').click()")
    scored.once(f"location.search.includes('metric={chosen}') && {LOADED}")
    assert scored.browser.evaluate("document.querySelector('main h2 code').innerText") == chosen
    assert scored.browser.evaluate("document.querySelector('main [name=metric]').value") == chosen


def test_error_of_a_slot_opens_in_the_dialogue(scored: Site) -> None:
    run = "document.querySelector('#slots ~ .scroll tbody button')"
    key = "document.querySelector('#slots ~ .scroll .more:not([hidden]) a[href^=\"dialogues?key=\"]')"
    for page in scored.score_pages()[1:]:
        scored.open(page)
        if scored.browser.evaluate(f"Boolean({run})"):
            break
    else:
        pytest.fail("no run has slots")
    assert not scored.browser.evaluate(f"Boolean({key})")
    scored.browser.evaluate(f"{run}.click()")
    assert scored.browser.evaluate(f"{run}.getAttribute('aria-expanded')") == "true"
    opened = scored.browser.evaluate(f"{key}.innerText")
    scored.browser.evaluate(f"{key}.click()")
    scored.once(f"Boolean(document.querySelector('.dialogue .turn')) && {LOADED}")
    dialogue_key = scored.browser.evaluate("document.querySelector('.dialogue').dataset.row")
    assert f"{opened}/".startswith(f"{dialogue_key}/")


def test_query_of_a_list_runs_on_the_page_of_sql(scored: Site) -> None:
    scored.open("/scores.html")
    shown = scored.browser.evaluate("document.querySelector('main table').tBodies[0].rows.length")
    scored.browser.evaluate("document.querySelector('main a[href^=\"sql?query=\"]').click()")
    scored.once(f"Boolean(document.querySelector('.answer table')) && {LOADED}")
    assert scored.browser.evaluate("document.querySelector('.answer table').tBodies[0].rows.length") == shown
