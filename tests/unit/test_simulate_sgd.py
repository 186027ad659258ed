"""The generated SGD release: its plan, its rules, and the awkward cases of the real one."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from pipelines.corpora import registry
from pipelines.corpora.sgd import simulate_schema
from tests.unit.plans import plan_of


@pytest.fixture(scope="module")
def designs() -> dict[str, list]:
    """Split -> what its dialogues are like at scale 1."""
    planned = [(file.path.split("/")[0], file.parameters) for file in plan_of("sgd", 1) if file.parameters]
    return {
        split: [d for part, file in planned if part == split for d in file.designs] for split in simulate_schema.SPLITS
    }


def test_sgd_defects_are_as_many_as_in_the_release(designs):
    defects = Counter(dialogue.oddity for dialogues in designs.values() for dialogue in dialogues if dialogue.oddity)
    annotated = {"lacking": 18, "overlap": 2, "swapped": 26, "category": 1}
    assert defects == annotated | {"blank": 47, "newline": 6, "empty": 2}


def test_sgd_files_are_planned_near_their_true_sizes():
    listed = {file.path: file.bytes for file in registry.load_corpus("sgd").files}
    for file in plan_of("sgd", 1):
        assert abs(file.weight / listed[file.path] - 1) < 0.01, file.path


def test_sgd_above_scale_1_has_more_files_of_the_same_size():
    once, twice = ([file for file in plan_of("sgd", scale) if file.parameters] for scale in (1, 2))
    assert len(twice) == 2 * len(once)
    numbers = {split: [] for split in simulate_schema.SPLITS}
    for file in twice:
        split, name = file.path.split("/")
        number = int(name.removeprefix("dialogues_").removesuffix(".json"))
        numbers[split].append(number)
        assert {design.dialogue_id.split("_")[0] for design in file.parameters.designs} == {str(number)}
        assert len({design.dialogue_id for design in file.parameters.designs}) == len(file.parameters.designs)
    assert all(listed == list(range(1, len(listed) + 1)) for listed in numbers.values())
    assert max(file.weight for file in twice) == max(file.weight for file in once)


@pytest.fixture(scope="module")
def dialogues(generated_sample) -> list[tuple[str, dict]]:
    """Split and dialogue of the sample."""
    files = sorted((generated_sample / "sgd").glob("*/dialogues_*.json"))
    return [(file.parent.name, dialogue) for file in files for dialogue in json.loads(file.read_bytes())]


@pytest.fixture(scope="module")
def frames(dialogues) -> list[tuple[str, dict, dict]]:
    """Split, turn and frame of the sample."""
    return [(split, turn, frame) for split, d in dialogues for turn in d["turns"] for frame in turn["frames"]]


def test_sgd_turns_alternate_and_end_with_goodbye(dialogues):
    for _, dialogue in dialogues:
        turns = dialogue["turns"]
        assert [turn["speaker"] for turn in turns] == ["USER", "SYSTEM"] * (len(turns) // 2)
        assert "GOODBYE" in [action["act"] for action in turns[-1]["frames"][0]["actions"]]
        assert {frame["service"] for turn in turns for frame in turn["frames"]} == set(dialogue["services"])
        assert all(len(turn["frames"]) == 1 for turn in turns[1::2])


def test_sgd_spans_are_values_of_their_frame(frames):
    slots = {
        (split, entry["service_name"], slot["name"]): slot
        for split in simulate_schema.SPLITS
        for entry in simulate_schema.schema(split)
        for slot in entry["slots"]
    }
    for split, turn, frame in frames:
        for span in frame["slots"]:
            text = turn["utterance"][span["start"] : span["exclusive_end"]]
            said = [v for act in frame["actions"] if act["slot"] == span["slot"] for v in act["values"]]
            assert text in said
            assert not slots[split, frame["service"], span["slot"]]["is_categorical"]
            if turn["speaker"] == "USER":
                assert text in frame["state"]["slot_values"][span["slot"]]


def test_sgd_acts_carry_what_the_documentation_says(frames):
    valued, with_slot = (
        {"INFORM", "OFFER", "CONFIRM", "INFORM_INTENT", "OFFER_INTENT"},
        {"REQUEST", "SELECT", "INFORM_COUNT"},
    )
    for _, _, frame in frames:
        for action in frame["actions"]:
            assert len(action["values"]) == len(action["canonical_values"])
            assert action["slot"] or not action["values"]
            assert action["act"] not in valued or action["values"]
            assert action["act"] in valued | with_slot or not action["slot"]
            if action["act"] == "INFORM_COUNT":
                assert action["canonical_values"] == [str(len(frame["service_results"]))]
        asked = [action["slot"] for action in frame["actions"] if action["act"] == "REQUEST"]
        assert "state" not in frame or frame["state"]["requested_slots"] == sorted(asked)


def test_sgd_states_hold_values_of_the_schema(frames):
    services = {
        (split, entry["service_name"]): entry
        for split in simulate_schema.SPLITS
        for entry in simulate_schema.schema(split)
    }
    for split, turn, frame in frames:
        assert ("state" in frame) == (turn["speaker"] == "USER")
        if "state" not in frame:
            continue
        service = services[split, frame["service"]]
        assert frame["state"]["active_intent"] in {"NONE", *(intent["name"] for intent in service["intents"])}
        categories = {slot["name"]: slot["possible_values"] for slot in service["slots"] if slot["is_categorical"]}
        for slot, values in frame["state"]["slot_values"].items():
            assert values and len(set(values)) == len(values)
            if slot in categories:
                assert len(values) == 1
                assert values[0] in (*categories[slot], "dontcare")


def test_sgd_calls_name_an_intent_and_return_its_slots(frames):
    intents = {
        (split, entry["service_name"], intent["name"]): intent
        for split in simulate_schema.SPLITS
        for entry in simulate_schema.schema(split)
        for intent in entry["intents"]
    }
    lacking = 0
    for split, _, frame in frames:
        if "service_call" in frame:
            call = frame["service_call"]
            intent = intents[split, frame["service"], call["method"]]
            assert set(call["parameters"]) <= {*intent["required_slots"], *intent["optional_slots"]}
            assert all(set(row) <= set(intent["result_slots"]) for row in frame["service_results"])
            lacking += not set(intent["required_slots"]) <= set(call["parameters"])
    assert lacking >= 1


def test_sgd_sample_has_the_awkward_utterances(dialogues):
    texts = [(split, turn["utterance"]) for split, dialogue in dialogues for turn in dialogue["turns"]]
    assert texts.count(("test", "")) == 2
    assert any(text.startswith(" ") for _, text in texts)
    assert any(text.endswith(" ") for _, text in texts)
    assert any("\n" in text.strip() for _, text in texts)


def test_sgd_sample_has_the_awkward_annotations(frames):
    states = [frame["state"] for _, _, frame in frames if "state" in frame]
    assert any(state["active_intent"] == "NONE" and state["slot_values"] for state in states)
    variants = [values for state in states for values in state["slot_values"].values()]
    assert any(len(values) > 1 for values in variants)
    assert ["dontcare"] in variants
    assert any(frame.get("service_results") == [] for _, _, frame in frames)
    actions = [(frame["service"], action) for _, _, frame in frames for action in frame["actions"]]
    assert any(action["values"] != action["canonical_values"] for _, action in actions)
    assert any(name == "Homes_2" and (act["act"], act["slot"]) == ("INFORM", "intent") for name, act in actions)
    spans = [sorted((span["start"], span["exclusive_end"]) for span in frame["slots"]) for _, _, frame in frames]
    assert sum(any(second[0] < first[1] for first, second in pairwise(frame)) for frame in spans) == 2
    assert any(len(turn["frames"]) == 2 for _, turn, _ in frames)


def test_sgd_ids_repeat_across_splits_in_the_sample(dialogues):
    counts = Counter(dialogue["dialogue_id"] for _, dialogue in dialogues)
    assert max(counts.values()) == 3
    assert len({(split, dialogue["dialogue_id"]) for split, dialogue in dialogues}) == len(dialogues)
