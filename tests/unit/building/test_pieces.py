"""Pieces of a corpus that do not agree are named, with what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.claims import read_claims
from dialogue_warehouse.corpora.release import raw_table
from dialogue_warehouse.paths import DBT_PROJECT, WarehousePaths
from pipelines.building import dbt, failures, pieces

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


def test_model_of_an_entity_that_is_not_listed_is_named(tmp_path: Path) -> None:
    """Regression: core left its rows out, and the build said only that the rows of core are fewer."""
    assert list(pieces.unlisted_models(DBT_PROJECT)) == []
    project = tmp_path / "dbt_project"
    conformed = project / "models/intermediate/tram"
    conformed.mkdir(parents=True)
    declared = "vars:\n  corpora:\n    bus: [dialogues, acts]\n    tram: [dialogues]\n"
    (project / "dbt_project.yml").write_text(declared, encoding="utf-8")
    for entity in ("dialogues", "acts", "ordered_turns"):
        (conformed / f"int_tram__{entity}.sql").touch()
    assert list(pieces.unlisted_models(project)) == [
        "tram: dbt_project/models/intermediate/tram/int_tram__acts.sql is there, but vars.corpora in "
        "dbt_project/dbt_project.yml does not list the entity acts: add it to the entry of tram"
    ]


def project_of(folder: Path, sources: str, model: str) -> Path:
    """Write a project with the sources and one model of a corpus; each text has `RIGHT` for a table that is right."""
    staging = folder / "dbt_project/models/staging" / NAME
    staging.mkdir(parents=True)
    right = raw_table(CORPUS, CORPUS.entities[0])
    for name, text in ((f"_{NAME}__sources.yml", sources), (f"stg_{NAME}__turns.sql", model)):
        (staging / name).write_text(text.replace("RIGHT", right), encoding="utf-8")
    return folder / "dbt_project"


@pytest.mark.parametrize(
    ("sources", "model", "file"),
    [
        ("- name: WRONG", "source('raw', 'RIGHT')", f"_{NAME}__sources.yml"),
        ("- name: RIGHT\n  asset_key: [raw, WRONG]", "source('raw', 'RIGHT')", f"_{NAME}__sources.yml"),
        ("- name: RIGHT", "source('raw', 'WRONG')", f"stg_{NAME}__turns.sql"),
    ],
)
def test_table_that_the_schema_does_not_write_is_named(tmp_path: Path, sources: str, model: str, file: str) -> None:
    """Regression: DuckDB said that no files of the table were there, and dbt that it cannot parse the project."""
    assert list(pieces.unknown_tables(DBT_PROJECT)) == []
    wrong = f"{NAME}__talks"
    (line,) = pieces.unknown_tables(project_of(tmp_path, *(text.replace("WRONG", wrong) for text in (sources, model))))
    assert line.startswith(
        f"{NAME}: dbt_project/models/staging/{NAME}/{file} has the table {wrong}, but ENTITIES in {NAME}/schema.py "
        f"has no talks, only {CORPUS.entities[0].name}, "
    )


def test_entity_that_no_model_reads_is_named(tmp_path: Path) -> None:
    """Regression: its records were landed, and nothing else was done with them."""
    assert [line for corpus_id in registry.corpus_ids() for line in pieces.unread_pieces(DBT_PROJECT, corpus_id)] == []
    others = [raw_table(CORPUS, entity) for entity in CORPUS.entities[1:]]
    lines = list(pieces.unread_pieces(project_of(tmp_path, " ".join(["RIGHT", *others]), "RIGHT"), NAME))
    staging, schema = f"dbt_project/models/staging/{NAME}", f"which ENTITIES in {NAME}/schema.py declares"
    assert lines == [
        f"{staging} reads no {table}, {schema}: write a model there with source('raw_{NAME}', '{table}')"
        for table in others
    ]
    lines = list(pieces.unread_pieces(project_of(tmp_path / "other", "", " ".join(["RIGHT", *others])), NAME))
    assert lines == [
        f"{staging} does not have {table}, {schema}: add it to _{NAME}__sources.yml there"
        for table in (raw_table(CORPUS, CORPUS.entities[0]), *others)
    ]


def test_file_that_no_entity_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a build did not read it and said nothing."""
    file = next(file for file in CORPUS.files if not file.is_documentation)
    corpus = replace(CORPUS, files=(*CORPUS.files, replace(file, path="valid.jsonl")))
    monkeypatch.setattr(registry, "load_corpus", lambda _: corpus)
    assert list(pieces.unread_pieces(DBT_PROJECT, NAME)) == [
        f"{NAME}/source.toml lists valid.jsonl, but no pattern of ENTITIES in {NAME}/schema.py matches it, so it is not "
        "read: add an entity, or `is_documentation = true` to the file"
    ]


def test_claim_about_a_file_that_the_release_does_not_have_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: its verdict was `source_absent`, and no check said why."""
    declared = read_claims(NAME)
    claim, entry = declared.claims[0]
    wrong = replace(claim, files=(CORPUS.files[0].path, "train.json"))
    monkeypatch.setattr(pieces, "read_claims", lambda _: declared._replace(claims=((wrong, entry),), defects=()))
    assert list(pieces.unread_pieces(DBT_PROJECT, NAME)) == [
        f"{NAME}/claims.toml {claim.claim_id}: 'files' has train.json, but source.toml lists no such file, so it is "
        "never judged"
    ]


@pytest.mark.parametrize(("folders", "is_said"), [(("marts", "core"), True), (("staging", NAME), False)])
def test_failure_of_a_column_that_a_stacked_model_lacks_says_what_to_do(
    tmp_path: Path, folders: tuple[str, ...], is_said: bool
) -> None:
    """Regression: the message named the core model, which is right, and the columns of the model that is wrong."""
    message = 'Binder Error: Referenced column "channel" not found in FROM clause!'
    result = dbt.NodeResult("model.x", "dim_dialogues", False, False, 0.1, 1, message, "", folders)
    said = str(failures.failure([result], WarehousePaths(tmp_path)))
    assert said.startswith(f"model dim_dialogues: {message}")
    assert said.endswith("select it there, or name it in `lacks` of its `config`") == is_said
