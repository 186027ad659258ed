"""Records of the Taskmaster-1 release (`TM-1-2019/` at commit d92cb6a).

Source: the release's README and data_facts section 4a. The README writes camelCase; the files use snake_case.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from dialogue_warehouse.corpora.release import Container, Entity, Integer, note


class Annotation(Struct, forbid_unknown_fields=True):
    """One worker's label of a segment."""

    name: Annotated[str, note("<domain id>.<label>[.accept|.reject], or a transaction status")]


class Segment(Struct, forbid_unknown_fields=True):
    """A labeled piece of an utterance."""

    start_index: Annotated[Integer, note("first character, from 0")]
    end_index: Annotated[Integer, note("character after the last")]
    text: Annotated[str, note("text of the segment")]
    annotations: Annotated[list[Annotation], note("labels; two equal ones if both workers agree")]


class Utterance(Struct, forbid_unknown_fields=True):
    """One turn."""

    index: Annotated[Integer, note("position from 0")]
    speaker: Annotated[str, note("USER or ASSISTANT")]
    text: Annotated[str, note("what was said or written")]
    segments: Annotated[list[Segment], note("absent if nothing is labeled")] | UnsetType = UNSET


class Dialog(Struct, forbid_unknown_fields=True):
    """One dialogue."""

    conversation_id: Annotated[str, note("dlg- and a uuid")]
    instruction_id: Annotated[str, note("the task the worker was given; its prefix is the domain")]
    utterances: Annotated[list[Utterance], note("turns in order; may be empty")]


class Domain(Struct, forbid_unknown_fields=True):
    """A task domain of the ontology."""

    id: Annotated[str, note("prefix of the annotation names, such as uber_lyft")]
    vertical: Annotated[str, note("kind of transaction, such as ride_booking")]
    required: Annotated[list[str], note("labels that the task needs")]
    optional: Annotated[list[str], note("labels that it may have")]


class SplitMember(Struct, forbid_unknown_fields=True):
    """A line of a split file."""

    value: Annotated[str, Meta(pattern=r"^dlg-[0-9A-Za-z_-]+\Z"), note("conversation_id of a self dialog")]


ENTITIES = (
    Entity("dialogs", Dialog, Container.ARRAY, r"(?P<part>self|woz)-dialogs\.json"),
    Entity("ontology", Domain, Container.ENTRIES, r"ontology\.json"),
    Entity("split_members", SplitMember, Container.LINES, r"train-dev-test/(?P<part>train|dev|test)\.csv"),
)
