"""Tables of schema `analytics` about the quality of the corpora, computed from the release files without SQL.

One function per table, with the same name, returns its rows in any order; nothing here imports the project. A share is
an exact fraction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path

from tests.fixtures.abcd.recount import ontology_subflow
from tests.fixtures.taskmaster1.recount import label_parts
from tests.integration.analyst_answers import Row
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
from tests.integration.recount import SPLITS, DialogueKeys, letters_and_digits

PARTS = {split: part for part, split in SPLITS.items()}
WORKERS = 5


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def split_leakage(releases: Path) -> list[Row]:
    said = [
        ((dialogue.corpus_id, "dialogue"), dialogue.split, [turn.text for turn in dialogue.turns])
        for dialogue in read_dialogues(releases)
        if dialogue.corpus_id != "bbai"
    ]
    asked = {(split, question) for split, question, _ in read_questions(releases)}
    said += [(("bbai", "question"), split, [question]) for split, question in asked]
    said += [
        (("bbai", "question"), split, [question])
        for split, question, _ in read_examples(releases)
        if (split, question) not in asked
    ]
    rows = []
    for kind, texts in group((kind, rest) for kind, *rest in said).items():
        splits = group(
            (split, "\n".join(letters_and_digits(text) for text in lines if text is not None)) for split, lines in texts
        )
        order = sorted(splits, key=["train", "validation", "test", None].index)
        for place, split in enumerate(order):
            for other in order[place:]:
                here, there = splits[split], splits[other]
                # A shared text has two different dialogues: within one split, another dialogue must have the text.
                times, other_times = Counter(here), Counter(there)
                shared = {
                    text
                    for text in times.keys() & other_times.keys()
                    if text.strip() and (split != other or times[text] > 1)
                }
                leaked, other_leaked = (sum(text in shared for text in texts) for texts in (here, there))
                counts = len(here), len(there), len(shared), leaked, other_leaked
                rows.append((*kind, split, other, *counts, _share(other_leaked, len(there))))
    return rows


def annotator_agreement(releases: Path) -> list[Row]:
    ontology = load(releases / "taskmaster1/ontology.json")
    verticals = {domain["id"]: domain["vertical"] for domain in ontology.values()}
    texts: dict[Row, str] = defaultdict(str)
    """All utterances of the compared dialogues of a cell, concatenated."""
    compared: Counter[Row] = Counter()
    """Number of compared dialogues of a cell: those in which a label has been given twice to the same characters."""
    marked: dict[Row, Counter[Row]] = defaultdict(Counter)
    """For a cell and a label: how often each range of the text carries the label, and with which status."""
    alone: Counter[Row] = Counter()
    """For a cell and a label: the ranges in dialogues that are not compared."""
    for part, split, dialog in read_dialogs(releases):
        cell = "taskmaster1", split, "spoken" if part == "woz" else "written"
        said, labels = "", []
        for utterance in dialog["utterances"]:
            begin, text = len(said), utterance["text"]
            said += text
            for segment in utterance.get("segments", ()):
                stretch = begin, len(text), segment["start_index"], segment["end_index"]
                for annotation in segment["annotations"]:
                    *label, status = label_parts(annotation["name"], verticals)
                    labels.append(((*cell, *label), stretch, status))
        times = Counter((key, stretch) for key, stretch, _ in labels)
        if max(times.values(), default=0) > 1:
            for key, (begin, *stretch), status in labels:
                marked[key][(begin + len(texts[cell]), *stretch, status)] += 1
            texts[cell] += said
            compared[cell] += 1
        else:
            alone.update(key for key, _ in times)
    return [
        (*key, compared[key[:3]], *_agreement(key, marked, alone[key], len(texts[key[:3]])))
        for key in marked.keys() | alone.keys()
    ]


def _agreement(key: Row, marked: dict[Row, Counter[Row]], alone: int, characters: int) -> Row:
    stretches = group((place[:4], place[4]) for place in marked.get(key, Counter()).elements())
    others = {
        place[:4] for other, places in marked.items() if other != key and other[:3] == key[:3] for place in places
    }
    both = {stretch: statuses for stretch, statuses in stretches.items() if len(statuses) > 1}
    renamed = (stretches.keys() - both.keys()) & others
    differing = sum(len(set(statuses)) > 1 for statuses in both.values())
    open_at = Counter(
        begin + place
        for (begin, length, start, end), statuses in stretches.items()
        for place in range(max(start, 0), min(end, length))
        for _ in statuses
    )
    units = Counter({(False, False): characters - len(open_at)})
    units.update((True, times > 1) for times in open_at.values())
    by_both, by_one = units[True, True], units[True, False]
    return (
        *(
            len(stretches) + alone,
            len(both),
            len(stretches) - len(both),
            len(renamed),
            differing,
            characters,
            by_both,
            by_one,
        ),
        _f1(len(both), len(stretches) - len(both)),
        _share(len(both), len(stretches)),
        _f1(len(both), len(renamed)),
        _share(len(both) - differing, len(both)),
        _f1(by_both, by_one),
        _krippendorff_alpha(units),
    )


def _f1(shared: int, not_shared: int) -> Fraction | None:
    return _share(2 * shared, 2 * shared + not_shared)


def _krippendorff_alpha(units: Counter[tuple[bool, bool]]) -> Fraction | None:
    """Return alpha for two coders who give each unit a value: 1 - observed / expected disagreement.

    `units` maps the two values of a unit to the number of such units.
    """
    values: Counter[bool] = Counter()
    for (one, other), times in units.items():
        values[one] += times
        values[other] += times
    count = values.total()
    observed = Fraction(2 * sum(times for (one, other), times in units.items() if one != other), count)
    expected = Fraction(sum(values[one] * values[other] for one, other in permutations(values, 2)), count * (count - 1))
    return 1 - observed / expected if expected else None


def vote_agreement(releases: Path) -> list[Row]:
    rows = []
    for split, questions in group((split, content) for split, _, content in read_questions(releases)).items():
        for option in questions[0]["human_vote"]:
            if option == "intent":
                continue
            ballots = [
                [votes for name, votes in content["human_vote"].items() if name != "intent"] for content in questions
            ]
            votes = [content["human_vote"][option] for content in questions]
            answerable = [content["human"] for content in questions if "none" not in content["human"]]
            ahead = [ballot for ballot, own in zip(ballots, votes, strict=True) if own and own == max(ballot)]
            deciders = [[place < own for place in range(WORKERS)] for own in votes]
            agreement = _mean([_mean([Fraction(a == b) for a, b in combinations(five, 2)]) for five in deciders])
            rate = Fraction(sum(votes), WORKERS * len(votes))
            chance = rate**2 + (1 - rate) ** 2
            right = {agent: sum(agent in human for human in answerable) for agent in questions[0]["human_vote"]}
            best = sorted(right.keys() - {"intent", "none"}, key=lambda agent: (-right[agent], agent))
            rank = best.index(option) + 1 if option in best else None
            covered = sum(not set(best[:rank]).isdisjoint(human) for human in answerable) if rank else None
            rows.append(
                (
                    "bbai",
                    split,
                    option,
                    None if option == "none" else option,
                    len(questions),
                    len(answerable),
                    sum(votes),
                    sum(option in content["human"] for content in questions),
                    sum(option in human for human in answerable),
                    sum([option] == human for human in answerable),
                    len(ahead),
                    sum(ballot.count(max(ballot)) > 1 for ballot in ahead),
                    sum(own > WORKERS // 2 for own in votes),
                    _share(sum(own > WORKERS // 2 for own in votes), len(votes)),
                    agreement,
                    None if chance == 1 else (agreement - chance) / (1 - chance),
                    rank,
                    _share(right[option], len(answerable)) if rank else None,
                    covered,
                    _share(covered, len(answerable)) if rank else None,
                )
            )
    return rows


def _ballots(releases: Path) -> dict[str, list[tuple[dict[str, int], list[str]]]]:
    """Return, for each split, the votes of each question by option, and the options that it is answered with."""
    return group(
        (split, ({name: votes for name, votes in content["human_vote"].items() if name != "intent"}, content["human"]))
        for split, _, content in read_questions(releases)
    )


def agent_pairs(releases: Path) -> list[Row]:
    rows: list[Row] = []
    for split, questions in _ballots(releases).items():
        answered = [set(human) for _, human in questions if "none" not in human]
        for one, other in combinations(sorted(questions[0][0].keys() - {"none"}), 2):
            by_one, by_other = (sum(agent in human for human in answered) for agent in (one, other))
            by_both = sum({one, other} <= human for human in answered)
            by_any = sum(not human.isdisjoint((one, other)) for human in answered)
            counts = len(answered), by_one, by_other, by_both
            rows.append(("bbai", split, one, other, *counts, _share(by_any, len(answered))))
    return rows


def ballot_agreement(releases: Path) -> list[Row]:
    rows: list[Row] = []
    for split, questions in _ballots(releases).items():
        compared = [ballot for ballot, _ in questions if sum(ballot.values()) == WORKERS]
        agreement = alpha = None
        if compared:
            choices = [[option for option in ballot for _ in range(ballot[option])] for ballot in compared]
            agreement = _mean([_mean([Fraction(a == b) for a, b in combinations(five, 2)]) for five in choices])
            totals = Counter(option for five in choices for option in five)
            every = sum(totals.values())
            chance = Fraction(sum(times * (times - 1) for times in totals.values()), every * (every - 1))
            alpha = (agreement - chance) / (1 - chance) if chance != 1 else None
        rows.append(("bbai", split, len(questions), len(compared), agreement, alpha))
    return rows


def vote_consensus(releases: Path) -> list[Row]:
    ballots = {split: [ballot for ballot, _ in questions] for split, questions in _ballots(releases).items()}
    return [
        (
            "bbai",
            split,
            top,
            len(level),
            sum(list(ballot.values()).count(top) > 1 for ballot in level),
            sum(ballot["none"] == top for ballot in level),
            _share(len(level), len(ballots[split])),
        )
        for split in ballots
        for top, level in group((max(ballot.values()), ballot) for ballot in ballots[split]).items()
    ]


def scenario_solvability(releases: Path) -> list[Row]:
    rows = []
    for split, dialogue in read_friend_dialogues(releases):
        mine, yours = dialogue["scenario"]["kbs"]
        shared = [item for place, item in enumerate(mine) if item in yours and item not in mine[:place]]
        picks = [(event["agent"], event["data"]) for event in dialogue["events"] if event["action"] == "select"]
        last = list(dict(picks).values())
        is_found = len(last) == 2 and last[0] == last[1] and last[0] in shared
        reward = dialogue["outcome"]["reward"]
        rows.append(
            (
                f"mutualfriends/{PARTS[split]}/{dialogue['uuid']}",
                "mutualfriends",
                split,
                len(shared),
                len(shared) == 1,
                len(picks),
                len(last),
                sum(item in shared for item in last),
                is_found,
                reward,
                None if reward is None else (reward == 1) == is_found,
            )
        )
    return rows


def goal_outcomes(releases: Path) -> list[Row]:
    reached: list[tuple[Row, int | None]] = [
        (("mutualfriends", split, "find_shared_item", None if reward is None else reward > 0), reward)
        for split, dialogue in read_friend_dialogues(releases)
        for reward in (dialogue["outcome"]["reward"],)
    ]
    for split, _, content in read_questions(releases):
        is_answered = bool(content["human"]) and "none" not in content["human"]
        reached.append((("bbai", split, "answer", is_answered), None))
    for _, _, split, _, verdict, prescribed, *_ in guideline_conformance(releases):
        is_followed = verdict in ("exact", "interrupted") if prescribed else None
        reached.append((("abcd", split, "follow_guideline", is_followed), None))
    reached += [(("taskmaster1", split, "fill_form", None), None) for _, split, _ in read_dialogs(releases)]
    reached += [(("sgd", split, "fill_form", None), None) for split, _ in read_service_dialogues(releases)]
    rows = []
    for outcome, rewards in group(reached).items():
        known = [reward for reward in rewards if reward is not None]
        rows.append((*outcome, len(rewards), *((float(min(known)), float(max(known))) if known else (None, None))))
    return rows


def guideline_conformance(releases: Path) -> list[Row]:
    ontology, prescribed = load(releases / "abcd/ontology.json"), load(releases / "abcd/kb.json")

    def is_within(few: list[str], many: list[str]) -> bool:
        left = iter(many)
        return all(act in left for act in few)

    rows = []
    for split, conversation in read_conversations(releases):
        scenario = conversation["scenario"]
        subflow = ontology_subflow(scenario["flow"], scenario["subflow"], ontology)
        wanted = prescribed[subflow]
        pressed = [turn["targets"][2] for turn in conversation["delexed"] if turn["targets"][2]]
        verdicts = {
            "exact": pressed == wanted,
            "interrupted": is_within(wanted, pressed),
            "shortened": is_within(pressed, wanted),
            "broken": True,
        }
        missing = [act for act in wanted if act not in pressed]
        extra = [act for act in dict.fromkeys(pressed) if act not in wanted]
        rows.append(
            (
                f"abcd/{PARTS[split]}/{conversation['convo_id']}",
                "abcd",
                split,
                subflow,
                next(name for name, holds in verdicts.items() if holds),
                len(wanted),
                len(pressed),
                len(missing),
                len(extra),
                missing or None,
                extra or None,
            )
        )
    return rows


def service_exposure(releases: Path) -> list[Row]:
    schemas = {split: load(releases / f"sgd/{part}/schema.json") for part, split in SPLITS.items()}
    known = {service["service_name"] for service in schemas["train"]}
    dialogues, frames, states = defaultdict(list), Counter(), Counter()
    for split, dialogue in read_service_dialogues(releases):
        dialogues[split].append(dialogue["services"])
        for turn in dialogue["turns"]:
            for frame in turn["frames"]:
                frames[split, frame["service"]] += 1
                states[split, frame["service"]] += "state" in frame
    return [
        (
            "sgd",
            split,
            name,
            name.rpartition("_")[0],
            name in known,
            sum(name in services for services in dialogues[split]),
            _share(sum(name in services for services in dialogues[split]), len(dialogues[split])),
            frames[split, name],
            states[split, name],
            _share(states[split, name], sum(count for (other, _), count in states.items() if other == split)),
        )
        for split, schema in schemas.items()
        for name in (service["service_name"] for service in schema)
    ]


def belief_states(releases: Path) -> list[Row]:
    rows, keys = [], DialogueKeys("sgd")
    for split, dialogue in read_service_dialogues(releases):
        dialogue_key = keys.key(PARTS[split], dialogue["dialogue_id"])
        before: dict[str, Row] = {}
        for turn_index, turn in enumerate(dialogue["turns"]):
            turn_key = f"{dialogue_key}/{turn_index}"
            for frame_index, frame in enumerate(turn["frames"]):
                if "state" not in frame:
                    continue
                state, (old, old_turn) = frame["state"]["slot_values"], before.get(frame["service"], ({}, None))
                before[frame["service"]] = state, turn_index
                place = turn_key, dialogue_key, "sgd", split, turn_index, frame_index, frame["service"]
                rows += [
                    (f"{turn_key}/frame/{frame_index}", *place, *change, old_turn) for change in _changes(old, state)
                ]
    return rows


def _changes(old: dict[str, list[str]], new: dict[str, list[str]]) -> list[Row]:
    """Return the change of each slot: its name, the change, the first value, all values, the previous first value."""
    rows: list[Row] = [(slot, "dropped", None, None, (old[slot] or [None])[0]) for slot in old if slot not in new]
    for slot, values in new.items():
        change = "added"
        if slot in old:
            is_same = set(values) & set(old[slot]) or values == old[slot]
            change = "carried" if is_same else "changed"
        rows.append((slot, change, (values or [None])[0], values or None, (old.get(slot) or [None])[0]))
    return rows


def selections(releases: Path) -> list[Row]:
    rows = []
    for split, dialogue in read_friend_dialogues(releases):
        picks = [(place, event) for place, event in enumerate(dialogue["events"]) if event["action"] == "select"]
        last = {event["agent"]: place for place, event in picks}
        dialogue_key = f"mutualfriends/{PARTS[split]}/{dialogue['uuid']}"
        for index, (place, event) in enumerate(picks):
            agent, item = event["agent"], event["data"]
            mine, yours = (dialogue["scenario"]["kbs"][person] for person in (agent, 1 - agent))
            rows.append(
                (
                    f"{dialogue_key}/{place}/action/0",
                    f"{dialogue_key}/{place}",
                    dialogue_key,
                    "mutualfriends",
                    split,
                    place,
                    index,
                    str(agent),
                    mine.index(item) if item in mine else None,
                    list(item) or None,
                    list(item.values()) or None,
                    item in mine and item in yours,
                    last[agent] == place,
                )
            )
    return rows
