"""Predictions for Taskmaster-1: the arguments of an utterance, one utterance per line. The form is ours.

An utterance without a line, in a dialogue that has lines, is predicted to have no argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from dialogue_warehouse.corpora.release import INTEGER_MAX
from dialogue_warehouse.corpora.scores import PredictionForm, Row


class Argument(Struct, forbid_unknown_fields=True):
    """A label with its text, as in the release; `.accept` and `.reject` at the end of a label do not count."""

    name: str
    text: str


class Line(Struct, forbid_unknown_fields=True):
    """The arguments of an utterance."""

    conversation_id: str
    index: Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
    arguments: list[Argument]


class PredictedUtterance(Row):
    """The same as a row. `turn_index` is the position of the utterance, as `index` is."""

    dialogue_id: str
    turn_index: int
    arguments: list[Argument]


TABLES = {"predicted_utterances": PredictedUtterance}


def _rows(line: Line) -> Iterator[tuple[str, Row]]:
    yield (
        "predicted_utterances",
        PredictedUtterance(dialogue_id=line.conversation_id, turn_index=line.index, arguments=line.arguments),
    )


FORMS = (PredictionForm("lines", ".jsonl", Line, _rows, has_records=False),)
