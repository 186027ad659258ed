"""The generated releases: strict shape, the same bytes for the same seed, the true counts, and the awkward cases."""

import gzip
import hashlib
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from pipelines.corpora import registry
from pipelines.corpora.abcd import simulate as abcd
from pipelines.corpora.abcd import simulate_documents
from pipelines.corpora.bbai import simulate as bbai
from pipelines.corpora.generation import apportion, scaled, simulator
from pipelines.corpora.room import Container, Entity
from pipelines.corpora.sgd import simulate as sgd
from pipelines.corpora.sgd import simulate_schema
from pipelines.corpora.taskmaster1 import simulate as taskmaster1
from pipelines.errors import InputError
from pipelines.intake.generated import MARKER
from pipelines.intake.simulating import SAMPLE_SCALE, simulate

CORPORA = registry.corpus_ids()


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    """All releases at the scale of the embedded sample."""
    folder = tmp_path_factory.mktemp("sample")
    simulate(folder, SAMPLE_SCALE)
    return folder


def contents(file: Path) -> bytes:
    data = file.read_bytes()
    return gzip.decompress(data) if file.suffix == ".gz" else data


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def decode(entity: Entity, data: bytes) -> int:
    """Decode a file strictly; the number of its records."""
    if entity.container is Container.LINES:
        lines = data.decode().splitlines()
        assert all(line.endswith(",") and line.count(",") == 1 for line in lines)
        return len(lines)
    record = entity.record
    types = {
        Container.ARRAY: list[record],
        Container.ENTRIES: dict[str, record],
        Container.SPLITS: dict[str, list[record]],
        Container.DOCUMENT: record,
    }
    decoded = msgspec.json.decode(data, type=types[entity.container])
    if entity.container is Container.SPLITS:
        return min(len(records) for records in decoded.values())
    return 1 if entity.container is Container.DOCUMENT else len(decoded)


# --- the driver ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_every_generated_file_decodes_with_the_strict_schema_and_holds_records(sample, corpus_id):
    corpus = registry.load_corpus(corpus_id)
    for path in (sample / corpus_id).rglob("*"):
        name = path.relative_to(sample / corpus_id).as_posix()
        if path.is_dir() or name == MARKER:
            continue
        entity = corpus.entity_of(name)
        assert entity is not None, name
        assert decode(entity, contents(path)) > 0, name


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_scale_1_plans_every_data_file_of_the_release(corpus_id):
    corpus = registry.load_corpus(corpus_id)
    listed = {file.path for file in corpus.files if not file.is_documentation and corpus.entity_of(file.path)}
    assert sorted(file.path for file in simulator(corpus_id).plan(1)) == sorted(listed)


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_the_sample_has_files_of_every_entity(sample, corpus_id):
    corpus = registry.load_corpus(corpus_id)
    names = [path.relative_to(sample / corpus_id).as_posix() for path in (sample / corpus_id).rglob("*")]
    found = {entity.name for name in names if (entity := corpus.entity_of(name))}
    assert found == {entity.name for entity in corpus.entities}


def test_the_same_seed_gives_the_same_bytes_in_one_process_and_in_two(sample, tmp_path):
    simulate(tmp_path, SAMPLE_SCALE, processes=2)
    assert digests(tmp_path) == digests(sample)


def test_another_seed_gives_other_bytes(sample, tmp_path):
    simulate(tmp_path, SAMPLE_SCALE, seed=1)
    first, second = digests(sample), digests(tmp_path)
    changed = {name for name in first if first[name] != second[name]}
    assert {name.split("/")[0] for name in changed} == set(CORPORA)
    assert any("dialogues_" in name for name in changed)


def test_the_marker_says_scale_and_seed(tmp_path):
    simulate(tmp_path, 0.002, seed=7, corpora=("mutualfriends",))
    assert json.loads((tmp_path / "mutualfriends" / MARKER).read_text()) == {"scale": 0.002, "seed": 7}


def test_a_release_that_was_generated_before_is_replaced(tmp_path):
    simulate(tmp_path, 0.05, corpora=("sgd",))
    simulate(tmp_path, 0.002, corpora=("sgd",))
    files = [path for path in (tmp_path / "sgd").rglob("*") if path.is_file()]
    assert len(files) == len(sgd.plan(0.002)) + 1
    assert not [path for path in files if path.suffix == ".part"]


