"""Predictions for SGD: what the official script reads, and one frame per line.

The official form is that of the release: user turns have frames with `service`, `state` and optionally `slots`. The
script reads no other keys, and no frames or slots that gold does not have. So a frame that is wrong is kept with its
error, and score_problems.sql refuses it if the script would read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from dialogue_warehouse.common.json_values import split_path
from dialogue_warehouse.corpora.release import INTEGER_MAX, INTEGER_MIN
from dialogue_warehouse.corpora.scores import PredictionForm, Row

Place = Annotated[int, Meta(ge=INTEGER_MIN, le=INTEGER_MAX)] | None
"""A place in an utterance, as Python's slices have it: negative from the end, null for the end itself."""


class Span(Struct, kw_only=True):
    """A slot value in the utterance."""

    slot: str
    start: Place
    exclusive_end: Place


class State(Struct):
    """The predicted state of a frame."""

    active_intent: str | None
    requested_slots: list[str] | str | None
    slot_values: dict[str, Any]


class Frame(Struct):
    """A predicted frame."""

    service: str
    state: State
    slots: list[Span] | UnsetType = UNSET


class AnyFrame(Struct):
    """A frame, whatever else it has."""

    service: str


class Turn(Struct):
    """A turn, with predicted frames if the user speaks."""

    speaker: str
    utterance: str
    frames: list[Raw] = []


class Dialogue(Struct):
    """A dialogue in the official form."""

    dialogue_id: str
    services: list[str]
    turns: list[Turn]


class Line(Struct, forbid_unknown_fields=True):
    """A frame, which is the only one of its line."""

    dialogue_id: str
    turn_index: Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
    service: str
    active_intent: str
    slot_values: dict[str, str]
    requested_slots: list[str] = []
    spans: list[Span] | UnsetType = UNSET


class Value(Struct):
    """A predicted value of a slot."""

    slot: str
    value: str | None
    """The text that is compared; NULL if there is none."""
    is_text: bool
    """False for a number, say: it equals no text, but a fuzzy comparison reads it as one."""
    form: str
    """`list`, `text` (of which the script compares the first letter), `none` (of which it cannot compare anything)."""
    value_count: int


class PredictedDialogue(Row):
    """A predicted dialogue in the official form."""

    dialogue_id: str
    services: list[str]


class PredictedTurn(Row):
    """A turn of a predicted dialogue in the official form."""

    dialogue_id: str
    turn_index: int
    speaker: str
    utterance: str


class PredictedFrame(Row):
    """A predicted frame of a user turn."""

    dialogue_id: str
    turn_index: int
    service: str
    active_intent: str | None
    requested_slots: list[str]
    requested_form: str
    """`list`, `text` (whose letters the script counts) or `null`."""
    slot_values: list[Value]
    spans: list[Span] | None
    error: str | None = None
    """The reason why the script cannot read the frame."""


TABLES = {
    "predicted_dialogues": PredictedDialogue,
    "predicted_turns": PredictedTurn,
    "predicted_frames": PredictedFrame,
}


FRAMES, ANY_FRAMES = msgspec.json.Decoder(Frame), msgspec.json.Decoder(AnyFrame)


def _value(slot: str, given: Any) -> Value:
    """Return what the script compares: the first item of a list, or the first letter of a text."""
    if not isinstance(given, list | str) or not given:
        return Value(slot, None, False, "none", 0)
    first = given[0]
    text = None if first is None else first if isinstance(first, str) else str(first)
    return Value(slot, text, isinstance(first, str), "text" if isinstance(given, str) else "list", len(given))


def _rows_of_dialogue(dialogue: Dialogue) -> Iterator[tuple[str, Row]]:
    name = dialogue.dialogue_id
    yield "predicted_dialogues", PredictedDialogue(dialogue_id=name, services=dialogue.services)
    for index, turn in enumerate(dialogue.turns):
        yield (
            "predicted_turns",
            PredictedTurn(dialogue_id=name, turn_index=index, speaker=turn.speaker, utterance=turn.utterance),
        )
        for frame in turn.frames if turn.speaker == "USER" else ():
            yield "predicted_frames", _row_of_frame(name, index, frame)


def _row_of_frame(name: str, index: int, content: Raw) -> PredictedFrame:
    try:
        frame = FRAMES.decode(content)
    except msgspec.ValidationError as error:
        what, where = split_path(str(error))
        frame = Frame(ANY_FRAMES.decode(content).service, State(None, [], {}))
        return _row(name, index, frame, f"{what}{' at ' + where if where else ''}")
    return _row(name, index, frame)


def _row(name: str, index: int, frame: Frame, error: str | None = None) -> PredictedFrame:
    state, asked = frame.state, frame.state.requested_slots
    return PredictedFrame(
        dialogue_id=name,
        turn_index=index,
        service=frame.service,
        active_intent=state.active_intent,
        requested_slots=list(asked or ()),
        requested_form="null" if asked is None else "text" if isinstance(asked, str) else "list",
        slot_values=[_value(slot, given) for slot, given in state.slot_values.items()],
        spans=None if isinstance(frame.slots, UnsetType) else frame.slots,
        error=error,
    )


def _rows_of_line(line: Line) -> Iterator[tuple[str, Row]]:
    values: dict[str, Any] = {slot: [value] for slot, value in line.slot_values.items()}
    frame = Frame(line.service, State(line.active_intent, line.requested_slots, values), line.spans)
    yield "predicted_frames", _row(line.dialogue_id, line.turn_index, frame)


PLACE = {"dialogue_id": "dialogue"}
FORMS = (
    PredictionForm("official", ".json", Dialogue, _rows_of_dialogue, PLACE),
    PredictionForm("lines", ".jsonl", Line, _rows_of_line, PLACE | {"turn_index": "turn"}, has_records=False),
)
