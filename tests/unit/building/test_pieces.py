"""Pieces of a corpus that do not agree are named, with what to do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import raw_table
from dialogue_warehouse.paths import DBT_PROJECT
from pipelines.building import pieces

CORPUS = registry.load_corpora()[0]
NAME = CORPUS.corpus_id


def test_model_of_each_entity_exists() -> None:
    assert list(pieces.missing_models(DBT_PROJECT)) == []


def test_entity_without_a_model_is_named(tmp_path: Path) -> None:
    project = tmp_path / "dbt_project"
    staging, conformed = project / "models/staging/tram", project / "models/intermediate/tram"
    staging.mkdir(parents=True)
    conformed.mkdir(parents=True)
    declared = "vars:\n  corpora:\n    tram: [dialogues, turns, acts,\n           rules]\n"
    (project / "dbt_project.yml").write_text(declared, encoding="utf-8")
    (conformed / "int_tram__dialogues.sql").touch()
    place = "tram: vars.corpora in dbt_project/dbt_project.yml lists the entity"
    assert [line.partition(", but its model is missing: ")[::2] for line in pieces.missing_models(project)] == [
        (f"{place} turns", "write dbt_project/models/intermediate/tram/int_tram__turns.sql, or remove the entity"),
        (f"{place} acts", "write dbt_project/models/intermediate/tram/int_tram__acts.sql, or remove the entity"),
        (f"{place} rules", "write dbt_project/models/marts/quality/rules/tram/tram__rules.sql, or remove the entity"),
    ]


def manifest(*sources: tuple[str, str]) -> Any:
    path = f"models/staging/{NAME}/_{NAME}__sources.yml"
    found = (SimpleNamespace(source_name=of, name=name, original_file_path=path) for of, name in sources)
    return SimpleNamespace(sources={source.name: source for source in found})


def test_table_that_the_schema_does_not_write_is_named() -> None:
    """Regression: DuckDB said that no files of the table were there."""
    entity = CORPUS.entities[0]
    right = (f"raw_{NAME}", raw_table(CORPUS, entity))
    assert list(pieces.unknown_sources(manifest(right, ("landing", f"{NAME}__talks")))) == []
    (line,) = pieces.unknown_sources(manifest(right, (f"raw_{NAME}", f"{NAME}__talks")))
    assert line.startswith(
        f"{NAME}: dbt_project/models/staging/{NAME}/_{NAME}__sources.yml has the table {NAME}__talks, but ENTITIES in "
        f"{NAME}/schema.py has no talks, only {entity.name}"
    )
