"""Tables of schema `analytics` that the charts show, counted from the release files without SQL.

One function per table, with the same name, returns its rows in any order. It uses the rows that the `recount.py` of
each corpus's fixtures reads from the files; nothing here imports the project. A share is an exact fraction.
"""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from tests.integration import analytics_answers
from tests.integration.analyst_answers import Row
from tests.integration.analyst_sources import CORPORA, group, load, read_friend_dialogues
from tests.integration.recount import recount

Record = dict[str, Any]
COUNTED = re.compile(r"dim_(dialogues|dialogue_services|slots)\b|fct_(turns|frames|actions|slots|candidates)\b")
"""Parts of a recount that are read here; columns that are compared separately are left out."""


@cache
def _tables(releases: Path) -> dict[str, list[Record]]:
    """Return the rows of each core table as the files have them, for the corpora with answers, each with its columns by name."""
    tables: dict[str, list[Record]] = defaultdict(list)
    for corpus_id in CORPORA:
        part = importlib.import_module(f"tests.fixtures.{corpus_id}.recount")
        rows = recount(part, releases / corpus_id)
        for name in rows.keys() & part.QUERIES.keys():
            if COUNTED.match(name) and "." not in name:
                columns = re.sub(r"row_number\(\) over \(.*?\) - 1", "place", part.QUERIES[name])
                names = re.search("^select (.*?) from ", columns)[1].split(", ")
                tables[name.split()[0]] += [
                    {"corpus_id": corpus_id, **dict(zip(names, row, strict=True))} for row in rows[name]
                ]
    return tables


def _dialogues(releases: Path) -> dict[str, Record]:
    return {dialogue["dialogue_key"]: dialogue for dialogue in _tables(releases)["dim_dialogues"]}


def _domains(releases: Path) -> Iterator[Row]:
    """Return (dialogue, service, domain) of each dialogue; the domain of a corpus without services is its own word."""
    flows = {
        subflow: flow
        for flow, subflows in load(releases / "abcd/ontology.json")["intents"]["subflows"].items()
        for subflow in subflows
    }
    dialogues = _dialogues(releases)
    for row in _tables(releases)["dim_dialogue_services"]:
        task, of = dialogues[row["dialogue_key"]]["task"], row["corpus_id"]
        own = {"abcd": flows.get(task), "mutualfriends": "mutual_friends"}.get(of, task)
        yield row["dialogue_key"], row["service"], row.get("domain", own)


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def _act(action: Record) -> str | None:
    return action.get("act", "select" if action["action_type"] == "selection" else None)


def _intents(releases: Path) -> Iterator[tuple[Record, str]]:
    tables = _tables(releases)
    yield from ((turn, turn["intent"]) for turn in tables["fct_turns"] if turn["intent"] is not None)
    yield from ((frame, frame["active_intent"]) for frame in tables["fct_frames"] if frame["active_intent"])


def label_distribution(releases: Path) -> list[Row]:
    tables, dialogues = _tables(releases), _dialogues(releases)
    labels = [(row["action_type"], row["role"], _act(row), row["dialogue_key"]) for row in tables["fct_actions"]]
    labels += [("next_step", row["role"], row["next_step"], row["dialogue_key"]) for row in tables["fct_turns"]]
    labels += [("intent", None, intent, row["dialogue_key"]) for row, intent in _intents(releases)]
    for dialogue, service, domain in _domains(releases):
        labels += [("service", None, service, dialogue), ("domain", None, domain, dialogue)]
    sizes = Counter((dialogue["corpus_id"], dialogue["split"]) for dialogue in dialogues.values())
    rows = []
    for kind, given in group(
        ((dialogues[key]["corpus_id"], dialogues[key]["split"], kind, role), (label, key))
        for kind, role, label, key in labels
        if label is not None
    ).items():
        for label, keys in group(given).items():
            held = len(set(keys))
            rows.append((*kind, label, len(keys), _share(len(keys), len(given)), held, _share(held, sizes[kind[:2]])))
    return rows


