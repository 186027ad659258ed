"""Parts of dialogues that DuckDB writes as JSON have exactly the values of the tables."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import duckdb
import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading import dialogue_parts
from dialogue_warehouse.reading.dialogues import read_dialogues, stream_dialogues
from tests.unit import core_tables

ODD = [
    "",
    " ",
    "null",
    '"',
    "\\",
    "\\ud800",
    "\\u0000",
    "a\0b",
    "\0",
    "\t\n\r\b\f\x1b\x7f\x85",
    "\u2028\u2029\u202e",
    "\ud7ff\ue000\ufffe\uffff",
    "é🙂\U0010ffff",
    "</script>",
    "%/~%2F",
    "x" * 100_000,
]
LARGEST = 2**31 - 1
FRAME = "c/p/d/0/frame/0"
OF_TURN = {"dialogue_key": "c/p/d", "corpus_id": "c", "turn_key": "c/p/d/0", "turn_index": 0}
OTHERS = """
    create schema analytics;
    create table analytics.guideline_conformance (
        dialogue_key varchar, conformance varchar, missing_acts varchar[], extra_acts varchar[]
    );
    create table analytics.belief_states (
        dialogue_key varchar, frame_key varchar, turn_index integer, frame_index integer, slot_name varchar,
        change varchar, value varchar, variants varchar[], previous_value varchar
    );
    create table analytics.selections (dialogue_key varchar, selection_index integer);
    create or replace table quality.violations (
        dialogue_key varchar, corpus_id varchar, rule_id varchar, kind varchar, turn_index integer, row_key varchar,
        other_key varchar, occurrence integer, service varchar, slot_name varchar, detail varchar
    );
    create table quality.violation_rules (rule_id varchar, corpus_id varchar, title varchar);
    create macro core.json_pointer(key) as '/' || key;
"""


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield the empty tables of a build, with a dialogue that has a turn and a frame."""
    with duckdb.connect() as con:
        con.execute("attach ':memory:' as dialogues; use dialogues")
        core_tables.create(con)
        con.execute(OTHERS)
        core_tables.insert(con, "dim_corpora", {"corpus_id": "c", "title": "C", "goal_kind": "none"})
        core_tables.insert(con, "dim_source_files", {"source_file_id": "c/f", "verification": "simulated"})
        add_dialogue(con, "c/p/d")
        yield con


def add_dialogue(con: duckdb.DuckDBPyConnection, key: str) -> None:
    """Add a dialogue with a turn and a frame."""
    of = {"dialogue_key": key, "corpus_id": "c"}
    core_tables.insert(con, "dim_dialogues", of | {"source_file_id": "c/f", "dialogue_id": "d", "record_index": 0})
    core_tables.insert(con, "fct_turns", of | {"turn_key": f"{key}/0", "turn_index": 0, "role": "user"})
    frame = {"frame_key": f"{key}/0/frame/0", "frame_index": 0, "active_intent": "NONE"}
    core_tables.insert(con, "fct_frames", of | frame | {"turn_key": f"{key}/0", "turn_index": 0})


def add_act(con: duckdb.DuckDBPyConnection, number: int, **values: object) -> None:
    row = {"action_key": f"{FRAME}/action/{number}", "frame_index": 0, "action_index": number, "act": "INFORM"}
    core_tables.insert(con, "fct_actions", OF_TURN | {"action_type": "dialogue_act"} | row | values)


