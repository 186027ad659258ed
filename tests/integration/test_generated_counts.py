"""A release generated at scale 1 has every number that the publications claim as a count, in its true form.

The release is generated once and read as tables once; `tests/fixtures/<corpus>/counts.py` lists the numbers.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from tests import fixtures
from tests.conftest import read_releases
from tests.fixtures.shapes import Count

COUNTS = fixtures.load_all("counts")
EVERY = [
    pytest.param(corpus_id, count, id=f"{corpus_id}-{count.row}-{count.what}")
    for corpus_id, module in COUNTS.items()
    for count in module.COUNTS
]


@pytest.fixture(scope="module")
def small_tables(generated_sample: Path) -> dict[str, duckdb.DuckDBPyConnection]:
    """Map each corpus to the files of the embedded sample as tables."""
    return read_releases(generated_sample)


@pytest.mark.parametrize(("corpus_id", "count"), EVERY)
def test_scale_1_has_the_documented_number(scale_1_tables, corpus_id: str, count: Count):
    assert count.answer(scale_1_tables[corpus_id]) == count.expected


@pytest.mark.parametrize(("corpus_id", "count"), EVERY)
def test_smaller_release_has_only_the_numbers_that_do_not_depend_on_its_size(
    small_tables, corpus_id: str, count: Count
):
    assert (count.answer(small_tables[corpus_id]) == count.expected) == count.at_any_scale


@pytest.mark.parametrize("corpus_id", COUNTS)
def test_every_corpus_has_a_number_of_each_kind(corpus_id: str) -> None:
    assert {count.at_any_scale for count in COUNTS[corpus_id].COUNTS} == {True, False}


@pytest.mark.parametrize("corpus_id", COUNTS)
def test_files_are_about_as_large_as_the_published_ones(scale_1_release: Path, corpus_id: str):
    listed = {file.path: file.bytes for file in registry.load_corpus(corpus_id).files if file.bytes}
    sizes = {path: (scale_1_release / corpus_id / path) for path in listed}
    found = {path: file.stat().st_size for path, file in sizes.items() if file.exists()}
    assert set(listed) - set(found) == COUNTS[corpus_id].NOT_GENERATED
    assert found == {path: pytest.approx(listed[path], rel=0.15) for path in found}