def length_distribution(releases: Path) -> list[Row]:
    tables, dialogues = _tables(releases), _dialogues(releases)
    measured: list[tuple[Record, str, str | None, int]] = [
        (row, "turns_of_dialogue", None, row["turn_count"]) for row in dialogues.values()
    ]
    services = Counter(row["dialogue_key"] for row in tables["dim_dialogue_services"])
    having = {dialogues[key]["corpus_id"] for key in services}
    measured += [
        (row, "services_of_dialogue", None, services[key])
        for key, row in dialogues.items()
        if row["corpus_id"] in having
    ]
    measured += [
        (row, "tokens_of_utterance", row["role"], len(row["utterance"].split()))
        for row in tables["fct_turns"]
        if row["event_type"] == "utterance"
    ]
    measured += [(row, "place_of_target", None, row["target_position"]) for row in tables["fct_candidates"]]
    rows = []
    for key, lengths in group(
        ((row["corpus_id"], row["split"], measure, role), length) for row, measure, role, length in measured
    ).items():
        for length, times in Counter(lengths).items():
            below = sum(other <= length for other in lengths)
            rows.append((*key, length, times, _share(times, len(lengths)), _share(below, len(lengths))))
    return rows


def _turns_with_acts(releases: Path) -> Iterator[tuple[Row, list[set[Row]]]]:
    """Yield, for each dialogue, its corpus and split, and the acts of each of its turns with acts, in order."""
    of_dialogue = group((row["dialogue_key"], row) for row in _tables(releases)["fct_actions"])
    for actions in of_dialogue.values():
        turns = group((row["turn_index"], (row["role"], _act(row))) for row in actions if _act(row) is not None)
        if turns:
            yield _split(actions[0]), [set(turns[index]) for index in sorted(turns)]


def act_transitions(releases: Path) -> list[Row]:
    nothing = {(None, None)}
    times: Counter[Row] = Counter()
    turns_with: Counter[Row] = Counter()
    for where, turns in _turns_with_acts(releases):
        for before, after in pairwise([nothing, *turns, nothing]):
            turns_with.update((*where, *one) for one in before)
            times.update((*where, *one, *other) for one in before for other in after)
    return [(*pair, number, _share(number, turns_with[pair[:4]])) for pair, number in times.items()]


def act_pairs(releases: Path) -> list[Row]:
    turns_with: dict[Row, set[int]] = defaultdict(set)
    all_turns = ((where, turn) for where, turns in _turns_with_acts(releases) for turn in turns)
    for place, (where, turn) in enumerate(all_turns):
        for role, act in turn:
            turns_with[*where, role, act].add(place)
    rows: list[Row] = []
    for where, acts in group((key[:3], key[3]) for key in turns_with).items():
        for one, other in combinations(sorted(acts), 2):
            ones, others = turns_with[*where, one], turns_with[*where, other]
            if both := len(ones & others):
                rows.append((*where, one, other, both, len(ones), len(others), _share(both, len(ones | others))))
    return rows


def _definitions(releases: Path) -> dict[Row, Record]:
    """Map (corpus, split, service, slot) to the definition, which holds for each split if it names none."""
    tables = _tables(releases)
    splits = {(row["corpus_id"], row["split"]) for row in tables["dim_dialogues"]}
    return {
        (corpus_id, split, slot.get("service"), slot["slot"]): slot
        for corpus_id, split in splits
        for slot in tables["dim_slots"]
        if slot["corpus_id"] == corpus_id and slot.get("split") in (None, split)
    }


