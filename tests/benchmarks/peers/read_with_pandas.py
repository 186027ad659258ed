"""SGD with pandas: `json.load`, then `json_normalize` once per level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from tests.benchmarks.peers import way


def read(files: list[Path]) -> list[dict[str, Any]]:
    """Return all dialogues, each with its file and each turn with its position, which json_normalize does not keep."""
    dialogues = []
    for file in files:
        for dialogue in json.loads(file.read_bytes()):
            dialogue["file"] = f"{file.parent.name}/{file.name}"
            for turn_index, turn in enumerate(dialogue["turns"]):
                turn["turn_index"] = turn_index
            dialogues.append(dialogue)
    return dialogues


def flatten(dialogues: list[dict[str, Any]]) -> dict[str, pd.DataFrame]:
    """Return a frame per level.

    Objects with free keys (state, parameters, results) are not records: they are split first.
    """
    turn_key = ["file", "dialogue_id", ["turns", "turn_index"], ["turns", "speaker"]]
    frame_key = [*turn_key, ["turns", "frames", "service"]]
    states, parameters, results = [], [], []
    for dialogue in dialogues:
        for turn in dialogue["turns"]:
            for frame in turn["frames"]:
                key = (dialogue["file"], dialogue["dialogue_id"], turn["turn_index"], frame["service"])
                for slot, values in frame.get("state", {}).get("slot_values", {}).items():
                    states += [(*key, slot, value) for value in values]
                for slot, value in frame.get("service_call", {}).get("parameters", {}).items():
                    parameters.append((*key, slot, value))
                results += [(*key, index, entity) for index, entity in enumerate(frame.get("service_results", ()))]
    columns = ["file", "dialogue_id", "turn_index", "service"]
    turns = pd.json_normalize(dialogues, ["turns"], ["file", "dialogue_id"])
    frames = pd.json_normalize(dialogues, ["turns", "frames"], turn_key, max_level=0)
    return {
        "turns": turns.drop(columns="frames"),
        "frames": frames.drop(columns=["actions", "slots"]),
        "actions": pd.json_normalize(dialogues, ["turns", "frames", "actions"], frame_key),
        "spans": pd.json_normalize(dialogues, ["turns", "frames", "slots"], frame_key, record_prefix="span."),
        "state_values": pd.DataFrame(states, columns=[*columns, "slot", "value"]),
        "call_parameters": pd.DataFrame(parameters, columns=[*columns, "slot", "value"]),
        "service_results": pd.DataFrame(results, columns=[*columns, "result_index", "entity"]),
    }


if __name__ == "__main__":
    loses = "positions of frames, acts and spans; empty lists below a turn; types (results stay Python objects)"
    way.run("pandas", {"json_normalize": way.Way(read, flatten, loses)})
