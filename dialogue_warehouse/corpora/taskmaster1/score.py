"""Predictions for Taskmaster-1: dialogues in the form of the release, or the arguments of an utterance per line.

An utterance that is missing in a predicted dialogue is predicted to have no argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from dialogue_warehouse.corpora.release import INTEGER_MAX
from dialogue_warehouse.corpora.scores import PredictionForm, Row

Index = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
"""The `index` of an utterance, as the release has it."""


class Argument(Struct, forbid_unknown_fields=True):
    """A label with its text, as in the release; `.accept` and `.reject` at the end of a label do not count."""

    name: str
    text: str


class Line(Struct, forbid_unknown_fields=True):
    """The arguments of an utterance."""

    conversation_id: str
    index: Index
    arguments: list[Argument]


class Annotation(Struct):
    """A label of a segment."""

    name: str


class Segment(Struct):
    """A marked part of an utterance."""

    text: str
    annotations: list[Annotation]


class Utterance(Struct):
    """An utterance in the form of the release; what is said need not be there."""

    index: Index
    segments: list[Segment] = []


class Dialog(Struct):
    """A dialogue in the form of the release."""

    conversation_id: str
    utterances: list[Utterance]


class PredictedUtterance(Row):
    """The same as a row."""

    dialogue_id: str
    turn_index: int | None
    """The `index` of the utterance; NULL for a dialogue that is predicted without an utterance."""
    arguments: list[Argument]


TABLES = {"predicted_utterances": PredictedUtterance}


def _rows(line: Line) -> Iterator[tuple[str, Row]]:
    yield (
        "predicted_utterances",
        PredictedUtterance(dialogue_id=line.conversation_id, turn_index=line.index, arguments=line.arguments),
    )


def _rows_of_dialog(dialog: Dialog) -> Iterator[tuple[str, Row]]:
    if not dialog.utterances:
        yield (
            "predicted_utterances",
            PredictedUtterance(dialogue_id=dialog.conversation_id, turn_index=None, arguments=[]),
        )
    for utterance in dialog.utterances:
        arguments = [
            Argument(annotation.name, segment.text)
            for segment in utterance.segments
            for annotation in segment.annotations
        ]
        yield from _rows(Line(dialog.conversation_id, utterance.index, arguments))


PLACE = {"conversation_id": "dialogue"}
FORMS = (
    PredictionForm("dialogs", ".json", Dialog, _rows_of_dialog, PLACE, has_records=False),
    PredictionForm("lines", ".jsonl", Line, _rows, PLACE | {"index": "utterance"}, has_records=False),
)
