"""The raw layer that dbt reads: a folder for each raw table, with links to exactly the Parquet files of this build.

Besides the releases' own tables there are those about the build itself: its corpora and their rules, files, extra keys,
refused records.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dialogue_warehouse.common.files import link_or_copy, write_tables
from dialogue_warehouse.corpora.claims import load_defects
from dialogue_warehouse.corpora.release import Corpus, raw_table
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.landed import Fallback, Landed
from pipelines.ingestion import landing

CATALOG_TABLES = {
    "corpora": {
        "corpus_id": "varchar",
        "title": "varchar",
        "homepage": "varchar",
        "license": "varchar",
        "citation": "varchar",
        "release": "varchar",
        "text_kind": "varchar",
        "goal_kind": "varchar",
        "annotator_count": "integer",
        "voter_count": "integer",
        "carried_from": "varchar",
        "carried_because": "varchar",
    },
    "rules": {
        "rule_id": "varchar",
        "kind": "varchar",
        "corpus_id": "varchar",
        "title": "varchar",
        "description": "varchar",
        "upstream": "varchar",
        "expected": "integer",
        "files": "varchar[]",
        "why": "varchar",
        "cases_read": "integer",
        "cases_right": "integer",
        "cases_right_again": "integer",
        "cases_agreed": "integer",
    },
    "source_files": {
        "source_file_id": "varchar",
        "corpus_id": "varchar",
        "path": "varchar",
        "entity": "varchar",
        "source_part": "varchar",
        "parts": "varchar[]",
        "bytes": "bigint",
        "sha256": "varchar",
        "verification": "varchar",
        "record_count": "integer",
        "form": "varchar",
        "losses": "varchar[]",
    },
    "source_extras": dict.fromkeys(("source_file_id", "corpus_id", "json_pointer", "value"), "string"),
    "source_quarantine": {
        "source_file_id": "varchar",
        "corpus_id": "varchar",
        "record_index": "integer",
        "record_pointer": "varchar",
        "error": "varchar",
        "value": "varchar",
    },
}
"""The raw tables about the build itself: one row per corpus, rule, file read, extra key and refused record.

A rule for all corpora has no corpus_id, and one more row for each corpus that adds to it.
"""


def raw_tables(corpora: Iterable[Corpus]) -> list[str]:
    """Return the names of all raw tables of these corpora."""
    return [raw_table(corpus, entity) for corpus in corpora for entity in corpus.entities]


def link_raw(corpus: Corpus, landed: Sequence[Landed], paths: WarehousePaths) -> dict[str, list[str]]:
    """Lay out a corpus's raw tables for dbt. Return the Parquet files of each, relative to the warehouse folder.

    Each table has a zero-row typed file first, so that it has its columns even if all data is absent.
    """
    tables: dict[str, list[str]] = {}
    for entity in corpus.entities:
        parquet = [landing.write_empty(corpus, entity, paths.raw)]
        parquet += [row.parquet for row in landed if row.entity == entity.name]
        tables[raw_table(corpus, entity)] = [(paths.raw / file).relative_to(paths.root).as_posix() for file in parquet]
        folder = _fresh_folder(paths.scratch_raw / raw_table(corpus, entity))
        for index, file in enumerate(parquet):
            link_or_copy(paths.raw / file, folder / f"{index:05}.parquet")
    return tables


def write_catalog(
    corpora: Iterable[Corpus],
    landed: Iterable[Landed],
    paths: WarehousePaths,
    settings: Settings,
    fallbacks: Mapping[str, Fallback] = MappingProxyType({}),
) -> dict[str, int]:
    """Write the raw tables about the build itself, and return their row counts."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in CATALOG_TABLES}
    rules = list(load_defects(None))
    for corpus in corpora:
        stays = fallbacks.get(corpus.corpus_id)
        why = {"carried_from": stays and stays.build_id, "carried_because": stays and stays.reason}
        rows["corpora"].append(
            {name: getattr(corpus, name) for name in CATALOG_TABLES["corpora"] if name not in why} | why
        )
        rules += load_defects(corpus.corpus_id)
    rows["rules"] = [{name: getattr(rule, name) for name in CATALOG_TABLES["rules"]} for rule in rules]
    for file in landed:
        identity = {"source_file_id": file.source_file_id, "corpus_id": file.corpus_id}
        facts = {name: getattr(file, name) for name in CATALOG_TABLES["source_files"]}
        rows["source_files"].append(facts | identity)
        rows["source_extras"] += [identity | extra for extra in file.extras]
        rows["source_quarantine"] += [identity | record for record in file.quarantine]
    write_tables(
        {
            _fresh_folder(paths.scratch_raw / name) / "00000.parquet": (columns, rows[name])
            for name, columns in CATALOG_TABLES.items()
        },
        settings,
    )
    return {name: len(table) for name, table in rows.items()}


def _fresh_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