def read_turn(con: duckdb.DuckDBPyConnection) -> dialogue_parts.Turn:
    ((turn,),) = (dialogue.turns for dialogue in read_dialogues(con, ["c/p/d"]))
    return turn


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_read_unchanged(con: duckdb.DuckDBPyConnection, text: str) -> None:
    lists = {"action_values": [text, None, text], "canonical_values": [text]}
    add_act(con, 0, service=text, act=text, slot_name=text, **lists)
    span = {"slot_key": text, "annotation_type": "span", "service": text, "slot_name": text, "source_label": text}
    core_tables.insert(con, "fct_slots", OF_TURN | span | {"value": text, "status": text})
    other = {"slot_key": text, "annotation_type": "mention", "service": text, "slot_name": text, "value": text}
    core_tables.insert(con, "fct_slots", OF_TURN | other)
    change = {"slot_name": text, "change": text, "value": text, "variants": [text, text], "previous_value": text}
    state = {"dialogue_key": "c/p/d", "frame_key": FRAME, "turn_index": 0, "frame_index": 0} | change
    marks = ", ".join("?" * len(state))
    con.execute(f"insert into analytics.belief_states values ({marks})", list(state.values()))
    call = OF_TURN | {"frame_index": 0, "call_key": f"{FRAME}/call"}
    core_tables.insert(con, "fct_service_calls", call | {"result_count": 2})
    for number, entity in enumerate(({text: text, "other": None}, {"other": text})):
        result = {"result_key": text, "result_index": number, "entity": entity}
        core_tables.insert(con, "fct_service_results", call | result)

    turn = read_turn(con)
    act = dialogue_parts.Act(f"{FRAME}/action/0", "dialogue_act", text, text, text, (text, None, text), (text,), ())
    assert turn.acts == (act,)
    assert turn.spans == (dialogue_parts.Span(text, None, None, text, text, text, text, None, text),)
    assert turn.annotations == (dialogue_parts.Annotation(text, "mention", text, text, text),)
    segment = text.replace("%", "%25").replace("/", "%2F").replace("~", "%7E")
    slot = dialogue_parts.StateSlot(f"{FRAME}/state/{segment}", text, text, text, (text, text), text)
    assert [state.slots for state in turn.states] == [(slot,)]
    (read,) = turn.calls
    assert read.columns == (text, "other")
    assert read.results == (
        dialogue_parts.CallResult(text, (text, None)),
        dialogue_parts.CallResult(text, (None, text)),
    )


def test_missing_values_and_empty_lists_stay_apart(con: duckdb.DuckDBPyConnection) -> None:
    add_act(con, 0)
    add_act(con, 1, action_values=[], canonical_values=[])
    add_act(con, 2, action_values=[None], canonical_values=[None], slot_name="")
    found = [(act.slot, act.values, act.canonical_values) for act in read_turn(con).acts]
    assert found == [(None, (), None), (None, (), ()), ("", (None,), (None,))]


def test_largest_numbers_are_read_unchanged(con: duckdb.DuckDBPyConnection) -> None:
    places = {"start_char": -LARGEST, "end_char": LARGEST, "annotation_index": LARGEST}
    core_tables.insert(con, "fct_slots", OF_TURN | places | {"slot_key": "s", "annotation_type": "span"})
    (span,) = read_turn(con).spans
    assert (span.start, span.end, span.annotation_index) == (-LARGEST, LARGEST, LARGEST)


def test_parts_of_a_turn_are_in_their_order(con: duckdb.DuckDBPyConnection) -> None:
    for number in (10, 2, 0, 1):
        add_act(con, number)
    add_act(con, 3, frame_index=1)
    add_act(con, 4, action_type="selection")
    assert [act.key.rpartition("/")[2] for act in read_turn(con).acts] == ["0", "1", "2", "10", "3"]


def test_two_connections_read_the_same_as_one(con: duckdb.DuckDBPyConnection) -> None:
    keys = [f"c/p/{name}" for name in ("é", "a", "d", "Z", "\U0001f642")]
    for key in keys:
        if key != "c/p/d":
            add_dialogue(con, key)
    add_act(con, 0, action_values=["x"])
    batches = [keys[:2], [], keys[2:], ["c/p/none"]]
    streamed = list(stream_dialogues(con, batches))
    assert [dialogue.key for dialogue in streamed] == keys
    assert streamed == list(read_dialogues(con, keys))
    assert streamed[2].turns[0].acts


def test_error_on_one_of_two_connections_is_named(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("drop table core.fct_service_calls")
    threads = threading.active_count()
    with pytest.raises(
        InputError, match=r"^the build was made by an older version .*: build again, or open a newer copy$"
    ):
        list(stream_dialogues(con, [["c/p/d"]]))
    assert threading.active_count() == threads
