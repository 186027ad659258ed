"""A release in which each rule of `quality.violations` is broken once, and nearly broken once.

Every case is a pair of records beside clean ones: the first breaks the rule, the second does what the rule is not about.
A clean record breaks no rule at all, so that whatever is found in a record is its case's doing.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.recount import AGENTS

Record = dict[str, Any]
Edit = Callable[[Record], None]

SGD, TASKMASTER = "sgd/train/dialogues_001.json", "taskmaster1/self-dialogs.json"
FRIENDS, ABCD, QUESTIONS = "mutualfriends/train.json", "abcd/abcd_v1.1.json.gz", "bbai/test.json"


@dataclass(frozen=True)
class Case:
    """A rule, the edit that breaks it, and the edit that does not."""

    rule_id: str
    file: str
    breaks: Edit
    misses: Edit
    turn: int | None
    """Turn of the violation, None where the rule is about no turn."""
    detail: str
    """Its detail; RECORD stands for the number of the record."""
    also: tuple[str, ...] = field(default=())
    """Rules that the same edit breaks and cannot but break."""


def unchanged(record: Record) -> None:
    """Leave the record clean."""


# --- SGD --------------------------------------------------------------------------------------------------------------


def sgd_slot(name: str, *values: str, is_categorical: bool = False) -> Record:
    """A slot of a schema."""
    return {"name": name, "description": name, "is_categorical": is_categorical, "possible_values": list(values)}


TRIPS = {
    "service_name": "Trips_1",
    "description": "Find a trip",
    "slots": [
        sgd_slot("origin_city"),
        sgd_slot("destination_city"),
        sgd_slot("seat", "window", "aisle", is_categorical=True),
        sgd_slot("fare"),
        sgd_slot("note"),
    ],
    "intents": [
        {
            "name": "FindTrip",
            "description": "Find a trip",
            "is_transactional": False,
            "required_slots": ["origin_city", "destination_city"],
            "optional_slots": {"seat": "dontcare"},
            "result_slots": ["fare"],
        }
    ],
}
ROOMS = TRIPS | {
    "service_name": "Rooms_1",
    "slots": [sgd_slot("kitchen", "Thai", "Greek"), sgd_slot("intent"), sgd_slot("intents")],
    "intents": [],
}
ALARMS = TRIPS | {"service_name": "Alarms_1"}


def action(act: str, slot: str = "", *values: str) -> Record:
    """A dialogue act whose values are canonical as they are."""
    return {"act": act, "slot": slot, "values": list(values), "canonical_values": list(values)}


def sgd_dialogue(number: int, name: str) -> Record:
    """A clean dialogue about one trip; the name makes its text its own."""

    def state(*requested: str) -> Record:
        values = {"origin_city": ["Alma"], "destination_city": ["Bern"]}
        return {"active_intent": "FindTrip", "requested_slots": list(requested), "slot_values": values}

    def frame(*actions: Record, **others: Any) -> list[Record]:
        return [{"service": "Trips_1", "slots": [], "actions": list(actions), **others}]

    asked = frame(
        action("INFORM_INTENT", "intent", "FindTrip"),
        action("INFORM", "origin_city", "Alma"),
        action("INFORM", "destination_city", "Bern"),
        state=state(),
    )
    asked[0]["slots"] = [
        {"slot": "origin_city", "start": 14, "exclusive_end": 18},
        {"slot": "destination_city", "start": 22, "exclusive_end": 26},
    ]
    found = frame(
        action("INFORM_COUNT", "count", "1"),
        action("OFFER", "fare", "9 francs"),
        service_call={"method": "FindTrip", "parameters": {"origin_city": "Alma", "destination_city": "Bern"}},
        service_results=[{"fare": "9 francs"}],
    )
    return {
        "dialogue_id": f"1_{number:05}",
        "services": ["Trips_1"],
        "turns": [
            {"speaker": "USER", "utterance": "I travel from Alma to Bern.", "frames": asked},
            {"speaker": "SYSTEM", "utterance": f"There is 1 trip for 9 francs, {name}.", "frames": found},
            {
                "speaker": "USER",
                "utterance": "What is the fare?",
                "frames": frame(action("REQUEST", "fare"), state=state("fare")),
            },
            {
                "speaker": "SYSTEM",
                "utterance": "It is 9 francs.",
                "frames": frame(action("INFORM", "fare", "9 francs")),
            },
        ],
    }


def says(turn: int, utterance: str) -> Edit:
    """A turn has another text."""

    def edit(dialogue: Record) -> None:
        dialogue["turns"][turn]["utterance"] = utterance

    return edit


def acts(turn: int, *actions: Record) -> Edit:
    """A turn has further acts."""

    def edit(dialogue: Record) -> None:
        dialogue["turns"][turn]["frames"][0]["actions"] += actions

    return edit


def states(turn: int, **values: list[str] | None) -> Edit:
    """The state after a turn has other values of these slots, None: lacks the slot."""

    def edit(dialogue: Record) -> None:
        state = dialogue["turns"][turn]["frames"][0]["state"]["slot_values"]
        state.update(values)
        for slot in [slot for slot, value in values.items() if value is None]:
            del state[slot]

    return edit


def requests(*slots: str) -> Edit:
    """The slots requested in turn 2."""

    def edit(dialogue: Record) -> None:
        dialogue["turns"][2]["frames"][0]["state"]["requested_slots"] = list(slots)

    return edit


def travels_to_its_origin(utterance: str) -> Edit:
    """The user names one place, and that is the origin."""

    def edit(dialogue: Record) -> None:
        first = dialogue["turns"][0]
        first["utterance"] = utterance
        first["frames"][0]["slots"] = []
        first["frames"][0]["actions"] = [action("INFORM", "origin_city", "Bern")]
        for turn in (0, 2):
            dialogue["turns"][turn]["frames"][0]["state"]["slot_values"] = {"origin_city": ["Bern"]}

    return edit


def marks(start: int, end: int) -> Edit:
    """One more span in the first turn."""

    def edit(dialogue: Record) -> None:
        dialogue["turns"][0]["frames"][0]["slots"].append({"slot": "note", "start": start, "exclusive_end": end})

    return edit


def speaks(turn: int, speaker: str) -> Edit:
    """A turn is another speaker's."""

    def edit(dialogue: Record) -> None:
        dialogue["turns"][turn]["speaker"] = speaker

    return edit


