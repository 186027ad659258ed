"""Records of the Hotline release (`train.json`, `dev.json`, `test.json`).

Source: the publisher's README. Every published key is a field with a description; what is not said here is refused or
set aside at landing.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dialogue_warehouse.corpora.release import Container, Entity, Integer, note


class Span(Struct, forbid_unknown_fields=True):
    """A marked piece of a text."""

    slot: Annotated[str, note("what the piece says, such as day")]
    text: Annotated[str, note("the piece itself")]
    start: Annotated[Integer, note("its first character, from 0")]
    end: Annotated[Integer, note("the character behind it")]


class Turn(Struct, forbid_unknown_fields=True):
    """An utterance of one of the two speakers."""

    speaker: Annotated[str, note("agent or caller")]
    text: Annotated[str, note("the words")]
    spans: Annotated[list[Span], note("marked pieces, in order; may be empty")]


class Call(Struct, forbid_unknown_fields=True):
    """One call."""

    id: Annotated[str, note("unique in its file")]
    topic: Annotated[str, note("what the caller asks about, such as opening_hours")]
    turns: Annotated[list[Turn], note("what is said, in order")]


ENTITIES = (Entity("calls", Call, Container.ARRAY, r"(?P<part>train|dev|test)\.json"),)
