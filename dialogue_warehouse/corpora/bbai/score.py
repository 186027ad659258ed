"""Predictions for BBAI: a score of each agent for each question, one question per line.

The publisher's script has the scores in memory and needs one of every agent, for every question.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dialogue_warehouse.corpora.scores import PredictionForm, Row


class Line(Struct, forbid_unknown_fields=True):
    """The scores of the agents for a question."""

    question: str
    scores: dict[str, float]


class PredictedScores(Row):
    """The same as a row."""

    question: str
    scores: dict[str, float]


TABLES = {"predicted_scores": PredictedScores}


def _rows(line: Line) -> Iterator[tuple[str, Row]]:
    yield "predicted_scores", PredictedScores(question=line.question, scores=line.scores)


FORMS = (PredictionForm("official", ".jsonl", Line, _rows, {"question": "question"}),)
