"""Records of the Hotline release (`train.json`, `dev.json`, `test.json`).

Source: the publisher's README. Every published key of a call is a field with a description.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from dialogue_warehouse.corpora.release import Container, Entity, note


class Turn(Struct, forbid_unknown_fields=True):
    """One turn of the agent or of the caller."""

    speaker: Annotated[str, note("agent or caller")]
    text: Annotated[str, note("text of the turn")]


class Call(Struct, forbid_unknown_fields=True):
    """One call."""

    id: Annotated[str, note("unique in its file")]
    topic: Annotated[str, note("what the caller asks about, such as opening_hours")]
    turns: Annotated[list[Turn], note("turns, in order")]


ENTITIES = (Entity("calls", Call, Container.ARRAY, r"(?P<part>train|dev|test)\.json"),)
