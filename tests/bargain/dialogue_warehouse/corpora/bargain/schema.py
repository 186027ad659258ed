"""Records of the Bargain release (`train.jsonl`, `dev.jsonl`, `test.jsonl`).

Source: the publisher's README. The shape is that of negotiations about a few items: each person has other points for
the same items, and takes a part of them.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dialogue_warehouse.corpora.release import Container, Entity, Integer, note


class Item(Struct, forbid_unknown_fields=True):
    """A kind of item that is divided."""

    name: Annotated[str, note("kind of item, such as book")]
    count: Annotated[Integer, note("number of these items")]
    points: Annotated[Integer, note("what one of them is worth to the person")]


class Person(Struct, forbid_unknown_fields=True):
    """One of the two people."""

    kind: Annotated[str, note("kind of participant, such as human")]
    items: Annotated[list[Item], note("the items, with the points of this person")]
    reward: Annotated[Integer | float, note("points of the items that the person got")]

    def __post_init__(self) -> None:
        if isinstance(self.reward, int):
            raise ValueError("reward is an integer where the release writes floats")


class Event(Struct, forbid_unknown_fields=True):
    """One action of one person."""

    person: Annotated[Integer, note("0 or 1")]
    kind: Annotated[str, note("say or take")]
    text: Annotated[str | None, note("say: the text")]
    takes: Annotated[dict[str, Integer] | None, note("take: kind of item -> number that the person takes")]


class Deal(Struct, forbid_unknown_fields=True):
    """One negotiation."""

    id: Annotated[str, note("unique in each file of the release")]
    people: Annotated[list[Person], note("the two people, 0 and 1")]
    events: Annotated[list[Event], note("events, in order; may be empty")]
    agreed: Annotated[bool, note("true if both people took what they had agreed on")]


ENTITIES = (Entity("deals", Deal, Container.JSON_LINES, r"(?P<part>train|dev|test)\.jsonl"),)
