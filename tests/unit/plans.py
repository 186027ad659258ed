"""The plans of generated releases, each made once: at scale 1 and above they take seconds."""

from __future__ import annotations

import functools

from dialogue_warehouse.corpora.generation import PlannedFile, simulator


@functools.cache
def plan_of(corpus_id: str, scale: float) -> tuple[PlannedFile, ...]:
    return tuple(simulator(corpus_id).plan(scale))
