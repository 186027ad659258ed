"""SGD with Hugging Face `datasets`, in two ways.

`from_generator` yields the same as the hub's own builder `schema_guided_dstc8`: `json.load` of every file, objects with
free keys as lists of pairs, absent values as empty values, and declared features (as lists of structs; the builder's
`Sequence` of a dict stores the same as a struct of lists). `load_dataset` is `load_dataset("json")` without declared
features; it keeps each frame as JSON text, which must be decoded again. Both write Arrow files to a cache, here a
temporary one, and map them into memory.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

import datasets
import pyarrow as pa
import pyarrow.compute as pc

from tests.benchmarks.peers import way

TEXT = datasets.Value("string")
TEXTS = datasets.List(TEXT)
PAIRS = datasets.List({"slot": TEXT, "value": TEXT})
FEATURES = datasets.Features(
    {
        "file": TEXT,
        "dialogue_id": TEXT,
        "services": TEXTS,
        "turns": datasets.List(
            {
                "speaker": datasets.ClassLabel(names=["USER", "SYSTEM"]),
                "utterance": TEXT,
                "frames": datasets.List(
                    {
                        "service": TEXT,
                        "slots": datasets.List(
                            {"slot": TEXT, "start": datasets.Value("int32"), "exclusive_end": datasets.Value("int32")}
                        ),
                        "state": {
                            "active_intent": TEXT,
                            "requested_slots": TEXTS,
                            "slot_values": datasets.List({"slot": TEXT, "values": TEXTS}),
                        },
                        "actions": datasets.List(
                            {"act": TEXT, "slot": TEXT, "canonical_values": TEXTS, "values": TEXTS}
                        ),
                        "service_results": datasets.List(PAIRS),
                        "service_call": {"method": TEXT, "parameters": PAIRS},
                    }
                ),
            }
        ),
    }
)
CACHE = tempfile.TemporaryDirectory()


def generate(files: list[Path]) -> Iterator[dict[str, Any]]:
    """Return the dialogues of all files."""
    for file in files:
        for dialogue in json.loads(file.read_bytes()):
            turns = [turn | {"frames": [complete(frame) for frame in turn["frames"]]} for turn in dialogue["turns"]]
            yield dialogue | {"file": f"{file.parent.name}/{file.name}", "turns": turns}


def complete(frame: dict[str, Any]) -> dict[str, Any]:
    """Return a frame with every key, and with pairs for objects with free keys."""
    state = frame.get("state") or {"active_intent": "", "requested_slots": [], "slot_values": {}}
    call = frame.get("service_call") or {"method": "", "parameters": {}}
    values = [{"slot": slot, "values": values} for slot, values in state["slot_values"].items()]
    return frame | {
        "state": state | {"slot_values": values},
        "service_call": call | {"parameters": pairs(call["parameters"])},
        "service_results": [pairs(entity) for entity in frame.get("service_results", [])],
    }


def pairs(entries: dict[str, str]) -> list[dict[str, str]]:
    """Return an object as a list of pairs."""
    return [{"slot": slot, "value": value} for slot, value in entries.items()]


def read_generated(files: list[Path]) -> datasets.Dataset:
    """Return the dialogues of the generator, in Arrow."""
    return datasets.Dataset.from_generator(
        generate, FEATURES, gen_kwargs={"files": files}, cache_dir=CACHE.name, num_proc=None
    )


def flatten_arrow(dataset: datasets.Dataset) -> dict[str, pa.Table]:
    """Return one table per level, with Arrow's own functions."""
    dialogues = dataset.data.table.select(["file", "dialogue_id", "turns"])
    turns = explode(dialogues, "turns", "turn")
    frames = explode(turns.select(["dialogue", "turn", "frames"]), "frames", "frame").drop_columns("dialogue")
    state, call = frames["state"].combine_chunks(), frames["service_call"].combine_chunks()
    keys = frames.select(["turn", "frame", "service"])
    lists = {
        "actions": frames["actions"],
        "spans": frames["slots"],
        "slot_values": state.field("slot_values"),
        "call_parameters": call.field("parameters"),
        "service_results": frames["service_results"],
    }
    tables = {name: explode(keys.append_column(name, column), name, "position") for name, column in lists.items()}
    return {
        "turns": turns.drop_columns("frames"),
        "frames": keys.append_column("active_intent", state.field("active_intent")),
        "state_values": explode(tables.pop("slot_values"), "values", "variant"),
    } | tables


def explode(table: pa.Table, column: str, position: str) -> pa.Table:
    """Return one row per item of a list column: its source row, its overall number, and the fields of a struct."""
    lists = table[column].combine_chunks()
    items = pc.list_flatten(lists)
    parents = pc.list_parent_indices(lists)
    exploded = table.drop_columns(column).take(parents)
    if position == "turn":
        exploded = exploded.append_column("dialogue", parents)
    exploded = exploded.append_column(position, pa.array(range(len(items)), pa.int32()))
    if not pa.types.is_struct(items.type):
        return exploded.append_column(column, items)
    for field, values in zip(items.type, items.flatten(), strict=True):
        exploded = exploded.append_column(
            f"{column}.{field.name}" if field.name in exploded.column_names else field.name, values
        )
    return exploded


def read_json(files: list[Path]) -> datasets.Dataset:
    """Return the dialogues as the library's own JSON reader reads them."""
    names = [str(file) for file in files]
    return datasets.load_dataset("json", data_files=names, split="train", cache_dir=CACHE.name)


def flatten_python(dataset: datasets.Dataset) -> dict[str, list[tuple]]:
    """Return the rows of each level: iterating the dataset decodes the frames."""
    names = ("turns", "frames", "actions", "spans", "state_values", "call_parameters", "service_results")
    tables: dict[str, list[tuple]] = {name: [] for name in names}
    for dialogue_index, dialogue in enumerate(dataset):
        for turn_index, turn in enumerate(dialogue["turns"]):
            key = (dialogue_index, dialogue["dialogue_id"], turn_index)
            tables["turns"].append((*key, turn["speaker"], turn["utterance"]))
            for frame_index, frame in enumerate(turn["frames"]):
                key = (dialogue_index, turn_index, frame_index, frame["service"])
                state, call = frame.get("state") or {}, frame.get("service_call") or {}
                tables["frames"].append((*key, state.get("active_intent"), call.get("method")))
                tables["actions"] += [(*key, *action.values()) for action in frame["actions"]]
                tables["spans"] += [(*key, *span.values()) for span in frame["slots"]]
                for slot, values in (state.get("slot_values") or {}).items():
                    tables["state_values"] += [(*key, slot, value) for value in values]
                tables["call_parameters"] += [(*key, *pair) for pair in (call.get("parameters") or {}).items()]
                tables["service_results"] += [(*key, entity) for entity in frame.get("service_results") or ()]
    return tables


if __name__ == "__main__":
    datasets.disable_progress_bars()
    way.run(
        "datasets",
        {
            "from_generator": way.Way(read_generated, flatten_arrow, "absent or empty (state, call and results)"),
            "load_dataset": way.Way(read_json, flatten_python, "types below a turn (frames stay JSON text); the file"),
        },
    )