def keeps_turns(*turns: int) -> Edit:
    """Only these turns are left."""

    def edit(dialogue: Record) -> None:
        dialogue["turns"] = [dialogue["turns"][turn] for turn in turns]

    return edit


def has_id(dialogue_id: str) -> Edit:
    """The dialogue has this id."""

    def edit(dialogue: Record) -> None:
        dialogue["dialogue_id"] = dialogue_id

    return edit


def counts(announced: str) -> Edit:
    """The system announces another number of results, and returns two."""

    def edit(dialogue: Record) -> None:
        frame = dialogue["turns"][1]["frames"][0]
        frame["actions"][0] = action("INFORM_COUNT", "count", announced)
        frame["service_results"] *= 2

    return edit


def lacks_parameter(*slots: str) -> Edit:
    """The call lacks these slots; it never has the optional one."""

    def edit(dialogue: Record) -> None:
        for slot in slots:
            del dialogue["turns"][1]["frames"][0]["service_call"]["parameters"][slot]

    return edit


def sgd(rule_id: str, turn: int | None, detail: str, breaks: Edit, misses: Edit) -> Case:
    """A case of SGD."""
    return Case(rule_id, SGD, breaks, misses, turn, detail)


SGD_CASES = (
    sgd("missing_space", 3, "no space inside francs.Bye", says(3, "It is 9 francs.Bye"), says(3, "It is 9.50 F.bye")),
    sgd("non_ascii_text", 3, "utterance 9 francs – bye", says(3, "9 francs – bye"), says(3, "9 francs - bye")),
    sgd(
        "swapped_route",
        0,
        "origin_city = Bern, said after to",
        travels_to_its_origin("I travel to Bern."),
        travels_to_its_origin("I travel to Bernina, from Bern."),
    ),
    sgd(
        "impossible_value",
        0,
        "seat = middle",
        acts(0, action("INFORM", "seat", "middle")),
        acts(0, action("INFORM", "seat", "dontcare")),
    ),
    sgd(
        "uninformable_slot",
        2,
        "note is a slot of no intent of Trips_1",
        states(2, note=["Alma"]),
        states(2, seat=["aisle"]),
    ),
    sgd(
        "unsaid_value",
        2,
        "destination_city = Berne is never said",
        states(2, destination_city=["Bern", "Berne"]),
        states(2, destination_city=["Bern", "dontcare"]),
    ),
    sgd(
        "vanished_slot",
        2,
        "destination_city of turn 0 is gone, the intent is still FindTrip",
        states(2, destination_city=None),
        states(2, destination_city=["Alma"]),
    ),
    sgd("unequal_requests", 2, "fare is asked for and not in requested_slots", requests(), unchanged),
    sgd(
        "missing_call",
        3,
        "NOTIFY_SUCCESS without a service call",
        acts(3, action("NOTIFY_SUCCESS")),
        acts(1, action("NOTIFY_SUCCESS")),
    ),
    sgd("wrong_count", 1, "3 announced, 2 returned", counts("3"), counts("2")),
    sgd(
        "missing_required_slot",
        1,
        "FindTrip without destination_city",
        lacks_parameter("destination_city"),
        lacks_parameter(),
    ),
    sgd("overlapping_spans", 0, "ern. overlaps Bern", marks(23, 27), marks(26, 27)),
    sgd("blank_utterance", 3, "the utterance is blank", says(3, "  "), says(3, "-")),
    sgd("blank_at_edge", 3, "blank behind 9 francs", says(3, "9 francs "), says(3, "9 francs")),
    sgd("double_blank", 3, "two blanks inside It is  9", says(3, "It is  9"), says(3, "It is - 9")),
    sgd("line_break", 3, "line break or tab in It is 9", says(3, "It is\n9"), says(3, "It is\\n9")),
    sgd("unknown_speaker", 3, "speaker NARRATOR", speaks(3, "NARRATOR"), speaks(3, "USER")),
    sgd("unknown_act", 3, "act SHRUG", acts(3, action("SHRUG")), acts(3, action("REQ_MORE"))),
    sgd("repeated_dialogue_id", None, "occurrence 2 of 1_00000 in train", has_id("1_00000"), has_id("1_00000x")),
    sgd("empty_dialogue", None, "no turns", keeps_turns(), keeps_turns(0, 1)),
    sgd("one_sided_dialogue", None, "turns of user only: 2", keeps_turns(0, 2), keeps_turns(0, 3)),
)