def test_a_folder_with_other_files_is_refused(tmp_path):
    kept = tmp_path / "bbai" / "test.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    with pytest.raises(InputError, match="not generated"):
        simulate(tmp_path, SAMPLE_SCALE, corpora=("bbai",))
    assert kept.read_text() == "{}"


def test_an_unknown_corpus_is_refused(tmp_path):
    with pytest.raises(InputError, match="nowhere: no such corpus"):
        simulate(tmp_path, SAMPLE_SCALE, corpora=("nowhere",))


def test_a_scale_of_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match="above 0"):
        simulate(tmp_path, 0)


def test_each_file_is_reported(tmp_path):
    reported = []
    written = simulate(tmp_path, 0.002, corpora=("bbai", "mutualfriends"), report=reported.append)
    assert sorted(reported, key=lambda file: (file.corpus_id, file.path)) == written
    assert all((tmp_path / file.corpus_id / file.path).stat().st_size == file.bytes for file in written)


@pytest.mark.parametrize(
    ("total", "weights", "minimum", "shares"),
    [
        (10, (1, 1), 0, [5, 5]),
        (10, (2, 1, 0), 0, [7, 3, 0]),
        (10, (98, 1, 1), 2, [6, 2, 2]),
        (0, (1, 2), 0, [0, 0]),
    ],
)
def test_shares_add_up_and_keep_their_minimum(total, weights, minimum, shares):
    assert apportion(total, weights, minimum) == shares


def test_a_count_never_vanishes():
    assert [scaled(100, 0.5), scaled(100, 0.001), scaled(3, 0.1, minimum=2)] == [50, 1, 2]


# --- BBAI ---------------------------------------------------------------------------------------------------------


def test_bbai_questions_are_unique_and_in_blocks_of_one_domain():
    for scale in (0.01, 1, 5):
        per_domain = [scaled(part.questions_per_domain, scale) for part in bbai.PARTS.values()]
        first = [0, per_domain[0]]
        asked = [
            bbai.questions(part, [number % 2 == 0 for number in range(37 * count)], start)
            for part, count, start in zip(bbai.PARTS, per_domain, first, strict=True)
        ]
        texts = [text for part in asked for _, text in part]
        assert len(set(texts)) == len(texts) == 37 * sum(per_domain)
        assert [domain for domain, _ in asked[1]][:: per_domain[1]] == list(bbai.TOPICS)


def test_bbai_sample_has_the_awkward_responses_and_characters(sample):
    data = (sample / "bbai" / "test.json").read_bytes()
    assert data.isascii()
    assert rb"\u2019" in data
    assert rb"\u00a3" in data
    questions = json.loads(data)
    first = next(iter(questions.values()))
    assert list(first)[:2] == ["human_vote", "alexa"]
    assert list(first)[-3:] == ["covid", "intent", "human"]
    responses = [record[agent] for record in questions.values() for agent in bbai.AGENTS]
    assert "" in responses
    assert any("\n" in response for response in responses)
    assert "sports" in json.loads((sample / "bbai" / "descriptions.json").read_bytes())


def test_bbai_classifier_repeats_the_answerable_questions(sample):
    for part in ("train", "test"):
        questions = json.loads((sample / "bbai" / f"{part}.json").read_bytes())
        examples = json.loads((sample / "bbai" / f"{part}_classifier.json").read_bytes())
        assert len({record["intent"] for record in questions.values()}) == 37
        answerable = [[text, record["human"]] for text, record in questions.items() if "none" not in record["human"]]
        assert examples == answerable


# --- MutualFriends ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def friends(sample) -> list[dict]:
    parts = ("train", "dev", "test")
    return [record for part in parts for record in json.loads((sample / f"mutualfriends/{part}.json").read_bytes())]


def test_mutualfriends_lists_share_exactly_one_friend(friends):
    for dialogue in friends:
        first, second = dialogue["scenario"]["kbs"]
        assert len(first) == len(second)
        assert 5 <= len(first) <= 12
        items = [{tuple(sorted(item.items())) for item in items} for items in (first, second)]
        assert [len(items[0]), len(items[1]), len(items[0] & items[1])] == [len(first), len(second), 1]


