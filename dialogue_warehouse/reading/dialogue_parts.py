"""The parts of a dialogue as typed objects: turns, annotations, scenario, guideline, knowledge.

The JSON of a dialogue always has all these fields, in this order. A `key` is the key of a row in `core`; that of an
item of knowledge or of a slot of a state is the beginning of the keys of several rows. Text is cut at the ends of its
spans, as in the SQL macro `core.transcript`.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from dialogue_warehouse.common.text import visible_json

GENERATED = "invented content in the shape of the release, not the publisher's data"
"""Explanation of data whose source was generated."""


class Part(msgspec.Struct, frozen=True, gc=False):
    """A part of a dialogue. It cannot be changed, so it is in no cycle, and Python need not search it for one."""


class Item(Part, frozen=True):
    """An item of a person's list."""

    key: str
    index: int
    values: tuple[str | None, ...]
    """In the order of the columns of the knowledge base."""
    is_shared: bool | None
    """None if the goal is not to find a shared item."""
    selected_in: tuple[int, ...]
    """Turns in which its owner selected it."""


class Participant(Part, frozen=True):
    """A person who takes part in the dialogue."""

    speaker: str
    type: str | None
    reward: float | None
    """The person's own reward; None if the corpus has none."""


class KnowledgeBase(Part, frozen=True):
    """The knowledge of one of two people."""

    agent: str
    participant_type: str | None
    columns: tuple[str, ...]
    items: tuple[Item, ...]


class Attribute(Part, frozen=True):
    """An attribute of the items of a scenario."""

    attribute: str | None
    value_type: str | None
    alpha: float | None


class ScenarioValue(Part, frozen=True):
    """A fact of the scenario, such as the id of the customer's order."""

    section: str
    field: str
    value: str | None


class Scenario(Part, frozen=True):
    """The instructions that the people received."""

    scenario_id: str | None
    flow: str | None
    subflow: str | None
    values: tuple[ScenarioValue, ...]
    attributes: tuple[Attribute, ...]


class Step(Part, frozen=True):
    """A step of a guideline."""

    index: int
    type: str | None
    button: str | None
    act: str | None
    text: str | None
    subtext: tuple[str, ...]
    taken_in: tuple[int, ...]
    """Turns with the act that the step requires."""


class Guideline(Part, frozen=True):
    """The instructions of an agent, and how far the agent followed them."""

    key: str
    flow: str | None
    subflow: str | None
    instructions: tuple[str, ...]
    steps: tuple[Step, ...]
    conformance: str | None
    prescribed_acts: tuple[str, ...]
    missing_acts: tuple[str, ...]
    extra_acts: tuple[str, ...]


FORMAT = 1
"""Version of the JSON. It increases if a field gets another name or meaning, not for an additional field."""


class Span(Part, frozen=True):
    """Characters of a text that an annotator marked."""

    key: str
    start: int | None
    """First character, from 0, counted in code points; None if the publisher gives none."""
    end: int | None
    """Position after the last character."""
    text: str | None
    service: str | None
    slot: str | None
    source_label: str | None
    """The label as published, if it says more than service and slot."""
    annotation_index: int | None
    """Number of this label among several of the same segment. The annotator is not published."""
    status: str | None

    @property
    def label(self) -> str:
        """The name for readers, the same as in `core.transcript`."""
        name = self.slot or self.source_label or "span"
        return f"{name}:{self.status}" if self.status else name


class Act(Part, frozen=True):
    """A dialogue act, or a button that was pressed."""

    key: str
    type: str
    service: str | None
    act: str | None
    slot: str | None
    values: tuple[str | None, ...]
    canonical_values: tuple[str | None, ...] | None
    guideline_steps: tuple[int, ...]
    """Steps of the dialogue's guideline that require this act."""


class Annotation(Part, frozen=True):
    """A value of a kind of annotation for which no other part has a place: a term that a corpus has added."""

    key: str
    type: str
    service: str | None
    slot: str | None
    value: str | None