# --- MutualFriends ----------------------------------------------------------------------------------------------------


def friends(number: int, name: str) -> Record:
    """A clean dialogue: both agents select the one friend that they share."""
    shared = {"Name": "Ida", "School": "North"}
    lists = [
        [shared, {"Name": "Ben", "School": "East"}, {"Name": "Leo", "School": "South"}],
        [{"Name": "Max", "School": "West"}, {"Name": "Eva", "School": "East"}, dict(reversed(shared.items()))],
    ]
    events = [(0, "message", f"Hi, {name}!"), (1, "message", "Ida?"), (0, "select", shared), (1, "select", shared)]
    return {
        "uuid": f"C_{number:032x}",
        "scenario_uuid": f"S_{number}",
        "scenario": {
            "uuid": f"S_{number}",
            "alphas": [0.3, 1.0],
            "attributes": [
                {"unique": False, "value_type": "name", "name": "Name"},
                {"unique": False, "value_type": "school", "name": "School"},
            ],
            "kbs": lists,
        },
        "agents": {"1": "human", "0": "human"},
        "outcome": {"reward": 1},
        "events": [
            {"action": kind, "start_time": None, "data": data, "agent": agent, "time": f"{1480736440 + place}.0"}
            for place, (agent, kind, data) in enumerate(events)
        ],
    }


