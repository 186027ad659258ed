"""The quick part of `make faults`: each fault happens, and its invariants hold afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime

import duckdb
import pytest

from tests.faults.__main__ import FAULTS, SEED, page
from tests.faults.scene import Ended, Outcome, Scene

QUICK = {row.name: row for row in FAULTS if row.quick}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Return one scene for all faults: each fault leaves it unchanged."""
    scene = Scene(tmp_path_factory.mktemp("faults"), random.Random(SEED))
    yield scene
    scene.close()


@pytest.mark.parametrize("name", QUICK)
def test_fault_leaves_nothing_that_must_not_be(scene: Scene, name: str) -> None:
    outcome = QUICK[name].happen(scene, QUICK[name].quick)
    if outcome.lacking:
        pytest.skip(outcome.lacking)
    assert outcome.problems == []
    assert outcome.saw
    assert outcome.left
    written = page({name: outcome})
    assert f"| {QUICK[name].title} | not yet" not in written
    assert f"| {QUICK[name].title} | {datetime.now(tz=UTC).date()} | {outcome.times} | " in written
    assert page({}, written) == written


def test_what_must_not_be_is_a_problem(scene: Scene) -> None:
    """The check of the results: it notices a traceback, a remaining file, a mixed state, a wrong status."""
    outcome = Outcome()
    scene.judge(outcome, Ended(1, "", "Traceback (most recent call last):\n  x\n"), {0}, "it")
    assert [problem.split(":")[1] for problem in outcome.problems] == [" status 1", " Traceback was seen"]
    outcome = Outcome()
    (scene.paths.root / "half.tmp").touch()
    scene.paths.published.chmod(0o644)
    with duckdb.connect(str(scene.paths.published)) as con:
        con.execute("delete from core.fct_turns where turn_index = 1")
    assert scene.left(outcome) == "neither"
    assert outcome.problems == [": a reader sees neither build, or a part"]
    scene.recover(outcome, "it")
    assert outcome.problems[1:] == ["it: left behind: ['half.tmp']"]
    scene.restore()
