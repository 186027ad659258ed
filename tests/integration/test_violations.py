"""Each rule finds its defect, at its place, and nothing like it: `defective_release` says what breaks and what only seems to.

The counts on the real files are counted a second time here, in plain Python from the JSON.
"""

from __future__ import annotations

import fnmatch
import gzip
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines.corpora import registry
from pipelines.paths import CLONE
from tests.conftest import build_warehouse
from tests.integration.analyst_answers import letters_and_digits
from tests.integration.defective_release import CASES, MAKERS, QUESTIONS, Case, place, records, write
from tests.integration.recount import AGENTS

SHARED = CLONE / "pipelines" / "corpora" / "defects.toml"
KEYS = {"id", "title", "description", "upstream", "expected", "files", "why"}
ELSEWHERE = {"lossy_form"}
"""Rules about another form of a release, which test_huggingface_form breaks."""


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse of the defective release."""
    releases = write(tmp_path_factory.mktemp("releases"))
    folder = build_warehouse(tmp_path_factory.mktemp("warehouse"), "--source", releases)
    with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as connection:
        yield connection


def violations(con: duckdb.DuckDBPyConnection, where: str, columns: str) -> list[tuple[Any, ...]]:
    return con.execute(f"select {columns} from quality.violations where {where} order by all").fetchall()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule_id)
def test_rule_finds_its_defect_and_not_the_near_miss(con: duckdb.DuckDBPyConnection, case: Case) -> None:
    record = place(case)
    found = violations(
        con,
        f"source_file_id = '{case.file}' and rule_id <> 'stray_vote_key' and (record_index in ({record}, {record + 1}) "
        f"or detail like 'key at /train/{record}/%' or detail like 'key at /train/{record + 1}/%')",
        "rule_id, record_index, turn_index, detail",
    )
    expected_record = None if case.rule_id == "unknown_key" else record
    detail = case.detail.replace("RECORD", str(record))
    assert [row for row in found if row[0] not in case.also] == [(case.rule_id, expected_record, case.turn, detail)]
    assert [row[:2] for row in found if row[0] in case.also] == [(rule_id, record) for rule_id in sorted(case.also)]


@pytest.mark.parametrize("file", MAKERS)
def test_clean_record_breaks_no_rule(con: duckdb.DuckDBPyConnection, file: str) -> None:
    assert violations(con, f"source_file_id = '{file}' and record_index = 0", "distinct rule_id") == (
        [("stray_vote_key",)] if file == QUESTIONS else []
    )


def test_rules_about_other_files_find_their_defects_and_nothing_else(con: duckdb.DuckDBPyConnection) -> None:
    files = ", ".join(f"'{file}'" for file in MAKERS)
    columns = "source_file_id, record_index, rule_id, detail"
    assert violations(con, f"source_file_id not in ({files}) and rule_id <> 'stray_vote_key'", columns) == [
        ("abcd/guidelines.json", 0, "button_without_action", "step 1 of Return Size presses N/A"),
        ("abcd/guidelines.json", 1, "renamed_guideline", "Timing FAQ is timing in the ontology"),
        ("abcd/ontology.json", 0, "repeated_value", "credit card of refund_target is listed before"),
        ("bbai/descriptions.json", 1, "renamed_agent", "sport is called sports"),
        ("bbai/test_classifier.json", 18, "example_without_question", "no question of test is: Who asked this?"),
        ("sgd/dev/dialogues_001.json", 0, "reused_dialogue_id", "1_00000 stands in train too"),
        ("sgd/dev/dialogues_001.json", 2, "leaked_text", "the text of sgd/train/1_00000"),
        ("sgd/dev/schema.json", 1, "unseen_service", "Alarms_1 is not in train"),
        ("sgd/train/schema.json", 1, "listed_open_values", "Rooms_1.kitchen lists Thai, Greek"),
        ("sgd/train/schema.json", 1, "reserved_slot_name", "Rooms_1 has a slot intent"),
    ]


def test_rules_about_whole_files_and_all_questions(con: duckdb.DuckDBPyConnection) -> None:
    asked = len(records(QUESTIONS))
    assert violations(con, "rule_id = 'boilerplate_responses'", "source_file_id, record_index, detail") == [
        (QUESTIONS, None, f"recipe answers {asked} of {asked} questions with Didn't get that!")
    ]
    assert violations(con, "rule_id = 'stray_vote_key'", "source_file_id, record_index") == [
        *((QUESTIONS, record) for record in range(asked)),
        ("bbai/train.json", 0),
    ]


def test_every_key_leads_to_its_place(con: duckdb.DuckDBPyConnection) -> None:
    assert violations(con, "row_key is not null and core.json_pointer(row_key) is null", "rule_id, row_key") == []
    without_key = {row[0] for row in violations(con, "row_key is null", "distinct rule_id")}
    assert without_key == {"unknown_key", "refused_record", "boilerplate_responses", "renamed_agent"}


def test_detail_is_one_line(con: duckdb.DuckDBPyConnection, awkward_folder: Path) -> None:
    broken = "contains(detail, chr(10)) or contains(detail, chr(9)) or trim(detail) = ''"
    assert violations(con, broken, "rule_id") == []
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as awkward:
        assert violations(awkward, broken, "rule_id") == []
        (found,) = violations(awkward, "rule_id = 'non_ascii_text' and detail like 'utterance%'", "detail")
        assert found == ("utterance A cafe in  Züri 😀 please ",)


# --- the catalogue ----------------------------------------------------------------------------------------------------


def entries(path: Path) -> list[dict[str, Any]]:
    return tomllib.loads(path.read_text(encoding="utf-8"))["defects"]


CATALOGUE = {
    None: entries(SHARED),
    **{name: entries(registry.room_folder(name) / "claims.toml") for name in registry.corpus_ids()},
}
"""Corpus, or None for all -> its entries."""
ENTRIES = [(corpus_id, entry) for corpus_id, listed in CATALOGUE.items() for entry in listed]


def test_every_rule_of_the_catalogue_is_broken_once_here(con: duckdb.DuckDBPyConnection) -> None:
    broken = {row[0] for row in violations(con, "true", "distinct rule_id")}
    assert broken == {entry["id"] for _, entry in ENTRIES} - ELSEWHERE


def test_thread_of_a_row_is_the_one_of_its_corpus_or_else_of_the_rule(con: duckdb.DuckDBPyConnection) -> None:
    threads = {(corpus_id, entry["id"]): entry.get("upstream") for corpus_id, entry in ENTRIES}
    found = violations(con, "true", "distinct rule_id, corpus_id, upstream_reference")
    for rule_id, corpus_id, reference in found:
        assert reference == (threads.get((corpus_id, rule_id)) or threads.get((None, rule_id))), rule_id
    assert any(reference for *_, reference in found)


@pytest.mark.parametrize(
    ("corpus_id", "entry"),
    ENTRIES,
    ids=lambda value: str(value and value["id"]) if isinstance(value, dict) else str(value),
)
def test_entry_is_complete_and_its_files_are_listed(corpus_id: str | None, entry: dict[str, Any]) -> None:
    assert {"id", "title", "description", "why"} <= set(entry) <= KEYS
    assert entry["title"][-1] not in "."
    assert entry["description"][-1] == entry["why"][-1] == "."
    assert re.fullmatch(r"[\w-]+/[\w-]+#\d+", entry.get("upstream", "owner/name#1"))
    assert ("files" in entry) <= ("expected" in entry)
    if corpus_id:
        paths = [file.path for file in registry.load_corpus(corpus_id).files]
        assert [glob for glob in entry.get("files", []) if not fnmatch.filter(paths, glob)] == []
    else:
        assert "expected" not in entry


# --- the real files ---------------------------------------------------------------------------------------------------


def is_measurable(con: duckdb.DuckDBPyConnection, corpus_id: str, globs: list[str]) -> list[str]:
    """The files that these globs mean, or none where one of them is not there, or not the publisher's."""
    paths = [file.path for file in registry.load_corpus(corpus_id).files if not file.is_documentation]
    wanted = [f"{corpus_id}/{path}" for path in paths if any(fnmatch.fnmatchcase(path, glob) for glob in globs)]
    verified = {
        row[0]
        for row in con.execute(
            "select source_file_id from core.dim_source_files where verification = 'verified'"
        ).fetchall()
    }
    return wanted if set(wanted) <= verified else []


