"""The Hugging Face form of the Schema-Guided Dialogue release: dataset `schema_guided_dstc8`, dialogues and schema.

Source: the dataset's loader and its card, data_facts section 6b. A list of objects became an object of lists at each
level, an object with free keys two lists, a name a class id, and what is absent an empty value.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dialogue_warehouse.corpora.forms import Form, Table, apart, class_name, mapping, together

SPEAKERS = ("USER", "SYSTEM")
ACTS = (
    *("AFFIRM", "AFFIRM_INTENT", "CONFIRM", "GOODBYE", "INFORM", "INFORM_COUNT", "INFORM_INTENT", "NEGATE"),
    *("NEGATE_INTENT", "NOTIFY_FAILURE", "NOTIFY_SUCCESS", "OFFER", "OFFER_INTENT", "REQUEST", "REQUEST_ALTS"),
    *("REQ_MORE", "SELECT", "THANK_YOU"),
)

TEXTS = pa.list_(pa.string())
TEXT_LISTS = pa.list_(TEXTS)
NO_STATE = {"active_intent": "", "requested_slots": [], "slot_values": {}}
NO_CALL = {"method": "", "parameters": {}}

SLOTS = pa.struct([("slot", TEXTS), ("start", pa.list_(pa.int32())), ("exclusive_end", pa.list_(pa.int32()))])
STATE = pa.struct(
    [
        ("active_intent", pa.string()),
        ("requested_slots", TEXTS),
        ("slot_values", pa.struct([("slot_name", TEXTS), ("slot_value_list", TEXT_LISTS)])),
    ]
)
ACTIONS = pa.struct(
    [("act", pa.list_(pa.int64())), ("slot", TEXTS), ("canonical_values", TEXT_LISTS), ("values", TEXT_LISTS)]
)
RESULT = pa.struct([("service_slot_name", TEXTS), ("service_canonical_value", TEXTS)])
PARAMETERS = pa.struct([("parameter_slot_name", TEXTS), ("parameter_canonical_value", TEXTS)])
FRAMES = pa.struct(
    [
        ("service", TEXTS),
        ("slots", pa.list_(SLOTS)),
        ("state", pa.list_(STATE)),
        ("actions", pa.list_(ACTIONS)),
        ("service_results", pa.list_(pa.struct([("service_results_list", pa.list_(RESULT))]))),
        ("service_call", pa.list_(pa.struct([("method", pa.string()), ("parameters", PARAMETERS)]))),
    ]
)
DIALOGUES = pa.schema(
    [
        ("dialogue_id", pa.string()),
        ("services", TEXTS),
        (
            "turns",
            pa.struct([("speaker", pa.list_(pa.int64())), ("utterance", TEXTS), ("frames", pa.list_(FRAMES))]),
        ),
    ]
)
SERVICES = pa.schema(
    [
        ("service_name", pa.string()),
        ("description", pa.string()),
        (
            "slots",
            pa.struct(
                [
                    ("name", TEXTS),
                    ("description", TEXTS),
                    ("is_categorical", pa.list_(pa.bool_())),
                    ("possible_values", TEXT_LISTS),
                ]
            ),
        ),
        (
            "intents",
            pa.struct(
                [
                    ("name", TEXTS),
                    ("description", TEXTS),
                    ("is_transactional", pa.list_(pa.bool_())),
                    ("required_slots", TEXT_LISTS),
                    ("optional_slots", pa.list_(pa.struct([("slot_name", TEXTS), ("slot_value", TEXTS)]))),
                    ("result_slots", TEXT_LISTS),
                ]
            ),
        ),
    ]
)


def dialogue(row: dict[str, Any]) -> dict[str, Any]:
    """The release's record of a dialogue."""
    turns = [
        {
            "speaker": class_name(SPEAKERS, turn["speaker"], f"/turns/speaker/{index}"),
            "utterance": turn["utterance"],
            "frames": [
                _frame(frame, f"/turns/frames/{index}", position)
                for position, frame in enumerate(together(turn["frames"], f"/turns/frames/{index}"))
            ],
        }
        for index, turn in enumerate(together(row["turns"], "/turns"))
    ]
    return {"dialogue_id": row["dialogue_id"], "services": row["services"], "turns": turns}


