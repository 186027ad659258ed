"""Generate a Bargain release: two people divide books, hats and balls, and agree or fail."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec

from dialogue_warehouse.corpora.generation import PlannedFile, random_stream, scaled

DEALS = {"train": 1_000, "dev": 100, "test": 100}
"""File stem -> negotiations at scale 1."""
BYTES_A_DEAL = 1_200
ITEMS = ("book", "hat", "ball")
POINTS = 10
"""Points of all items together, for each person."""
FAILED_SHARE = 0.3


def _worth(counts: tuple[int, ...], points: tuple[int, ...]) -> int:
    return sum(count * point for count, point in zip(counts, points, strict=True))


VALUES = {
    counts: [points for points in product(range(POINTS + 1), repeat=3) if _worth(counts, points) == POINTS]
    for counts in product((1, 2, 3), repeat=3)
}
"""Numbers of items -> the points that one of each can be worth."""


def plan(scale: float) -> list[PlannedFile]:
    """Plan three files, each with some of the negotiations."""
    counts = {stem: scaled(count, scale, minimum=4) for stem, count in DEALS.items()}
    return [PlannedFile(f"{stem}.jsonl", count * BYTES_A_DEAL, (stem, count)) for stem, count in counts.items()]


def render(planned: PlannedFile, seed: int) -> Iterator[bytes]:
    """Yield a line for each negotiation."""
    stem, count = planned.parameters
    rng = random_stream(seed, "bargain", planned.path)
    for number in range(count):
        yield msgspec.json.encode(_deal(f"{stem}-{number}", number, rng)) + b"\n"


def _deal(deal_id: str, number: int, rng: random.Random) -> dict[str, Any]:
    """Return a negotiation.

    The second one of each file has the known defect: both take the last item. The third one fails.
    """
    counts = rng.choice([counts for counts, values in VALUES.items() if values])
    worth = [rng.choice(VALUES[counts]) for _ in range(2)]
    first = [rng.randint(0, count) for count in counts]
    second = [count - mine for count, mine in zip(counts, first, strict=True)]
    agreed = number < 2 or (number > 2 and rng.random() >= FAILED_SHARE)
    if number == 1:
        first[-1] = second[-1] = counts[-1]
    points = [_worth(tuple(taken), own) for own, taken in zip(worth, (first, second), strict=True)]
    events = [
        _event(0, "say", text=f"Hello, this is deal {deal_id}."),
        _event(1, "say", text=f"I would like a {rng.choice(ITEMS)}, it is case {rng.randrange(1_000_000)}."),
    ]
    if agreed:
        events += [_event(person, "take", takes=_taken(taken)) for person, taken in enumerate((first, second))]
    else:
        events.append(_event(0, "say", text="No deal."))
    return {
        "id": deal_id,
        "people": [
            {
                "kind": "human",
                "items": [
                    {"name": name, "count": count, "points": value}
                    for name, count, value in zip(ITEMS, counts, own, strict=True)
                ],
                "reward": float(earned if agreed else 0),
            }
            for own, earned in zip(worth, points, strict=True)
        ],
        "events": events,
        "agreed": agreed,
    }


def _taken(counts: list[int]) -> dict[str, int]:
    return dict(zip(ITEMS, counts, strict=True))


def _event(person: int, kind: str, text: str | None = None, takes: dict[str, int] | None = None) -> dict[str, Any]:
    return {"person": person, "kind": kind, "text": text, "takes": takes}
