"""An independent recount of the releases: what each core table must hold, counted from the files in plain Python.

Nothing here imports the project: the counting follows `house.md` sections 4 and 5, the record shapes follow the
corpora's own documentation. Where the contract leaves a word open (the domain of a corpus that has none, a key that is
nobody's path) nothing is counted, and the query leaves the column out. Five answers go beyond its letter, and agree
with the warehouse by choice: an ABCD button is the system's turn; a BBAI question has no source_speaker; a frame
without a state has NULL requested_slots, not `[]`; utterance_count counts the turns whose event_type is `utterance`;
a Taskmaster-1 dialog has one service, the ontology's id for the prefix of its instruction.

`QUERIES` says how each part is read from the warehouse, `recount` gives the same rows from the files; lists are tuples
and maps are sorted tuples of pairs, so that rows can be counted.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]

SPLITS = {"train": "train", "dev": "validation", "test": "test"}
AGENTS = [
    "alexa",
    "google",
    "houndify",
    "recipe",
    "dictionary",
    "task_manager",
    "hotel",
    "stock",
    "math",
    "sport",
    "wikipedia",
    "mobile",
    "banking",
    "coffee",
    "event_search",
    "jokes",
    "reminders",
    "adasa",
    "covid",
]
FAQ_FLOWS = ("storewide_query", "single_item_query")
BUTTONS = {
    "Membership Privileges": "membership",
    "Notify Internal Team": "notify-team",
    "Select Answer": "select-faq",
    "Enter Detail": "enter-details",
    "Log Out/In": "log-out-in",
    **{
        name: f"search-{name.lower()}"
        for name in ["Boots", "Jacket", "Jeans", "Shirt", "Pricing", "Timing", "Policy", "Membership"]
    },
}
"""Captions of the guidelines' buttons that are not the action's name with spaces; data_facts section 5."""
DATA_FILES = {
    "abcd": r"abcd_v1\.1\.json\.gz|utterances\.json|ontology\.json|kb\.json|guidelines\.json",
    "bbai": r"(train|test)(_classifier)?\.json|descriptions\.json",
    "mutualfriends": r"(train|dev|test)\.json",
    "sgd": r"(train|dev|test)/(dialogues_\d+|schema)\.json",
    "taskmaster1": r"(self|woz)-dialogs\.json|ontology\.json|train-dev-test/(train|dev|test)\.csv",
}

DIALOGUE = "dialogue_key, split"
TURN = f"{DIALOGUE}, turn_key, turn_index"
FRAME = f"{TURN}, frame_index"
SLOT = f"slot_key, {TURN}, role, annotation_type"
DIALOGUES = (
    "dialogue_key, split, source_split, source_part, dialogue_id, source_file_id, record_index, record_pointer, task,"
    " source_task, turn_count, utterance_count, outcome_reward"
)
TURNS = (
    f"{TURN}, source_turn_number, role, source_speaker, event_type, utterance, delexicalized_utterance, occurred_at,"
    " source_time, intent, next_step, segment_count"
)


def _place(partition: str) -> str:
    """The position inside a group, from 0, whether the table counts there or over the whole."""
    return f"row_number() over (partition by {partition} order by position) - 1"


def _of(columns: str, table: str, corpus_id: str, where: str = "true") -> str:
    return f"select {columns} from core.{table} where corpus_id = '{corpus_id}' and {where}"


QUERIES: dict[str, str] = {
    "dim_corpora": "select corpus_id from core.dim_corpora",
    "dim_source_files": "select source_file_id, corpus_id, path, parts, bytes, sha256, record_count from core.dim_source_files",
    "dim_source_files source_part": "select source_file_id, source_part from core.dim_source_files"
    " where source_file_id in (select source_file_id from core.dim_dialogues)",
    "dim_speakers": "select corpus_id, source_speaker, role from core.dim_speakers where source_speaker is not null",
    "dim_agents": "select agent_id, source_name, description from core.dim_agents",
    "dim_participants": "select dialogue_key, source_speaker, participant_type from core.dim_participants",
    "dim_scenario_attributes": "select scenario_key, position, attribute, value_type, is_unique, alpha"
    " from core.dim_scenario_attributes",
    # A value that stands alone has no index, whatever the table writes there.
    "dim_scenario_values": "select scenario_key, section, field, coalesce(value_index, 0), value from core.dim_scenario_values",
    "dim_split_members": "select source_file_id, record_index, corpus_id, split, dialogue_id, dialogue_key"
    " from core.dim_split_members",
    "dim_candidate_utterances": "select candidate_id, utterance from core.dim_candidate_utterances",
    "dim_vocabulary": "select corpus_id, kind, position, term from core.dim_vocabulary",
    "dim_act_slots": "select corpus_id, act, position, slot from core.dim_act_slots",
    "dim_intent_acts": "select corpus_id, intent, position, act from core.dim_intent_acts",
    "dim_guidelines": f"select {_place('flow_title')}, flow_title, flow_description, subflow_title, intent, instructions"
    " from core.dim_guidelines",
    "dim_guideline_steps": "select flow_title, subflow_title, step_index, step_type, button, act, text, subtext"
    " from core.dim_guideline_steps join core.dim_guidelines using (guideline_key)",
    "dim_intent_slots": "select intents.split, service, intent, slot, requirement, default_value, row_number() over"
    " (partition by intent_key, requirement order by slots.position) - 1"
    " from core.dim_intent_slots as slots join core.dim_intents as intents using (intent_key)",
    "dim_scenarios abcd": _of("scenario_key, split, flow, subflow", "dim_scenarios", "abcd"),
    "dim_scenarios mutualfriends": _of(
        "scenario_key, split, scenario_id, flow, subflow", "dim_scenarios", "mutualfriends"
    ),
    "dim_acts abcd": _of(f"act, act_group, action_type, {_place('act_group')}", "dim_acts", "abcd"),
    "dim_acts sgd": _of("act, action_type", "dim_acts", "sgd", "act in (select act from core.fct_actions)"),
    "dim_services sgd": _of("split, service, domain, description, position", "dim_services", "sgd"),
    "dim_services taskmaster1": _of("split, service, source_name, vertical, position", "dim_services", "taskmaster1"),
    "dim_intents sgd": _of("split, service, intent, position, description, is_transactional", "dim_intents", "sgd"),
    "dim_intents abcd": _of(f"intent, parent_intent, {_place('parent_intent')}", "dim_intents", "abcd"),
    "dim_intents bbai": _of("distinct intent", "dim_intents", "bbai"),
    "dim_slots sgd": _of(
        "split, service, slot, position, description, is_categorical, possible_values", "dim_slots", "sgd"
    ),
    "dim_slots taskmaster1": _of(
        f"split, service, slot, requirement, {_place('service, requirement')}", "dim_slots", "taskmaster1"
    ),
    "dim_slots abcd enumerable": _of(
        f"slot, possible_values, {_place('slot_group')}", "dim_slots", "abcd", "is_categorical"
    ),
    "dim_slots abcd non_enumerable": _of(
        f"slot, slot_group, {_place('slot_group')}", "dim_slots", "abcd", "not is_categorical"
    ),
    **{
        f"dim_dialogues {corpus_id}": _of(DIALOGUES, "dim_dialogues", corpus_id)
        for corpus_id in ("abcd", "bbai", "mutualfriends", "sgd", "taskmaster1")
    },
    "dim_dialogues channel": _of("dialogue_key, channel", "dim_dialogues", "taskmaster1"),
    "dim_dialogue_services sgd": _of(f"{DIALOGUE}, position, service, domain", "dim_dialogue_services", "sgd"),
    **{
        f"dim_dialogue_services {corpus_id}": _of(f"{DIALOGUE}, position, service", "dim_dialogue_services", corpus_id)
        for corpus_id in ("abcd", "bbai", "mutualfriends", "taskmaster1")
    },
    **{
        f"fct_turns {corpus_id}": _of(TURNS, "fct_turns", corpus_id)
        for corpus_id in ("abcd", "bbai", "mutualfriends", "sgd", "taskmaster1")
    },
    "fct_turns source_event_type": _of("turn_key, source_event_type", "fct_turns", "mutualfriends"),
    "fct_frames": f"select frame_key, {FRAME}, service, active_intent, requested_slots from core.fct_frames",
    "fct_actions sgd": _of(
        f"action_key, {FRAME}, role, action_index, action_type, service, act, slot_name, action_values,"
        " canonical_values, item_index",
        "fct_actions",
        "sgd",
    ),
    "fct_actions abcd": _of(
        f"action_key, {TURN}, role, action_index, action_type, act, action_values, item_index", "fct_actions", "abcd"
    ),
    "fct_actions mutualfriends": _of(
        f"action_key, {TURN}, role, action_index, action_type, item_index", "fct_actions", "mutualfriends"
    ),
    "fct_slots span sgd": _of(
        f"{SLOT}, frame_index, service, slot_name, span_index, value, start_char, end_char, status",
        "fct_slots",
        "sgd",
        "annotation_type = 'span'",
    ),
    "fct_slots state": f"select {SLOT}, frame_index, service, slot_name, value_index, value, status"
    " from core.fct_slots where annotation_type = 'state'",
    "fct_slots action_value sgd": _of(
        f"{SLOT}, frame_index, service, slot_name, action_index, value_index, value, canonical_value, status",
        "fct_slots",
        "sgd",
        "annotation_type = 'action_value'",
    ),
    "fct_slots call_parameter": f"select {SLOT}, frame_index, service, slot_name, value, status"
    " from core.fct_slots where annotation_type = 'call_parameter'",
    "fct_slots abcd": _of(f"{SLOT}, action_index, value_index, value, status", "fct_slots", "abcd"),
    "fct_slots mutualfriends": _of(f"{SLOT}, slot_name, value, status", "fct_slots", "mutualfriends"),
    "fct_slots taskmaster1": _of(
        f"{SLOT}, service, slot_name, source_label, span_index, annotation_index, value, canonical_value, start_char,"
        " end_char, status",
        "fct_slots",
        "taskmaster1",
    ),
    "fct_votes": f"select vote_key, {DIALOGUE}, voted_for, agent_id, votes, is_selected, gold_position from core.fct_votes",
    "fct_responses": f"select response_key, {DIALOGUE}, agent_id, response from core.fct_responses",
    "fct_classifier_examples": "select source_file_id, record_index, corpus_id, split, utterance, labels, dialogue_key"
    " from core.fct_classifier_examples",
    "fct_service_calls": f"select call_key, {FRAME}, service, method, result_count from core.fct_service_calls",
    "fct_service_results": f"select result_key, {FRAME}, service, result_index, entity from core.fct_service_results",
    "fct_candidates": f"select candidates_key, {TURN}, candidate_ids, target_position from core.fct_candidates",
    # The order of a person's attributes is not the scenario's; which of the two is counted is left open.
    "fct_knowledge_items": f"select knowledge_key, {DIALOGUE}, cast(agent as varchar), item_index, attribute, value, is_shared"
    " from core.fct_knowledge_items",
    "source_exceptions": "select * from core.source_exceptions",
    "source_extras": "select * from core.source_extras",
    "source_quarantine": "select * from core.source_quarantine",
}
"""What is read from the warehouse, by the name of what is counted: the table, and the corpus where each has its own."""


def recount(corpora: Path) -> Rows:
    """The rows that each query of `QUERIES` must return, in any order."""
    rows: Rows = defaultdict(list)
    rows["dim_corpora"] = [(corpus_id,) for corpus_id in DATA_FILES]
    _count_source_files(corpora, rows)
    _count_sgd(corpora / "sgd", rows)
    _count_bbai(corpora / "bbai", rows)
    _count_mutualfriends(corpora / "mutualfriends", rows)
    _count_taskmaster1(corpora / "taskmaster1", rows)
    _count_abcd(corpora / "abcd", rows)
    return {name: list(rows[name]) for name in [*QUERIES, *(name for name in rows if name not in QUERIES)]}


# Files


def _data_files(folder: Path) -> list[str]:
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if re.fullmatch(DATA_FILES[folder.name], path)]


def _count_source_files(corpora: Path, rows: Rows) -> None:
    for corpus_id in DATA_FILES:
        for path in _data_files(corpora / corpus_id):
            data = (corpora / corpus_id / path).read_bytes()
            parts, record_count = None, 1
            if path.endswith(".csv"):
                record_count = len(data.splitlines())
            elif (corpus_id, path) != ("abcd", "ontology.json"):
                content = _load(corpora / corpus_id / path)
                record_count = len(content)
                if path.endswith(".gz"):
                    parts, record_count = tuple(content), sum(map(len, content.values()))
            sha256 = hashlib.sha256(data).hexdigest()
            rows["dim_source_files"].append(
                (f"{corpus_id}/{path}", corpus_id, path, parts, len(data), sha256, record_count)
            )


def verifications(corpora: Path, listing: Path) -> list[Row]:
    """(source_file_id, verification) of every data file, against the checksums of sources.csv."""
    with listing.open(newline="", encoding="utf-8") as stream:
        listed = {f"{line['corpus']}/{line['path']}": line for line in csv.DictReader(stream)}
    found = []
    for corpus_id in DATA_FILES:
        for path in _data_files(corpora / corpus_id):
            line = listed.get(f"{corpus_id}/{path}", {})
            data = (corpora / corpus_id / path).read_bytes()
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            if line.get("sha256"):
                is_equal = line["sha256"] == hashlib.sha256(data).hexdigest()
            else:
                is_equal = line.get("git_blob_sha1") == blob
            is_listed = line.get("sha256") or line.get("git_blob_sha1")
            verification = ("verified" if is_equal else "mismatch") if is_listed else "unlisted"
            found.append((f"{corpus_id}/{path}", verification))
    return found


def _load(path: Path) -> Any:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


# Keys


def _segment(text: str) -> str:
    return text.replace("%", "%25").replace("/", "%2F").replace("~", "%7E")


class _Dialogues:
    """Gives out dialogue keys: a native id that occurs again in its part gets a number."""

    def __init__(self, corpus_id: str) -> None:
        self.corpus_id = corpus_id
        self.seen: Counter[tuple[str, str]] = Counter()

    def key(self, part: str, native_id: str) -> str:
        self.seen[part, native_id] += 1
        occurrence = self.seen[part, native_id]
        again = f"~{occurrence}" if occurrence > 1 else ""
        return f"{self.corpus_id}/{_segment(part)}/{_segment(native_id)}{again}"


def _entity(entity: dict[str, str]) -> Row:
    return tuple(sorted(entity.items()))


# Schema-Guided Dialogue


def _count_sgd(folder: Path, rows: Rows) -> None:
    dialogues = _Dialogues("sgd")
    rows["dim_speakers"] += [("sgd", "SYSTEM", "system"), ("sgd", "USER", "user")]
    for path in _data_files(folder):
        part, name = path.split("/")
        source_file_id = f"sgd/{path}"
        if name == "schema.json":
            _count_sgd_schema(_load(folder / path), SPLITS[part], rows)
            continue
        rows["dim_source_files source_part"].append((source_file_id, part))
        for index, dialogue in enumerate(_load(folder / path)):
            key = dialogues.key(part, dialogue["dialogue_id"])
            count = len(dialogue["turns"])
            rows["dim_dialogues sgd"].append(
                (
                    key,
                    SPLITS[part],
                    part,
                    part,
                    dialogue["dialogue_id"],
                    source_file_id,
                    index,
                    f"/{index}",
                    None,
                    None,
                    count,
                    count,
                    None,
                )
            )
            for position, service in enumerate(dialogue["services"]):
                rows["dim_dialogue_services sgd"].append((key, SPLITS[part], position, service, _domain(service)))
            for turn_index, turn in enumerate(dialogue["turns"]):
                _count_sgd_turn((key, SPLITS[part], f"{key}/{turn_index}", turn_index), turn, rows)
    acts = {row[10] for row in rows["fct_actions sgd"]}
    rows["dim_acts sgd"] = [(act, "dialogue_act") for act in acts]


def _domain(service: str) -> str:
    stem, _, number = service.rpartition("_")
    return stem if stem and number.isdigit() else service


def _count_sgd_turn(turn_row: Row, turn: dict[str, Any], rows: Rows) -> None:
    role = {"USER": "user", "SYSTEM": "system"}[turn["speaker"]]
    rows["fct_turns sgd"].append(
        (*turn_row, None, role, turn["speaker"], "utterance", turn["utterance"], None, None, None, None, None, None)
    )
    for frame_index, frame in enumerate(turn["frames"]):
        key = f"{turn_row[2]}/frame/{frame_index}"
        frame_row, service = (*turn_row, frame_index), frame["service"]
        state = frame.get("state")
        stated = (state["active_intent"], tuple(state["requested_slots"])) if state else (None, None)
        rows["fct_frames"].append((key, *frame_row, service, *stated))
        _count_sgd_annotations(key, turn_row, role, turn["utterance"], frame_index, frame, rows)
        if "service_call" in frame:
            call, results = frame["service_call"], frame["service_results"]
            rows["fct_service_calls"].append((f"{key}/call", *frame_row, service, call["method"], len(results)))
            for index, entity in enumerate(results):
                rows["fct_service_results"].append(
                    (f"{key}/result/{index}", *frame_row, service, index, _entity(entity))
                )


def _count_sgd_annotations(
    key: str, turn_row: Row, role: str, utterance: str, frame_index: int, frame: dict[str, Any], rows: Rows
) -> None:
    service = frame["service"]

    def add(kind: str, tail: str, annotation_type: str, *values: Any) -> None:
        row = (f"{key}/{tail}", *turn_row, role, annotation_type, frame_index, service, *values, None)
        rows[f"fct_slots {kind}"].append(row)

    for index, span in enumerate(frame["slots"]):
        start, end = span["start"], span["exclusive_end"]
        add("span sgd", f"span/{index}/0", "span", span["slot"], index, utterance[start:end], start, end)
    for index, action in enumerate(frame["actions"]):
        slot = action["slot"] or None
        values, canonical = tuple(action["values"]), tuple(action["canonical_values"])
        rows["fct_actions sgd"].append(
            (
                f"{key}/action/{index}",
                *turn_row,
                frame_index,
                role,
                index,
                "dialogue_act",
                service,
                action["act"],
                slot,
                values,
                canonical,
                None,
            )
        )
        for place, (value, canonical_value) in enumerate(zip(values, canonical, strict=True)):
            tail = f"action_value/{index}/{place}"
            add("action_value sgd", tail, "action_value", slot, index, place, value, canonical_value)
    for slot, variants in frame.get("state", {}).get("slot_values", {}).items():
        for variant, value in enumerate(variants):
            add("state", f"state/{_segment(slot)}/{variant}", "state", slot, variant, value)
    for slot, value in frame.get("service_call", {}).get("parameters", {}).items():
        add("call_parameter", f"call_parameter/{_segment(slot)}", "call_parameter", slot, value)


def _count_sgd_schema(services: list[dict[str, Any]], split: str, rows: Rows) -> None:
    for place, service in enumerate(services):
        name = service["service_name"]
        rows["dim_services sgd"].append((split, name, _domain(name), service["description"], place))
        for position, slot in enumerate(service["slots"]):
            rows["dim_slots sgd"].append(
                (
                    split,
                    name,
                    slot["name"],
                    position,
                    slot["description"],
                    slot["is_categorical"],
                    tuple(slot["possible_values"]),
                )
            )
        for position, intent in enumerate(service["intents"]):
            rows["dim_intents sgd"].append(
                (split, name, intent["name"], position, intent["description"], intent["is_transactional"])
            )
            for requirement in ("required", "optional", "result"):
                slots = intent[f"{requirement}_slots"]
                for order, slot in enumerate(slots):
                    default = slots[slot] if requirement == "optional" else None
                    rows["dim_intent_slots"].append((split, name, intent["name"], slot, requirement, default, order))


# One Agent To Rule Them All


def _count_bbai(folder: Path, rows: Rows) -> None:
    questions: dict[tuple[str, str], str] = {}
    intents = set()
    for part in ("train", "test"):
        path = folder / f"{part}.json"
        if not path.is_file():
            continue
        rows["dim_source_files source_part"].append((f"bbai/{part}.json", part))
        for index, (question, content) in enumerate(_load(path).items()):
            key = f"bbai/{part}/{index:05}"
            questions[part, question] = key
            intents.add(content["intent"])
            _count_bbai_question(key, part, index, question, content, rows)
    rows["dim_intents bbai"] = [(intent,) for intent in intents]
    for part in ("train", "test"):
        path = folder / f"{part}_classifier.json"
        for index, (utterance, labels) in enumerate(_load(path) if path.is_file() else ()):
            rows["fct_classifier_examples"].append(
                (f"bbai/{path.name}", index, "bbai", part, utterance, tuple(labels), questions.get((part, utterance)))
            )
    for name, description in _load(folder / "descriptions.json").items():
        rows["dim_agents"].append(("sport" if name == "sports" else name, name, description))


def _count_bbai_question(key: str, part: str, index: int, question: str, content: dict[str, Any], rows: Rows) -> None:
    pointer = "/" + question.replace("~", "~0").replace("/", "~1")
    intent, human = content["intent"], content["human"]
    rows["dim_dialogues bbai"].append(
        (key, part, part, part, question, f"bbai/{part}.json", index, pointer, intent, None, 1, 1, None)
    )
    rows["dim_dialogue_services bbai"].append((key, part, 0, None))
    rows["fct_turns bbai"].append(
        (key, part, f"{key}/0", 0, None, "user", None, "utterance", question, None, None, None, intent, None, None)
    )
    for option in ("none", *AGENTS):
        agent_id = None if option == "none" else option
        gold_position = human.index(option) if option in human else None
        votes = content["human_vote"][option]
        rows["fct_votes"].append(
            (f"{key}/vote/{option}", key, part, option, agent_id, votes, option in human, gold_position)
        )
    for agent in AGENTS:
        rows["fct_responses"].append((f"{key}/response/{agent}", key, part, agent, content[agent]))


# MutualFriends


def _count_mutualfriends(folder: Path, rows: Rows) -> None:
    dialogues = _Dialogues("mutualfriends")
    rows["dim_speakers"] += [("mutualfriends", "0", "peer"), ("mutualfriends", "1", "peer")]
    for path in _data_files(folder):
        part, source_file_id = path.removesuffix(".json"), f"mutualfriends/{path}"
        rows["dim_source_files source_part"].append((source_file_id, part))
        for index, dialogue in enumerate(_load(folder / path)):
            key, split, events = dialogues.key(part, dialogue["uuid"]), SPLITS[part], dialogue["events"]
            utterances = sum(event["action"] == "message" for event in events)
            rows["dim_dialogues mutualfriends"].append(
                (
                    key,
                    split,
                    part,
                    part,
                    dialogue["uuid"],
                    source_file_id,
                    index,
                    f"/{index}",
                    None,
                    None,
                    len(events),
                    utterances,
                    dialogue["outcome"]["reward"],
                )
            )
            rows["dim_dialogue_services mutualfriends"].append((key, split, 0, None))
            rows["dim_scenarios mutualfriends"].append((key, split, dialogue["scenario_uuid"], None, None))
            rows["dim_participants"] += [(key, speaker, kind) for speaker, kind in dialogue["agents"].items()]
            _count_scenario(key, split, dialogue["scenario"], rows)
            for turn_index, event in enumerate(events):
                turn_row = (key, split, f"{key}/{turn_index}", turn_index)
                _count_event(turn_row, event, dialogue["scenario"]["kbs"], rows)


def _count_scenario(key: str, split: str, scenario: dict[str, Any], rows: Rows) -> None:
    attributes = zip(scenario["attributes"], scenario["alphas"], strict=True)
    for position, (attribute, alpha) in enumerate(attributes):
        rows["dim_scenario_attributes"].append(
            (key, position, attribute["name"], attribute["value_type"], attribute["unique"], alpha)
        )
    for agent, items in enumerate(scenario["kbs"]):
        others = [item for other, kb in enumerate(scenario["kbs"]) if other != agent for item in kb]
        for index, item in enumerate(items):
            for attribute, value in item.items():
                knowledge_key = f"{key}/item/{agent}/{index}/{_segment(attribute)}"
                rows["fct_knowledge_items"].append(
                    (knowledge_key, key, split, str(agent), index, attribute, value, item in others)
                )


def _count_event(turn_row: Row, event: dict[str, Any], kbs: list[list[dict[str, str]]], rows: Rows) -> None:
    turn_key = turn_row[2]
    is_message = event["action"] == "message"
    occurred_at = datetime.datetime.fromtimestamp(float(event["time"]), datetime.UTC).replace(tzinfo=None)
    rows["fct_turns source_event_type"].append((turn_key, event["action"]))
    rows["fct_turns mutualfriends"].append(
        (
            *turn_row,
            None,
            "peer",
            str(event["agent"]),
            "utterance" if is_message else "selection",
            event["data"] if is_message else None,
            None,
            occurred_at,
            event["time"],
            None,
            None,
            None,
        )
    )
    if is_message:
        return
    item_index = kbs[event["agent"]].index(event["data"])
    rows["fct_actions mutualfriends"].append((f"{turn_key}/action/0", *turn_row, "peer", 0, "selection", item_index))
    for attribute, value in event["data"].items():
        slot_key = f"{turn_key}/selection/{_segment(attribute)}"
        rows["fct_slots mutualfriends"].append((slot_key, *turn_row, "peer", "selection", attribute, value, None))


# Taskmaster-1


def _count_taskmaster1(folder: Path, rows: Rows) -> None:
    dialogues = _Dialogues("taskmaster1")
    rows["dim_speakers"] += [("taskmaster1", "ASSISTANT", "system"), ("taskmaster1", "USER", "user")]
    ontology = _load(folder / "ontology.json")
    _count_taskmaster1_ontology(ontology, rows)
    verticals = {domain["id"]: domain["vertical"] for domain in ontology.values()}
    members = list(_taskmaster1_members(folder))
    split_of = {dialogue_id: part for part, _, dialogue_id in members}
    keys: dict[str, str] = {}
    for part in ("self", "woz"):
        path = f"{part}-dialogs.json"
        if not (folder / path).is_file():
            continue
        rows["dim_source_files source_part"].append((f"taskmaster1/{path}", part))
        for index, dialog in enumerate(_load(folder / path)):
            native_id, instruction = dialog["conversation_id"], dialog["instruction_id"]
            key = dialogues.key(part, native_id)
            keys.setdefault(native_id, key)
            source_split, count = split_of.get(native_id), len(dialog["utterances"])
            split = SPLITS[source_split] if source_split else None
            domain = re.split("[-_ ]", instruction)[0]
            rows["dim_dialogues taskmaster1"].append(
                (
                    key,
                    split,
                    source_split,
                    part,
                    native_id,
                    f"taskmaster1/{path}",
                    index,
                    f"/{index}",
                    domain,
                    instruction,
                    count,
                    count,
                    None,
                )
            )
            rows["dim_dialogues channel"].append((key, "spoken" if part == "woz" else "written"))
            rows["dim_dialogue_services taskmaster1"].append((key, split, 0, ontology[domain]["id"]))
            for turn_index, utterance in enumerate(dialog["utterances"]):
                _count_utterance((key, split, f"{key}/{turn_index}", turn_index), utterance, verticals, rows)
    for part, index, dialogue_id in members:
        rows["dim_split_members"].append(
            (
                f"taskmaster1/train-dev-test/{part}.csv",
                index,
                "taskmaster1",
                SPLITS[part],
                dialogue_id,
                keys.get(dialogue_id),
            )
        )


def _taskmaster1_members(folder: Path) -> Iterator[tuple[str, int, str]]:
    for part in SPLITS:
        path = folder / "train-dev-test" / f"{part}.csv"
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as stream:
                for index, (dialogue_id, nothing) in enumerate(csv.reader(stream)):
                    assert nothing == ""
                    yield part, index, dialogue_id


def _count_taskmaster1_ontology(ontology: dict[str, Any], rows: Rows) -> None:
    for position, (source_name, domain) in enumerate(ontology.items()):
        rows["dim_services taskmaster1"].append((None, domain["id"], source_name, domain["vertical"], position))
        for requirement in ("required", "optional"):
            for order, label in enumerate(domain[requirement]):
                rows["dim_slots taskmaster1"].append((None, domain["id"], label, requirement, order))


def _count_utterance(turn_row: Row, utterance: dict[str, Any], verticals: dict[str, str], rows: Rows) -> None:
    speaker, segments = utterance["speaker"], utterance.get("segments")
    role = {"USER": "user", "ASSISTANT": "system"}[speaker]
    rows["fct_turns taskmaster1"].append(
        (
            *turn_row,
            utterance["index"],
            role,
            speaker,
            "utterance",
            utterance["text"],
            None,
            None,
            None,
            None,
            None,
            None if segments is None else len(segments),
        )
    )
    for span_index, segment in enumerate(segments or ()):
        where = (segment["text"], None, segment["start_index"], segment["end_index"])
        names: list[str | None] = [annotation["name"] for annotation in segment["annotations"]]
        for index, name in enumerate(names or [None]):
            service, slot_name, status = _label(name, verticals)
            slot_key = f"{turn_row[2]}/span/{span_index}/{index if names else '-'}"
            rows["fct_slots taskmaster1"].append(
                (
                    slot_key,
                    *turn_row,
                    role,
                    "span",
                    service,
                    slot_name,
                    name,
                    span_index,
                    index if names else None,
                    *where,
                    status,
                )
            )


def _label(name: str | None, verticals: dict[str, str]) -> tuple[str | None, str | None, str | None]:
    """(service, slot, status) of an annotation name; a label that is the vertical speaks of the whole transaction."""
    if name is None:
        return None, None, None
    service, *parts = name.split(".")
    status = parts.pop() if parts and parts[-1] in ("accept", "reject") else None
    slot = ".".join(parts) or None
    return service, None if slot == verticals.get(service) else slot, status


# Action-Based Conversations


def _count_abcd(folder: Path, rows: Rows) -> None:
    dialogues = _Dialogues("abcd")
    ontology = _load(folder / "ontology.json")
    _count_abcd_documents(folder, ontology, rows)
    path = folder / "abcd_v1.1.json.gz"
    if path.is_file():
        rows["dim_source_files source_part"].append((f"abcd/{path.name}", None))
        for part, conversations in _load(path).items():
            for index, conversation in enumerate(conversations):
                key = dialogues.key(part, str(conversation["convo_id"]))
                _count_conversation((key, SPLITS[part]), part, index, conversation, ontology, rows)
    roles = {"action": "system", "agent": "system", "customer": "user"}
    seen = {row[6] for row in rows["fct_turns abcd"]}
    rows["dim_speakers"] += [("abcd", speaker, role) for speaker, role in roles.items() if speaker in seen]


def _count_conversation(
    dialogue_row: Row, part: str, index: int, conversation: dict[str, Any], ontology: dict[str, Any], rows: Rows
) -> None:
    key, split = dialogue_row
    scenario, turns = conversation["scenario"], conversation["delexed"]
    flow, subflow = scenario["flow"], scenario["subflow"]
    utterances = sum(turn["speaker"] != "action" for turn in turns)
    rows["dim_dialogues abcd"].append(
        (
            key,
            split,
            part,
            part,
            str(conversation["convo_id"]),
            "abcd/abcd_v1.1.json.gz",
            index,
            f"/{part}/{index}",
            _ontology_subflow(flow, subflow, ontology),
            subflow,
            len(turns),
            utterances,
            None,
        )
    )
    rows["dim_dialogue_services abcd"].append((key, split, 0, None))
    rows["dim_scenarios abcd"].append((key, split, flow, subflow))
    for section in ("personal", "order", "product"):
        for field, content in scenario[section].items():
            values = content if isinstance(content, list) else [content]
            rows["dim_scenario_values"] += [(key, section, field, i, str(value)) for i, value in enumerate(values)]
    for turn_index, (original, turn) in enumerate(zip(conversation["original"], turns, strict=True)):
        _count_abcd_turn((key, split, f"{key}/{turn_index}", turn_index), original, turn, rows)


def _ontology_subflow(flow: str, subflow: str, ontology: dict[str, Any]) -> str:
    """The subflow as ontology.json names it: without the number of its question, in the two flows that have one."""
    subflows = ontology["intents"]["subflows"][flow]
    if flow not in FAQ_FLOWS or subflow in subflows:
        return subflow
    (name,) = [name for name in subflows if subflow.startswith(f"{name}_")]
    return name


def _count_abcd_turn(turn_row: Row, original: list[str], turn: dict[str, Any], rows: Rows) -> None:
    turn_key = turn_row[2]
    (speaker, text), (intent, next_step, act, values, rank) = original, turn["targets"]
    role = "user" if speaker == "customer" else "system"
    event_type = "action" if speaker == "action" else "utterance"
    rows["fct_turns abcd"].append(
        (
            *turn_row,
            turn["turn_count"],
            role,
            speaker,
            event_type,
            text,
            turn["text"],
            None,
            None,
            intent,
            next_step,
            None,
        )
    )
    if act is not None:
        rows["fct_actions abcd"].append(
            (f"{turn_key}/action/0", *turn_row, role, 0, "button", act, tuple(values), None)
        )
    for index, value in enumerate(values):
        slot_key = f"{turn_key}/action_value/0/{index}"
        rows["fct_slots abcd"].append((slot_key, *turn_row, role, "action_value", 0, index, value, None))
    if next_step == "retrieve_utterance":
        rows["fct_candidates"].append((f"{turn_key}/candidates", *turn_row, tuple(turn["candidates"]), rank))


def _count_abcd_documents(folder: Path, ontology: dict[str, Any], rows: Rows) -> None:
    for group, actions in ontology["actions"].items():
        for position, (act, slots) in enumerate(actions.items()):
            rows["dim_acts abcd"].append((act, group, "button", position))
            rows["dim_act_slots"] += [("abcd", act, order, slot) for order, slot in enumerate(slots)]
    for flow, subflows in ontology["intents"]["subflows"].items():
        rows["dim_intents abcd"] += [(subflow, flow, position) for position, subflow in enumerate(subflows)]
    for position, (slot, values) in enumerate(ontology["values"]["enumerable"].items()):
        rows["dim_slots abcd enumerable"].append((slot, tuple(values), position))
    for group, slots in ontology["values"]["non_enumerable"].items():
        rows["dim_slots abcd non_enumerable"] += [(slot, group, position) for position, slot in enumerate(slots)]
    kinds = {"token": ontology["vocabulary"]["tokens"], "special_token": ontology["vocabulary"]["special"]}
    for kind, terms in (kinds | {"next_step": ontology["next_steps"]}).items():
        rows["dim_vocabulary"] += [("abcd", kind, position, term) for position, term in enumerate(terms)]
    for subflow, acts in _load(folder / "kb.json").items():
        rows["dim_intent_acts"] += [("abcd", subflow, position, act) for position, act in enumerate(acts)]
    utterances = folder / "utterances.json"
    rows["dim_candidate_utterances"] += list(enumerate(_load(utterances) if utterances.is_file() else ()))
    _count_guidelines(_load(folder / "guidelines.json"), ontology, rows)


def _count_guidelines(guidelines: dict[str, Any], ontology: dict[str, Any], rows: Rows) -> None:
    acts = {act for actions in ontology["actions"].values() for act in actions}
    for flow_title, flow in guidelines.items():
        subflows = ontology["intents"]["subflows"][re.sub("[ -]", "_", flow_title.lower())]
        for position, (title, guideline) in enumerate(flow["subflows"].items()):
            rows["dim_guidelines"].append(
                (position, flow_title, flow["description"], title, subflows[position], tuple(guideline["instructions"]))
            )
            for index, step in enumerate(guideline["actions"]):
                act = BUTTONS.get(step["button"], step["button"].lower().replace(" ", "-"))
                rows["dim_guideline_steps"].append(
                    (
                        flow_title,
                        title,
                        index,
                        step["type"],
                        step["button"],
                        act if act in acts else None,
                        step["text"],
                        tuple(step["subtext"]),
                    )
                )


# Totals


def totals(rows: Rows) -> dict[str, int]:
    """The numbers that are given for this part of the releases, from the counted rows."""

    def of(name: str, column: int) -> Iterable[Any]:
        return (row[column] for row in rows[name])

    questions = len(rows["dim_dialogues bbai"])
    return {
        "sgd dialogues": len(rows["dim_dialogues sgd"]),
        "sgd turns": len(rows["fct_turns sgd"]),
        "sgd frames": len(rows["fct_frames"]),
        "sgd actions": len(rows["fct_actions sgd"]),
        "sgd spans": len(rows["fct_slots span sgd"]),
        "sgd state values": len(rows["fct_slots state"]),
        "sgd calls": len(rows["fct_service_calls"]),
        "sgd results": len(rows["fct_service_results"]),
        "bbai questions": questions,
        "bbai responses": len(rows["fct_responses"]),
        "bbai empty responses": sum(response == "" for response in of("fct_responses", 4)),
        "bbai vote rows": len(rows["fct_votes"]),
        "bbai votes": sum(of("fct_votes", 5)),
        "bbai votes for none": sum(row[5] for row in rows["fct_votes"] if row[3] == "none"),
        "bbai gold agents": sum(row[6] for row in rows["fct_votes"] if row[3] != "none"),
        "mutualfriends dialogues": len(rows["dim_dialogues mutualfriends"]),
        "mutualfriends events": len(rows["fct_turns mutualfriends"]),
        "mutualfriends items": len({(row[1], row[3], row[4]) for row in rows["fct_knowledge_items"]}),
        "taskmaster1 dialogs": len(rows["dim_dialogues taskmaster1"]),
        "abcd conversations": len(rows["dim_dialogues abcd"]),
        "abcd turns": len(rows["fct_turns abcd"]),
        "abcd candidate ids": sum(map(len, of("fct_candidates", 5))),
    }