COUNTED = [
    pytest.param(corpus_id, entry, id=f"{corpus_id}-{entry['id']}")
    for corpus_id, entry in ENTRIES
    if corpus_id and "expected" in entry
]


@pytest.mark.parametrize(("corpus_id", "entry"), COUNTED)
def test_known_defect_is_found_as_often_as_recorded(
    real_warehouse: duckdb.DuckDBPyConnection, corpus_id: str, entry: dict[str, Any]
) -> None:
    files = is_measurable(real_warehouse, corpus_id, entry.get("files", ["*"]))
    if not files:
        pytest.skip("the files on which it was counted are not among the real data")
    listed = ", ".join(f"'{file}'" for file in files)
    found = violations(real_warehouse, f"rule_id = '{entry['id']}' and source_file_id in ({listed})", "count(*)")
    assert found == [(entry["expected"],)]


def load(path: Path) -> Any:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def recount_bbai(folder: Path) -> Iterator[tuple[str, str, int, int | None]]:
    """(rule, file, record, turn) of every question and example that breaks a rule."""
    questions = load(folder / "test.json")
    assert not (folder / "train.json").exists(), "its questions take the place of the classifier examples of train"
    examples = {split: load(folder / f"{split}_classifier.json") for split in ("train", "test")}
    train = {letters_and_digits(text) for text, _ in examples["train"]}
    with_example = {text for text, _ in examples["test"]}
    assert with_example <= set(questions)
    for file, texts in (
        ("test.json", list(questions)),
        ("train_classifier.json", [text for text, _ in examples["train"]]),
    ):
        seen: set[str] = set()
        for record, text in enumerate(map(letters_and_digits, texts)):
            if file == "test.json" and text in train:
                yield "leaked_text", file, record, None
            if text in seen:
                yield "repeated_text", file, record, None
            seen.add(text)
    for record, (text, question) in enumerate(questions.items()):
        votes = {option: count for option, count in question["human_vote"].items() if option != "intent"}
        for agent in AGENTS:
            if not question[agent].strip():
                yield "blank_response", "test.json", record, None
            if "\n" in question[agent]:
                yield "response_with_line_break", "test.json", record, None
        if "intent" in question["human_vote"]:
            yield "stray_vote_key", "test.json", record, None
        if "none" in question["human"]:
            yield "none_in_human", "test.json", record, None
            if len(question["human"]) > 1:
                yield "none_beside_agent", "test.json", record, None
        if sum(votes.values()) != 5:
            yield "uneven_ballot", "test.json", record, None
        if text not in with_example:
            yield "question_without_example", "test.json", record, None


