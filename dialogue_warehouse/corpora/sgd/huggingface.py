"""The Hugging Face form of the Schema-Guided Dialogue release: dataset `schema_guided_dstc8`, dialogues and schema.

Source: the dataset's loader and its card, data_facts section 6b. A list of objects became an object of lists at each
level, an object with free keys two lists, a name a class id, and an absent value an empty one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dialogue_warehouse.corpora.forms import Form, Table, apart, class_name, mapping, together

if TYPE_CHECKING:
    import pyarrow as pa

SPEAKERS = ("USER", "SYSTEM")
ACTS = (
    *("AFFIRM", "AFFIRM_INTENT", "CONFIRM", "GOODBYE", "INFORM", "INFORM_COUNT", "INFORM_INTENT", "NEGATE"),
    *("NEGATE_INTENT", "NOTIFY_FAILURE", "NOTIFY_SUCCESS", "OFFER", "OFFER_INTENT", "REQUEST", "REQUEST_ALTS"),
    *("REQ_MORE", "SELECT", "THANK_YOU"),
)

NO_STATE = {"active_intent": "", "requested_slots": [], "slot_values": {}}
NO_CALL = {"method": "", "parameters": {}}


SLOTS = ("slot", "start", "exclusive_end")
ACTIONS = ("act", "slot", "canonical_values", "values")
FRAMES = ("service", "slots", "state", "actions", "service_results", "service_call")
SERVICE_SLOTS = ("name", "description", "is_categorical", "possible_values")
SERVICE_INTENTS = ("name", "description", "is_transactional", "required_slots", "optional_slots", "result_slots")
"""The fields of the lists that a list of objects became, in their order."""


def dialogue_columns() -> pa.Schema:
    """Return the columns of the dialogues."""
    import pyarrow as pa

    texts, numbers = pa.list_(pa.string()), pa.list_(pa.int32())
    text_lists = pa.list_(texts)
    slots = _struct(SLOTS, texts, numbers, numbers)
    state = _struct(
        ("active_intent", "requested_slots", "slot_values"),
        pa.string(),
        texts,
        _struct(("slot_name", "slot_value_list"), texts, text_lists),
    )
    actions = _struct(ACTIONS, pa.list_(pa.int64()), texts, text_lists, text_lists)
    result = _struct(("service_slot_name", "service_canonical_value"), texts, texts)
    parameters = _struct(("parameter_slot_name", "parameter_canonical_value"), texts, texts)
    frames = _struct(
        FRAMES,
        texts,
        pa.list_(slots),
        pa.list_(state),
        pa.list_(actions),
        pa.list_(_struct(("service_results_list",), pa.list_(result))),
        pa.list_(_struct(("method", "parameters"), pa.string(), parameters)),
    )
    turns = _struct(("speaker", "utterance", "frames"), pa.list_(pa.int64()), texts, pa.list_(frames))
    return pa.schema([("dialogue_id", pa.string()), ("services", texts), ("turns", turns)])


def service_columns() -> pa.Schema:
    """Return the columns of the services."""
    import pyarrow as pa

    texts, flags = pa.list_(pa.string()), pa.list_(pa.bool_())
    text_lists = pa.list_(texts)
    slots = _struct(SERVICE_SLOTS, texts, texts, flags, text_lists)
    optional = pa.list_(_struct(("slot_name", "slot_value"), texts, texts))
    intents = _struct(SERVICE_INTENTS, texts, texts, flags, text_lists, optional, text_lists)
    return pa.schema(
        [("service_name", pa.string()), ("description", pa.string()), ("slots", slots), ("intents", intents)]
    )


def _struct(names: Sequence[str], *types: pa.DataType) -> pa.StructType:
    import pyarrow as pa

    return pa.struct(list(zip(names, types, strict=True)))


def dialogue(row: dict[str, Any]) -> dict[str, Any]:
    """Return the release's record of a dialogue."""
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
    """Return a frame as the release writes it.

    The loader filled an absent state or call with empty values, and absent results with an empty list.
    """
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
    """Return the row of a dialogue."""
    turns = [
        {
            "speaker": SPEAKERS.index(turn["speaker"]),
            "utterance": turn["utterance"],
            "frames": apart([_frame_row(frame) for frame in turn["frames"]], FRAMES),
        }
        for turn in record["turns"]
    ]
    return record | {"turns": apart(turns, ("speaker", "utterance", "frames"))}


def _frame_row(frame: dict[str, Any]) -> dict[str, Any]:
    """Return a frame with absent values filled as the loader fills them."""
    state, call = frame.get("state", NO_STATE), frame.get("service_call", NO_CALL)
    values, parameters = state["slot_values"], call["parameters"]
    actions = [action | {"act": ACTS.index(action["act"])} for action in frame["actions"]]
    results = [
        {"service_slot_name": list(result), "service_canonical_value": list(result.values())}
        for result in frame.get("service_results", [])
    ]
    return {
        "service": frame["service"],
        "slots": apart(frame["slots"], SLOTS),
        "state": state | {"slot_values": {"slot_name": list(values), "slot_value_list": list(values.values())}},
        "actions": apart(actions, ACTIONS),
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
    """Return the row of a service."""
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
        "slots": apart(record["slots"], SERVICE_SLOTS),
        "intents": apart(intents, SERVICE_INTENTS),
    }


def service(row: dict[str, Any]) -> dict[str, Any]:
    """Return the release's record of a service."""
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
            schema=dialogue_columns,
            undo=dialogue,
            redo=dialogue_row,
            class_names={"turns.speaker": SPEAKERS, "turns.frames.actions.act": ACTS},
            losses=(
                "the file of a dialogue is lost, because all files of a split are one table; only its number is known, "
                "from the first part of dialogue_id",
                "an absent state became a state with empty values: a state with only empty values is read as absent",
                "an absent service_call became a call with empty values: a call without method, parameters and results "
                "is read as absent",
                "absent service_results became an empty list: it is read as absent if there is no call, and as empty "
                "if there is one",
            ),
        ),
        Table(
            entity="services",
            config="schema",
            schema=service_columns,
            undo=service,
            redo=service_row,
            class_names={},
            losses=(),
        ),
    ),
)
