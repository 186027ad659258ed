"""Scores of predictions, and golden values where they are at hand: `score` beside the folder of the real releases.

The predictions are made from the real releases by the programs of that folder. Nothing of it is in this repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dialogue_warehouse.corpora.scores import load_scoring
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.scoring.examples import write_examples
from dialogue_warehouse.scoring.running import Request, Scores, score_published
from dialogue_warehouse.settings import Settings


def folder(real_corpora: Path) -> Path:
    """Return the folder of the golden values; skip the test if it is not there."""
    found = real_corpora.parent / "score"
    if not found.is_dir():
        pytest.skip(f"no golden values: {found} is not there")
    return found


def values(real_corpora: Path, name: str) -> Any:
    """Return the content of a file of golden values."""
    return json.loads((folder(real_corpora) / name).read_text(encoding="utf-8"))


def run(real_corpora: Path, code: str, *arguments: object) -> None:
    """Run Python code in a process that can import the programs that make predictions."""
    command = [sys.executable, "-B", "-W", "ignore", "-c", code, *map(str, arguments)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(folder(real_corpora))}, capture_output=True)


@contextmanager
def scored(warehouse: Path, corpus_id: str, predictions: Path, **options: Any) -> Iterator[Scores]:
    """Score predictions against a warehouse."""
    request = Request(corpus_id, predictions, **options)
    with score_published(WarehousePaths(warehouse), Settings(), request) as scores:
        yield scores


def options_of(corpus_id: str) -> dict[str, Any]:
    """Return the option of the split, for a corpus that needs one."""
    return {"split": "test"} if load_scoring(corpus_id).declaration.has_split else {}


def example(warehouse: Path, corpus_id: str, folder: Path) -> Path:
    """Write the examples of a corpus, and return the first file."""
    split = options_of(corpus_id).get("split")
    return write_examples(WarehousePaths(warehouse), Settings(), corpus_id, split, folder)[0]


def metrics(scores: Scores, column: str = "value") -> dict[tuple[str, str, str | None], float | None]:
    """Return the scores by group, metric and variant."""
    found = scores.con.execute(f"select group_name, metric, variant, {column} from scores.metrics").fetchall()
    return {(group, metric, variant): value for group, metric, variant, value in found}


SEEDS = (11, 12)
"""Seeds of random predictions that the plain computation scores, too."""
WORDS = {"dev": "validation", "woz": "none"}
"""The warehouse's words for splits, where the publishers have others."""


def same(found: float | None, expected: float | None) -> bool:
    """Return whether two numbers are equal, up to the rounding of sums."""
    if found is None or expected is None:
        return found is expected
    return abs(found - expected) <= 1e-9