def knows(agent: int, place: int, person: Record) -> Edit:
    """An agent has this friend, at the end or in place of another."""

    def edit(dialogue: Record) -> None:
        dialogue["scenario"]["kbs"][agent][place : place + 1] = [person]

    return edit


def selects_before(person: Record) -> Edit:
    """Agent 0 selects somebody else first."""

    def edit(dialogue: Record) -> None:
        dialogue["events"].insert(2, dialogue["events"][2] | {"data": person})

    return edit


def rewarded(reward: int, selections: int) -> Edit:
    """The dialogue has this reward and only the first of its selections."""

    def edit(dialogue: Record) -> None:
        dialogue["outcome"]["reward"] = reward
        del dialogue["events"][2 + selections :]

    return edit


def happens(event: int, **values: Any) -> Edit:
    """An event has other values."""

    def edit(dialogue: Record) -> None:
        dialogue["events"][event].update(values)

    return edit


def played_by(kind: str) -> Edit:
    """Agent 1 is of this kind."""

    def edit(dialogue: Record) -> None:
        dialogue["agents"]["1"] = kind

    return edit


def has_key(*keys: str) -> Edit:
    """The record has further keys."""

    def edit(dialogue: Record) -> None:
        dialogue.update(dict.fromkeys(keys, 5))

    return edit


def mf(rule_id: str, turn: int | None, detail: str, breaks: Edit, misses: Edit) -> Case:
    """A case of MutualFriends."""
    return Case(rule_id, FRIENDS, breaks, misses, turn, detail)


MUTUALFRIENDS_CASES = (
    mf(
        "shared_friends",
        None,
        "the agents share from 2 to 2 friends",
        knows(1, 0, {"Name": "Ben", "School": "East"}),
        knows(1, 0, {"Name": "Ben", "School": "West"}),
    ),
    mf(
        "unequal_knowledge",
        None,
        "from 3 to 4 friends",
        knows(1, 3, {"Name": "Tom", "School": "West"}),
        knows(1, 1, {"Name": "Tom", "School": "West"}),
    ),
    mf(
        "incomplete_friend",
        None,
        "friend 1 of agent 0 has 1 attributes, the scenario 2",
        knows(0, 1, {"Name": "Ben"}),
        knows(0, 1, {"School": "East", "Name": "Ben"}),
    ),
    mf(
        "repeated_friend",
        None,
        "agent 0 has 2 friends Name: Leo, School: South",
        knows(0, 1, {"School": "South", "Name": "Leo"}),
        knows(0, 1, {"Name": "South", "School": "Leo"}),
    ),
    mf(
        "selected_stranger",
        2,
        "selection of agent 0 is none of its friends",
        selects_before({"Name": "Max", "School": "West"}),
        selects_before({"School": "East", "Name": "Ben"}),
    ),
    mf("wrong_reward", None, "reward 0, and 2 agents select the shared friend last", rewarded(0, 2), rewarded(0, 1)),
    mf(
        "earlier_time",
        1,
        "1480736439.0 comes after 1480736440.0",
        happens(1, time="1480736439.0"),
        happens(1, time="1480736440.0"),
    ),
    mf("bot_participant", None, "agent 1 is bot", played_by("bot"), played_by("human")),
    mf("unknown_event", 1, "event join", happens(1, action="join", data=None), happens(1, data="Ida!")),
    mf(
        "refused_record",
        None,
        "scenario.uuid differs from scenario_uuid - at `$[RECORD]`",
        lambda dialogue: dialogue.update(scenario_uuid="S"),
        unchanged,
    ),
)

# --- Taskmaster-1 -----------------------------------------------------------------------------------------------------

ONTOLOGY = {
    "uber": {
        "id": "uber_lyft",
        "vertical": "ride_booking",
        "required": ["location.from"],
        "optional": ["price.estimate"],
    },
    "pizza": {
        "id": "pizza_ordering",
        "vertical": "pizza_order",
        "required": ["name.store"],
        "optional": ["type.topping"],
    },
}
FROM, PRICE = "uber_lyft.location.from", "uber_lyft.price.estimate"


def taskmaster_id(number: int) -> str:
    """The id of a dialog."""
    return f"dlg-00000000-0000-4000-8000-{number:012}"


