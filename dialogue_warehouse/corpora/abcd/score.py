"""Predictions for ABCD: one example of the publisher's processor per line.

The publisher has no form of predictions: its code has them as arrays in memory. A value is one of the ontology, or the
token that replaces it in the delexicalized text, such as `<account_id>`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dialogue_warehouse.corpora.release import Integer
from dialogue_warehouse.corpora.scores import PredictionForm, Row

Place = Annotated[int, Meta(ge=0, lt=100)]
"""A place among the candidates."""


class Line(Struct, forbid_unknown_fields=True):
    """The prediction for an example."""

    convo_id: Integer
    turn_count: Integer
    intent: str
    next_step: str
    action: str | None = None
    value: str | None = None
    ranking: list[Place] = []
    """The best places among the candidates, the first one first."""
    step: Literal["turn", "end"] = "turn"
    """`end` for the end of the dialogue, which has the number of its last turn."""
    position: Annotated[int, Meta(ge=0, le=2)] = 0
    """Number of the value, for actions with three."""


class PredictedExample(Row):
    """The same as a row."""

    dialogue_id: str
    turn_number: int
    step: str
    value_index: int
    intent: str
    next_step: str
    action: str | None
    value: str | None
    ranking: list[int]


TABLES = {"predicted_examples": PredictedExample}


def _rows(line: Line) -> Iterator[tuple[str, Row]]:
    yield (
        "predicted_examples",
        PredictedExample(
            dialogue_id=str(line.convo_id),
            turn_number=line.turn_count,
            step=line.step,
            value_index=line.position,
            intent=line.intent,
            next_step=line.next_step,
            action=line.action,
            value=line.value,
            ranking=line.ranking,
        ),
    )


PLACE = {"convo_id": "dialogue", "turn_count": "turn_count"}
FORMS = (PredictionForm("lines", ".jsonl", Line, _rows, PLACE, has_records=False),)
