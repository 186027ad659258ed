"""A text cut where its spans begin and end: what `core.transcript` does in SQL, for whoever draws the marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pipelines.reading.dialogues.parts import Span


class Piece(NamedTuple):
    """A piece of a text, with the marks that stand before it."""

    closing: tuple[str, ...]
    """The labels of the spans that end before it, the shortest first."""
    empty: tuple[str, ...]
    """The labels of the spans that begin and end before it."""
    opening: int
    """How many spans begin with it."""
    text: str
    depth: int
    """How many spans it is in."""


def cut(text: str, spans: Iterable[Span]) -> Iterator[Piece]:
    """The pieces of a text, in order; the last one may be empty, to close what ends with the text."""
    labels = labels_by_place(text, spans)
    places = sorted({0, *(place for span in labels for place in span)})
    depth = 0
    for place, following in zip(places, [*places[1:], len(text)], strict=True):
        ending = sorted((span for span in labels if span[0] < span[1] == place), reverse=True)
        opening = sum(start == place < end for start, end in labels)
        depth += opening - len(ending)
        empty = (labels[place, place],) if (place, place) in labels else ()
        yield Piece(tuple(labels[span] for span in ending), empty, opening, text[place:following], depth)


def marked(text: str, spans: Iterable[Span]) -> str:
    """The text with each span as `[its words](its label)`."""
    return "".join(
        "".join(f"]({label})" for label in piece.closing)
        + "[" * piece.opening
        + "".join(f"[]({label})" for label in piece.empty)
        + piece.text
        for piece in cut(text, spans)
    )


def labels_by_place(text: str, spans: Iterable[Span]) -> dict[tuple[int, int], str]:
    """The labels of each place, one after the other; how often, where one was given more than once."""
    counts: dict[tuple[int, int], Counter[str]] = {}
    for (start, end, label), times in Counter(
        (span.start, span.end, span.label) for span in spans if span.start is not None and span.end is not None
    ).items():
        first = max(min(start, len(text)), 0)
        past = max(min(end, len(text)), first)
        counts.setdefault((first, past), Counter())[f"{label} x{times}" if times > 1 else label] += 1
    return {place: ", ".join(sorted(labels.elements())) for place, labels in counts.items()}
