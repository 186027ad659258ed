"""The week of events that `make faults` plays: what is written down before it begins."""

from __future__ import annotations

import random

import pytest

from tests.faults.week import EVENTS, Expected, agree, plan

WEEK = [*plan(random.Random("a week"), 2_000)]


def test_week_has_every_event_and_is_the_same_for_the_same_seed() -> None:
    assert {expected.event for expected in WEEK} == set(EVENTS)
    assert [*plan(random.Random("a week"), 2_000)] == WEEK
    assert [*plan(random.Random("another week"), 2_000)] != WEEK


def test_damage_lasts_until_it_is_mended() -> None:
    is_damaged = False
    for expected in WEEK:
        if is_damaged:
            assert expected.event in ("mended", "nothing", "touched")
        else:
            assert expected.event != "mended"
        is_damaged = expected.event == "damaged" or (is_damaged and expected.event != "mended")


def test_new_files_are_built_once_and_nothing_else_is() -> None:
    before = Expected("nothing", 0, ())
    for expected in WEEK:
        is_built = expected.event in ("arrives", "damaged", "mended", "run", "daemon", "service")
        assert expected.builds - before.builds == is_built
        assert (len(expected.alerts) > len(before.alerts)) == (is_built and expected.event != "arrives")
        before = expected


@pytest.mark.parametrize(
    ("found", "expected", "is_so"),
    [
        ([], (), True),
        (["failure"], (), False),
        ([], ("failure",), False),
        (["failure", "recovery"], ("failure", "recovery"), True),
        ([], ("(failure)", "(recovery)"), True),
        (["failure"], ("(failure)", "(recovery)"), False),
        (["failure", "recovery"], ("(failure)", "(recovery)"), True),
        (["failure", "recovery", "failure"], ("(failure)", "(recovery)", "failure"), True),
        (["failure"], ("(failure)", "(recovery)", "failure"), True),
        (["failure", "recovery", "failure", "recovery"], ("(failure)", "(recovery)"), False),
    ],
)
def test_alerts_of_a_killed_run_may_be_missing_as_a_pair(
    found: list[str], expected: tuple[str, ...], is_so: bool
) -> None:
    assert agree(found, expected) == is_so
