"""A part of a release: a missing file breaks no rule in another one, and a number does not depend on further files.

Each build leaves out other files: those of one kind besides the dialogues, such as the ontology, or the last one of each
kind.
"""

from __future__ import annotations

import shutil
from fnmatch import fnmatchcase
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import load_claims
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import finding
from dialogue_warehouse.settings import Settings
from pipelines.building import dbt, failures
from pipelines.ingestion import raw_layer
from pipelines.ingestion.lander import Lander

pytestmark = pytest.mark.filterwarnings("ignore")
CORPORA = registry.load_corpora()
MOST = max(len(corpus.entities) for corpus in CORPORA)
RULES = "select rule_id, coalesce(row_key, source_file_id), slot_name from quality.violations"


def left_out(corpus: Corpus, paths: list[str], place: int) -> list[str]:
    """Return the files of the kind at this place; at place 0 the last file of each kind that has several."""
    kinds = [[path for path in paths if corpus.entity_of(path) is entity] for entity in corpus.entities]
    return [kind[-1] for kind in kinds if len(kind) > 1] if place == 0 else kinds[place] if place < len(kinds) else []


@pytest.mark.parametrize("place", range(MOST))
def test_missing_file_breaks_no_rule(place: int, sample_folder: Path, sample_warehouse: Path, tmp_path: Path) -> None:
    source, paths, landed = tmp_path / "source", WarehousePaths(tmp_path / "warehouse"), []
    shutil.copytree(WarehousePaths(sample_folder).sample, source)
    gone = 0
    with Lander(paths.raw, Settings()) as lander:
        for corpus in CORPORA:
            folder = source / corpus.corpus_id
            found = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
            for path in left_out(corpus, found, place):
                (folder / path).unlink()
                gone += 1
            own = lander.land(finding.find_release(corpus, source))
            raw_layer.link_raw(corpus, own, paths)
            landed += own
    raw_layer.write_catalog(CORPORA, landed, paths, Settings())
    results = dbt.build(dbt.parse(paths), paths, exclude=dbt.AUDIT_TAG, built=set(registry.corpus_ids()))
    assert failures.failure(results, paths) is None

    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        whole = set(con.execute(RULES).fetchall())
    with duckdb.connect(str(paths.scratch_database), read_only=True) as con:
        part = set(con.execute(RULES).fetchall())
    assert gone
    assert sorted(part - whole)[:5] == []


COLUMNS = """
    select table_name, map_from_entries(list({'k': column_name, 'v': data_type}))
    from duckdb_columns()
    where schema_name = 'core'
    group by table_name
"""
PARTS = {"train": "train", "dev": "validation", "test": "test"}
"""The split of a file, by the part of the release that its path names."""


def split_of(corpus: Corpus, globs: tuple[str, ...]) -> str | None:
    """Return the split of the files that a claim names; None if they have several splits, or none."""
    named = [file.path for file in corpus.files if any(fnmatchcase(file.path, glob) for glob in globs)]
    entities = {path: corpus.entity_of(path) for path in named}
    splits = {PARTS.get(entity.source_part(path) or "") for path, entity in entities.items() if entity}
    return splits.pop() if len(splits) == 1 else None


@pytest.mark.parametrize("split", PARTS.values())
def test_number_of_one_split_does_not_depend_on_files_of_another(split: str, sample_warehouse: Path) -> None:
    """All texts of the other splits are changed: their files may be some that this project has not seen."""
    differing = []
    with duckdb.connect(str(sample_warehouse), read_only=True) as whole, duckdb.connect() as changed:
        changed.execute(f"attach '{sample_warehouse}' as sample (read_only)")
        changed.execute("create schema core")
        for table, columns in whole.execute(COLUMNS).fetchall():
            texts = [name for name, kind in columns.items() if kind == "VARCHAR" and name not in ("corpus_id", "split")]
            if texts and "split" in columns:
                other = ", ".join(f"if(split = '{split}', {name}, {name} || 'x') as {name}" for name in texts)
                changed.execute(f"create view core.{table} as select * replace ({other}) from sample.core.{table}")
            else:
                changed.execute(f"create view core.{table} as from sample.core.{table}")
        for corpus in CORPORA:
            for claim in load_claims(corpus.corpus_id):
                if claim.kind == "count" and claim.query and split_of(corpus, claim.files) == split:
                    query = claim.query
                    if whole.execute(query).fetchall() != changed.execute(query).fetchall():
                        differing.append(claim.claim_id)
    assert differing == []
