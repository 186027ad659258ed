"""Generate a Hotline release: calls of a caller and an agent, with the shape and the numbers of the README."""

from __future__ import annotations

from collections.abc import Iterator

from dialogue_warehouse.corpora.generation import PlannedFile, indented_array, random_stream, scaled

CALLS = {"train": 1_000, "dev": 100, "test": 100}
"""File stem -> calls at scale 1."""
BYTES_A_CALL = 400
QUESTIONS = {"opening_hours": "Are you open on Sunday?", "lost_property": "Is my umbrella in the lost property?"}
"""Topic -> the caller's question."""


def plan(scale: float) -> list[PlannedFile]:
    """Return the three files of the release."""
    counts = {stem: scaled(count, scale, minimum=2) for stem, count in CALLS.items()}
    return [PlannedFile(f"{stem}.json", count * BYTES_A_CALL, (stem, count)) for stem, count in counts.items()]


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """Yield an array of calls, indented by two."""
    stem, count = planned.parameters
    rng = random_stream(seed, "hotline", planned.path)
    for_each = ((f"{stem}-{number}", rng.choice(list(QUESTIONS)), rng.randrange(1_000_000)) for number in range(count))
    yield from indented_array(_call(*parts) for parts in for_each)


def _call(call_id: str, topic: str, case: int) -> dict[str, object]:
    """Return a call of three turns."""
    texts = (f"Hello, this is call {call_id}.", QUESTIONS[topic], f"Let me look, it is case {case}.")
    speakers = ("agent", "caller", "agent")
    turns = [{"speaker": speaker, "text": text} for speaker, text in zip(speakers, texts, strict=True)]
    return {"id": call_id, "topic": topic, "turns": turns}
