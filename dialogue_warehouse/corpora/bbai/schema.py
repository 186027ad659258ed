"""Records of the BBAI release (One Agent To Rule Them All; `data/` at commit 20e345e).

Source: the repository's data/readme.md and data_facts section 2a. A question's agents, `intent`, `human` and
`human_vote` share one namespace, so the agents are a list of names, never "all other keys".
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct, defstruct

from dialogue_warehouse.corpora.release import Container, Entity, Integer, note

AGENTS = (
    "alexa",
    "google",
    "houndify",
    "recipe",
    "dictionary",
    "task_manager",
    "hotel",
    "stock",
    "math",
    "sport",
    "wikipedia",
    "mobile",
    "banking",
    "coffee",
    "event_search",
    "jokes",
    "reminders",
    "adasa",
    "covid",
)
"""The 19 agents in the order of the release."""

Option = Literal[("none", *AGENTS)]  # ty: ignore[invalid-type-form]
"""The options that a worker can vote for."""

HumanVote = defstruct(
    "HumanVote",
    [(option, Annotated[Integer, note(f"votes for {option}")]) for option in ("none", *AGENTS)]
    + [("intent", Annotated[Literal[0], note("stray key, always 0")])],
    forbid_unknown_fields=True,
)
"""Votes of the crowd workers, an integer for each option."""


class _Labels(Struct, forbid_unknown_fields=True):
    intent: Annotated[str, note("domain of the question, one of 37")]
    human: Annotated[list[Option], note("agents with more than two votes, or none; in the order of human_vote")]

    def __post_init__(self) -> None:
        if len(set(self.human)) != len(self.human):
            raise ValueError("human names an option twice")


Question = defstruct(
    "Question",
    [("human_vote", Annotated[HumanVote, note("votes per option")])]  # ty: ignore[invalid-type-form]
    + [(agent, Annotated[str, note(f"response of {agent}; may be empty")]) for agent in AGENTS],
    bases=(_Labels,),
    forbid_unknown_fields=True,
)
"""One question; its key in the file is the utterance."""


class ClassifierExample(Struct, array_like=True, forbid_unknown_fields=True):
    """One training example of the agent classifier: a two-element array."""

    utterance: Annotated[str, note("a question")]
    labels: Annotated[list[str], note("agents whose response was accepted")]


ENTITIES = (
    Entity("questions", Question, Container.ENTRIES, r"(?P<part>train|test)\.json"),
    Entity("classifier_examples", ClassifierExample, Container.ARRAY, r"(?P<part>train|test)_classifier\.json"),
    Entity("descriptions", str, Container.ENTRIES, r"descriptions\.json"),
)