def test_mutualfriends_reward_follows_from_the_last_selections(friends):
    for dialogue in friends:
        last = {event["agent"]: event["data"] for event in dialogue["events"] if event["action"] == "select"}
        first, second = dialogue["scenario"]["kbs"]
        assert all(item in (first, second)[agent] for agent, item in last.items())
        is_found = len(last) == 2 and last[0] == last[1] and last[0] in first and last[0] in second
        assert dialogue["outcome"]["reward"] == is_found


def test_mutualfriends_sample_has_the_awkward_cases(friends):
    assert any(not dialogue["events"] for dialogue in friends)
    selections = [[event["agent"] for event in d["events"] if event["action"] == "select"] for d in friends]
    assert any(max(Counter(agents).values(), default=0) > 1 for agents in selections)
    assert any(len(set(agents)) == 1 for agents in selections)
    orders = {
        (tuple(item), tuple(attribute["name"] for attribute in dialogue["scenario"]["attributes"]))
        for dialogue in friends
        for items in dialogue["scenario"]["kbs"]
        for item in items
    }
    assert any(own != declared for own, declared in orders)
    assert {len(own) for own, _ in orders} == {3, 4}
    values = {value for d in friends for items in d["scenario"]["kbs"] for item in items for value in item.values()}
    assert all(any(character in value for value in values) for character in ",'&")
    events = [event for dialogue in friends for event in dialogue["events"]]
    assert all(event["start_time"] is None and event["time"].endswith(".0") for event in events)


# --- Taskmaster-1 -------------------------------------------------------------------------------------------------


def test_taskmaster_splits_are_ranges_of_the_sorted_ids():
    members = [taskmaster1.split_members(split, 1, seed=0) for split in ("dev", "test", "train")]
    assert [len(ids) for ids in members] == [770, 770, 6_168]
    joined = [identifier for ids in members for identifier in ids]
    assert joined == sorted(set(joined))


def dialogs(sample: Path, name: str) -> list[dict]:
    return json.loads((sample / "taskmaster1" / f"{name}-dialogs.json").read_bytes())


def segments_of(dialog_list: list[dict]) -> list[tuple[str, list[dict]]]:
    utterances = [utterance for dialog in dialog_list for utterance in dialog["utterances"]]
    return [(utterance["text"], utterance["segments"]) for utterance in utterances if "segments" in utterance]


def test_taskmaster_segments_are_pieces_of_their_utterances_in_code_points(sample):
    annotated = segments_of(dialogs(sample, "self") + dialogs(sample, "woz"))
    for text, segments in annotated:
        assert segments
        assert all(text[segment["start_index"] : segment["end_index"]] == segment["text"] != "" for segment in segments)
    assert any(not text.isascii() for text, _ in annotated)


def test_taskmaster_sample_has_the_awkward_annotations(sample):
    annotated = segments_of(dialogs(sample, "self") + dialogs(sample, "woz"))
    names = [[note["name"] for note in segment["annotations"]] for _, segments in annotated for segment in segments]
    assert any(len(pair) == 2 and pair[0] == pair[1] for pair in names)
    assert any(a["end_index"] > b["start_index"] for _, segments in annotated for a, b in pairwise(segments))
    domains = {domain.id: domain for domain in taskmaster1.DOMAINS}
    forms = Counter()
    for name in (name for pair in names for name in pair):
        domain, _, rest = name.partition(".")
        label = rest.removesuffix(".accept").removesuffix(".reject")
        kind = "transaction" if rest in ("accept", "reject") else "bare" if not rest else "label"
        forms["vertical" if label == domains[domain].vertical else kind] += 1
        assert kind != "label" or label in (*domains[domain].labels, domains[domain].vertical)
    assert set(forms) == {"label", "bare", "transaction", "vertical"}


def test_taskmaster_sample_has_the_awkward_dialogs(sample):
    woz = [[utterance["speaker"] for utterance in dialog["utterances"]] for dialog in dialogs(sample, "woz")]
    assert [] in woz
    assert any(len(set(speakers)) == 1 for speakers in woz)
    assert sum(speaker not in ("USER", "ASSISTANT") for speakers in woz for speaker in speakers) == 1
    assert any(first == second for speakers in woz for first, second in pairwise(speakers))
    texts = [utterance["text"] for dialog in dialogs(sample, "woz") for utterance in dialog["utterances"]]
    assert "(deleted)" in texts
    written = [[utterance["speaker"] for utterance in dialog["utterances"]] for dialog in dialogs(sample, "self")]
    assert all(speakers[::2] == ["USER"] * len(speakers[::2]) for speakers in written)
    assert all(speakers[1::2] == ["ASSISTANT"] * len(speakers[1::2]) for speakers in written)


