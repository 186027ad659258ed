"""Name the pieces of a corpus that do not agree with each other, before a model fails because of them.

dbt names the model that reads a missing piece, and not what to do. What does not belong here: whether a piece is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from dialogue_warehouse.corpora import registry, starting
from dialogue_warehouse.corpora.claims import read_claims
from dialogue_warehouse.corpora.release import raw_table


def missing_models(project: Path) -> Iterator[str]:
    """Yield a line for each entity in `vars.corpora` whose model is missing."""
    clone = project.parent
    for corpus_id in starting.declared_corpora(clone):
        for entity in starting.entities_of(corpus_id, clone=clone) or ():
            path = starting.model_of(corpus_id, entity, clone)
            if not (clone / path).is_file():
                yield (
                    f"{corpus_id}: vars.corpora in {starting.PROJECT} lists the entity {entity}, but its model is "
                    f"missing: write {path}, or remove the entity"
                )


def unlisted_models(project: Path) -> Iterator[str]:
    """Yield a line for each model of an entity that `vars.corpora` does not list, so that core would leave it out."""
    clone = project.parent
    listed = {corpus: starting.entities_of(corpus, clone=clone) or () for corpus in starting.declared_corpora(clone)}
    every = {entity for entities in listed.values() for entity in entities}
    for corpus_id, entities in listed.items():
        for entity in sorted(every.difference(entities)):
            path = starting.model_of(corpus_id, entity, clone)
            if (clone / path).is_file():
                yield (
                    f"{corpus_id}: {path} is there, but vars.corpora in {starting.PROJECT} does not list the entity "
                    f"{entity}: add it to the entry of {corpus_id}"
                )


def unknown_tables(project: Path, only: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield a line for each raw table that a file of a corpus' models names and its schema does not write."""
    for corpus in registry.load_corpora(only):
        written = {raw_table(corpus, entity): entity.name for entity in corpus.entities}
        for path, tables in _named_tables(project, corpus.corpus_id):
            for table in sorted(tables - written.keys()):
                yield (
                    f"{corpus.corpus_id}: {path.relative_to(project.parent)} has the table {table}, but "
                    f"ENTITIES in {corpus.corpus_id}/schema.py has no {table.removeprefix(f'{corpus.corpus_id}__')}, "
                    f"only {', '.join(written.values())}: use the same names in both, and in all models"
                )


def unread_pieces(project: Path, corpus_id: str) -> Iterator[str]:
    """Yield a line for each file of a release that no entity has, and for each entity that no model reads.

    Each file that a claim needs and the release does not list has a line too. A build accepts all of these, because a
    corpus is written step by step.
    """
    corpus = registry.load_corpus(corpus_id)
    schema = f"{corpus_id}/schema.py"
    for file in corpus.files:
        if not file.is_documentation and corpus.entity_of(file.path) is None:
            yield (
                f"{corpus_id}/source.toml lists {file.path}, but no pattern of ENTITIES in {schema} matches it, so it "
                "is not read: add an entity, or `is_documentation = true` to the file"
            )
    declared = read_claims(corpus_id)
    wanted = [(claim.claim_id, claim.files) for claim, _ in declared.claims]
    wanted += [(defect.rule_id, defect.files) for defect in declared.defects]
    for name, files in wanted:
        for pattern in files:
            if not any(fnmatchcase(file.path, pattern) for file in corpus.files):
                yield (
                    f"{corpus_id}/claims.toml {name}: 'files' has {pattern}, but source.toml lists no such file, so "
                    "it is never judged"
                )
    named = list(_named_tables(project, corpus_id))
    staging = starting.STAGING.format(corpus_id)
    for suffix, lacking, what in (
        (".yml", "does not have", f"add it to _{corpus_id}__sources.yml there"),
        (".sql", "reads no", f"write a model there with source('raw_{corpus_id}', '…')"),
    ):
        found = {table for path, tables in named if path.suffix == suffix for table in tables}
        for table in (raw_table(corpus, entity) for entity in corpus.entities):
            if table not in found:
                yield f"{staging} {lacking} {table}, which ENTITIES in {schema} declares: {what.replace('…', table)}"


def _named_tables(project: Path, corpus_id: str) -> Iterator[tuple[Path, set[str]]]:
    """Yield each file of a corpus' models, and the raw tables that it names."""
    table = re.compile(rf"(?<!\w){corpus_id}__\w+")
    for place in (starting.STAGING, starting.CONFORMED):
        for path in sorted((project.parent / place.format(corpus_id)).glob("*")):
            if path.suffix in (".sql", ".yml"):
                yield path, set(table.findall(path.read_text(encoding="utf-8")))
