"""Records of the MutualFriends release (`train.json`, `dev.json`, `test.json` of the CodaLab bundle).

Source: the dataset card, the authors' serializer and data_facts section 3a. The release's constants (start_time is
null, scenario.uuid repeats scenario_uuid) are part of the schema, so that they need not be stored.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dialogue_warehouse.corpora.release import Container, Entity, Integer, NumericString, note


class Attribute(Struct, forbid_unknown_fields=True):
    """A column of both knowledge bases."""

    unique: Annotated[bool, note("true if no value repeats; always false in the release")]
    value_type: Annotated[str, note("machine name, such as time_pref")]
    name: Annotated[str, note("displayed name, such as Time Preference")]


class Scenario(Struct, forbid_unknown_fields=True):
    """The scenario that the two people were given."""

    uuid: Annotated[str, note("the same as scenario_uuid")]
    alphas: Annotated[list[Integer | float], note("concentration of each attribute's values, by position")]
    attributes: Annotated[list[Attribute], note("the attributes, 3 or 4")]
    kbs: Annotated[list[list[dict[str, str]]], note("agent -> items -> attribute name -> value")]

    def __post_init__(self) -> None:
        if any(isinstance(alpha, int) for alpha in self.alphas):
            raise ValueError("alphas has an integer where the release writes floats")


class Outcome(Struct, forbid_unknown_fields=True):
    """The result of the dialogue."""

    reward: Annotated[Integer, note("1 if both selected the shared friend, else 0")]


class Event(Struct, forbid_unknown_fields=True):
    """One action of one person."""

    action: Annotated[str, note("message or select")]
    start_time: Annotated[None, note("always null")]
    data: Annotated[str | dict[str, str] | None, note("message: the text; select: the item, attribute -> value")]
    agent: Annotated[Integer, note("0 or 1")]
    time: Annotated[NumericString, note("seconds since 1970 as text, such as 1480736453.0")]


class Dialogue(Struct, forbid_unknown_fields=True):
    """One dialogue of two people."""

    uuid: Annotated[str, note("C_ and 32 hexadecimal digits")]
    scenario_uuid: Annotated[str, note("S_ and 16 characters")]
    scenario: Annotated[Scenario, note("the two knowledge bases")]
    agents: Annotated[dict[str, str], note("agent number as text -> kind of agent, human")]
    outcome: Annotated[Outcome, note("the reward")]
    events: Annotated[list[Event], note("events, in order; may be empty")]

    def __post_init__(self) -> None:
        if self.scenario.uuid != self.scenario_uuid:
            raise ValueError("scenario.uuid differs from scenario_uuid")


ENTITIES = (Entity("dialogues", Dialogue, Container.ARRAY, r"(?P<part>train|dev|test)\.json"),)
