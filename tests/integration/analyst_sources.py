"""Dialogues of the release files, read in plain Python for `analyst_answers`; nothing here imports the project."""

from __future__ import annotations

import csv
import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.integration import recount
from tests.integration.recount import SPLITS

CORPORA = ("abcd", "bbai", "mutualfriends", "sgd", "taskmaster1")
"""The corpora whose answers are computed here."""
SPEAKERS = {"USER": "user", "ASSISTANT": "system", "SYSTEM": "system", "customer": "user", "agent": "system"}


@functools.lru_cache(maxsize=256)
def load(path: Path) -> Any:
    """Return the JSON of a file, zipped or not, which is read once; the answers do not change it."""
    return recount.load(path)


def group(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def of_answered(query: str) -> str:
    """Return a query for the rows of another query that are about a corpus with answers."""
    return f"select * from ({query}) where corpus_id in {CORPORA}"


class Turn(NamedTuple):
    """Turn of any corpus, by a user, system, peer or unknown; the text is None if the turn is not an utterance."""

    role: str
    text: str | None
    intent: str | None = None


class Dialogue(NamedTuple):
    """Dialogue of any corpus."""

    corpus_id: str
    split: str | None
    turns: list[Turn]


def read_dialogues(releases: Path) -> Iterator[Dialogue]:
    for split, conversation in read_conversations(releases):
        yield Dialogue(
            "abcd",
            split,
            [
                Turn(SPEAKERS.get(speaker, "system"), None if speaker == "action" else text, turn["targets"][0])
                for (speaker, text), turn in zip(conversation["original"], conversation["delexed"], strict=True)
            ],
        )
    for split, question, content in read_questions(releases):
        yield Dialogue("bbai", split, [Turn("user", question, content["intent"])])
    for split, dialogue in read_friend_dialogues(releases):
        texts = [event["data"] if event["action"] == "message" else None for event in dialogue["events"]]
        yield Dialogue("mutualfriends", split, [Turn("peer", text) for text in texts])
    for split, dialogue in read_service_dialogues(releases):
        yield Dialogue("sgd", split, [Turn(SPEAKERS[turn["speaker"]], turn["utterance"]) for turn in dialogue["turns"]])
    for _, split, dialog in read_dialogs(releases):
        turns = [Turn(SPEAKERS.get(turn["speaker"], "unknown"), turn["text"]) for turn in dialog["utterances"]]
        yield Dialogue("taskmaster1", split, turns)


def read_conversations(releases: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for part, conversations in load(releases / "abcd/abcd_v1.1.json.gz").items():
        for conversation in conversations:
            yield SPLITS[part], conversation


def read_questions(releases: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for split in ("test", "train"):
        if (path := releases / f"bbai/{split}.json").is_file():
            for question, content in load(path).items():
                yield split, question, content


def read_examples(releases: Path) -> Iterator[tuple[str, str, list[str]]]:
    for split in ("test", "train"):
        for question, labels in load(releases / f"bbai/{split}_classifier.json"):
            yield split, question, labels


def read_friend_dialogues(releases: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for part, split in SPLITS.items():
        if (path := releases / f"mutualfriends/{part}.json").is_file():
            for dialogue in load(path):
                yield split, dialogue


def read_dialogs(releases: Path) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    split_of = {}
    for part, split in SPLITS.items():
        with (releases / f"taskmaster1/train-dev-test/{part}.csv").open(newline="", encoding="utf-8") as stream:
            split_of |= {line[0]: split for line in csv.reader(stream)}
    for part in ("self", "woz"):
        for dialog in load(releases / f"taskmaster1/{part}-dialogs.json"):
            yield part, split_of.get(dialog["conversation_id"]), dialog


def read_service_dialogues(releases: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for part, split in SPLITS.items():
        for path in sorted((releases / "sgd" / part).glob("dialogues_*.json")):
            for dialogue in load(path):
                yield split, dialogue
