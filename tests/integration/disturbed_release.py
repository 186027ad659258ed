"""A release in which what rarely happens happens often: the embedded sample, edited with a fixed seed.

Generated dialogues follow every guideline and say every value, so that many a column of an answer would be all zeros.
No edit breaks the shape of a release: nothing lands in quarantine.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def disturb(sample: Path, releases: Path) -> Path:
    """Copy the sample's releases and edit them; returns the folder of the copy."""
    shutil.copytree(sample, releases, ignore=shutil.ignore_patterns("SIMULATED.json"))
    rng = random.Random(20)
    _edit(releases / "abcd/abcd_v1.1.json.gz", lambda parts: _disturb_conversations(parts, rng))
    _edit(
        releases / "abcd/utterances.json",
        lambda texts: [text if index % 3 else texts[0] for index, text in enumerate(texts)],
    )
    questions = json.loads((releases / "bbai/train.json").read_bytes())
    _edit(releases / "bbai/test.json", lambda content: _disturb_questions(content, questions, rng))
    examples = json.loads((releases / "bbai/train_classifier.json").read_bytes())
    _edit(releases / "bbai/test_classifier.json", lambda content: _disturb_examples(content, examples))
    for path in sorted((releases / "mutualfriends").glob("*.json")):
        _edit(path, lambda dialogues: [_disturb_friends(dialogue, rng) for dialogue in dialogues])
    for path in sorted((releases / "sgd").glob("*/dialogues_*.json")):
        _edit(path, lambda dialogues: [_disturb_services(dialogue, rng) for dialogue in dialogues])
    for path in sorted((releases / "taskmaster1").glob("*-dialogs.json")):
        _edit(path, lambda dialogs: [_disturb_annotations(dialog, rng) for dialog in dialogs])
    return releases


def _edit(path: Path, edit: Callable[[Any], Any]) -> None:
    data = path.read_bytes()
    is_zipped = path.suffix == ".gz"
    edited = json.dumps(edit(json.loads(gzip.decompress(data) if is_zipped else data))).encode()
    path.write_bytes(gzip.compress(edited, mtime=0) if is_zipped else edited)


