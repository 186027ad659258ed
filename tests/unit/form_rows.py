"""A row and its record for each form that a corpus declares, and functions that write them to files."""

from __future__ import annotations

import copy
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dialogue_warehouse.corpora import forms, registry
from dialogue_warehouse.settings import FORMS, RELEASE_FORM

OFFERED = [
    (corpus, name)
    for name in FORMS
    for corpus in registry.corpus_ids()
    if name != RELEASE_FORM and registry.load_form(corpus, name)
]

FRIENDS: dict[str, Any] = {
    "uuid": "C_1",
    "scenario_uuid": "S_1",
    "scenario_alphas": [forms.single_precision(0.3), 1.0],
    "scenario_attributes": {"unique": [False, False], "value_type": ["name", "hobby"], "name": ["Name", "Hobby"]},
    "scenario_kbs": [[[["Hobby", "Name"], ["Golf", "Ann"]]], []],
    "agents": {"1": "human", "0": "human"},
    "outcome_reward": 1,
    "events": {
        "actions": ["message", "select"],
        "start_times": [-1.0, -1.0],
        "data_messages": ["hi", ""],
        "data_selects": {"attributes": [[], ["Name", "Hobby"]], "values": [[], ["Ann", "Golf"]]},
        "agents": [1, 0],
        "times": [1480737280.0, 1480737280.0],
    },
}

FRIENDS_RECORD = {
    "uuid": "C_1",
    "scenario_uuid": "S_1",
    "scenario": {
        "uuid": "S_1",
        "alphas": [0.3, 1.0],
        "attributes": [
            {"unique": False, "value_type": "name", "name": "Name"},
            {"unique": False, "value_type": "hobby", "name": "Hobby"},
        ],
        "kbs": [[{"Hobby": "Golf", "Name": "Ann"}], []],
    },
    "agents": {"1": "human", "0": "human"},
    "outcome": {"reward": 1},
    "events": [
        {"action": "message", "start_time": None, "data": "hi", "agent": 1, "time": "1480737280.0"},
        {
            "action": "select",
            "start_time": None,
            "data": {"Name": "Ann", "Hobby": "Golf"},
            "agent": 0,
            "time": "1480737280.0",
        },
    ],
}

NO_CALL = {"method": "", "parameters": {"parameter_slot_name": [], "parameter_canonical_value": []}}

NO_STATE = {"active_intent": "", "requested_slots": [], "slot_values": {"slot_name": [], "slot_value_list": []}}

NOTHING = {"slot": [], "start": [], "exclusive_end": []}

THANKS = {"act": [17], "slot": [""], "canonical_values": [[]], "values": [[]]}

SCHEMA_GUIDED: dict[str, Any] = {
    "dialogue_id": "1_00000",
    "services": ["A_1"],
    "turns": {
        "speaker": [0, 1],
        "utterance": ["by noon", "none left"],
        "frames": [
            {
                "service": ["A_1"],
                "slots": [{"slot": ["time"], "start": [3], "exclusive_end": [7]}],
                "state": [
                    {
                        "active_intent": "NONE",
                        "requested_slots": ["price"],
                        "slot_values": {"slot_name": ["time"], "slot_value_list": [["noon", "12"]]},
                    }
                ],
                "actions": [{"act": [4], "slot": ["time"], "canonical_values": [["12:00"]], "values": [["noon"]]}],
                "service_results": [{"service_results_list": []}],
                "service_call": [NO_CALL],
            },
            {
                "service": ["A_1"],
                "slots": [NOTHING],
                "state": [NO_STATE],
                "actions": [THANKS],
                "service_results": [{"service_results_list": []}],
                "service_call": [
                    {
                        "method": "Find",
                        "parameters": {"parameter_slot_name": ["time"], "parameter_canonical_value": ["12:00"]},
                    }
                ],
            },
        ],
    },
}

SCHEMA_GUIDED_RECORD = {
    "dialogue_id": "1_00000",
    "services": ["A_1"],
    "turns": [
        {
            "speaker": "USER",
            "utterance": "by noon",
            "frames": [
                {
                    "service": "A_1",
                    "slots": [{"slot": "time", "start": 3, "exclusive_end": 7}],
                    "actions": [{"act": "INFORM", "slot": "time", "canonical_values": ["12:00"], "values": ["noon"]}],
                    "state": {
                        "active_intent": "NONE",
                        "requested_slots": ["price"],
                        "slot_values": {"time": ["noon", "12"]},
                    },
                }
            ],
        },
        {
            "speaker": "SYSTEM",
            "utterance": "none left",
            "frames": [
                {
                    "service": "A_1",
                    "slots": [],
                    "actions": [{"act": "THANK_YOU", "slot": "", "canonical_values": [], "values": []}],
                    "service_call": {"method": "Find", "parameters": {"time": "12:00"}},
                    "service_results": [],
                }
            ],
        },
    ],
}

EXAMPLES = [("mutualfriends", FRIENDS, FRIENDS_RECORD), ("sgd", SCHEMA_GUIDED, SCHEMA_GUIDED_RECORD)]


def table_of(corpus_id: str) -> forms.Table:
    form = registry.load_form(corpus_id, "huggingface")
    assert form
    return form.tables[0]


def parquet(table: forms.Table, rows: list[dict], schema: pa.Schema | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema or table.columns), sink)
    return sink.getvalue().to_pybytes()


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def changed(row: dict, path: str, value: Any) -> dict:
    """Return a copy of the row with another value at a path such as `events/actions/0`."""
    row = copy.deepcopy(row)
    *steps, last = path.split("/")
    place: Any = row
    for step in steps:
        place = place[int(step) if isinstance(place, list) else step]
    place[int(last) if isinstance(place, list) else last] = value
    return row
