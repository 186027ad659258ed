"""Fills the turns of a dialogue, each with what was annotated of it."""

from __future__ import annotations

from collections import defaultdict

from pipelines.reading.dialogues import parts
from pipelines.reading.dialogues.rows import Row, Rows


def steps_of_acts(steps: list[Row], guideline_key: str | None) -> dict[str, list[int]]:
    """Act -> the steps of the guideline that ask for it."""
    found: dict[str, list[int]] = defaultdict(list)
    for step in steps:
        if step["guideline_key"] == guideline_key and step["act"]:
            found[step["act"]].append(step["step_index"])
    return dict(found)


def read_turns(rows: Rows, violations: list[parts.Violation], steps: dict[str, list[int]]) -> list[parts.Turn]:
    """The turns in their order."""
    frames, acts = rows.by("frames", "turn_key"), rows.by("acts", "turn_key")
    spans, parameters = _annotations(rows)
    states, calls = rows.by("state_slots", "frame_key"), rows.by("calls", "turn_key")
    results = rows.by("results", "turn_key", "frame_index")
    selections, candidates = rows.by("selections", "turn_key"), rows.by("candidates", "turn_key")
    texts = {row["candidate_id"]: row["utterance"] for row in rows.of["candidate_texts"]}
    return [
        parts.Turn(
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
    """The spans by turn, the parameters of calls by turn and frame."""
    spans: dict[str, list[Row]] = defaultdict(list)
    parameters: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows.of["annotations"]:
        if row["annotation_type"] == "span":
            spans[row["turn_key"]].append(row)
        else:
            parameters[row["turn_key"], row["frame_index"]].append(row)
    return spans, parameters


def _span(row: Row) -> parts.Span:
    return parts.Span(
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


def _act(row: Row, steps: dict[str, list[int]]) -> parts.Act:
    return parts.Act(
        key=row["action_key"],
        type=row["action_type"],
        service=row["service"],
        act=row["act"],
        slot=row["slot_name"],
        values=row["action_values"] or [],
        canonical_values=row["canonical_values"],
        guideline_steps=steps.get(row["act"], []),
    )


def _state(frame: Row, slots: list[Row]) -> parts.State:
    return parts.State(
        key=frame["frame_key"],
        service=frame["service"],
        active_intent=frame["active_intent"],
        requested_slots=frame["requested_slots"] or [],
        slots=[
            parts.StateSlot(
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
    """A name as a segment of a key, as the macro of the same name writes it."""
    return text.replace("%", "%25").replace("/", "%2F").replace("~", "%7E")


def _call(row: Row, parameters: list[Row], results: list[Row]) -> parts.Call:
    columns = list(dict.fromkeys(slot for result in results for slot in result["entity"]))
    return parts.Call(
        key=row["call_key"],
        service=row["service"],
        method=row["method"],
        parameters={parameter["slot_name"]: parameter["value"] for parameter in parameters},
        result_count=row["result_count"],
        columns=columns,
        results=[
            parts.CallResult(key=result["result_key"], values=[result["entity"].get(column) for column in columns])
            for result in results
        ],
    )


def _selection(row: Row) -> parts.Selection:
    return parts.Selection(
        key=row["action_key"],
        agent=row["agent"],
        item_index=row["item_index"],
        item=dict(zip(row["attributes"] or [], row["attribute_values"] or [], strict=True)),
        is_shared=row["is_shared"],
        is_last=row["is_last"],
    )


def _candidates(row: Row, texts: dict[int, str]) -> parts.Candidates:
    return parts.Candidates(
        key=row["candidates_key"],
        target_position=row["target_position"],
        candidates=[
            parts.Candidate(candidate_id=found, text=texts.get(found), is_target=position == row["target_position"])
            for position, found in enumerate(row["candidate_ids"] or [])
        ],
    )