def _disturb_conversations(parts: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Buttons are exchanged, inserted or become another, targets are taken from train, lists lose their last candidate.

    A conversation of train returns in test, its texts in other letters, and a second one in train itself.
    """
    popular = [
        turn["candidates"][turn["targets"][4]]
        for conversation in parts["train"][:5]
        for turn in conversation["delexed"]
        if turn["candidates"]
    ]
    for part, conversations in parts.items():
        for conversation in conversations:
            turns = conversation["delexed"]
            pressed = [turn["targets"] for turn in turns if turn["targets"][2]]
            edit = rng.randrange(4)
            if edit == 1 and len(pressed) > 1:
                pressed[0][2], pressed[1][2] = pressed[1][2], pressed[0][2]
            elif edit == 2 and pressed:
                rng.choice(pressed)[2] = "notify-team"
            elif edit == 3 and pressed:
                _press_in_between(conversation)
            for turn in turns:
                candidates, place = turn["candidates"], turn["targets"][4]
                if candidates and rng.random() < 0.3:
                    target = rng.choice(popular)
                    if target not in candidates and (part != "train" or rng.random() < 0.5):
                        candidates[place] = target
                if candidates and part == "dev":
                    # No list of dev keeps all its candidates.
                    candidates[0], candidates[place] = candidates[place], candidates[0]
                    turn["targets"][4] = 0
                    candidates.pop()
                elif 0 <= place < len(candidates) - 2 and rng.random() < 0.2:
                    del candidates[-2:]
    for place, part in enumerate(("test", "train")):
        again = copy.deepcopy(parts["train"][place])
        again["convo_id"] += 1_000_000
        again["original"] = [[speaker, f"{text.upper()} !"] for speaker, text in again["original"]]
        parts[part].append(again)
    return parts


def _press_in_between(conversation: dict[str, Any]) -> None:
    """The first button is followed by another one, in a turn of its own."""
    turns = conversation["delexed"]
    place = next(place for place, turn in enumerate(turns) if turn["targets"][2]) + 1
    intent = turns[place - 1]["targets"][0]
    turns.insert(place, turns[place - 1] | {"targets": [intent, "take_action", "notify-team", [], -1]})
    conversation["original"].insert(place, conversation["original"][place - 1])
    for number, turn in enumerate(turns, start=1):
        turn["turn_count"] = number


def _disturb_questions(content: dict[str, Any], train: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Questions of train return in test in other letters and for another intent, votes are tied, `none` shares the list."""
    intents = sorted(question["intent"] for question in train.values())
    for text, question in list(train.items())[:12]:
        content[f"{text.upper()} !"] = question | {"intent": rng.choice(intents)}
    for number, question in enumerate(content.values()):
        best = max(question["human_vote"].values())
        if number % 3 == 0:
            question["human_vote"]["adasa"] = best
        if number % 7 == 0:
            question["human"] = ["none", *(name for name in question["human"] if name != "none")]
    return content


def _disturb_examples(content: list[Any], train: list[Any]) -> list[Any]:
    return content + [
        [f" {text.upper()}", labels if number % 2 else ["covid"]] for number, (text, labels) in enumerate(train[:10])
    ]


def _disturb_friends(dialogue: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Some rewards are wrong, some people choose another item in the end, share another or none; some never begin."""
    edit = rng.randrange(6)
    if edit == 0:
        dialogue["outcome"]["reward"] = 1 - dialogue["outcome"]["reward"]
    elif edit == 1:
        dialogue["events"] = []
    elif edit == 2:
        for event in dialogue["events"]:
            if event["action"] == "select" and rng.random() < 0.5:
                event["data"] = rng.choice(dialogue["scenario"]["kbs"][event["agent"]])
    elif edit == 3:
        mine, yours = dialogue["scenario"]["kbs"]
        yours[0] = mine[0]
    elif edit == 4:
        mine, yours = dialogue["scenario"]["kbs"]
        yours[:] = [item for item in yours if item not in mine]
    return dialogue


def _disturb_services(dialogue: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Texts end in white space, states lose or empty slots, arguments are of nobody's or of another slot's making."""
    heard: list[str] = []
    for turn in dialogue["turns"]:
        if rng.random() < 0.1:
            turn["utterance"] += rng.choice(["  well ", "\tso", " \n"])
        for frame in turn["frames"]:
            state = frame.get("state", {}).get("slot_values", {})
            for slot in list(state):
                chance = rng.random()
                if chance < 0.05:
                    del state[slot]
                elif chance < 0.07:
                    state[slot] = []
                elif chance < 0.12:
                    state[slot] = [*state[slot], "or so"]
            parameters = frame.get("service_call", {}).get("parameters", {})
            for slot in parameters:
                chance = rng.random()
                if chance < 0.1:
                    parameters[slot] = "out of nowhere"
                elif chance < 0.3 and heard:
                    parameters[slot] = rng.choice(heard)
            if parameters and rng.random() < 0.1:
                frame["service_results"] = []
        heard += [
            value for frame in turn["frames"] for action in frame["actions"] for value in action["canonical_values"]
        ]
    return dialogue


def _disturb_annotations(dialog: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Segments get a second or another label, or a neighbor that overlaps them with the same label or another."""
    for utterance in dialog["utterances"]:
        for segment in list(utterance.get("segments", ())):
            edit, name = rng.randrange(6), segment["annotations"][0]["name"]
            start, end = segment["start_index"], segment["end_index"]
            if edit == 0:
                segment["annotations"].append(
                    {"name": name.removesuffix(".accept").removesuffix(".reject") + ".accept"}
                )
            elif edit == 3:
                segment["annotations"].append({"name": "uber_lyft.num.people"})
            elif edit in (1, 2) and end - start > 1:
                label = name if edit == 1 else "uber_lyft.num.people"
                text = utterance["text"][start : end - 1]
                utterance["segments"].append(
                    {"start_index": start, "end_index": end - 1, "text": text, "annotations": [{"name": label}]}
                )
    return dialog