def taskmaster_dialog(number: int, name: str) -> Record:
    """A clean dialog about a ride; the name makes its text its own."""
    segment = {"start_index": 12, "end_index": 16, "text": "Alma", "annotations": [{"name": FROM}, {"name": FROM}]}
    return {
        "conversation_id": taskmaster_id(number),
        "instruction_id": "uber-lyft-1",
        "utterances": [
            {"index": 0, "speaker": "USER", "text": f"A ride from Alma, {name}.", "segments": [segment]},
            {"index": 1, "speaker": "ASSISTANT", "text": "Sure, it is on its way."},
            {"index": 2, "speaker": "USER", "text": "Thanks."},
        ],
    }


def continues(speaker: str, *texts: str) -> Edit:
    """Further turns at the end."""

    def edit(dialog: Record) -> None:
        for text in texts:
            dialog["utterances"].append({"index": len(dialog["utterances"]), "speaker": speaker, "text": text})

    return edit


def utters(turn: int, **values: Any) -> Edit:
    """A turn has other values."""

    def edit(dialog: Record) -> None:
        dialog["utterances"][turn].update(values)

    return edit


def labels(*names: str) -> Edit:
    """The only segment has these labels; without any there is no segment."""

    def edit(dialog: Record) -> None:
        dialog["utterances"][0]["segments"][0]["annotations"] = [{"name": name} for name in names]
        if not names:
            del dialog["utterances"][0]["segments"]

    return edit


def labels_thanks(name: str) -> Edit:
    """The last turn has a segment with this label."""
    segment = {"start_index": 0, "end_index": 6, "text": "Thanks", "annotations": [{"name": name}]}
    return utters(2, segments=[segment])


def instructed(instruction_id: str) -> Edit:
    """The dialog has these instructions."""
    return lambda dialog: dialog.update(instruction_id=instruction_id)


def tm(rule_id: str, turn: int | None, detail: str, breaks: Edit, misses: Edit) -> Case:
    """A case of Taskmaster-1."""
    return Case(rule_id, TASKMASTER, breaks, misses, turn, detail)


UNLISTED = taskmaster_id(999)
TASKMASTER1_CASES = (
    tm("deleted_turn", 1, "the text is (deleted)", utters(1, text="(deleted)"), utters(1, text="deleted")),
    tm("repeated_turn", 3, "said before: Thanks.", continues("USER", "Thanks."), continues("ASSISTANT", "Thanks.")),
    tm("long_run", 7, "sixth turn in a row of USER", continues("USER", *"abcdef"), continues("USER", *"abcd")),
    tm("unannotated_dialogue", None, "none of 3 turns has a label", labels(), labels(FROM)),
    tm("no_required_label", None, "no label that uber requires", labels(PRICE), labels(FROM)),
    tm(
        "foreign_label",
        2,
        "pizza_ordering.name.store in a dialog about uber",
        labels_thanks("pizza_ordering.name.store"),
        labels_thanks(PRICE),
    ),
    tm(
        "unknown_label",
        2,
        "uber_lyft.wheels is not in the ontology",
        labels_thanks("uber_lyft.wheels"),
        labels_thanks(f"{PRICE}.reject"),
    ),
    tm(
        "undocumented_label_form",
        2,
        "uber_lyft.ride_booking.accept",
        labels_thanks("uber_lyft.ride_booking.accept"),
        labels_thanks("uber_lyft.accept"),
    ),
    tm(
        "conflicting_labels",
        0,
        f"{FROM}.accept and {FROM} on one segment",
        labels(FROM, f"{FROM}.accept"),
        labels(FROM, FROM),
    ),
    tm("too_many_labels", 0, f"third label on one segment: {FROM}", labels(*[FROM] * 4), labels(*[FROM] * 2)),
    tm(
        "unknown_instruction",
        None,
        "instructions movie-finder-1 name no domain",
        instructed("movie-finder-1"),
        instructed("uber2"),
    ),
    tm(
        "dialogue_without_split",
        None,
        f"no split file lists {UNLISTED}",
        lambda dialog: dialog.update(conversation_id=UNLISTED),
        unchanged,
    ),
    tm("turn_number_gap", 2, "number 3 at position 2", utters(2, index=3), utters(2, index=2)),
)