def slot_profile(releases: Path) -> list[Row]:
    definitions = _definitions(releases)
    about = group(((key[:2], service), dialogue) for key, dialogue, service in _services(releases))
    rows, annotated = [], set()
    for (*where, kind, service, slot), given in group(
        ((*_split(row), row["annotation_type"], row.get("service"), row.get("slot_name")), row)
        for row in _tables(releases)["fct_slots"]
    ).items():
        key = (*where, service, slot)
        annotated.add(key)
        definition = definitions.get(key, {})
        said = [row["value"] for row in given if row["value"] is not None]
        values = Counter(value.lower() for value in said)
        dialogues = {row["dialogue_key"] for row in given}
        of_service = set(about[tuple(where), service])
        listed = definition.get("possible_values")
        rows.append(
            (
                *(*where, kind, service, slot, key in definitions),
                *_declared(definition),
                len(given),
                len(dialogues),
                _share(len(dialogues & of_service), len(of_service)),
                len(values),
                sum(-times / len(said) * math.log2(times / len(said)) for times in values.values()) if said else None,
                _share(sum(value in listed for value in said), len(said)) if listed else None,
                *_unused(listed, said),
            )
        )
    for (*where, service, slot), definition in definitions.items():
        if (*where, service, slot) not in annotated:
            share = Fraction(0) if about[tuple(where), service] else None
            rows.append(
                (
                    *where,
                    None,
                    service,
                    slot,
                    True,
                    *_declared(definition),
                    0,
                    0,
                    share,
                    0,
                    None,
                    None,
                    *_unused(definition.get("possible_values"), []),
                )
            )
    return rows


def _unused(listed: list[str] | None, said: list[str]) -> tuple[int | None, int | None]:
    """Count the values that a definition lists, and those of them that no annotation writes."""
    return (len(set(listed)), len(set(listed) - set(said))) if listed else (None, None)


def _declared(definition: Record) -> tuple[bool | None, str | None]:
    """Return whether a slot is categorical (in ABCD: if its values are enumerated), and if it is required."""
    is_enumerated = "possible_values" in definition if definition.get("corpus_id") == "abcd" else None
    return definition.get("is_categorical", is_enumerated), definition.get("requirement")


def _split(row: Record) -> tuple[str, str | None]:
    return row["corpus_id"], row["split"]


def _services(releases: Path) -> Iterator[tuple[Row, str, str | None]]:
    for row in _tables(releases)["dim_dialogue_services"]:
        yield _split(row), row["dialogue_key"], row["service"]


def corpus_profile(releases: Path) -> list[Row]:
    tables = _tables(releases)
    keys = {key for row in tables["dim_dialogues"] for key in ((*_split(row), False), (row["corpus_id"], None, True))}
    rows = []
    for corpus_id, split, is_whole in keys:

        def among(
            table: str, corpus_id: str = corpus_id, split: str | None = split, is_whole: bool = is_whole
        ) -> list[Record]:
            of_corpus = (row for row in tables[table] if row["corpus_id"] == corpus_id)
            return [row for row in of_corpus if is_whole or row["split"] == split]

        dialogues, slots = among("dim_dialogues"), among("fct_slots")
        said = [row["utterance"].lower().split() for row in among("fct_turns") if row["event_type"] == "utterance"]
        words = Counter(word for utterance in said for word in utterance)
        held = {row["dialogue_key"] for row in dialogues}
        intents = {intent for row, intent in _intents(releases) if row["dialogue_key"] in held}
        turns = sum(row["turn_count"] for row in dialogues)
        rows.append(
            (
                *(corpus_id, split, is_whole, len(dialogues), turns, len(said), words.total()),
                *(_share(turns, len(dialogues)), _share(words.total(), len(said))),
                *(len(words), sum(times == 1 for times in words.values()), _share(len(words), words.total())),
                len({domain for dialogue, _, domain in _domains(releases) if dialogue in held}),
                _different(row["service"] for row in among("dim_dialogue_services")),
                len(intents),
                _different(_act(row) for row in among("fct_actions")),
                *_slots_and_values(slots, among("fct_frames")),
            )
        )
    return rows


def _slots_and_values(slots: list[Record], frames: list[Record]) -> Iterator[int]:
    of_type = group((row["annotation_type"], row) for row in slots)
    named = {(row["service"], slot) for row in frames for slot in row["requested_slots"] or ()}
    for kind in of_type.keys() - {"action_value", "call_parameter"}:
        named |= {(row.get("service"), row["slot_name"]) for row in of_type[kind] if row["slot_name"] is not None}
    yield len(named)
    yield _different((row["service"], row["slot_name"]) for row in of_type["state"])
    for rows in (slots, of_type["span"], of_type["state"]):
        yield _different(row["value"] and row["value"].lower() for row in rows)


def _different(things: Iterable[Any]) -> int:
    return len(set(things) - {None})


