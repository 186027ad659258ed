"""Records of the Schema-Guided Dialogue release (commit e852981, `{train,dev,test}/dialogues_NNN.json`, `schema.json`).

Source: the repository's README and data_facts section 6a. No key is optional except as marked; every scalar is a
string, numbers and dates included. The versions before July 2020, such as that of the DSTC8 challenge, have no acts of
the user, no canonical values, no calls and no result slots; the README also calls an act's slot and values optional.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from dialogue_warehouse.corpora.release import Container, Entity, Integer, note


class Span(Struct, forbid_unknown_fields=True):
    """A slot value found word for word in the utterance."""

    slot: Annotated[str, note("slot name, of a non-categorical slot of the frame's service")]
    start: Annotated[Integer, note("first character, from 0")]
    exclusive_end: Annotated[Integer, note("character after the last")]


class Action(Struct, forbid_unknown_fields=True):
    """A dialogue act."""

    act: Annotated[str, note("one of 18 documented acts")]
    slot: Annotated[str, note("slot name; the empty string if the act has none")] | UnsetType = UNSET
    values: Annotated[list[str], note("values as spoken")] | UnsetType = UNSET
    canonical_values: (
        Annotated[list[str], note("the same values in canonical form, position by position")] | UnsetType
    ) = UNSET


class State(Struct, forbid_unknown_fields=True):
    """The belief state of the frame's service, after a user turn."""

    active_intent: Annotated[str, note("intent of the service, or NONE")]
    requested_slots: Annotated[list[str], note("slots the user requests in this turn")]
    slot_values: Annotated[dict[str, list[str]], note("slot -> spoken variants of its value")]


class ServiceCall(Struct, forbid_unknown_fields=True):
    """The call that the system made before it answered."""

    method: Annotated[str, note("an intent of the service")]
    parameters: Annotated[dict[str, str], note("slot -> canonical value")]


class Frame(Struct, forbid_unknown_fields=True):
    """The annotations of one turn for one service."""

    service: Annotated[str, note("service name, as in schema.json")]
    slots: Annotated[list[Span], note("spans of non-categorical slots")]
    actions: Annotated[list[Action], note("dialogue acts; absent in user frames of early versions")] | UnsetType = UNSET
    state: Annotated[State, note("user frames only; absent in system frames")] | UnsetType = UNSET
    service_call: Annotated[ServiceCall, note("system frames that called the service")] | UnsetType = UNSET
    service_results: Annotated[list[dict[str, str]], note("entities returned; absent without a call")] | UnsetType = (
        UNSET
    )

    def __post_init__(self) -> None:
        if (self.service_call is UNSET) != (self.service_results is UNSET):
            raise ValueError("service_call and service_results do not come together")


class Turn(Struct, forbid_unknown_fields=True):
    """One utterance."""

    speaker: Annotated[str, note("USER or SYSTEM")]
    utterance: Annotated[str, note("the text; never trimmed, offsets refer to it")]
    frames: Annotated[list[Frame], note("one frame a service")]


class Dialogue(Struct, forbid_unknown_fields=True):
    """One dialogue."""

    dialogue_id: Annotated[str, note("<file number>_<5 digits>; unique within a split only")]
    services: Annotated[list[str], note("services the dialogue uses")]
    turns: Annotated[list[Turn], note("turns in order")]


class SchemaSlot(Struct, forbid_unknown_fields=True):
    """A slot of a service."""

    name: Annotated[str, note("slot name")]
    description: Annotated[str, note("meaning of the slot")]
    is_categorical: Annotated[bool, note("true if possible_values lists all values")]
    possible_values: Annotated[list[str], note("all values of a categorical slot; examples for any other slot")]


class SchemaIntent(Struct, forbid_unknown_fields=True):
    """An intent of a service."""

    name: Annotated[str, note("intent name")]
    description: Annotated[str, note("purpose of the intent")]
    is_transactional: Annotated[bool, note("true if a call changes something")]
    required_slots: Annotated[list[str], note("slots a call must have")]
    optional_slots: Annotated[dict[str, str], note("slot -> default value")]
    result_slots: Annotated[list[str], note("slots of a returned entity; absent in early versions")] | UnsetType = UNSET


class Service(Struct, forbid_unknown_fields=True):
    """One service of a split's schema.json."""

    service_name: Annotated[str, note("domain and variant, such as Banks_1")]
    description: Annotated[str, note("purpose of the service")]
    slots: Annotated[list[SchemaSlot], note("its slots")]
    intents: Annotated[list[SchemaIntent], note("its intents")]


ENTITIES = (
    Entity("dialogues", Dialogue, Container.ARRAY, r"(?P<part>train|dev|test)/dialogues_\d+\.json"),
    Entity("services", Service, Container.ARRAY, r"(?P<part>train|dev|test)/schema\.json"),
)
