"""The week that `make faults` plays: its ticks, and what is computed before it begins."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Any

import pytest

from tests.faults.week import SCRIPTS, Build, Expected, Tick, content, content_of, differences, expect, plan

WEEK = plan(random.Random("a week"), 5_000)
FIRST = [Tick("whole"), Tick()]
"""The first build."""


def last(*ticks: Tick) -> Expected:
    """Return what must be true after the first build and these ticks."""
    return expect([*FIRST, *ticks])[-1]


def test_week_has_every_tick_and_is_the_same_for_the_same_seed() -> None:
    assert {tick for script, _ in SCRIPTS.values() for tick in script} == set(WEEK)
    assert plan(random.Random("a week"), 5_000) == WEEK
    assert plan(random.Random("another week"), 5_000) != WEEK
    assert len(plan(random.Random("a week"), 200)) == 200


def test_damage_lasts_until_it_is_mended_and_no_version_is_built_before_it_is_whole() -> None:
    is_cut, before = False, Expected(0, None, (), ())
    for tick, expected in zip(WEEK, expect(WEEK), strict=True):
        assert not (is_cut and tick.action in ("cut", "roll back"))
        is_cut = tick.action == "cut" or (is_cut and tick.action != "whole")
        assert not (is_cut and tick.killed)
        if tick.action in ("part", "whole", "cut", "touch"):
            assert expected.builds == before.builds  # the file still changes
        assert expected.builds - before.builds in (0, 1)
        assert len(expected.kept) <= 3
        assert expected.published is None or expected.published in expected.kept
        before = expected


def test_alerts_of_a_week_are_failures_and_recoveries_in_turn_but_for_another_failure() -> None:
    alerts = expect(WEEK)[-1].alerts
    assert alerts.count("failure") > 100
    assert "recovery, recovery" not in ", ".join(alerts)
    assert alerts[0] == "failure"


@pytest.mark.parametrize(
    ("ticks", "builds", "published", "alerts"),
    [
        ([], 1, Build(1), ()),
        ([Tick("whole"), Tick()], 2, Build(2), ()),
        ([Tick("part"), Tick("whole"), Tick(), Tick()], 2, Build(3), ()),
        ([Tick("touch"), Tick()], 1, Build(1), ()),
        ([Tick("whole"), Tick(is_daily=True)], 2, Build(2), ()),
        ([Tick("cut"), Tick()], 2, Build(1, 2), ("failure",)),
        ([Tick("cut"), Tick(), Tick(is_daily=True), Tick("touch"), Tick()], 2, Build(1, 2), ("failure",)),
        ([Tick("cut"), Tick(), Tick("whole"), Tick()], 3, Build(3), ("failure", "recovery")),
        ([Tick("whole"), Tick(), Tick("roll back")], 2, Build(1), ()),
        ([Tick("whole"), Tick(), Tick("roll back"), Tick("touch"), Tick(), Tick(is_daily=True)], 2, Build(1), ()),
        ([Tick("whole"), Tick(), Tick("roll back"), Tick("whole"), Tick()], 3, Build(3), ()),
        ([Tick("whole"), Tick(killed="run")], 2, Build(2), ("failure", "recovery")),
        ([Tick("whole"), Tick(killed="daemon")], 1, Build(1), ()),
        ([Tick("whole"), Tick(killed="daemon"), Tick()], 2, Build(2), ()),
        ([Tick("whole"), Tick(killed="service")], 1, Build(1), ()),
        ([Tick("whole"), Tick(killed="service"), Tick(), Tick()], 2, Build(2), ("failure", "recovery")),
    ],
)
def test_rules_by_hand(ticks: list[Tick], builds: int, published: Build, alerts: tuple[str, ...]) -> None:
    expected = last(*ticks)
    assert (expected.builds, expected.published, expected.alerts) == (builds, published, alerts)


def test_oldest_build_is_removed() -> None:
    assert last(*FIRST * 3).kept == (Build(2), Build(3), Build(4))


def seen(expected: Expected, **changes: Any) -> dict[str, Any]:
    """Return what the player would write if all is as expected, with some changes."""
    found = asdict(expected) | {"alerts": [*expected.alerts], "unfinished": []}
    found["published"] = expected.published and content(expected.published)
    return found | {"kept": [content(build) for build in expected.kept]} | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"builds": 3},
        {"published": content(Build(1))},
        {"kept": [content(Build(2))]},
        {"alerts": []},
        {"alerts": ["failure", "recovery", "recovery"]},
        {"unfinished": ["STARTED"]},
    ],
)
def test_each_difference_is_a_problem(changes: dict[str, Any]) -> None:
    expected = last(Tick("whole"), Tick(killed="run"))
    assert [*differences(3, Tick(), expected, seen(expected))] == []
    (problem,) = differences(3, Tick(), expected, seen(expected, **changes))
    assert problem.startswith("tick 3, ")
    assert next(iter(changes)) in problem or "have not ended" in problem


def test_versions_of_the_file_differ_and_only_whole_ones_are_whole() -> None:
    whole = b"x" * 9_000
    versions = [content_of(whole, number, "whole" if number % 2 else "part") for number in range(1, 1_000)]
    assert len({*versions}) == len(versions)
    assert all((len(version) >= len(whole)) == bool(number % 2) for number, version in enumerate(versions, 1))
