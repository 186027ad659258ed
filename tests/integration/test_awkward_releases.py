"""The hand-written releases of all corpora, built whole: no row is lost, and refused records are reported.

The expected result of each awkward case is in `tests/fixtures/<corpus>/test_awkward_release.py`.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from tests.conftest import rows, run_command


def test_nothing_is_lost_on_the_way_to_core(awkward_warehouse: duckdb.DuckDBPyConnection) -> None:
    ((published, staged, conformed, core, quarantined),) = rows(
        awkward_warehouse,
        "select sum(published), sum(staged), sum(conformed), sum(core), sum(quarantined) from quality.row_accounting",
    )
    assert published == staged == conformed == core > 0
    assert rows(awkward_warehouse, "select count(*) from core.source_quarantine") == [(quarantined,)]


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_hand_written_release_has_a_rejected_record(
    awkward_warehouse: duckdb.DuckDBPyConnection, corpus_id: str
) -> None:
    refused = f"select count(*) > 0 from core.source_quarantine where corpus_id = '{corpus_id}'"
    assert rows(awkward_warehouse, refused) == [(True,)]


def test_every_unknown_word_is_a_violation(awkward_warehouse: duckdb.DuckDBPyConnection) -> None:
    unknown = rows(
        awkward_warehouse,
        "select turn_key from core.fct_turns where role = 'unknown' or event_type = 'other' order by all",
    )
    assert unknown
    assert unknown == rows(
        awkward_warehouse,
        "select row_key from quality.violations where rule_id in ('unknown_speaker', 'unknown_event') order by all",
    )


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_strict_build_fails_in_one_line_with_corpus_file_and_path(
    awkward_releases: Path, tmp_path: Path, corpus_id: str
) -> None:
    refused = run_command(
        "build", "--source", awkward_releases, "--warehouse", tmp_path, "--strict", "--quiet", "--corpora", corpus_id
    )
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 1
    assert refused.stderr.startswith(f"error: {corpus_id}/")
    assert not (tmp_path / "dialogues.duckdb").exists()
