"""Generates an SGD release: the same files, ids, services and numbers of dialogues and turns as the release.

Sources: data_facts section 6, verification_targets 2.2 (dialogues of each domain). `simulate_plan` plans the files,
`simulate_dialogue` writes the dialogues; here the files are written, as large as the release's.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.corpora.generation import PlannedFile, indented_array, indented_element, random_stream
from pipelines.corpora.sgd.simulate_dialogue import DialogueWriter
from pipelines.corpora.sgd.simulate_plan import FilePlan, plan
from pipelines.corpora.sgd.simulate_schema import schema

__all__ = ["plan", "render"]

NATURAL_ROWS = 3.6
"""Mean number of entities that a search returns where a file is as large as expected."""


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """One file of the release."""
    split, _, name = planned.path.partition("/")
    if name == "schema.json":
        yield from indented_array(schema(split), final=b"\n")
        return
    rng = random_stream(seed, "sgd", planned.path)
    file: FilePlan = planned.parameters
    exchanges = sum(design.exchanges for design in file.designs)
    written, rows, separator = 0, NATURAL_ROWS, b"[\n"
    done = 0
    for design in file.designs:
        element = indented_element(DialogueWriter(design, rows, rng).write())
        yield separator + element
        separator = b",\n"
        written += len(element)
        done += design.exchanges
        rows = _steered(rows, written / done, file.bytes / exchanges)
    yield b"\n]\n"


def _steered(rows: float, actual: float, wanted: float) -> float:
    """More results per search while a file is smaller than it should be, fewer while it is larger."""
    return min(9.0, max(1.0, rows * (1.03 if actual < wanted else 0.97)))