def _frame(frame: dict[str, Any], pointer: str, position: int) -> dict[str, Any]:
    """A frame; the loader filled an absent state with empties, absent results with none and an absent call too."""
    record: dict[str, Any] = {
        "service": frame["service"],
        "slots": together(frame["slots"], f"{pointer}/slots/{position}"),
        "actions": [
            action | {"act": class_name(ACTS, action["act"], f"{pointer}/actions/{position}/act/{index}")}
            for index, action in enumerate(together(frame["actions"], f"{pointer}/actions/{position}"))
        ],
    }
    values = frame["state"]["slot_values"]
    place = f"{pointer}/state/{position}/slot_values"
    state = frame["state"] | {"slot_values": mapping(values["slot_name"], values["slot_value_list"], place)}
    if state != NO_STATE:
        record["state"] = state
    parameters = frame["service_call"]["parameters"]
    place = f"{pointer}/service_call/{position}/parameters"
    names, texts = parameters["parameter_slot_name"], parameters["parameter_canonical_value"]
    call = {"method": frame["service_call"]["method"], "parameters": mapping(names, texts, place)}
    place = f"{pointer}/service_results/{position}/service_results_list"
    results = [
        mapping(result["service_slot_name"], result["service_canonical_value"], f"{place}/{index}")
        for index, result in enumerate(frame["service_results"]["service_results_list"])
    ]
    if call != NO_CALL or results:
        record |= {"service_call": call, "service_results": results}
    return record


def dialogue_row(record: dict[str, Any]) -> dict[str, Any]:
    """The row of a dialogue."""
    turns = [
        {
            "speaker": SPEAKERS.index(turn["speaker"]),
            "utterance": turn["utterance"],
            "frames": apart([_frame_row(frame) for frame in turn["frames"]], FRAMES.names),
        }
        for turn in record["turns"]
    ]
    return record | {"turns": apart(turns, ("speaker", "utterance", "frames"))}


def _frame_row(frame: dict[str, Any]) -> dict[str, Any]:
    """A frame with what is absent filled as the loader fills it."""
    state, call = frame.get("state", NO_STATE), frame.get("service_call", NO_CALL)
    values, parameters = state["slot_values"], call["parameters"]
    actions = [action | {"act": ACTS.index(action["act"])} for action in frame["actions"]]
    results = [
        {"service_slot_name": list(result), "service_canonical_value": list(result.values())}
        for result in frame.get("service_results", [])
    ]
    return {
        "service": frame["service"],
        "slots": apart(frame["slots"], SLOTS.names),
        "state": state | {"slot_values": {"slot_name": list(values), "slot_value_list": list(values.values())}},
        "actions": apart(actions, ACTIONS.names),
        "service_results": {"service_results_list": results},
        "service_call": {
            "method": call["method"],
            "parameters": {
                "parameter_slot_name": list(parameters),
                "parameter_canonical_value": list(parameters.values()),
            },
        },
    }


def service_row(record: dict[str, Any]) -> dict[str, Any]:
    """The row of a service."""
    intents = [
        intent
        | {
            "optional_slots": {
                "slot_name": list(intent["optional_slots"]),
                "slot_value": list(intent["optional_slots"].values()),
            }
        }
        for intent in record["intents"]
    ]
    return record | {
        "slots": apart(record["slots"], SERVICES.field("slots").type.names),
        "intents": apart(intents, SERVICES.field("intents").type.names),
    }


def service(row: dict[str, Any]) -> dict[str, Any]:
    """The release's record of a service."""
    intents = [
        intent
        | {
            "optional_slots": mapping(
                intent["optional_slots"]["slot_name"],
                intent["optional_slots"]["slot_value"],
                f"/intents/optional_slots/{index}",
            )
        }
        for index, intent in enumerate(together(row["intents"], "/intents"))
    ]
    return row | {"slots": together(row["slots"], "/slots"), "intents": intents}


FORM = Form(
    name="huggingface",
    dataset="schema_guided_dstc8",
    homepage="https://huggingface.co/datasets/schema_guided_dstc8",
    parts={"train": "train", "validation": "dev", "test": "test"},
    tables=(
        Table(
            entity="dialogues",
            config="dialogues",
            columns=DIALOGUES,
            undo=dialogue,
            redo=dialogue_row,
            class_names={"turns.speaker": SPEAKERS, "turns.frames.actions.act": ACTS},
            losses=(
                "the file of a dialogue is lost: all files of a split are one table; the first part of dialogue_id is "
                "the file's number",
                "an absent state was filled with empties: a state that is empty throughout is taken as absent",
                "an absent service_call was filled with empties: a call without method, parameters and results is "
                "taken as absent",
                "absent service_results became an empty list: it is taken as absent where there is no call, and as "
                "empty where there is one",
            ),
        ),
        Table(
            entity="services",
            config="schema",
            columns=SERVICES,
            undo=service,
            redo=service_row,
            class_names={},
            losses=(),
        ),
    ),
)
