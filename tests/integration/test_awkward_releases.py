"""The hand-written releases of tests/fixtures, built whole: what must come out of each awkward case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.conftest import run_command


@pytest.fixture(scope="module")
def con(awkward_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as connection:
        yield connection


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


def test_id_that_occurs_again_in_its_part_gets_a_number_in_file_order(con: duckdb.DuckDBPyConnection) -> None:
    keys = rows(
        con,
        "select dialogue_key, source_file_id, record_index from core.dim_dialogues where dialogue_id = '1_00000' order by all",
    )
    assert keys == [
        ("sgd/dev/1_00000", "sgd/dev/dialogues_001.json", 0),
        ("sgd/train/1_00000", "sgd/train/dialogues_001.json", 0),
        ("sgd/train/1_00000~2", "sgd/train/dialogues_001.json", 1),
        ("sgd/train/1_00000~3", "sgd/train/dialogues_002.json", 0),
    ]


def test_separators_in_ids_and_names_are_escaped_in_keys(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select dialogue_key from core.dim_dialogues where dialogue_id = 'a/b%c'") == [
        ("sgd/train/a%2Fb%25c",)
    ]
    assert rows(con, "select slot_key from core.fct_slots where slot_name = 'Hobby/Sport' order by all limit 1") == [
        ("mutualfriends/train/C_1/2/selection/Hobby%2FSport",)
    ]


def test_id_that_looks_like_a_numbered_one_meets_no_other(con: duckdb.DuckDBPyConnection) -> None:
    keys = rows(
        con,
        "select dialogue_id, dialogue_key, record_pointer from core.dim_dialogues "
        "where starts_with(dialogue_id, 'a') and source_part = 'train' and dialogue_id <> 'a/b%c' order by record_index",
    )
    assert keys == [
        ("a", "sgd/train/a", "/5"),
        ("a", "sgd/train/a~2", "/6"),
        ("a~2", "sgd/train/a%7E2", "/7"),
        ("a%7E2", "sgd/train/a%257E2", "/8"),
        ("a%257E2", "sgd/train/a%25257E2", "/9"),
    ]


def test_record_pointers_escape_as_rfc_6901_says(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select record_pointer from core.dim_dialogues where corpus_id = 'bbai' order by all") == [
        ("/How’s the weather~1today?",),
        ("/Tell me a joke ~0 50%",),
    ]


def test_refused_records_stand_whole_in_quarantine_with_their_path(
    con: duckdb.DuckDBPyConnection, awkward_releases: Path
) -> None:
    refused = rows(
        con, "select source_file_id, record_index, record_pointer, error from core.source_quarantine order by all"
    )
    assert refused == [
        ("abcd/abcd_v1.1.json.gz", 2, "/train/2", "original and delexed are not the same turns - at `$.train[2]`"),
        (
            "abcd/abcd_v1.1.json.gz",
            3,
            "/train/3",
            "a turn that retrieves nothing has candidates or a rank - at `$.train[3].delexed[0]`",
        ),
        ("bbai/test.json", 2, "/A stray vote", "Invalid enum value 1 - at `$.A stray vote.human_vote.intent`"),
        ("bbai/test.json", 3, "/A label too many", "human names an option twice - at `$.A label too many`"),
        ("bbai/test_classifier.json", 2, "/2", "Expected `array` of at most length 2 - at `$[2]`"),
        ("mutualfriends/train.json", 2, "/2", "scenario.uuid differs from scenario_uuid - at `$[2]`"),
        (
            "mutualfriends/train.json",
            3,
            "/3",
            "alphas has an integer where the release writes floats - at `$[3].scenario`",
        ),
        (
            "sgd/train/dialogues_001.json",
            3,
            "/3",
            "Expected `int`, got `str` - at `$[3].turns[0].frames[0].slots[0].start`",
        ),
        ("sgd/train/dialogues_001.json", 4, "/4", "the key 'services' stands twice in an object - at `$[4]`"),
        ("taskmaster1/self-dialogs.json", 2, "/2", "Expected `str`, got `null` - at `$[2].utterances[0].text`"),
        ("taskmaster1/train-dev-test/dev.csv", 2, "/2", "Expected `object`, got `str` - at `$[2]`"),
    ]
    (value,) = rows(con, "select value from core.source_quarantine where record_pointer = '/3' and corpus_id = 'sgd'")[
        0
    ]
    published = json.loads((awkward_releases / "sgd/train/dialogues_001.json").read_text(encoding="utf-8"))
    assert json.loads(value) == published[3]


def test_unknown_keys_are_kept_and_their_records_stay(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select source_file_id, json_pointer, value from core.source_extras order by all") == [
        ("abcd/abcd_v1.1.json.gz", "/dev/0/rating", "5"),
        ("sgd/train/dialogues_001.json", "/2/note", '{"seen": [1, 2.5]}'),
    ]
    assert rows(
        con, "select count(*) from core.dim_dialogues where dialogue_key in ('abcd/dev/7', 'sgd/train/a%2Fb%25c')"
    ) == [(2,)]


def test_unknown_labels_keep_their_word_and_get_a_violation(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select source_speaker from core.fct_turns where role = 'unknown' order by all") == [
        ("NARRATOR",),
        ("WAITER",),
        ("robot",),
    ]
    assert rows(
        con, "select turn_key, source_event_type, utterance from core.fct_turns where event_type = 'other'"
    ) == [("mutualfriends/train/C_1/0", "join", None)]
    found = rows(
        con,
        "select rule_id, dialogue_key, turn_index, detail from quality.violations "
        "where rule_id in ('unknown_act', 'unknown_event', 'unknown_speaker') order by all",
    )
    assert found == [
        ("unknown_act", "abcd/train/7", 2, "act search-boots"),
        ("unknown_act", "sgd/train/1_00000", 3, "act SHRUG"),
        ("unknown_event", "mutualfriends/train/C_1", 0, "event join"),
        ("unknown_speaker", "abcd/dev/7", 0, "speaker robot"),
        ("unknown_speaker", "sgd/train/1_00000", 3, "speaker NARRATOR"),
        ("unknown_speaker", "taskmaster1/self/dlg-00000000-0000-4000-8000-000000000001", 2, "speaker WAITER"),
    ]


def test_offsets_count_code_points_of_the_untrimmed_utterance(con: duckdb.DuckDBPyConnection) -> None:
    spans = rows(
        con,
        "select corpus_id, value, start_char, end_char from core.fct_slots where annotation_type = 'span' and start_char in (4, 11) order by all",
    )
    assert spans[0] == ("sgd", "Züri 😀", 11, 17)
    assert ("taskmaster1", "🍕", 4, 5) in spans


def test_empty_lists_and_texts_are_not_null(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(
        con,
        "select utterance from core.fct_turns where turn_key in ('sgd/train/1_00000/2', 'mutualfriends/train/C_1/1')",
    ) == [("",), ("",)]
    assert rows(con, "select action_values, canonical_values, slot_name from core.fct_actions where act = 'SHRUG'") == [
        ([], [], None)
    ]
    assert rows(con, "select candidate_ids from core.fct_candidates where turn_key = 'abcd/train/7/3'") == [([],)]
    assert rows(con, "select response from core.fct_responses where agent_id = 'covid' and response = ''") == [("",)]


def test_empty_list_of_a_state_slot_keeps_a_row(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select slot_key, value_index, value from core.fct_slots where slot_name = 'open/late'") == [
        ("sgd/train/1_00000/0/frame/0/state/open%2Flate/-", None, None)
    ]


def test_segments_without_key_without_list_and_without_labels_differ(con: duckdb.DuckDBPyConnection) -> None:
    dialogue = "taskmaster1/self/dlg-00000000-0000-4000-8000-000000000001"
    assert rows(
        con, f"select segment_count from core.fct_turns where dialogue_key = '{dialogue}' order by turn_index"
    ) == [(3,), (0,), (None,)]
    assert rows(
        con, f"select source_label, annotation_index from core.fct_slots where slot_key = '{dialogue}/0/span/0/-'"
    ) == [(None, None)]


def test_every_form_of_a_taskmaster_label_is_taken_apart(con: duckdb.DuckDBPyConnection) -> None:
    labels = rows(
        con,
        "select source_label, service, slot_name, status from core.fct_slots where span_index = 2 order by annotation_index",
    )
    assert labels == [
        ("pizza_ordering.type.topping.reject", "pizza_ordering", "type.topping", "reject"),
        ("pizza_ordering.accept", "pizza_ordering", None, "accept"),
        ("pizza_ordering.pizza_order.accept", "pizza_ordering", None, "accept"),
        ("pizza_ordering", "pizza_ordering", None, None),
    ]


def test_call_without_results_differs_from_no_call(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select call_key, method, result_count from core.fct_service_calls order by all") == [
        ("sgd/train/1_00000/1/frame/0/call", "FindCafe", 2),
        ("sgd/train/1_00000/3/frame/0/call", "FindCafe", 0),
    ]
    assert rows(con, "select entity from core.fct_service_results order by result_index") == [
        ({"cafe_name": "Odeon", "city": "Zürich", "rating": "4.50"},),
        ({"cafe_name": "", "city": "Zürich"},),
    ]


def test_selection_finds_the_item_in_the_selectors_own_list(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(
        con, "select turn_index, item_index from core.fct_actions where corpus_id = 'mutualfriends' order by all"
    ) == [(2, 1), (3, 0), (4, None)]
    shared = rows(con, "select distinct agent, item_index from core.fct_knowledge_items where is_shared order by all")
    assert shared == [("0", 1), ("1", 0)]


def test_parallel_lists_of_different_length_lose_nothing(con: duckdb.DuckDBPyConnection) -> None:
    attributes = rows(con, "select position, attribute, alpha from core.dim_scenario_attributes order by all")
    assert attributes == [(0, "School", 0.3), (1, "Hobby/Sport", 1.0), (2, None, 3.0)]


def test_times_are_utc_and_keep_their_text(con: duckdb.DuckDBPyConnection) -> None:
    at, text = rows(
        con, "select occurred_at, source_time from core.fct_turns where turn_key = 'mutualfriends/train/C_1/1'"
    )[0]
    assert (at.isoformat(), text) == ("2016-12-03T03:40:53.500000", "1480736453.5")


def test_faq_subflow_loses_its_question_number_only_in_task(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(
        con, "select distinct task, source_task from core.dim_dialogues where corpus_id = 'abcd' order by all"
    ) == [
        ("boots", "boots_how_2"),
        ("timing", "timing_4"),
    ]


def test_guideline_matches_the_ontology_by_position_and_buttons_by_caption(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select subflow_title, intent from core.dim_guidelines") == [("Boots FAQ", "boots")]
    assert rows(con, "select button, act from core.dim_guideline_steps order by step_index") == [
        ("Boots", "search-boots"),
        ("Enter Detail", "enter-details"),
        ("N/A", None),
    ]


def test_agent_named_otherwise_in_the_descriptions_is_one_agent(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select source_name, description from core.dim_agents where agent_id = 'sport'") == [
        ("sports", "Knows the scores.")
    ]
    assert rows(con, "select count(*), count(description) from core.dim_agents") == [(20, 3)]


def test_split_line_without_its_dialogue_keeps_its_row(con: duckdb.DuckDBPyConnection) -> None:
    members = rows(con, "select dialogue_id, split, dialogue_key is null from core.dim_split_members order by all")
    assert members[-1] == ("dlg-00000000-0000-4000-8000-00000000dead", "validation", True)


def test_nothing_is_lost_on_the_way_to_core(con: duckdb.DuckDBPyConnection) -> None:
    accounting = rows(
        con,
        "select sum(published), sum(staged), sum(conformed), sum(core), sum(quarantined) from quality.row_accounting",
    )
    published, staged, conformed, core, quarantined = accounting[0]
    assert published == staged == conformed == core > 0
    assert quarantined == 11


def test_strict_refuses_in_one_line_with_corpus_file_and_path(awkward_releases: Path, tmp_path: Path) -> None:
    refused = run_command(
        "build", "--source", awkward_releases, "--warehouse", tmp_path, "--strict", "--quiet", "--corpora", "sgd"
    )
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr.splitlines() == [
        "error: sgd/train/dialogues_001.json: the schema does not know the key at /2/note"
    ]
    assert not (tmp_path / "dialogues.duckdb").exists()


def test_empty_lists_that_leave_no_row_are_noted(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "select source_file_id, json_pointer, form from core.source_exceptions order by all") == [
        ("abcd/kb.json", "/timing", "empty_list"),
        ("mutualfriends/train.json", "/1/scenario/kbs/0", "empty_list"),
        ("mutualfriends/train.json", "/1/scenario/kbs/1", "empty_list"),
    ]