def recount_sgd(folder: Path) -> Iterator[tuple[str, str, int, int | None]]:
    """The same of every dialogue and service; a route is swapped if the text says so of the place itself."""
    services: dict[str, set[str]] = {}
    ids: dict[str, str] = {}
    for split in ("train", "dev", "test"):
        schema = load(folder / split / "schema.json")
        services[split] = {service["service_name"] for service in schema}
        required = {
            (service["service_name"], intent["name"]): intent["required_slots"]
            for service in schema
            for intent in service["intents"]
        }
        for record, service in enumerate(schema):
            if service["service_name"] not in services["train"]:
                yield "unseen_service", f"{split}/schema.json", record, None
            for slot in service["slots"]:
                if slot["possible_values"] and not slot["is_categorical"]:
                    yield "listed_open_values", f"{split}/schema.json", record, None
                if slot["name"] in ("intent", "count"):
                    yield "reserved_slot_name", f"{split}/schema.json", record, None
        for path in sorted((folder / split).glob("dialogues_*.json")):
            file = f"{split}/{path.name}"
            for record, dialogue in enumerate(load(path)):
                if ids.setdefault(dialogue["dialogue_id"], split) != split:
                    yield "reused_dialogue_id", file, record, None
                known: dict[str, set[str]] = {}
                text = "\n".join(turn["utterance"] for turn in dialogue["turns"])
                for turn_index, turn in enumerate(dialogue["turns"]):
                    if re.search(r"[a-z0-9]\.[A-Z]", turn["utterance"]):
                        yield "missing_space", file, record, turn_index
                    for frame in turn["frames"]:
                        for rule in _sgd_frame(turn, frame, known, required, text):
                            yield rule, file, record, turn_index


