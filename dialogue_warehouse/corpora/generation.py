"""Tools for a corpus's `simulate.py`: planned files, sources of randomness, shares, JSON texts.

Each file depends only on its plan and the seed, so that any number of processes writes the same bytes.
`pipelines.ingestion.simulating` writes the files.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import msgspec

from dialogue_warehouse.corpora import registry


@dataclass(frozen=True)
class PlannedFile:
    """One file that a corpus's simulator will write; it must be picklable."""

    path: str
    weight: int
    """Approximate size of the file before compression, in bytes: heavy files are started first."""
    parameters: Any = None
    """Parameters that the simulator needs to render it."""


class Simulator(Protocol):
    """The functions that a corpus's `simulate.py` must have."""

    def plan(self, scale: float) -> list[PlannedFile]:
        """Return all files of the release at this scale."""
        ...

    def render(self, planned: PlannedFile, seed: int) -> Iterator[bytes]:
        """Yield the bytes of one file, in pieces."""
        ...


def random_stream(seed: int, *names: object) -> random.Random:
    """Return a separate source of randomness for each seed and name, the same in every process and on every machine."""
    return random.Random("/".join(map(str, (seed, *names))))  # noqa: S311  generated texts, no secrets


def scaled(count: int, scale: float, minimum: int = 1) -> int:
    """Return a scale-1 count at another scale."""
    return max(minimum, round(count * scale))


def apportion(total: int, weights: Sequence[float], minimum: int = 0) -> list[int]:
    """Split a total into whole shares in proportion to the weights (largest remainders), none below the minimum."""
    whole = sum(weights)
    exact = [total * weight / whole for weight in weights]
    shares = [int(share) for share in exact]
    by_remainder = sorted(range(len(weights)), key=lambda index: (shares[index] - exact[index], index))
    for index in by_remainder[: total - sum(shares)]:
        shares[index] += 1
    for index, share in enumerate(shares):
        for _ in range(share, minimum):
            shares[shares.index(max(shares))] -= 1
            shares[index] += 1
    return shares


def compact_document(value: Any, indent: int) -> bytes:
    """Return JSON as a person would write it: indented, but a list of strings on one line."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=indent)
    return re.sub(rb"\[\n[^\[\]{}]*\]", lambda match: re.sub(rb"\n *", b" ", match[0]), text)


def indented_element(record: Any) -> bytes:
    """Return one element of a JSON array indented by two, as Python's json module writes it."""
    return msgspec.json.format(msgspec.json.encode([record]), indent=2)[2:-2]


def indented_array(records: Iterable[Any], final: bytes = b"") -> Iterator[bytes]:
    """Yield a JSON array indented by two, a piece for each record."""
    separator = b"[\n"
    for record in records:
        yield separator + indented_element(record)
        separator = b",\n"
    yield b"\n]" + final


def simulator(corpus_id: str) -> Simulator:
    """Return the simulator of a corpus. Raises CorpusError if its code is wrong."""
    return cast("Simulator", registry.load_module(corpus_id, "simulate", "plan", "render"))
