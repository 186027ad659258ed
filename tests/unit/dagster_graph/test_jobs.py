"""The schedule: what it compares itself, and what it leaves to a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import ownership
from pipelines.building import fingerprint

CORPUS = registry.load_corpora()[0]
FILE = next(file.path for file in CORPUS.files if CORPUS.entity_of(file.path))


@pytest.mark.parametrize(("size", "is_left_to_the_run"), [(1000, False), (1001, True)])
def test_large_source_is_compared_by_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, is_left_to_the_run: bool
) -> None:
    """Regression: the comparison took longer than the minute after which Dagster stops a schedule, each day."""
    import dagster as dg

    from pipelines.dagster_graph import jobs

    file = tmp_path / "source" / CORPUS.corpus_id / FILE
    file.parent.mkdir(parents=True)
    file.write_bytes(b" " * size)
    settings = Settings(source=tmp_path / "source", warehouse=tmp_path / "warehouse")
    ownership.claim(WarehousePaths(settings.warehouse))
    monkeypatch.setattr(jobs, "LARGEST_COMPARED", 1000)
    monkeypatch.setattr(fingerprint, "nothing_new", lambda _: "nothing has changed")
    answer = jobs.build_or_skip(settings)
    assert isinstance(answer, dg.RunRequest if is_left_to_the_run else dg.SkipReason)