# --- ABCD -------------------------------------------------------------------------------------------------------------

KNOWLEDGE = {"return_size": ["pull-up-account", "validate-purchase", "update-order"], "timing": ["search-timing"]}
ABCD_DOCUMENTS = {
    "ontology.json": {
        "intents": {
            "flows": ["product_defect", "storewide_query"],
            "subflows": {"product_defect": ["return_size"], "storewide_query": ["timing"]},
        },
        "vocabulary": {"tokens": [], "special": []},
        "actions": {
            "kb_query": {"pull-up-account": ["payment_method"], "validate-purchase": [], "search-timing": []},
            "interaction": {"update-order": ["refund_target"]},
            "faq_policy": {},
        },
        "values": {
            "enumerable": {"payment_method": ["credit card", "paypal"], "refund_target": ["gift card", "credit card"]},
            "non_enumerable": {},
        },
        "next_steps": ["retrieve_utterance", "take_action"],
    },
    "kb.json": KNOWLEDGE,
    "guidelines.json": {
        "Product Defect": {
            "description": "about defects",
            "subflows": {
                "Return Size": {
                    "actions": [
                        {"type": "kb query", "button": "Pull up Account", "text": "Look", "subtext": []},
                        {"type": "communication", "button": "N/A", "text": "Say", "subtext": []},
                    ],
                    "instructions": ["first", "last"],
                }
            },
        },
        "Storewide Query": {
            "description": "about the store",
            "subflows": {"Timing FAQ": {"actions": [], "instructions": ["first", "last"]}},
        },
    },
}


def conversation(number: int, name: str) -> Record:
    """A clean conversation; the name makes its text its own."""
    turns = [
        ("agent", f"Hi, {name}!", "retrieve_utterance", None),
        ("customer", "The jeans do not fit.", None, None),
        *(("action", f"Pressed {act}.", "take_action", act) for act in KNOWLEDGE["return_size"]),
    ]
    return {
        "convo_id": number,
        "scenario": {
            "personal": {"customer_name": "Ida"},
            "order": {},
            "product": {"names": [], "amounts": []},
            "flow": "product_defect",
            "subflow": "return_size",
        },
        "original": [[speaker, text] for speaker, text, *_ in turns],
        "delexed": [
            {
                "speaker": speaker,
                "text": text.lower(),
                "turn_count": place,
                "targets": ["return_size", next_step, act, [], 0 if speaker == "agent" else -1],
                "candidates": list(range(100)) if speaker == "agent" else [],
            }
            for place, (speaker, text, next_step, act) in enumerate(turns, start=1)
        ],
    }


def about_timing(subflow: str) -> Edit:
    """The conversation is about opening hours."""

    def edit(record: Record) -> None:
        record["scenario"] |= {"flow": "storewide_query", "subflow": subflow}
        del record["original"][3:], record["delexed"][3:]
        record["delexed"][2]["targets"][2] = "search-timing"
        for turn in record["delexed"]:
            turn["targets"][0] = "timing"

    return edit


def targets(turn: int, place: int, value: Any) -> Edit:
    """A turn has another target."""

    def edit(record: Record) -> None:
        record["delexed"][turn]["targets"][place] = value

    return edit


def pressed(*acts: str) -> Edit:
    """The agent presses these buttons."""

    def edit(record: Record) -> None:
        first, original = record["delexed"][2], record["original"][2]
        del record["original"][2:], record["delexed"][2:]
        for count, act in enumerate(acts, start=3):
            record["original"].append(original)
            record["delexed"].append(first | {"turn_count": count, "targets": [*first["targets"][:2], act, [], -1]})

    return edit


def typed(text: str) -> Edit:
    """The first action has this text."""

    def edit(record: Record) -> None:
        record["original"][2][1] = text

    return edit