def _sgd_frame(
    turn: dict[str, Any], frame: dict[str, Any], known: dict[str, set[str]], required: dict[Any, Any], text: str
) -> Iterator[str]:
    if turn["speaker"] == "USER":
        for action in frame["actions"]:
            kind = action["slot"].split("_")[0]
            for value in action["values"] if kind in ("origin", "from", "destination", "to") else ():
                said = {
                    word
                    for word in ("from", "to")
                    if re.search(rf"(?<!\S){word} {re.escape(value)}(?![^\s,.?!])", turn["utterance"], re.I)
                }
                if said == ({"to"} if kind in ("origin", "from") else {"from"}):
                    yield "swapped_route"
        state = frame["state"]
        for _ in known.get(frame["service"], set()) - set(state["slot_values"]):
            yield "vanished_slot"
        known[frame["service"]] = set(state["slot_values"])
        asked = {action["slot"] for action in frame["actions"] if action["act"] == "REQUEST"}
        for _ in asked ^ set(state["requested_slots"]):
            yield "unequal_requests"
    elif "service_call" in frame:
        call = frame["service_call"]
        for _ in set(required[frame["service"], call["method"]]) - set(call["parameters"]):
            yield "missing_required_slot"
    spans = [(span["start"], span["exclusive_end"]) for span in frame["slots"]]
    for (start, end), (other_start, other_end) in combinations(spans, 2):
        if start < other_end and other_start < end:
            yield "overlapping_spans"


def recount_taskmaster1(folder: Path) -> Iterator[tuple[str, str, int, int | None]]:
    """The same of every dialog."""
    for file in ("self-dialogs.json", "woz-dialogs.json"):
        for record, dialog in enumerate(load(folder / file)):
            for turn, utterance in enumerate(dialog["utterances"]):
                segments = utterance.get("segments", [])
                for one, other in combinations(segments, 2):
                    if one["start_index"] < other["end_index"] and other["start_index"] < one["end_index"]:
                        yield "overlapping_spans", file, record, turn
                for segment in segments:
                    first, *others = [label["name"] for label in segment["annotations"]]
                    yield from (("conflicting_labels", file, record, turn) for label in others if label != first)
                if utterance["text"] != utterance["text"].strip():
                    yield "blank_at_edge", file, record, turn
                if "  " in utterance["text"].strip():
                    yield "double_blank", file, record, turn


