"""A corpus that is built alone: its rows are those that it has beside other corpora, and no model of another one runs."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.common.database import literal
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import finding
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.builds import PUBLISHED_SCHEMAS
from pipelines.building import dbt, failures
from pipelines.ingestion import raw_layer
from pipelines.ingestion.lander import Lander

pytestmark = pytest.mark.filterwarnings("ignore")
BUILDS = ("alone", "beside")
ACCOUNTING = "quality.row_accounting"
"""The table with rows of every corpus: zeros for those that are not built."""
LISTED = """
    select schema_name || '.' || table_name, bool_or(column_name = 'corpus_id')
    from duckdb_columns()
    where database_name = 'alone' and list_contains(?, schema_name)
    group by all
    order by all
"""


def build_alone(corpus_id: str, source: Path, paths: WarehousePaths) -> list[dbt.NodeResult]:
    """Land one corpus and run the models; the tables of the others are empty."""
    landed = []
    with Lander(paths.raw, Settings()) as lander:
        for corpus in registry.load_corpora():
            own = lander.land(finding.find_release(corpus, source)) if corpus.corpus_id == corpus_id else []
            raw_layer.link_raw(corpus, own, paths)
            landed += own
    raw_layer.write_catalog(registry.load_corpora([corpus_id]), landed, paths, Settings())
    return dbt.build(dbt.parse(paths), paths, exclude=dbt.AUDIT_TAG, built={corpus_id})


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_corpus_has_the_rows_that_it_has_beside_others(
    corpus_id: str, sample_folder: Path, sample_warehouse: Path, tmp_path: Path
) -> None:
    paths = WarehousePaths(tmp_path)
    results = build_alone(corpus_id, WarehousePaths(sample_folder).sample, paths)
    assert failures.failure(results, paths) is None
    assert {folder for result in results for folder in result.folders} & set(registry.corpus_ids()) == {corpus_id}
    assert [result.is_test for result in results].count(True) > 50

    filled = set()
    with duckdb.connect() as con:
        for build, database in zip(BUILDS, (paths.scratch_database, sample_warehouse), strict=True):
            con.execute(f"attach {literal(str(database))} as {build} (read_only)")
        for table, is_by_corpus in con.execute(LISTED, [list(PUBLISHED_SCHEMAS)]).fetchall():
            if is_by_corpus:
                alone, own = (f"from {build}.{table} where corpus_id = {literal(corpus_id)}" for build in BUILDS)
                differing = f"({alone} except all {own}) union all ({own} except all {alone})"
                assert con.execute(differing).fetchall() == [], table
                if con.execute(f"select 1 {alone} limit 1").fetchall():
                    filled.add(table)
                others = con.execute(f"select distinct corpus_id from alone.{table} where corpus_id <> ?", [corpus_id])
                assert not others.fetchall() or table == ACCOUNTING
        accounted = (
            f"select corpus_id, entity, record_entity from {build}.{ACCOUNTING} order by all" for build in BUILDS
        )
        assert con.execute(next(accounted)).fetchall() == con.execute(next(accounted)).fetchall()
    assert {"core.dim_dialogues", "core.fct_turns", "analytics.corpus_profile"} <= filled