def offers(count: int, target: int) -> Edit:
    """The first turn has so many candidates and this target."""

    def edit(record: Record) -> None:
        record["delexed"][0]["candidates"] = list(range(count))
        record["delexed"][0]["targets"][4] = target

    return edit


def ordered(products: str) -> Edit:
    """The order has these products."""

    def edit(record: Record) -> None:
        record["scenario"]["order"]["products"] = products

    return edit


def abcd(rule_id: str, turn: int | None, detail: str, breaks: Edit, misses: Edit) -> Case:
    """A case of ABCD."""
    return Case(rule_id, ABCD, breaks, misses, turn, detail)


ALL_BUTTONS = KNOWLEDGE["return_size"]
ABCD_CASES = (
    abcd(
        "numbered_subflow",
        None,
        "scenario.subflow is timing_4, the subflow timing",
        about_timing("timing_4"),
        about_timing("timing"),
    ),
    abcd(
        "subflow_mismatch",
        1,
        "intent timing in a conversation about return_size",
        targets(1, 0, "timing"),
        targets(1, 0, "return_size"),
    ),
    abcd(
        "misspelled_action",
        2,
        "Identity verification in progess ...",
        typed("Identity verification in progess ..."),
        typed("Identity verification in progress ..."),
    ),
    abcd("broken_candidates", 0, "99 candidates, the target at 0", offers(99, 0), offers(100, 99)),
    abcd(
        "unlisted_action",
        5,
        "search-timing is no action of return_size",
        pressed(*ALL_BUTTONS, "search-timing"),
        pressed(*ALL_BUTTONS, "update-order"),
    ),
    abcd(
        "unordered_action",
        3,
        "pull-up-account comes too late for return_size",
        pressed("validate-purchase", "pull-up-account", "update-order"),
        pressed("pull-up-account", "pull-up-account", "validate-purchase", "update-order"),
    ),
    abcd(
        "skipped_action",
        None,
        "update-order is never pressed for return_size",
        pressed("pull-up-account", "validate-purchase"),
        pressed(*ALL_BUTTONS),
    ),
    abcd(
        "python_literal",
        None,
        "order.products is [{'brand': 'acme', ' …",
        ordered("[{'brand': 'acme', 'amount': 9}]"),
        ordered('[{"brand": "acme", "amount": 9}]'),
    ),
    abcd("unknown_key", None, "key at /train/RECORD/rating", has_key("rating"), has_key()),
)

# --- BBAI -------------------------------------------------------------------------------------------------------------

REFUSAL = "Didn't get that!"


def question(number: int, name: str) -> Record:
    """A clean question, answered by alexa; its text stands under `text` until it is written."""
    return {
        "text": f"What is the {name}?",
        "example": ["alexa"],
        "human_vote": dict.fromkeys(["none", *AGENTS, "intent"], 0) | {"alexa": 5},
        **{agent: f"{agent} on {name}" for agent in AGENTS},
        "recipe": REFUSAL,
        "dictionary": REFUSAL if number % 2 else f"Look up {name}.",
        "intent": "meaning_of_life",
        "human": ["alexa"],
    }


def votes(human: list[str], **counted: int) -> Edit:
    """These options have these votes, the others none."""

    def edit(record: Record) -> None:
        record["human_vote"] = dict.fromkeys(record["human_vote"], 0) | counted
        record["human"] = human

    return edit


def answers(agent: str, text: str) -> Edit:
    """An agent answers this."""
    return lambda record: record.update({agent: text})


def bbai(rule_id: str, detail: str, breaks: Edit, misses: Edit, *also: str) -> Case:
    """A case of BBAI; every question breaks stray_vote_key, which has a test of its own."""
    return Case(rule_id, QUESTIONS, breaks, misses, None, detail, also)


