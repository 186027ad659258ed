"""The quick part of `make faults`: faults that no other test has, each once; `tests/README.md` lists the others.

Their random moments and cases differ from commit to commit, as in `test_any_release_survives.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tests.conftest import rows
from tests.faults.__main__ import FAULTS, PAGE, page
from tests.faults.scene import Ended, Outcome, Scene, States
from tests.integration.random_releases import SEED

QUICK = {row.name: row for row in FAULTS if row.quick}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, sample_folder: Path, disturbed_folder: Path) -> Iterator[Scene]:
    """Return one scene for all faults: each fault leaves it unchanged. Its states are builds of other tests."""
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        ((seconds,),) = rows(con, "select epoch(max(finished_at - started_at)) from quality.builds")
    states = States(sample_folder, disturbed_folder, disturbed_folder / "releases", seconds)
    scene = Scene(tmp_path_factory.mktemp("faults"), random.Random(SEED), states)
    yield scene
    scene.close()


@pytest.mark.parametrize("name", QUICK)
def test_fault_leaves_nothing_that_must_not_be(scene: Scene, name: str) -> None:
    happen, title = QUICK[name].quick, QUICK[name].title
    assert happen is not None
    outcome = happen(scene, 1)
    assert outcome.problems == [], f"DIALOGUE_SEED={SEED} gives this case again"
    assert outcome.saw
    assert outcome.left
    written = page({name: outcome}, PAGE.read_text(encoding="utf-8"))
    assert f"| {title} | not yet" not in written
    assert f"| {title} | {datetime.now(tz=UTC).date()} | {outcome.times} | " in written
    assert page({}, written) == written


def test_what_must_not_be_is_a_problem(scene: Scene) -> None:
    """The check of the results: it notices a traceback, a remaining file, a mixed state, a wrong status."""
    outcome = Outcome()
    scene.judge(outcome, Ended(1, "", "Traceback (most recent call last):\n  x\n"), {0}, "it")
    assert [problem.split(":")[1] for problem in outcome.problems] == [" status 1", " Traceback was seen"]
    outcome = Outcome()
    scene.inspect(outcome, "it")
    assert outcome.problems == ["it: the next build has another content"]
    outcome = Outcome()
    (scene.paths.root / "half.tmp").touch()
    scene.paths.published.chmod(0o644)
    with duckdb.connect(str(scene.paths.published)) as con:
        con.execute("delete from core.fct_turns where turn_index = 1")
    assert scene.left(outcome) == "neither"
    assert outcome.problems == [": a reader sees neither build, or a part"]
    scene.inspect(outcome, "it")
    assert outcome.problems[-2:] == ["it: the published build is damaged", "it: left behind: ['half.tmp']"]
    scene.restore()