class StateSlot(Part, frozen=True):
    """A slot of a belief state, or one that the turn removed from it."""

    key: str
    slot: str
    change: str
    value: str | None
    variants: tuple[str | None, ...] | None
    previous_value: str | None


class State(Part, frozen=True):
    """The belief state of one service after a user turn."""

    key: str
    """The key of the frame."""
    service: str | None
    active_intent: str | None
    requested_slots: tuple[str, ...]
    slots: tuple[StateSlot, ...]


class Call(Part, frozen=True):
    """A service call and the entities that it returned."""

    key: str
    service: str | None
    method: str | None
    parameters: Mapping[str, str | None]
    result_count: int | None
    columns: tuple[str, ...]
    """Every slot of any result, in the order of the results."""
    results: tuple[CallResult, ...]


class CallResult(Part, frozen=True):
    """One entity that a call returned."""

    key: str
    values: tuple[str | None, ...]
    """In the order of the call's columns; None if the entity has no such slot."""


class Selection(Part, frozen=True):
    """An item that a person selected, or the number of each item that the person takes."""

    key: str
    agent: str | None
    item_index: int | None
    """Position in the selector's own list; None if it is not in the list."""
    item: Mapping[str, str | None]
    is_shared: bool | None
    """None if the goal is not to find a shared item."""
    is_last: bool


class Candidate(Part, frozen=True):
    """One of the candidate texts of a turn."""

    candidate_id: int
    text: str | None
    """None if the file of the texts is missing."""
    is_target: bool


class Candidates(Part, frozen=True):
    """The candidate texts of a turn, in the published order."""

    key: str
    target_position: int | None
    candidates: tuple[Candidate, ...]


class Violation(Part, frozen=True):
    """A rule that the dialogue breaks, or a property by design."""

    rule: str
    kind: str
    title: str | None
    turn_index: int | None
    """None if it concerns the whole dialogue."""
    row_key: str | None
    other_key: str | None
    """The other row that the rule is about, if there is one."""
    service: str | None
    slot: str | None
    detail: str


class Turn(Part, frozen=True):
    """A turn with all its annotations."""

    key: str
    index: int
    source_turn_number: int | None
    role: str
    speaker: str | None
    event_type: str
    source_event_type: str | None
    text: str | None
    delexicalized: str | None
    occurred_at: datetime.datetime | str | None
    """A text if Python does not support the year."""
    intent: str | None
    next_step: str | None
    json_pointer: str | None
    """The position in the dialogue's source file."""
    spans: tuple[Span, ...]
    acts: tuple[Act, ...]
    states: tuple[State, ...]
    calls: tuple[Call, ...]
    selections: tuple[Selection, ...]
    candidates: tuple[Candidates, ...]
    annotations: tuple[Annotation, ...]
    violations: tuple[Violation, ...]


class Answer(Part, frozen=True):
    """An option that people could vote for: an agent with its answer, or none of the agents."""

    vote_key: str | None
    response_key: str | None
    option: str
    agent_id: str | None
    """None for the option that is not an agent."""
    response: str | None
    votes: int | None
    is_selected: bool
    gold_position: int | None


class Service(Part, frozen=True):
    """A service or domain of the dialogue."""

    service: str | None
    domain: str | None
    description: str | None


class Source(Part, frozen=True):
    """The place of the dialogue in its release."""

    source_file_id: str
    record_index: int
    record_pointer: str
    is_generated: bool
    """True if the file was generated: the dialogue is not the publisher's."""


