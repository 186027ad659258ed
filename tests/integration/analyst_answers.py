"""Answers to the queries of `warehouse/queries`, computed from the release files in plain Python, without SQL.

One function per query, with the same name, returns its rows in its order; this module imports nothing from the project.
A number that the query rounds is a `Rounded` exact fraction. The files are read as they are: releases with refused
records are not supported.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tests.fixtures.abcd.recount import ontology_subflow
from tests.fixtures.bbai.recount import AGENTS
from tests.fixtures.taskmaster1.recount import label_parts
from tests.integration.analyst_sources import (
    group,
    load,
    read_conversations,
    read_dialogs,
    read_dialogues,
    read_examples,
    read_friend_dialogues,
    read_questions,
    read_service_dialogues,
)
from tests.integration.recount import SPLITS, letters_and_digits

Row = tuple[Any, ...]


class Rounded:
    """Exact number that a query returns with some decimals: equal to a float that differs by at most half a unit."""

    def __init__(self, value: Fraction, digits: int) -> None:
        self.value, self.digits = value, digits

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | float):
            return NotImplemented
        is_near = abs(Fraction(other) - self.value) <= Fraction(1, 2 * 10**self.digits) + Fraction(1, 10**9)
        return is_near and round(other, self.digits) == other

    __hash__ = None

    def __repr__(self) -> str:
        return f"{float(self.value):.{self.digits + 2}f}"


def _mean(values: Iterable[int | Fraction], digits: int) -> Rounded | None:
    numbers = list(values)
    return Rounded(Fraction(sum(numbers)) / len(numbers), digits) if numbers else None


def _percent(flags: Iterable[bool], digits: int = 1) -> Rounded | None:
    return _mean((100 * bool(flag) for flag in flags), digits)


def _order(*values: Any) -> Row:
    """Return a sort key that puts None last, as DuckDB does."""
    return tuple((value is None, value or "") for value in values)


def how_large_are_the_corpora(releases: Path) -> list[Row]:
    def at(lengths: list[int], tenths: int) -> int:
        """Return the smallest length that this many tenths of the dialogues do not exceed."""
        return next(
            length for length in lengths if sum(other <= length for other in lengths) * 10 >= tenths * len(lengths)
        )

    rows = []
    for (corpus_id, split), dialogues in group(
        ((d.corpus_id, d.split), d.turns) for d in read_dialogues(releases)
    ).items():
        lengths = sorted(map(len, dialogues))
        spoken = [
            (turn.role, len([word for word in re.split("[ \t\n\r]", turn.text) if word]))
            for turns in dialogues
            for turn in turns
            if turn.text is not None
        ]
        rows.append(
            (
                corpus_id,
                split,
                len(dialogues),
                sum(lengths),
                _mean(lengths, 3),
                *(at(lengths, tenths) for tenths in (1, 5, 9)),
                max(lengths),
                len(spoken),
                sum(words for _, words in spoken),
                _mean((words for _, words in spoken), 3),
                *(_mean((words for role, words in spoken if role == asked), 3) for asked in ("user", "system")),
            )
        )
    return sorted(rows, key=lambda row: _order(*row[:2]))


def which_agent_wins_the_vote(releases: Path) -> list[Row]:
    rows = []
    for split, questions in group((split, content) for split, _, content in read_questions(releases)).items():
        answerable = [content for content in questions if "none" not in content["human"]]
        for agent in AGENTS:
            right = [content for content in answerable if agent in content["human"]]
            ballots = [
                {option: votes for option, votes in content["human_vote"].items() if option != "intent"}
                for content in questions
            ]
            ahead = [ballot for ballot in ballots if 0 < ballot[agent] == max(ballot.values())]
            answers = Counter(content[agent] for content in questions)
            commonest = min(answers, key=lambda answer: (-answers[answer], answer))
            rows.append(
                (
                    split,
                    agent,
                    len(questions),
                    len(answerable),
                    len(right),
                    int(100 * Fraction(100 * len(right), len(answerable))) / 100,
                    sum(content["human"] == [agent] for content in right),
                    len(ahead),
                    sum(list(ballot.values()).count(ballot[agent]) > 1 for ballot in ahead),
                    sum(ballot[agent] for ballot in ballots),
                    commonest,
                    _percent(content[agent] == commonest for content in questions),
                )
            )
    return sorted(rows, key=lambda row: (row[0], -row[5], row[1]))


def where_do_the_two_annotators_agree(releases: Path) -> list[Row]:
    ontology = load(releases / "taskmaster1/ontology.json")
    verticals = {domain["id"]: domain["vertical"] for domain in ontology.values()}
    judged = []
    for part, _, dialog in read_dialogs(releases):
        for utterance in dialog["utterances"]:
            marks = group(
                (
                    (segment["start_index"], segment["end_index"], *label_parts(annotation["name"], verticals)[:2]),
                    label_parts(annotation["name"], verticals)[2],
                )
                for segment in utterance.get("segments", ())
                for annotation in segment["annotations"]
            )
            for mark, statuses in marks.items():
                touching = [other for other in marks if other != mark and other[0] < mark[1] and mark[0] < other[1]]
                verdict = "alone"
                if len(statuses) > 1:
                    verdict = "twice"
                elif touching:
                    verdict = "moved" if any(other[2:] == mark[2:] for other in touching) else "renamed"
                channel = "spoken" if part == "woz" else "written"
                judged.append(((channel, *mark[2:]), (verdict, len(set(statuses)) > 1)))
    rows = []
    for label, verdicts in group(judged).items():
        counts = Counter(verdict for verdict, _ in verdicts)
        twice, once = counts["twice"], len(verdicts) - counts["twice"]
        rows.append(
            (
                *label,
                len(verdicts),
                twice,
                once,
                counts["moved"],
                counts["renamed"],
                counts["alone"],
                Rounded(Fraction(200 * twice, 2 * twice + once), 1),
                sum(is_different for _, is_different in verdicts),
            )
        )
    return sorted(rows, key=lambda row: _order(*row[:3]))


def do_agents_follow_the_guidelines(releases: Path) -> list[Row]:
    ontology, prescribed = load(releases / "abcd/ontology.json"), load(releases / "abcd/kb.json")
    subflows = [(flow, subflow) for flow, names in ontology["intents"]["subflows"].items() for subflow in names]
    pressed = group(
        (
            ontology_subflow(conversation["scenario"]["flow"], conversation["scenario"]["subflow"], ontology),
            [turn["targets"][2] for turn in conversation["delexed"] if turn["targets"][2]],
        )
        for _, conversation in read_conversations(releases)
    )

    def is_in_order(wanted: list[str], buttons: list[str]) -> bool:
        left = iter(buttons)
        return all(act in left for act in wanted)

    def most(acts: Iterable[str]) -> tuple[str | None, int]:
        counts = Counter(acts)
        return min(
            ((act, count) for act, count in counts.items()), key=lambda pair: (-pair[1], pair[0]), default=(None, 0)
        )

    return [
        (
            flow,
            subflow,
            len(pressed[subflow]),
            ", ".join(wanted := prescribed[subflow]),
            _percent(buttons == wanted for buttons in pressed[subflow]),
            _percent(is_in_order(wanted, buttons) for buttons in pressed[subflow]),
            _percent(set(wanted) <= set(buttons) for buttons in pressed[subflow]),
            _percent(set(buttons) <= set(wanted) for buttons in pressed[subflow]),
            _mean(map(len, pressed[subflow]), 2),
            *most(act for buttons in pressed[subflow] for act in set(wanted) - set(buttons)),
            *most(act for buttons in pressed[subflow] for act in set(buttons) - set(wanted)),
        )
        for flow, subflow in subflows
        if subflow in pressed
    ]


def how_hard_is_retrieval(releases: Path) -> list[Row]:
    path = releases / "abcd/utterances.json"
    texts = load(path) if path.is_file() else None
    retrievals = group(
        (split, (turn["candidates"], turn["targets"][4]))
        for split, conversation in read_conversations(releases)
        for turn in conversation["delexed"]
        if turn["targets"][1] == "retrieve_utterance"
    )
    times = Counter(candidates[place] for candidates, place in retrievals["train"])

    def rank(candidates: list[int], place: int) -> int:
        return sum(times[candidate] >= times[candidates[place]] for candidate in candidates)

    def has_twin(candidates: list[int], place: int) -> bool:
        return any(texts[other] == texts[candidates[place]] for other in candidates if other != candidates[place])

    rows = []
    for split, pairs in sorted(retrievals.items()):
        targets = [candidates[place] for candidates, place in pairs]
        ranks = [] if split == "train" else [rank(*pair) for pair in pairs]
        rows.append(
            (
                split,
                len(pairs),
                min(len(candidates) for candidates, _ in pairs),
                max(len(candidates) for candidates, _ in pairs),
                len(set(targets)),
                _percent(place == 0 for _, place in pairs),
                _percent(place < 10 for _, place in pairs),
                None if split == "train" else _percent(times[target] > 0 for target in targets),
                *(_percent(rank <= limit for rank in ranks) for limit in (1, 5, 10)),
                None if texts is None else sum(has_twin(*pair) for pair in pairs),
            )
        )
    return rows


def which_services_are_unseen(releases: Path) -> list[Row]:
    schemas = {split: load(releases / f"sgd/{part}/schema.json") for part, split in SPLITS.items()}

    def names(services: list[dict[str, Any]], kind: str) -> list[str]:
        return [entry["name"] for service in services for entry in service[kind]]

    def domain(service: str) -> str:
        return re.sub(r"_\d+$", "", service)

    train = {service["service_name"] for service in schemas["train"]}
    dialogues, frames = defaultdict(list), Counter()
    for split, dialogue in read_service_dialogues(releases):
        dialogues[split].append(dialogue["services"])
        for turn in dialogue["turns"]:
            frames.update((split, frame["service"]) for frame in turn["frames"] if "state" in frame)
    rows = []
    for split in ("validation", "test"):
        split_frames = sum(count for (other, _), count in frames.items() if other == split)
        for service in schemas[split]:
            name = service["service_name"]
            vocabularies = [
                (len(own), sum(entry not in names(schemas["train"], kind) for entry in own))
                for kind in ("slots", "intents")
                for own in [names([service], kind)]
            ]
            rows.append(
                (
                    split,
                    name,
                    domain(name),
                    name in train,
                    domain(name) in {domain(other) for other in train},
                    sum(name in services for services in dialogues[split]),
                    _percent(name in services for services in dialogues[split]),
                    frames[split, name],
                    Rounded(Fraction(100 * frames[split, name], split_frames), 1),
                    *(number for numbers in vocabularies for number in numbers),
                )
            )
    return sorted(rows, key=lambda row: (["validation", "test"].index(row[0]), row[3], row[1]))


def how_do_belief_states_grow(releases: Path) -> list[Row]:
    histories = defaultdict(list)
    for split, dialogue in read_service_dialogues(releases):
        if split == "test":
            states = group(
                (frame["service"], frame["state"]["slot_values"])
                for turn in dialogue["turns"]
                for frame in turn["frames"]
                if "state" in frame
            )
            for service, history in states.items():
                histories[service].append(history)
    rows = []
    for service, dialogues in sorted(histories.items()):
        added, changed, dropped = Counter(), Counter(), Counter()
        for number, history in enumerate(dialogues):
            for place, (before, now) in enumerate(zip([{}, *history], history, strict=False), start=1):
                kept = set(before) & set(now)
                added[number, place] = len(set(now) - kept)
                dropped[number, place] = len(set(before) - kept)
                changed[number, place] = sum(
                    not set(before[slot]) & set(now[slot]) and before[slot] != now[slot] for slot in kept
                )
        total = added + changed + dropped
        rows.append(
            (
                service,
                len(dialogues),
                sum(map(len, dialogues)),
                _percent((number, place) not in total for number, place in added),
                added.total(),
                changed.total(),
                dropped.total(),
                _mean((len(history[-1]) for history in dialogues), 2),
                _mean((max((p for n, p in total if n == number), default=0) for number in range(len(dialogues))), 2),
            )
        )
    return rows


def where_do_call_arguments_come_from(releases: Path) -> list[Row]:
    is_transactional = {
        (service["service_name"], intent["name"]): intent["is_transactional"]
        for part in SPLITS
        for service in load(releases / f"sgd/{part}/schema.json")
        for intent in service["intents"]
    }
    calls, origins = defaultdict(list), defaultdict(list)
    for _, dialogue in read_service_dialogues(releases):
        heard: list[Row] = []
        for turn in dialogue["turns"]:
            for frame in turn["frames"]:
                if "service_call" not in frame:
                    continue
                method = (frame["service"], frame["service_call"]["method"])
                calls[method].append(len(frame["service_results"]))
                for slot, value in frame["service_call"]["parameters"].items():
                    fitting = {fact[:3] for fact in heard if fact[3] == value}
                    named = {speaker for speaker, *place in fitting if place == [frame["service"], slot]}
                    place = 0 if "USER" in named else 1 if named else 2 if fitting else 3
                    origins[method].append(place)
            heard += [
                (turn["speaker"], frame["service"], action["slot"], value)
                for frame in turn["frames"]
                for action in frame["actions"]
                for value in action["canonical_values"]
            ]
    return [
        (
            *method,
            is_transactional.get(method),
            len(results),
            results.count(0),
            _percent(count == 0 for count in results),
            len(origins[method]),
            *(_percent(origin == asked for origin in origins[method]) for asked in range(4)),
        )
        for method, results in sorted(calls.items())
    ]


def when_is_the_mutual_friend_found(releases: Path) -> list[Row]:
    levels = defaultdict(list)
    for _, dialogue in read_friend_dialogues(releases):
        scenario, events = dialogue["scenario"], dialogue["events"]
        last = {event["agent"]: event["data"] for event in events if event["action"] == "select"}
        picks = list(last.values())
        is_found = len(picks) == 2 and picks[0] == picks[1] and all(picks[0] in kb for kb in scenario["kbs"])
        times = [Fraction(event["time"]) for event in events]
        facts = (
            dialogue["outcome"]["reward"] == 1,
            is_found,
            sum(event["action"] == "select" for event in events),
            len(events),
            sum(event["action"] == "message" for event in events),
            max(times) - min(times) if times else None,
        )
        for level in (
            ("all", None),
            ("items", str(max(map(len, scenario["kbs"])))),
            ("attributes", str(len(scenario["attributes"]))),
            ("lowest_alpha", str(min(scenario["alphas"]))),
        ):
            levels[level].append(facts)
    rows = []
    for level, dialogues in levels.items():
        completed = [facts for facts in dialogues if facts[0]]
        rows.append(
            (
                *level,
                len(dialogues),
                len(completed),
                _percent(facts[0] for facts in dialogues),
                sum(facts[1] for facts in dialogues),
                _mean((facts[2] for facts in dialogues), 2),
                *(
                    _mean((facts[column] for facts in completed if facts[column] is not None), 2)
                    for column in (3, 4, 5)
                ),
            )
        )
    return sorted(rows, key=lambda row: (row[0], len(row[1] or ""), row[1] or ""))


class Texts(NamedTuple):
    """Texts of a corpus, each with its split."""

    said: list[tuple[str | None, str]]
    """Texts that a user or a peer says."""
    whole: list[tuple[str | None, str]]
    """All utterances of a dialogue, letters and digits only."""
    labels: list[tuple[str | None, str, str, str]]
    """Kind of label, text and label."""


def _texts_by_corpus(releases: Path) -> dict[str, Texts]:
    asked = {(split, question) for split, question, _ in read_questions(releases)}
    found: dict[str, Texts] = defaultdict(lambda: Texts([], [], []))
    for dialogue in read_dialogues(releases):
        texts, split = found[dialogue.corpus_id], dialogue.split
        spoken = [letters_and_digits(turn.text) for turn in dialogue.turns if turn.text is not None]
        texts.whole.append((split, "\n".join(spoken)))
        for turn in dialogue.turns:
            if turn.role in ("user", "peer") and turn.text and letters_and_digits(turn.text):
                texts.said.append((split, turn.text))
                if turn.intent is not None:
                    texts.labels.append((split, "intent", letters_and_digits(turn.text), turn.intent))
    for split, text, agents in read_examples(releases):
        if letters_and_digits(text):
            texts = found["bbai"]
            texts.labels.append((split, "agents", letters_and_digits(text), " ".join(sorted(agents))))
            if (split, text) not in asked:
                texts.said.append((split, text))
                texts.whole.append((split, letters_and_digits(text)))
    return found


def which_test_texts_are_in_train(releases: Path) -> list[Row]:
    rows = []
    for corpus_id, texts in _texts_by_corpus(releases).items():
        train = [text for split, text in texts.said if split == "train"]
        test = [text for split, text in texts.said if split == "test"]
        if not test:
            continue
        verbatim, seen = set(train), {letters_and_digits(text) for text in train}
        known = defaultdict(set)
        for split, kind, text, label in texts.labels:
            if split == "train":
                known[kind, text].add(label)
        tried = [(known[kind, text], label) for split, kind, text, label in texts.labels if split == "test"]
        whole_train = {text for split, text in texts.whole if split == "train" and text.strip()}
        rows.append(
            (
                corpus_id,
                len(train),
                len(test),
                _percent((text in verbatim for text in test), 2),
                sum(letters_and_digits(text) in seen for text in test),
                _percent((letters_and_digits(text) in seen for text in test), 2),
                _percent((letters_and_digits(text) in seen for text in test if text.strip(" ").count(" ") >= 4), 2),
                sum(text in whole_train for split, text in texts.whole if split == "test"),
                sum(bool(others) for others, _ in tried),
                sum(bool(others) and label not in others for others, label in tried),
            )
        )
    return sorted(rows)
