"""The official metrics over predictions, as objects that are not tied to a connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, structs

from dialogue_warehouse.errors import InputError, counted
from dialogue_warehouse.reading.query import run_query
from dialogue_warehouse.scoring import running, summaries


class Score(Struct, frozen=True, kw_only=True):
    """The value of one metric, for one group and one way of comparing texts."""

    metric: str
    """The name of the metric, as the official script has it."""
    variant: str | None
    """The way of comparing texts; None if the metric has one only."""
    group_name: str
    """The group that the value is about, such as a service; the first group is everything."""
    value: float | None
    """The official value: what is not predicted does not count."""
    low: float | None
    """The lower end of the 95 % confidence interval over dialogues."""
    high: float | None
    """The upper end of the same interval."""
    strict_value: float | None
    """The value if everything that is not predicted counts as wrong."""
    gold_value: float | None
    """The official value of the gold annotation."""
    coverage: float | None
    """The share of the units that are predicted."""
    units: int
    """Number of units of gold."""
    scored_units: int
    """Number of units with a prediction."""
    dialogues: int
    """Number of dialogues with such a unit."""
    against_value: float | None = None
    """The value of the other predictions, over the units that both predict."""
    difference: float | None = None
    """This value minus the other one, over the same units."""
    p_value: float | None = None
    """The chance of such a difference if both were equally good: a paired sign-flip test over dialogues."""


class SlotScore(Struct, frozen=True, kw_only=True):
    """The errors of one slot."""

    service: str | None
    """The service that has the slot."""
    slot: str
    """The name of the slot."""
    right_values: int
    """Number of values that are right."""
    wrong_values: int
    """Number of values that differ from gold."""
    missed: int
    """Number of values of gold that are not predicted."""
    invented: int
    """Number of predicted values that gold does not have."""
    example_key: str
    """The key of the first place with the most frequent error."""


class Notice(Struct, frozen=True):
    """Parts of the predictions that do not count."""

    problem: str
    """The reason."""
    times: int
    """Number of such parts."""
    file: str | None
    """The first file with one."""
    place: str | None
    """Its place in the file."""


class Scores(Struct, frozen=True):
    """All scores of one set of predictions; iterating gives each `Score`, the main groups first."""

    run_id: str
    """The id of the run: the same predictions, options and build have the same id."""
    scores: tuple[Score, ...]
    """Each metric, by group and way of comparing texts."""
    slots: tuple[SlotScore, ...]
    """The slots with errors, the most first; empty for a corpus whose metrics are not about slots."""
    notices: tuple[Notice, ...]
    """Parts that do not count, or that the official script ignores."""
    is_complete: bool
    """Everything is predicted, and everything that is predicted counts."""
    against_notices: tuple[Notice, ...] = ()
    """The same as `notices`, of the other predictions."""

    def __iter__(self) -> Iterator[Score]:
        """Yield each score."""
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        groups = dict.fromkeys(score.group_name for score in self.scores)
        metrics = dict.fromkeys(score.metric for score in self.scores)
        return f"<Scores of run {self.run_id}: {counted(len(metrics), 'metric')}, {counted(len(groups), 'group')}>"

    def value(self, metric: str, group: str | None = None, variant: str | None = None) -> float | None:
        """Return the official value of a metric.

        Parameters
        ----------
        metric
            Its name.
        group
            A group, such as a service; the default is everything.
        variant
            A way of comparing texts; the default is the official one.

        Raises
        ------
        InputError
            If there is no such value.
        """
        found = self.scores
        for words, field, wanted in (
            ("metrics", "metric", metric),
            ("its groups", "group_name", group),
            ("its variants", "variant", variant),
        ):
            known = dict.fromkeys(str(getattr(score, field)) for score in found)
            found = [score for score in found if wanted in (None, getattr(score, field))]
            if not found:
                raise InputError(
                    f"there is no value of metric {metric!r}, group {group!r} and variant {variant!r};"
                    f" {words} are {', '.join(known)}"
                )
        return found[0].value

    def to_dict(self) -> dict[str, Any]:
        """Return everything as built-in types."""
        names = ("scores", "slots", "notices", "against_notices")
        lists = {name: [structs.asdict(one) for one in getattr(self, name)] for name in names}
        return {"run_id": self.run_id, "is_complete": self.is_complete, **lists}


def collected(found: running.Scores) -> Scores:
    """Return the results of a run, which end with its connection."""
    slots_query = summaries.slots_query(found)
    return Scores(
        run_id=found.run_id,
        scores=tuple(Score(**row) for row in _rows(found, summaries.metrics_query(found, is_short=False))),
        slots=tuple(SlotScore(**row) for row in _rows(found, slots_query)) if slots_query else (),
        notices=tuple(Notice(*notice) for notice in found.notices),
        is_complete=found.is_complete(),
        against_notices=tuple(Notice(*notice) for notice in found.against_notices),
    )


def _rows(found: running.Scores, query: str) -> list[dict[str, Any]]:
    result = run_query(found.con, query)
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows()]
