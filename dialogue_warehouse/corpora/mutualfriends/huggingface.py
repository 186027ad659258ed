"""The Hugging Face form of the MutualFriends release: dataset `mutual_friends`, config `plain_text`.

Source: the dataset's loader and its card, data_facts section 3b. The scenario was flattened, each person became two
lists of names and values, and each event a position in parallel lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialogue_warehouse.corpora.forms import (
    Form,
    FormError,
    Table,
    apart,
    mapping,
    shortest,
    single_precision,
    together,
)

if TYPE_CHECKING:
    import pyarrow as pa

NO_START_TIME = -1.0
"""The loader's value for a start_time of null, the only value in the release."""


def dialogue_columns() -> pa.Schema:
    """Return the columns of the dialogues."""
    import pyarrow as pa

    texts = pa.list_(pa.string())
    singles = pa.list_(pa.float32())
    return pa.schema(
        [
            ("uuid", pa.string()),
            ("scenario_uuid", pa.string()),
            ("scenario_alphas", singles),
            (
                "scenario_attributes",
                pa.struct([("unique", pa.list_(pa.bool_())), ("value_type", texts), ("name", texts)]),
            ),
            ("scenario_kbs", pa.list_(pa.list_(pa.list_(texts)))),
            ("agents", pa.struct([("1", pa.string()), ("0", pa.string())])),
            ("outcome_reward", pa.int32()),
            (
                "events",
                pa.struct(
                    [
                        ("actions", texts),
                        ("start_times", singles),
                        ("data_messages", texts),
                        ("data_selects", pa.struct([("attributes", pa.list_(texts)), ("values", pa.list_(texts))])),
                        ("agents", pa.list_(pa.int32())),
                        ("times", singles),
                    ]
                ),
            ),
        ]
    )


def dialogue(row: dict[str, Any]) -> dict[str, Any]:
    """Return the release's record of a dialogue."""
    lists = dict(row["events"])
    for index, action in enumerate(lists["actions"]):
        if action not in ("message", "select"):
            raise FormError(f"action '{action}' at /events/actions/{index}, for which the form has no data")
    selects = lists.pop("data_selects")
    lists |= {f"select_{name}": items for name, items in selects.items()}
    return {
        "uuid": row["uuid"],
        "scenario_uuid": row["scenario_uuid"],
        "scenario": {
            "uuid": row["scenario_uuid"],
            "alphas": [shortest(alpha) for alpha in row["scenario_alphas"]],
            "attributes": together(row["scenario_attributes"], "/scenario_attributes"),
            "kbs": [
                [_person(person, f"/scenario_kbs/{agent}/{index}") for index, person in enumerate(persons)]
                for agent, persons in enumerate(row["scenario_kbs"])
            ],
        },
        "agents": row["agents"],
        "outcome": {"reward": row["outcome_reward"]},
        "events": [_event(event, index) for index, event in enumerate(together(lists, "/events"))],
    }


def _person(person: list[list[str]], pointer: str) -> dict[str, str]:
    """Return a person of a knowledge base, in that person's own order of attributes."""
    if len(person) != 2:
        raise FormError(f"{len(person)} lists at {pointer}, where two are expected: names and values")
    return mapping(*person, pointer)


def _event(event: dict[str, Any], index: int) -> dict[str, Any]:
    """Return one event. Data of the other kind of event would be lost, so they must be empty."""
    selected = mapping(event["select_attributes"], event["select_values"], f"/events/data_selects/*/{index}")
    is_message = event["actions"] == "message"
    if selected if is_message else event["data_messages"]:
        other = "data_selects" if is_message else "data_messages"
        raise FormError(f"a {event['actions']} has an unexpected value at /events/{other}, position {index}")
    if event["start_times"] != NO_START_TIME:
        raise FormError(
            f"start time {event['start_times']} at /events/start_times/{index}; this form has only {NO_START_TIME:g}"
        )
    return {
        "action": event["actions"],
        "start_time": None,
        "data": event["data_messages"] if is_message else selected,
        "agent": event["agents"],
        "time": repr(event["times"]),
    }


def dialogue_row(record: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a dialogue."""
    scenario, events = record["scenario"], record["events"]
    selects = [event["data"] if event["action"] == "select" else {} for event in events]
    return {
        "uuid": record["uuid"],
        "scenario_uuid": record["scenario_uuid"],
        "scenario_alphas": [single_precision(alpha) for alpha in scenario["alphas"]],
        "scenario_attributes": apart(scenario["attributes"], ("unique", "value_type", "name")),
        "scenario_kbs": [[[list(person), list(person.values())] for person in persons] for persons in scenario["kbs"]],
        "agents": record["agents"],
        "outcome_reward": record["outcome"]["reward"],
        "events": {
            "actions": [event["action"] for event in events],
            "start_times": [NO_START_TIME] * len(events),
            "data_messages": [event["data"] if event["action"] == "message" else "" for event in events],
            "data_selects": {
                "attributes": [list(item) for item in selects],
                "values": [list(item.values()) for item in selects],
            },
            "agents": [event["agent"] for event in events],
            "times": [single_precision(float(event["time"])) for event in events],
        },
    }


FORM = Form(
    name="huggingface",
    dataset="mutual_friends",
    homepage="https://huggingface.co/datasets/mutual_friends",
    parts={"train": "train", "validation": "dev", "test": "test"},
    tables=(
        Table(
            entity="dialogues",
            config="plain_text",
            schema=dialogue_columns,
            undo=dialogue,
            redo=dialogue_row,
            class_names={},
            losses=(
                "times are rounded to 32-bit floats, which are 128 seconds apart at these times: the order is correct, "
                "but equal times may have been different",
                "alphas are rounded to 32-bit floats: they are read as the number with the fewest digits that rounds "
                "to the float",
                "start_time is -1 instead of null: it is read as null",
                "scenario.uuid is lost: it is read from scenario_uuid, which is the same in the release",
            ),
        ),
    ),
)
