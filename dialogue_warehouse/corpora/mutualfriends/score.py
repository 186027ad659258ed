"""Transcripts of agents, in the form of the release: an array of them, or one per line.

Of a transcript, the metrics read its outcome and its events. Other keys may be there, as in the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Struct, json

from dialogue_warehouse.corpora.release import Integer, NumericString, note
from dialogue_warehouse.corpora.scores import PredictionForm, Row


class Outcome(Struct):
    """The result of a transcript."""

    reward: Integer


class Event(Struct):
    """An action of an agent."""

    action: str
    agent: Integer
    data: str | dict[str, str] | None
    time: Annotated[NumericString | float, note("seconds")]


class Transcript(Struct):
    """A transcript; null as its outcome means that it has none."""

    uuid: str
    outcome: Outcome | None
    events: list[Event]


class PredictedTranscript(Row):
    """A transcript."""

    uuid: str
    reward: int | None


class PredictedEvent(Row):
    """An event of a transcript, which has the same record."""

    event_index: int
    action: str
    agent: int
    message: str | None
    selection: str | None
    """The selected item as JSON, its keys in order."""
    seconds: float


TABLES = {"predicted_transcripts": PredictedTranscript, "predicted_events": PredictedEvent}


def _rows(transcript: Transcript) -> Iterator[tuple[str, Row]]:
    reward = None if transcript.outcome is None else transcript.outcome.reward
    yield "predicted_transcripts", PredictedTranscript(uuid=transcript.uuid, reward=reward)
    for index, event in enumerate(transcript.events):
        data = event.data
        yield (
            "predicted_events",
            PredictedEvent(
                event_index=index,
                action=event.action,
                agent=event.agent,
                message=data if isinstance(data, str) else None,
                selection=json.encode(data, order="sorted").decode() if isinstance(data, dict) else None,
                seconds=float(event.time),
            ),
        )


PLACE = {"uuid": "transcript"}
FORMS = (
    PredictionForm("official", ".json", Transcript, _rows, PLACE),
    PredictionForm("lines", ".jsonl", Transcript, _rows, PLACE),
)
