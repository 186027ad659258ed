"""A release generated at scale 1 holds every number that the publications claim as a count, in the form it is true.

One generation, read as tables once; `generated_counts` says which numbers, and why others are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from pipelines.corpora import registry
from pipelines.intake.simulating import SAMPLE_SCALE, simulate
from tests.integration.generated_counts import COUNTS, RATED_TURNS, RATES, Count, read_release

EVERY = [
    pytest.param(count, id=f"{corpus_id}-{count.row}-{count.what}")
    for corpus_id, counts in COUNTS.items()
    for count in counts
]


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    """All releases at scale 1."""
    folder = tmp_path_factory.mktemp("release")
    simulate(folder, 1, processes=2)
    return folder


@pytest.fixture(scope="module")
def tables(release) -> Iterator[duckdb.DuckDBPyConnection]:
    """The files of scale 1 as tables."""
    with read_release(release) as con:
        yield con


@pytest.fixture(scope="module")
def small_tables(tmp_path_factory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The files of the embedded sample as tables."""
    folder = tmp_path_factory.mktemp("sample")
    simulate(folder, SAMPLE_SCALE)
    with read_release(folder) as con:
        yield con


@pytest.mark.parametrize("count", EVERY)
def test_scale_1_holds_the_documented_number(tables, count: Count):
    assert count.answer(tables) == count.expected


@pytest.mark.parametrize("count", EVERY)
def test_a_smaller_release_holds_only_what_does_not_depend_on_its_size(small_tables, count: Count):
    assert (count.answer(small_tables) == count.expected) == count.at_any_scale


def test_acts_are_about_as_frequent_as_where_they_were_counted(tables):
    (turns,) = tables.execute("select count(*) from sgd_turn").fetchone()
    acts = {
        (speaker, act): count / turns
        for speaker, act, count in tables.execute(
            "select speaker, action.act, count(*) from sgd_act group by all"
        ).fetchall()
    }
    assert acts == {key: pytest.approx(count / RATED_TURNS, rel=0.2) for key, count in RATES.items()}


@pytest.mark.parametrize("corpus_id", COUNTS)
def test_files_are_about_as_large_as_the_published_ones(release, corpus_id):
    listed = {file.path: file.bytes for file in registry.load_corpus(corpus_id).files if file.bytes}
    sizes = {path: (release / corpus_id / path) for path in listed}
    found = {path: file.stat().st_size for path, file in sizes.items() if file.exists()}
    assert set(listed) - set(found) <= {"sample.json", "abcd_sample.json", "LICENSE.txt"}
    assert found == {path: pytest.approx(listed[path], rel=0.15) for path in found}
