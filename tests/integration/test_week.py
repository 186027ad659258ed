"""A short week of the service: every kind of tick once. `make faults` plays 200 that are drawn."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.week import Place, Tick, play

SHORT = [
    *(Tick("part"), Tick("whole"), Tick(is_daily=True)),
    *(Tick("cut"), Tick(), Tick("touch")),
    *(Tick("whole"), Tick(killed="service"), Tick()),
    Tick("roll back"),
    *(Tick("whole"), Tick(killed="daemon"), Tick(killed="run")),
]
"""A copy, both triggers at once; a damaged file, mended while all is killed; a build gone back from; two more kills."""


@pytest.mark.timeout(1800)
def test_short_week_is_as_expected_before(tmp_path: Path) -> None:
    outcome = play(Place(tmp_path, random.Random(1)), SHORT)
    assert outcome.problems == []
    assert outcome.times == len(SHORT)