def argument_completeness(releases: Path) -> list[Row]:
    tables, dialogues = _tables(releases), _dialogues(releases)
    required = group(
        ((slot["corpus_id"], slot["service"]), slot["slot"])
        for slot in tables["dim_slots"]
        if slot.get("requirement") == "required"
    )
    mentions = group(
        ((row["dialogue_key"], row["service"]), (row["slot_name"], row["status"] == "reject"))
        for row in tables["fct_slots"]
        if row["annotation_type"] == "span"
    )
    rows = []
    for (corpus_id, split, channel, service), keys in group(
        ((*where, "spoken" if dialogues[key]["source_part"] == "woz" else "written", service), key)
        for where, key, service in _services(releases)
        if (where[0], service) in required
    ).items():
        wanted = set(required[corpus_id, service])
        named = [{slot for slot, _ in mentions.get((key, service), ())} & wanted for key in keys]
        filled = [{slot for slot, no in mentions.get((key, service), ()) if not no} & wanted for key in keys]
        complete = filled.count(wanted)
        rows.append(
            (
                *(corpus_id, split, channel, service, len(wanted), len(keys)),
                *(complete, _share(complete, len(keys)), named.count(wanted), named.count(set())),
                _share(sum(map(len, filled)), len(wanted) * len(keys)),
            )
        )
    return rows


def flow_profile(releases: Path) -> list[Row]:
    tables, dialogues = _tables(releases), _dialogues(releases)
    flows = load(releases / "abcd/ontology.json")["intents"]["subflows"]
    judged = group(((row[2], row[3]), row) for row in analytics_answers.guideline_conformance(releases))
    targets = group((row["dialogue_key"], row["target_position"]) for row in tables["fct_candidates"])
    rows = []
    for split in {row["split"] for row in dialogues.values() if row["corpus_id"] == "abcd"}:
        for flow, task in ((flow, task) for flow, tasks in flows.items() for task in tasks):
            about = judged.get((split, task), [])
            verdicts = Counter(row[4] for row in about)
            places = [place for row in about for place in targets.get(row[0], ())]
            rows.append(
                (
                    *("abcd", split, flow, task, len(about)),
                    _share(sum(dialogues[row[0]]["turn_count"] for row in about), len(about)),
                    _share(sum(row[6] for row in about), len(about)),
                    *(verdicts[verdict] for verdict in ("exact", "interrupted", "shortened", "broken")),
                    _share(verdicts["exact"], len(about)),
                    len(places),
                    _share(sum(places), len(places)),
                )
            )
    return rows


def outcome_factors(releases: Path) -> list[Row]:
    found = {row[0]: row[8] for row in analytics_answers.scenario_solvability(releases)}
    parted: list[tuple[Row, Row]] = []
    for (split, dialogue), is_found in zip(read_friend_dialogues(releases), found.values(), strict=True):
        events, scenario = [event["action"] for event in dialogue["events"]], dialogue["scenario"]
        questions = [event for event in dialogue["events"] if event["action"] == "message" and "?" in event["data"]]
        levels = {
            "all": None,
            "item_count": len(scenario["kbs"][0]),
            "attribute_count": len(scenario["attributes"]),
            "lowest_alpha": min(scenario["alphas"]),
            "selection_count": events.count("select"),
            "question_count": len(questions) if events else None,
            "turns_before_selection": events.index("select") if "select" in events else None,
        }
        outcome = (
            dialogue["outcome"]["reward"],
            is_found,
            events.count("select"),
            len(events),
            events.count("message"),
        )
        parted += [(("mutualfriends", split, factor, level), outcome) for factor, level in levels.items()]
    rows = []
    for key, outcomes in group(parted).items():
        completed = [outcome for outcome in outcomes if outcome[0] == 1]
        judged = sum(outcome[0] is not None for outcome in outcomes)
        rows.append(
            (
                *(*key, len(outcomes), len(completed), _share(len(completed), judged)),
                sum(outcome[1] for outcome in outcomes),
                _share(sum(outcome[2] for outcome in outcomes), len(outcomes)),
                _share(sum(outcome[3] for outcome in completed), len(completed)),
                _share(sum(outcome[4] for outcome in completed), len(completed)),
            )
        )
    return rows
