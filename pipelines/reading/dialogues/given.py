"""What the people of a dialogue were given: a scenario, a guideline, lists of what they know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Item:
    """An item of a person's list."""

    key: str
    index: int
    values: list[str | None]
    """By the knowledge base's columns."""
    is_shared: bool
    selected_in: list[int]
    """Turns in which its owner selected it."""


@dataclass(frozen=True, kw_only=True)
class KnowledgeBase:
    """What one of two people knows."""

    agent: str
    participant_type: str | None
    columns: list[str]
    items: list[Item]


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """An attribute of the items of a scenario."""

    attribute: str
    value_type: str | None
    alpha: float | None


@dataclass(frozen=True, kw_only=True)
class ScenarioValue:
    """What a person was told to be or to want."""

    section: str
    field: str
    value: str | None


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What the people were given."""

    scenario_id: str | None
    flow: str | None
    subflow: str | None
    values: list[ScenarioValue]
    attributes: list[Attribute]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of a guideline."""

    index: int
    type: str | None
    button: str | None
    act: str | None
    text: str | None
    subtext: list[str]
    taken_in: list[int]
    """Turns with the act that the step asks for."""


@dataclass(frozen=True, kw_only=True)
class Guideline:
    """What an agent was to do, and how far it was done."""

    key: str
    flow: str | None
    subflow: str | None
    instructions: list[str]
    steps: list[Step]
    conformance: str | None
    missing_acts: list[str]
    extra_acts: list[str]
