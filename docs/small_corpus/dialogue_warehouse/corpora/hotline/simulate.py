"""Generate a Hotline release: calls of a caller and an agent, with the shape and the numbers of the README."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from dialogue_warehouse.corpora.generation import PlannedFile, indented_array, random_stream, scaled

CALLS = {"train": 1_000, "dev": 100, "test": 100}
"""File stem -> calls at scale 1."""
BYTES_A_CALL = 900
TOPICS = {
    "opening_hours": ("Are you open on {}?", "day", ("Monday", "Friday", "Easter Sunday")),
    "lost_property": ("I left my {} on the tram.", "item", ("umbrella", "bag", "guitar")),
}
"""Topic -> the caller's question, its slot and the slot's values."""


def plan(scale: float) -> list[PlannedFile]:
    """Return the three files of the release."""
    counts = {stem: scaled(count, scale, minimum=2) for stem, count in CALLS.items()}
    return [PlannedFile(f"{stem}.json", count * BYTES_A_CALL, (stem, count)) for stem, count in counts.items()]


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """Yield an array of calls, indented by two."""
    stem, count = planned.parameters
    rng = random_stream(seed, "hotline", planned.path)
    yield from indented_array(_call(f"{stem}-{number}", number, rng) for number in range(count))


def _call(call_id: str, number: int, rng: random.Random) -> dict[str, Any]:
    """Return a call; the second call of each file ends with the caller, which is the known defect."""
    topic, (question, slot, values) = rng.choice(list(TOPICS.items()))
    value = rng.choice(values)
    start = question.index("{}")
    span = {"slot": slot, "text": value, "start": start, "end": start + len(value)}
    turns = [
        {"speaker": "agent", "text": f"Hello, this is call {call_id}.", "spans": []},
        {"speaker": "caller", "text": question.format(value), "spans": [span]},
        {"speaker": "agent", "text": f"Let me look, it is case {rng.randrange(1_000_000)}.", "spans": []},
    ]
    return {"id": call_id, "topic": topic, "turns": turns[:2] if number == 1 else turns}
