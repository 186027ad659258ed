"""Dialogues that are read from the published tables, each with its turns and all annotations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading import dialogue_parts
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.dialogue_rows import Row, Rows, read_rows_of
from dialogue_warehouse.reading.findings import find_row, read_rows


def steps_of_acts(steps: list[Row], guideline_key: str | None) -> dict[str, list[int]]:
    """Map each act to the steps of the guideline that require it."""
    found: dict[str, list[int]] = defaultdict(list)
    for step in steps:
        if step["guideline_key"] == guideline_key and step["act"]:
            found[step["act"]].append(step["step_index"])
    return dict(found)


def read_turns(
    rows: Rows, violations: list[dialogue_parts.Violation], steps: dict[str, list[int]]
) -> list[dialogue_parts.Turn]:
    """Return the turns in order."""
    frames, acts = rows.by("frames", "turn_key"), rows.by("acts", "turn_key")
    spans, parameters = _annotations(rows)
    states, calls = rows.by("state_slots", "frame_key"), rows.by("calls", "turn_key")
    results = rows.by("results", "turn_key", "frame_index")
    selections, candidates = rows.by("selections", "turn_key"), rows.by("candidates", "turn_key")
    texts = {row["candidate_id"]: row["utterance"] for row in rows.of["candidate_texts"]}
    return [
        dialogue_parts.Turn(
            key=(key := row["turn_key"]),
            index=row["turn_index"],
            source_turn_number=row["source_turn_number"],
            role=row["role"],
            speaker=row["source_speaker"],
            event_type=row["event_type"],
            source_event_type=row["source_event_type"],
            text=row["utterance"],
            delexicalized=row["delexicalized_utterance"],
            occurred_at=row["occurred_at"],
            intent=row["intent"],
            next_step=row["next_step"],
            json_pointer=row["json_pointer"],
            spans=[_span(span) for span in spans[key]],
            acts=[_act(act, steps) for act in acts[key] if act["action_type"] != "selection"],
            states=[_state(frame, states[frame["frame_key"]]) for frame in frames[key] if frame["active_intent"]],
            calls=[
                _call(call, parameters[key, call["frame_index"]], results[key, call["frame_index"]])
                for call in calls[key]
            ],
            selections=[_selection(selection) for selection in selections[key]],
            candidates=[_candidates(one, texts) for one in candidates[key]],
            violations=[violation for violation in violations if violation.turn_index == row["turn_index"]],
        )
        for row in rows.of["turns"]
    ]


def _annotations(rows: Rows) -> tuple[dict[str, list[Row]], dict[tuple[str, int], list[Row]]]:
    """Return the spans by turn, and the parameters of calls by turn and frame."""
    spans: dict[str, list[Row]] = defaultdict(list)
    parameters: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows.of["annotations"]:
        if row["annotation_type"] == "span":
            spans[row["turn_key"]].append(row)
        else:
            parameters[row["turn_key"], row["frame_index"]].append(row)
    return spans, parameters


def _span(row: Row) -> dialogue_parts.Span:
    return dialogue_parts.Span(
        key=row["slot_key"],
        start=row["start_char"],
        end=row["end_char"],
        text=row["value"],
        service=row["service"],
        slot=row["slot_name"],
        source_label=row["source_label"],
        annotation_index=row["annotation_index"],
        status=row["status"],
    )


def _act(row: Row, steps: dict[str, list[int]]) -> dialogue_parts.Act:
    return dialogue_parts.Act(
        key=row["action_key"],
        type=row["action_type"],
        service=row["service"],
        act=row["act"],
        slot=row["slot_name"],
        values=row["action_values"] or [],
        canonical_values=row["canonical_values"],
        guideline_steps=steps.get(row["act"], []),
    )


def _state(frame: Row, slots: list[Row]) -> dialogue_parts.State:
    return dialogue_parts.State(
        key=frame["frame_key"],
        service=frame["service"],
        active_intent=frame["active_intent"],
        requested_slots=frame["requested_slots"] or [],
        slots=[
            dialogue_parts.StateSlot(
                key=f"{frame['frame_key']}/state/{key_segment(row['slot_name'])}",
                slot=row["slot_name"],
                change=row["change"],
                value=row["value"],
                variants=row["variants"],
                previous_value=row["previous_value"],
            )
            for row in slots
        ],
    )


def key_segment(text: str) -> str:
    """Escape a name as a segment of a key, in the same way as the macro of this name."""
    return text.replace("%", "%25").replace("/", "%2F").replace("~", "%7E")


def _call(row: Row, parameters: list[Row], results: list[Row]) -> dialogue_parts.Call:
    columns = list(dict.fromkeys(slot for result in results for slot in result["entity"]))
    return dialogue_parts.Call(
        key=row["call_key"],
        service=row["service"],
        method=row["method"],
        parameters={parameter["slot_name"]: parameter["value"] for parameter in parameters},
        result_count=row["result_count"],
        columns=columns,
        results=[
            dialogue_parts.CallResult(
                key=result["result_key"], values=[result["entity"].get(column) for column in columns]
            )
            for result in results
        ],
    )


def _selection(row: Row) -> dialogue_parts.Selection:
    return dialogue_parts.Selection(
        key=row["action_key"],
        agent=row["agent"],
        item_index=row["item_index"],
        item=dict(zip(row["attributes"] or [], row["attribute_values"] or [], strict=True)),
        is_shared=row["is_shared"],
        is_last=row["is_last"],
    )


def _candidates(row: Row, texts: dict[int, str]) -> dialogue_parts.Candidates:
    return dialogue_parts.Candidates(
        key=row["candidates_key"],
        target_position=row["target_position"],
        candidates=[
            dialogue_parts.Candidate(
                candidate_id=found, text=texts.get(found), is_target=position == row["target_position"]
            )
            for position, found in enumerate(row["candidate_ids"] or [])
        ],
    )


SHOWN_AS = {
    "action_value": ("/action_value/", "/action/{action_index}"),
    "call_parameter": ("/call_parameter/", "/call"),
    "selection": ("/selection/", "/action/{action_index}"),
}
"""By kind of annotation: the separator of its part in the key, and the rest of the key of the part that shows it."""


def read_dialogue(con: Connection, key: str) -> dialogue_parts.Dialogue:
    """Read the dialogue of a key, with the row of the key marked.

    Raises InputError for a key without a row, and for a table whose rows belong to no dialogue.
    """
    table, row = find_row(con, key)
    dialogue_key = row.get("dialogue_key")
    if dialogue_key is None:
        raise InputError(
            f"core.{table} has '{key}', which does not belong to a dialogue: `trace` shows where it comes from"
        )
    dialogue = next(read_dialogues(con, [dialogue_key]))
    if key == dialogue_key:
        return dialogue
    return replace(dialogue, mark=_mark(con, dialogue, table, key, row))


def read_dialogues(con: Connection, keys: Sequence[str]) -> Iterator[dialogue_parts.Dialogue]:
    """Yield the existing ones of these dialogues without marks. Reading them together is far faster than one by one."""
    return map(_dialogue, read_rows_of(con, keys))


def _dialogue(rows: Rows) -> dialogue_parts.Dialogue:
    steps = steps_of_acts(rows.of["steps"], rows.head["guideline_key"])
    violations = [_violation(violation) for violation in rows.of["violations"]]
    read = read_turns(rows, violations, steps)
    there = {turn.index for turn in read}
    head = rows.head
    return dialogue_parts.Dialogue(
        key=head["dialogue_key"],
        corpus_id=head["corpus_id"],
        corpus=head["title"],
        split=head["split"],
        source_split=head["source_split"],
        dialogue_id=head["dialogue_id"],
        task=head["task"],
        source_task=head["source_task"],
        channel=head["channel"],
        goal_kind=head["goal_kind"],
        outcome_reward=head["outcome_reward"],
        participants=[
            dialogue_parts.Participant(
                speaker=row["source_speaker"], type=row["participant_type"], reward=row["reward"]
            )
            for row in rows.of["participants"]
        ],
        source=dialogue_parts.Source(
            source_file_id=head["source_file_id"],
            record_index=head["record_index"],
            record_pointer=head["record_pointer"],
            is_generated=head["is_generated"],
        ),
        mark=None,
        services=[dialogue_parts.Service(**_own(service)) for service in rows.of["services"]],
        scenario=_scenario(rows),
        guideline=_guideline(rows),
        knowledge=_knowledge(rows),
        answers=[dialogue_parts.Answer(**_own(answer)) for answer in rows.of["answers"]],
        turns=read,
        violations=[found for found in violations if found.turn_index not in there],
    )


def _own(row: Row) -> Row:
    """Return the row without its `dialogue_key`."""
    return {name: value for name, value in row.items() if name != "dialogue_key"}


def _violation(row: Row) -> dialogue_parts.Violation:
    return dialogue_parts.Violation(
        rule=row["rule_id"],
        kind=row["kind"],
        title=row["title"],
        turn_index=row["turn_index"],
        row_key=row["row_key"],
        other_key=row["other_key"],
        service=row["service"],
        slot=row["slot_name"],
        detail=row["detail"],
    )


def _mark(con: Connection, dialogue: dialogue_parts.Dialogue, table: str, key: str, row: Row) -> dialogue_parts.Mark:
    places = read_rows(con, "from core.source_of($key)", {"key": key})
    return dialogue_parts.Mark(
        key=key,
        table=f"core.{table}",
        shown_key=next(
            (shown for shown in (shown_key(table, key, row), row.get("turn_key")) if shown in set(keys_of(dialogue))),
            dialogue.key,
        ),
        turn_index=row.get("turn_index"),
        json_pointer=places[0]["json_pointer"] if places else None,
        row=row,
    )


def shown_key(table: str, key: str, row: Row) -> str:
    """Return the key of the part of a dialogue that shows a row: a value is shown in its slot or item."""
    kind = row.get("annotation_type")
    if kind == "state" or table == "fct_knowledge_items":
        return key.rpartition("/")[0]
    if kind in SHOWN_AS:
        begin, rest = SHOWN_AS[kind]
        return key.partition(begin)[0] + rest.format(**row)
    return key


def keys_of(part: Any) -> Iterator[str]:
    """Yield the keys of everything that a dialogue shows."""
    if isinstance(part, list):
        for element in part:
            yield from keys_of(element)
    elif is_dataclass(part):
        for field in fields(part):
            value = getattr(part, field.name)
            if field.name in ("key", "vote_key", "response_key") and value is not None:
                yield value
            yield from keys_of(value)


def _scenario(rows: Rows) -> dialogue_parts.Scenario | None:
    head = rows.head
    if head["scenario_key"] is None:
        return None
    return dialogue_parts.Scenario(
        scenario_id=head["scenario_id"],
        flow=head["flow"],
        subflow=head["subflow"],
        values=[
            dialogue_parts.ScenarioValue(section=row["section"], field=row["field"], value=row["value"])
            for row in rows.of["scenario_values"]
        ],
        attributes=[
            dialogue_parts.Attribute(attribute=row["attribute"], value_type=row["value_type"], alpha=row["alpha"])
            for row in rows.of["attributes"]
        ],
    )


def _guideline(rows: Rows) -> dialogue_parts.Guideline | None:
    head = rows.head
    if head["guideline_key"] is None:
        return None
    taken = {act: [row["turn_index"] for row in acts] for act, acts in rows.by("acts", "act").items()}
    return dialogue_parts.Guideline(
        key=head["guideline_key"],
        flow=head["flow_title"],
        subflow=head["subflow_title"],
        instructions=head["instructions"] or [],
        steps=[
            dialogue_parts.Step(
                index=row["step_index"],
                type=row["step_type"],
                button=row["button"],
                act=row["act"],
                text=row["text"],
                subtext=row["subtext"] or [],
                taken_in=taken.get(row["act"], []) if row["act"] else [],
            )
            for row in rows.by("steps", "guideline_key")[head["guideline_key"]]
        ],
        conformance=head["conformance"],
        missing_acts=head["missing_acts"] or [],
        extra_acts=head["extra_acts"] or [],
    )


def _knowledge(rows: Rows) -> list[dialogue_parts.KnowledgeBase]:
    people = {row["source_speaker"]: row["participant_type"] for row in rows.of["participants"]}
    selections = rows.by("selections", "agent", "item_index")
    bases = []
    for agent, cells in rows.by("knowledge", "agent").items():
        columns = list(dict.fromkeys(cell["attribute"] for cell in cells))
        items: dict[int, list[Row]] = {}
        for cell in cells:
            items.setdefault(cell["item_index"], []).append(cell)
        bases.append(
            dialogue_parts.KnowledgeBase(
                agent=agent,
                participant_type=people.get(agent),
                columns=columns,
                items=[_item(index, own, columns, selections[agent, index]) for index, own in items.items()],
            )
        )
    return bases


def _item(index: int, cells: list[Row], columns: list[str], selections: list[Row]) -> dialogue_parts.Item:
    values = {cell["attribute"]: cell["value"] for cell in cells}
    return dialogue_parts.Item(
        key=cells[0]["knowledge_key"].rpartition("/")[0],
        index=index,
        values=[values.get(column) for column in columns],
        is_shared=cells[0]["is_shared"],
        selected_in=[row["turn_index"] for row in selections],
    )