class Mark(Part, frozen=True):
    """The requested row, if it is not the dialogue itself."""

    key: str
    table: str
    shown_key: str
    """The key of the part that shows the row: a variant of a state is shown with its slot."""
    turn_index: int | None
    json_pointer: str | None
    row: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """A dialogue with all its data."""

    format: int = FORMAT
    key: str
    corpus_id: str
    corpus: str
    split: str | None
    source_split: str | None
    dialogue_id: str
    task: str | None
    source_task: str | None
    channel: str | None
    goal_kind: str
    outcome_reward: int | None
    participants: tuple[Participant, ...]
    source: Source
    mark: Mark | None
    services: tuple[Service, ...]
    scenario: Scenario | None
    guideline: Guideline | None
    knowledge: tuple[KnowledgeBase, ...]
    answers: tuple[Answer, ...]
    turns: tuple[Turn, ...]
    violations: tuple[Violation, ...]
    """Violations of the dialogue itself. Those of a turn are in the turn."""


class GoalWords(NamedTuple):
    """The words for a selection, by the kind of the dialogue's goal."""

    selects: str
    """The verb for a person who makes a selection."""
    value_first: bool
    """True if the value is a number of items, which is written before their name."""


SELECTING = GoalWords("selects", value_first=False)
WORDS = {"divide_items": GoalWords("gets", value_first=True)}


def words_of(dialogue: Dialogue) -> GoalWords:
    """Return the words for the selections of a dialogue."""
    return WORDS.get(dialogue.goal_kind, SELECTING)


def verdict(selection: Selection) -> str | None:
    """Return whether a selection is the shared item; None if the goal is not to find one."""
    return {True: "the shared one", False: "not the shared one", None: None}[selection.is_shared]


def by_votes(answers: Iterable[Answer]) -> list[Answer]:
    """Return the answers with the most votes first; one that could not be voted for has none."""
    return sorted(answers, key=lambda answer: -(answer.votes or 0))


def target_of(candidates: Candidates) -> str:
    """Return where the target is among the candidates."""
    position = candidates.target_position
    return "no target" if position is None or position < 0 else f"the target at {position}"


def rewards(dialogue: Dialogue) -> str | None:
    """Return the reward of the dialogue, and those of its people in parentheses; None if there are none."""
    people = [f"{person.speaker}: {person.reward:g}" for person in dialogue.participants if person.reward is not None]
    whole = [] if dialogue.outcome_reward is None else [str(dialogue.outcome_reward)]
    return " ".join([*whole, *([f"({', '.join(people)})"] if people else [])]) or None


def as_json(dialogue: Dialogue) -> str:
    """Return the dialogue as indented JSON without control characters for a terminal."""
    return visible_json(msgspec.json.format(msgspec.json.encode(dialogue), indent=1).decode())


class Piece(NamedTuple):
    """A piece of a text, with the marks before it."""

    closing: tuple[str, ...]
    """The labels of the spans that end before it, the shortest first."""
    empty: tuple[str, ...]
    """The labels of the spans that begin and end before it."""
    opening: int
    """Number of spans that begin with it."""
    text: str
    depth: int
    """Number of spans that contain it."""


def cut(text: str, spans: Iterable[Span]) -> Iterator[Piece]:
    """Yield the pieces of a text in order. The last one may be empty: it closes spans that end with the text."""
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
    """Return the text with each span as `[its words](its label)`."""
    return "".join(
        "".join(f"]({label})" for label in piece.closing)
        + "[" * piece.opening
        + "".join(f"[]({label})" for label in piece.empty)
        + piece.text
        for piece in cut(text, spans)
    )


def labels_by_place(text: str, spans: Iterable[Span]) -> dict[tuple[int, int], str]:
    """Return the labels of each place, separated by commas, with a count for a label that occurs more than once."""
    counts: dict[tuple[int, int], Counter[str]] = {}
    for (start, end, label), times in Counter(
        (span.start, span.end, span.label) for span in spans if span.start is not None and span.end is not None
    ).items():
        first = max(min(start, len(text)), 0)
        past = max(min(end, len(text)), first)
        counts.setdefault((first, past), Counter())[f"{label} x{times}" if times > 1 else label] += 1
    return {place: ", ".join(sorted(labels.elements())) for place, labels in counts.items()}