def recount_abcd(folder: Path) -> Iterator[tuple[str, str, int, int | None]]:
    """The same of every conversation, and of the documents."""
    prescribed = load(folder / "kb.json")
    ontology = load(folder / "ontology.json")
    names = [name for subflows in ontology["intents"]["subflows"].values() for name in subflows]
    file = "abcd_v1.1.json.gz"
    for record, conversation in enumerate(load(folder / file)["train"]):
        scenario = conversation["scenario"]
        subflow = next(name for name in sorted(names, key=len, reverse=True) if scenario["subflow"].startswith(name))
        if subflow != scenario["subflow"]:
            yield "numbered_subflow", file, record, None
        if "products" in scenario["order"]:
            yield "python_literal", file, record, None
        acts = {turn: delexed["targets"][2] for turn, delexed in enumerate(conversation["delexed"])}
        yield from (("skipped_action", file, record, None) for act in prescribed[subflow] if act not in acts.values())
        for turn, act in acts.items():
            if act and act not in prescribed[subflow]:
                yield "unlisted_action", file, record, turn
            if "  " in conversation["original"][turn][1].strip():
                yield "double_blank", file, record, turn
    for record, (flow_title, flow) in enumerate(load(folder / "guidelines.json").items()):
        listed = ontology["intents"]["subflows"][re.sub("[ -]", "_", flow_title.lower())]
        for name, (title, guideline) in zip(listed, flow["subflows"].items(), strict=True):
            if re.sub("[ -]", "_", title.lower()) != name:
                yield "renamed_guideline", "guidelines.json", record, None
            for step in guideline["actions"]:
                if step["button"] in ("N/A", "End Conversation"):
                    yield "button_without_action", "guidelines.json", record, None


RECOUNTS = {"bbai": recount_bbai, "sgd": recount_sgd, "taskmaster1": recount_taskmaster1, "abcd": recount_abcd}
EXPECTED_IN_RELEASE = {
    "bbai": {"blank_response": 44, "response_with_line_break": 60, "none_beside_agent": 1, "stray_vote_key": 1850},
    "sgd": {"reserved_slot_name": 1, "listed_open_values": 1, "unseen_service": 23},
    "abcd": {"button_without_action": 26, "renamed_guideline": 22},
    "taskmaster1": {},
}
"""Counts of documents that were measured by others, on files that are here whole."""


@pytest.mark.parametrize("corpus_id", RECOUNTS)
def test_real_files_are_counted_alike_in_plain_python(
    real_warehouse: duckdb.DuckDBPyConnection, real_corpora: Path, corpus_id: str
) -> None:
    counted = Counter(RECOUNTS[corpus_id](real_corpora / corpus_id))
    rules = {rule_id for rule_id, *_ in counted} | {"vanished_slot", "missing_required_slot", "unequal_requests"}
    listed = ", ".join(f"'{rule_id}'" for rule_id in rules)
    columns = f"rule_id, substr(source_file_id, {len(corpus_id) + 2}), record_index, turn_index"
    assert (
        Counter(violations(real_warehouse, f"corpus_id = '{corpus_id}' and rule_id in ({listed})", columns)) == counted
    )
    totals = Counter(rule_id for rule_id, *_ in counted.elements())
    assert {rule_id: totals[rule_id] for rule_id in EXPECTED_IN_RELEASE[corpus_id]} == EXPECTED_IN_RELEASE[corpus_id]


def test_embedded_sample_has_the_defects_that_are_planted_in_it(sample_warehouse: Path) -> None:
    planted = {
        "bbai": {"blank_response", "response_with_line_break", "none_in_human", "none_beside_agent", "renamed_agent"},
        "sgd": {"swapped_route", "impossible_value", "missing_required_slot", "overlapping_spans", "blank_utterance"},
        "taskmaster1": {"deleted_turn", "empty_dialogue", "one_sided_dialogue", "unknown_speaker", "foreign_label"},
        "mutualfriends": {"empty_dialogue"},
        "abcd": {"numbered_subflow", "python_literal", "repeated_value", "renamed_guideline"},
    }
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        for corpus_id, rules in planted.items():
            found = {row[0] for row in violations(con, f"corpus_id = '{corpus_id}'", "distinct rule_id")}
            assert rules - found == set(), corpus_id
