"""Random predictions for every corpus with metrics: the plain computation reads all of them, and they are not all right.

The metrics of each corpus are compared with values of the official script, and with numbers counted by hand, in
`tests/fixtures/<corpus>/test_score_oracle.py`.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from tests import fixtures

SCORES = fixtures.load_all("score")
MAKERS = fixtures.load_all("predictions")


def written(place: Path) -> dict[str, bytes]:
    """Return the bytes of the files of predictions by path."""
    paths = [place] if place.is_file() else sorted(place.iterdir())
    return {path.name: path.read_bytes() for path in paths}


def test_corpus_with_metrics_has_a_maker_of_predictions() -> None:
    assert MAKERS.keys() == SCORES.keys()


@pytest.mark.parametrize("corpus_id", SCORES)
def test_same_seed_makes_the_same_predictions(corpus_id, generated_sample, tmp_path) -> None:
    folder, predict = generated_sample / corpus_id, MAKERS[corpus_id].predict
    split = SCORES[corpus_id].splits(folder)[0]
    first, second, other = (
        written(predict(folder, split, tmp_path / name, seed)) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("corpus_id", SCORES)
@pytest.mark.parametrize("is_edited", [False, True], ids=["generated", "edited"])
def test_random_predictions_are_scored_in_every_mode(corpus_id, generated_sample, tmp_path, is_edited: bool) -> None:
    folder, oracle = tmp_path / corpus_id, SCORES[corpus_id]
    shutil.copytree(generated_sample / corpus_id, folder)
    if is_edited:
        MAKERS[corpus_id].edit_gold(folder, 1)
    values = []
    for split in oracle.splits(folder):
        place = MAKERS[corpus_id].predict(folder, split, tmp_path / split, 1)
        for mode in oracle.MODES:
            metrics, units = oracle.score(folder, split, place, mode)
            assert units
            values += [value for named in metrics.values() for value in named.values()]
    assert all(math.isfinite(value) for value in values)
    assert any(0 < value < 1 for value in values)