BBAI_CASES = (
    bbai("blank_response", "response of covid is blank", answers("covid", " "), answers("covid", "-")),
    bbai(
        "response_with_line_break",
        "response of google has several lines",
        answers("google", "Sunny.\nWarm."),
        answers("google", "Sunny. Warm."),
    ),
    bbai(
        "none_in_human",
        "human names none, which has 3 votes; the best agent has 2",
        votes(["none"], none=3, google=2),
        votes(["google"], none=2, google=3),
    ),
    bbai(
        "none_beside_agent",
        "human names none, with 3 votes, beside an agent with 4",
        votes(["none", "alexa"], none=3, alexa=4),
        votes(["alexa", "google"], alexa=3, google=2),
        "none_in_human",
        "uneven_ballot",
    ),
    bbai("uneven_ballot", "4 votes", votes(["alexa"], alexa=4), votes(["alexa"], alexa=4, none=1)),
    bbai("too_many_votes", "6 votes for alexa", votes(["alexa"], alexa=6), votes(["alexa"], alexa=5), "uneven_ballot"),
    bbai(
        "question_without_example",
        "answered by an agent, and not in the classifier file",
        lambda record: record.update(example=None),
        unchanged,
    ),
    bbai(
        "leaked_text",
        "the text of bbai/train/00000",
        lambda record: record.update(text="Tell me a joke, please!"),
        lambda record: record.update(text="Tell me jokes, please!"),
    ),
    bbai(
        "repeated_text",
        "the text of bbai/test/00000",
        lambda record: record.update(text='what is - the "clean question"'),
        lambda record: record.update(text="What is the clean question 2?"),
    ),
)

CASES = (*SGD_CASES, *MUTUALFRIENDS_CASES, *TASKMASTER1_CASES, *ABCD_CASES, *BBAI_CASES)
MAKERS = {
    SGD: sgd_dialogue,
    FRIENDS: friends,
    TASKMASTER: taskmaster_dialog,
    ABCD: conversation,
    QUESTIONS: question,
}


def place(case: Case) -> int:
    """The record of its file that breaks the case's rule; the near miss is the one behind it."""
    return 1 + 2 * [other for other in CASES if other.file == case.file].index(case)


def records(file: str) -> list[Record]:
    """A clean record, then two of each case."""
    made = [MAKERS[file](0, "clean question")]
    for case in CASES:
        if case.file == file:
            for edit, name in ((case.breaks, "{} broken"), (case.misses, "{} missed")):
                record = MAKERS[file](len(made), name.format(case.rule_id.replace("_", " ")))
                edit(record)
                made.append(record)
    return made


def write(folder: Path) -> Path:
    """Write all five releases; returns the folder."""
    dialogues = records(SGD)
    seen = copy.deepcopy(dialogues[0]) | {"dialogue_id": "1_00900"}
    unseen = sgd_dialogue(0, "another")
    own = sgd_dialogue(901, "a third")
    test = {record.pop("text"): record for record in records(QUESTIONS)}
    examples = [[text, example] for text, record in test.items() if (example := record.pop("example"))]
    train = question(0, "first of train")
    del train["example"]
    train_text = "tell me a joke please"
    train.pop("text")
    dialogs = records(TASKMASTER)
    documents = {
        SGD: dialogues,
        "sgd/train/schema.json": [TRIPS, ROOMS],
        "sgd/dev/dialogues_001.json": [unseen, own, seen],
        "sgd/dev/schema.json": [TRIPS, ALARMS],
        FRIENDS: records(FRIENDS),
        TASKMASTER: dialogs,
        "taskmaster1/ontology.json": ONTOLOGY,
        ABCD: {"train": records(ABCD), "dev": [], "test": []},
        **{f"abcd/{name}": document for name, document in ABCD_DOCUMENTS.items()},
        QUESTIONS: test,
        "bbai/train.json": {train_text: train},
        "bbai/test_classifier.json": [*examples, ["Who asked this?", ["alexa"]]],
        "bbai/descriptions.json": {"alexa": "Knows a lot.", "sports": "Knows the scores."},
    }
    for name, document in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps(document, ensure_ascii=False, indent=1).encode()
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    listed = [dialog["conversation_id"] for dialog in dialogs if dialog["conversation_id"] != UNLISTED]
    lines = folder / "taskmaster1" / "train-dev-test" / "train.csv"
    lines.parent.mkdir()
    lines.write_text("".join(f"{dialogue_id},\n" for dialogue_id in listed), encoding="utf-8")
    return folder
