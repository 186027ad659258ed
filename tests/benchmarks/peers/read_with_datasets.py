"""SGD with Hugging Face `datasets`, two ways.

`from_generator` yields what the hub's own builder `schema_guided_dstc8` yields: `json.load` of every file, objects with
free keys as lists of pairs, what is absent as empty values, with the features declared (as lists of structs; the
builder's `Sequence` of a dict stores the same as a struct of lists). `load_dataset` is `load_dataset("json")` with no
features declared; it keeps each frame as JSON text, which has to be decoded again to get at what is in it.
Both write Arrow files to a cache, here a temporary one, and map them into memory.
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
    """The dialogues of all files."""
    for file in files:
        for dialogue in json.loads(file.read_bytes()):
            turns = [turn | {"frames": [complete(frame) for frame in turn["frames"]]} for turn in dialogue["turns"]]
            yield dialogue | {"file": f"{file.parent.name}/{file.name}", "turns": turns}


def complete(frame: dict[str, Any]) -> dict[str, Any]:
    """A frame with every key, and pairs for objects with free keys."""
    state = frame.get("state") or {"active_intent": "", "requested_slots": [], "slot_values": {}}
    call = frame.get("service_call") or {"method": "", "parameters": {}}
    values = [{"slot": slot, "values": values} for slot, values in state["slot_values"].items()]
    return frame | {
        "state": state | {"slot_values": values},
        "service_call": call | {"parameters": pairs(call["parameters"])},
        "service_results": [pairs(entity) for entity in frame.get("service_results", [])],
    }


def pairs(entries: dict[str, str]) -> list[dict[str, str]]:
    """An object as a list of pairs."""
    return [{"slot": slot, "value": value} for slot, value in entries.items()]


def read_generated(files: list[Path]) -> datasets.Dataset:
    """The dialogues of the generator, in Arrow."""
    return datasets.Dataset.from_generator(
        generate, FEATURES, gen_kwargs={"files": files}, cache_dir=CACHE.name, num_proc=None
    )


def flatten_arrow(dataset: datasets.Dataset) -> dict[str, pa.Table]:
    """A table a level, by Arrow's own functions."""
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
    """One row an item of a list column: the row it comes from, its number in all, and a struct's fields."""
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
    """The dialogues as the library's own JSON reader sees them."""
    names = [str(file) for file in files]
    return datasets.load_dataset("json", data_files=names, split="train", cache_dir=CACHE.name)


def flatten_python(dataset: datasets.Dataset) -> dict[str, list[tuple]]:
    """Rows a level: iterating the dataset decodes the frames."""
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
