"""Name the pieces of a corpus that do not agree with each other, before a model fails because of them.

dbt names the model that reads a missing piece, and not what to do. What does not belong here: whether a piece is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue_warehouse.corpora import registry, starting
from dialogue_warehouse.corpora.release import raw_table

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest


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


def unknown_sources(manifest: Manifest) -> Iterator[str]:
    """Yield a line for each raw table that the models of a corpus read and its schema does not write."""
    for corpus in registry.load_corpora():
        written = {raw_table(corpus, entity): entity.name for entity in corpus.entities}
        for source in manifest.sources.values():
            if source.source_name == f"raw_{corpus.corpus_id}" and source.name not in written:
                entity = source.name.removeprefix(f"{corpus.corpus_id}__")
                yield (
                    f"{corpus.corpus_id}: dbt_project/{source.original_file_path} has the table {source.name}, but "
                    f"ENTITIES in {corpus.corpus_id}/schema.py has no {entity}, only {', '.join(written.values())}: "
                    "use the same names in both, and in the models"
                )