# --- ABCD ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def conversations(sample) -> list[dict]:
    release = json.loads(contents(sample / "abcd" / abcd.CONVERSATION_FILE))
    assert list(release) == ["train", "dev", "test"]
    return [conversation for split in release.values() for conversation in split]


def test_abcd_agent_turns_rank_their_own_text_among_a_hundred_candidates(sample, conversations):
    utterances = json.loads((sample / "abcd" / "utterances.json").read_bytes())
    for turn in (turn for conversation in conversations for turn in conversation["delexed"]):
        _, next_step, action, _, rank = turn["targets"]
        if turn["speaker"] == "agent":
            assert (next_step, action) == ("retrieve_utterance", None)
            assert len(set(turn["candidates"])) == len(turn["candidates"]) == 100
            assert utterances[turn["candidates"][rank]] == turn["text"]
        else:
            assert (turn["candidates"], rank) == ([], -1)
            assert (next_step is None) == (action is None) == (turn["speaker"] == "customer")


def test_abcd_sample_has_the_awkward_cases(conversations):
    scenarios = [conversation["scenario"] for conversation in conversations]
    products = [scenario["order"]["products"] for scenario in scenarios if "products" in scenario["order"]]
    assert products
    assert all(text.startswith("[{'brand': '") for text in products)
    assert any(scenario["product"] == {"names": [], "amounts": []} for scenario in scenarios)
    for section in ("personal", "order"):
        assert len({tuple(scenario[section]) for scenario in scenarios}) > 1
    questions = {
        (conversation["scenario"]["subflow"], conversation["delexed"][0]["targets"][0])
        for conversation in conversations
        if conversation["scenario"]["flow"] in simulate_documents.FAQ_FLOWS
    }
    assert questions
    assert all(question != intent and question.startswith(f"{intent}_") for question, intent in questions)
    identifiers = [conversation["convo_id"] for conversation in conversations]
    assert len(set(identifiers)) == len(identifiers)
    assert any(turn["targets"][3] for conversation in conversations for turn in conversation["delexed"])


# --- SGD ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def designs() -> dict[str, list]:
    """Split -> what its dialogues are like at scale 1."""
    planned = [(file.path.split("/")[0], file.parameters) for file in sgd.plan(1) if file.parameters]
    return {split: [d for part, file in planned if part == split for d in file.designs] for split in sgd.SPLITS}


def test_sgd_defects_are_as_many_as_in_the_release(designs):
    defects = Counter(dialogue.oddity for dialogues in designs.values() for dialogue in dialogues if dialogue.oddity)
    annotated = {"lacking": 18, "overlap": 2, "swapped": 26, "category": 1}
    assert defects == annotated | {"blank": 47, "newline": 6, "empty": 2}


def test_sgd_files_are_planned_near_their_true_sizes():
    listed = {file.path: file.bytes for file in registry.load_corpus("sgd").files}
    for file in sgd.plan(1):
        assert abs(file.weight / listed[file.path] - 1) < 0.01, file.path


def test_sgd_above_scale_1_has_more_files_of_the_same_size():
    once, thrice = ([file for file in sgd.plan(scale) if file.parameters] for scale in (1, 3))
    assert len(thrice) == 3 * len(once)
    numbers = {split: [] for split in sgd.SPLITS}
    for file in thrice:
        split, name = file.path.split("/")
        number = int(name.removeprefix("dialogues_").removesuffix(".json"))
        numbers[split].append(number)
        assert {design.dialogue_id.split("_")[0] for design in file.parameters.designs} == {str(number)}
        assert len({design.dialogue_id for design in file.parameters.designs}) == len(file.parameters.designs)
    assert all(listed == list(range(1, len(listed) + 1)) for listed in numbers.values())
    assert max(file.weight for file in thrice) == max(file.weight for file in once)


@pytest.fixture(scope="module")
def dialogues(sample) -> list[tuple[str, dict]]:
    """Split and dialogue of the sample."""
    files = sorted((sample / "sgd").glob("*/dialogues_*.json"))
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
        for split in sgd.SPLITS
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
        (split, entry["service_name"]): entry for split in sgd.SPLITS for entry in simulate_schema.schema(split)
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
        for split in sgd.SPLITS
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
