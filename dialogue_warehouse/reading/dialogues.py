"""Dialogues that are read from the published tables, each with its turns and all annotations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any

import msgspec

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading import dialogue_parts
from dialogue_warehouse.reading.connection import Connection, another
from dialogue_warehouse.reading.dialogue_rows import Batch, Found, Result, Rows, read_batch
from dialogue_warehouse.reading.findings import Row, find_row, read_rows

Steps = dict[str, tuple[int, ...]]
"""The steps of a guideline that require an act, by act."""
Parts = dict[str, list[Any]]
"""Parts of one kind, by the key of their turn."""


def steps_of_acts(steps: list[Row], guideline_key: str) -> Steps:
    """Map each act to the steps of the guideline that require it."""
    found: Steps = {}
    for step in steps:
        if step["guideline_key"] == guideline_key and step["act"]:
            found[step["act"]] = (*found.get(step["act"], ()), step["step_index"])
    return found


class Annotations:
    """The spans, acts, states and calls of several dialogues, by turn."""

    def __init__(self, many: dict[str, list[tuple[Any, ...]]]) -> None:
        """Make them of the rows of MANY."""
        self.spans: dict[str, tuple[dialogue_parts.Span, ...]] = dict(many["spans"])
        self.others: dict[str, tuple[dialogue_parts.Annotation, ...]] = dict(many["annotations"])
        self.acts: dict[str, tuple[dialogue_parts.Act, ...]] = dict(many["acts"])
        self.states = _states(many["frames"], dict(many["state_slots"]))
        results = {(turn_key, frame_index): found for turn_key, frame_index, found in many["results"]}
        self.calls = _calls(many["calls"], _parameters(many["parameters"]), results)


def turns_of(
    batch: Batch, rows: dict[str, Rows], violations: dict[str, dict[int | None, Violations]]
) -> dict[str, list[dialogue_parts.Turn]]:
    """Return the turns of each dialogue in order."""
    read = Annotations(batch.many)
    steps = {
        key: steps_of_acts(one.of["steps"], one.guideline["guideline_key"]) if one.guideline else {}
        for key, one in rows.items()
    }
    selections = {key: _selections(one) for key, one in rows.items() if one.of["selections"]}
    candidates = {key: _candidates(one) for key, one in rows.items() if one.of["candidates"]}
    turns: dict[str, list[dialogue_parts.Turn]] = {key: [] for key in rows}
    for dialogue_key, turn_key, turn_index, *values in batch.many["turns"]:
        acts = read.acts.get(turn_key, ())
        turns[dialogue_key].append(
            dialogue_parts.Turn(
                turn_key,
                turn_index,
                *values,
                read.spans.get(turn_key, ()),
                _with_steps(acts, steps[dialogue_key]) if steps[dialogue_key] else acts,
                tuple(read.states.get(turn_key, ())),
                tuple(read.calls.get(turn_key, ())),
                tuple(selections[dialogue_key].get(turn_key, ())) if dialogue_key in selections else (),
                tuple(candidates[dialogue_key].get(turn_key, ())) if dialogue_key in candidates else (),
                read.others.get(turn_key, ()),
                violations[dialogue_key].get(turn_index, ()) if dialogue_key in violations else (),
            )
        )
    return turns


def _with_steps(acts: tuple[dialogue_parts.Act, ...], steps: Steps) -> tuple[dialogue_parts.Act, ...]:
    return tuple(
        msgspec.structs.replace(act, guideline_steps=steps[act.act]) if act.act in steps else act for act in acts
    )


def _states(rows: Iterable[tuple[Any, ...]], slots: dict[str, tuple[dialogue_parts.StateSlot, ...]]) -> Parts:
    found: Parts = defaultdict(list)
    for _, turn_key, frame_key, service, intent, requested in rows:
        of_frame = slots.get(frame_key, ())
        found[turn_key].append(dialogue_parts.State(frame_key, service, intent, tuple(requested or ()), of_frame))
    return found


def _parameters(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, int], dict[str, str | None]]:
    """Return the parameters of calls, by turn and frame."""
    found: dict[tuple[str, int], dict[str, str | None]] = defaultdict(dict)
    for _, turn_key, frame_index, slot, value in rows:
        found[turn_key, frame_index][slot] = value
    return found


def _calls(
    rows: Iterable[tuple[Any, ...]],
    parameters: dict[tuple[str, int], dict[str, str | None]],
    results: dict[tuple[str, int], tuple[Result, ...]],
) -> Parts:
    found: Parts = defaultdict(list)
    for _, turn_key, frame_index, key, service, method, count in rows:
        entities = results.get((turn_key, frame_index), ())
        columns = tuple(dict.fromkeys(slot for one in entities for slot in one.entity))
        read = tuple(dialogue_parts.CallResult(one.key, tuple(map(one.entity.get, columns))) for one in entities)
        given = parameters.get((turn_key, frame_index), {})
        found[turn_key].append(dialogue_parts.Call(key, service, method, given, count, columns, read))
    return found


def _selections(rows: Rows) -> Parts:
    found: Parts = defaultdict(list)
    for row in rows.of["selections"]:
        found[row["turn_key"]].append(_selection(row))
    return found


def _selection(row: Row) -> dialogue_parts.Selection:
    return dialogue_parts.Selection(
        key=row["action_key"],
        agent=row["agent"],
        item_index=row["item_index"],
        item=dict(zip(row["attributes"] or [], row["attribute_values"] or [], strict=True)),
        is_shared=row["is_shared"],
        is_last=row["is_last"],
    )


def _candidates(rows: Rows) -> Parts:
    texts = {row["candidate_id"]: row["utterance"] for row in rows.of["candidate_texts"]}

    def part_of(row: Row) -> dialogue_parts.Candidates:
        target = row["target_position"]
        candidates = (
            dialogue_parts.Candidate(candidate_id=found, text=texts.get(found), is_target=position == target)
            for position, found in enumerate(row["candidate_ids"] or ())
        )
        return dialogue_parts.Candidates(
            key=row["candidates_key"], target_position=target, candidates=tuple(candidates)
        )

    found: Parts = defaultdict(list)
    for row in rows.of["candidates"]:
        found[row["turn_key"]].append(part_of(row))
    return found


SHOWN_AS = {
    "action_value": ("/action_value/", "/action/{action_index}"),
    "call_parameter": ("/call_parameter/", "/call"),
    "selection": ("/selection/", "/action/{action_index}"),
}
"""By kind of annotation: the separator of its part in the key, and the rest of the key of the part that shows it."""


class NoDialogueError(InputError):
    """The key of a row that belongs to no dialogue, such as that of a slot of a schema."""

    def __init__(self, message: str, table: str = "", key: str = "") -> None:
        """Create the error; `table` is the table of core that has the row."""
        super().__init__(message)
        self.table, self.key = table, key


def read_dialogue(con: Connection, key: str, found_by: Found | None = None) -> dialogue_parts.Dialogue:
    """Read the dialogue of a key, with the row of the key marked; `found_by` is what `read_found` returns.

    Raises InputError for a key without a row, and for a table whose rows belong to no dialogue.
    """
    table, row = find_row(con, key)
    dialogue_key = row.get("dialogue_key")
    if dialogue_key is None:
        raise NoDialogueError(
            f"core.{table} has '{key}', which does not belong to a dialogue: `trace` shows where it comes from",
            table,
            key,
        )
    dialogue = next(_dialogues(read_batch([con], [dialogue_key], found_by)))
    if key == dialogue_key:
        return dialogue
    return replace(dialogue, mark=_mark(con, dialogue, table, key, row))


def read_dialogues(con: Connection, keys: Sequence[str]) -> Iterator[dialogue_parts.Dialogue]:
    """Yield the existing ones of these dialogues without marks. Reading them together is far faster than one by one."""
    yield from _dialogues(read_batch([con], keys))


def stream_dialogues(con: Connection, batches: Iterable[Sequence[str]]) -> Iterator[dialogue_parts.Dialogue]:
    """Yield the dialogues of several batches of keys. Each batch is read on two connections at once."""
    with another(con) as second:
        for keys in batches:
            yield from _dialogues(read_batch([con, second], keys))


def _dialogues(batch: Batch) -> Iterator[dialogue_parts.Dialogue]:
    rows = {one.head["dialogue_key"]: one for one in batch.rows}
    violations = {key: _violations(one) for key, one in rows.items() if one.of["violations"]}
    turns = turns_of(batch, rows, violations)
    for key, one in rows.items():
        yield _dialogue(one, tuple(turns.pop(key)), violations.get(key, {}))


Violations = tuple[dialogue_parts.Violation, ...]


def _violations(rows: Rows) -> dict[int | None, Violations]:
    """Return the violations by turn."""
    found: dict[int | None, Violations] = {}
    for violation in map(_violation, rows.of["violations"]):
        found[violation.turn_index] = (*found.get(violation.turn_index, ()), violation)
    return found


def _dialogue(
    rows: Rows, turns: tuple[dialogue_parts.Turn, ...], violations: dict[int | None, Violations]
) -> dialogue_parts.Dialogue:
    there = {turn.index for turn in turns}
    elsewhere = (found for index, found in violations.items() if index not in there)
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
        participants=tuple(
            dialogue_parts.Participant(
                speaker=row["source_speaker"], type=row["participant_type"], reward=row["reward"]
            )
            for row in rows.of["participants"]
        ),
        source=dialogue_parts.Source(
            source_file_id=head["source_file_id"],
            record_index=head["record_index"],
            record_pointer=head["record_pointer"],
            is_generated=head["is_generated"],
        ),
        mark=None,
        services=tuple(dialogue_parts.Service(**_own(service)) for service in rows.of["services"]),
        scenario=_scenario(rows),
        guideline=_guideline(rows, turns),
        knowledge=_knowledge(rows),
        answers=tuple(dialogue_parts.Answer(**_own(answer)) for answer in rows.of["answers"]),
        turns=turns,
        violations=tuple(chain.from_iterable(elsewhere)),
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
    keys = set(keys_of(dialogue))
    return dialogue_parts.Mark(
        key=key,
        table=f"core.{table}",
        shown_key=next(
            (shown for shown in (shown_key(table, key, row), row.get("turn_key")) if shown in keys), dialogue.key
        ),
        turn_index=row.get("turn_index"),
        json_pointer=_pointer(con, dialogue, table, key),
        row=row,
    )


def _pointer(con: Connection, dialogue: dialogue_parts.Dialogue, table: str, key: str) -> str | None:
    """Return the position of a row in the source file of its dialogue. Those of turns are read with the dialogue."""
    if table == "fct_turns":
        return next((turn.json_pointer for turn in dialogue.turns if turn.key == key), None)
    places = read_rows(con, "from core.source_of($key)", {"key": key})
    return places[0]["json_pointer"] if places else None


def shown_key(table: str, key: str, row: Row) -> str:
    """Return the key of the part of a dialogue that shows a row: a value is shown in its slot or item."""
    kind = row.get("annotation_type")
    if kind == "state" or table == "fct_knowledge_items":
        return key.rpartition("/")[0]
    if kind in SHOWN_AS:
        begin, rest = SHOWN_AS[kind]
        return key.partition(begin)[0] + rest.format(**row)
    return key


HAVE_KEYS = (list, tuple, dialogue_parts.Dialogue, dialogue_parts.Part)
"""The types of values that can have keys in them."""


def keys_of(part: Any) -> Iterator[str]:
    """Yield the keys of everything that a dialogue shows."""
    if isinstance(part, list | tuple):
        for element in part:
            if isinstance(element, HAVE_KEYS):  # a dialogue has thousands of parts and values
                yield from keys_of(element)
    elif isinstance(part, HAVE_KEYS):
        is_whole = isinstance(part, dialogue_parts.Dialogue)
        for name in (field.name for field in fields(part)) if is_whole else part.__struct_fields__:
            value = getattr(part, name)
            if name in ("key", "vote_key", "response_key") and value is not None:
                yield value
            if isinstance(value, HAVE_KEYS):
                yield from keys_of(value)


def _scenario(rows: Rows) -> dialogue_parts.Scenario | None:
    head = rows.head
    if head["scenario_key"] is None:
        return None
    return dialogue_parts.Scenario(
        scenario_id=head["scenario_id"],
        flow=head["flow"],
        subflow=head["subflow"],
        values=tuple(
            dialogue_parts.ScenarioValue(section=row["section"], field=row["field"], value=row["value"])
            for row in rows.of["scenario_values"]
        ),
        attributes=tuple(
            dialogue_parts.Attribute(attribute=row["attribute"], value_type=row["value_type"], alpha=row["alpha"])
            for row in rows.of["attributes"]
        ),
    )


def _guideline(rows: Rows, turns: tuple[dialogue_parts.Turn, ...]) -> dialogue_parts.Guideline | None:
    guideline = rows.guideline
    if guideline is None:
        return None
    taken: dict[str | None, list[int]] = defaultdict(list)
    for turn in turns:
        for act in turn.acts:
            taken[act.act].append(turn.index)
    return dialogue_parts.Guideline(
        key=guideline["guideline_key"],
        flow=guideline["flow_title"],
        subflow=guideline["subflow_title"],
        instructions=tuple(guideline["instructions"] or ()),
        steps=tuple(
            dialogue_parts.Step(
                index=row["step_index"],
                type=row["step_type"],
                button=row["button"],
                act=row["act"],
                text=row["text"],
                subtext=tuple(row["subtext"] or ()),
                taken_in=tuple(taken.get(row["act"], ())) if row["act"] else (),
            )
            for row in rows.by("steps", "guideline_key")[guideline["guideline_key"]]
        ),
        conformance=guideline["conformance"],
        prescribed_acts=tuple(row["act"] for row in rows.of["prescribed"]),
        missing_acts=tuple(guideline["missing_acts"] or ()),
        extra_acts=tuple(guideline["extra_acts"] or ()),
    )


def _knowledge(rows: Rows) -> tuple[dialogue_parts.KnowledgeBase, ...]:
    people = {row["source_speaker"]: row["participant_type"] for row in rows.of["participants"]}
    selections = rows.by("selections", "agent", "item_index")
    bases = []
    for agent, cells in rows.by("knowledge", "agent").items():
        columns = tuple(dict.fromkeys(cell["attribute"] for cell in cells))
        items: dict[int, list[Row]] = {}
        for cell in cells:
            items.setdefault(cell["item_index"], []).append(cell)
        bases.append(
            dialogue_parts.KnowledgeBase(
                agent=agent,
                participant_type=people.get(agent),
                columns=columns,
                items=tuple(_item(index, own, columns, selections[agent, index]) for index, own in items.items()),
            )
        )
    return tuple(bases)


def _item(index: int, cells: list[Row], columns: tuple[str, ...], selections: list[Row]) -> dialogue_parts.Item:
    values = {cell["attribute"]: cell["value"] for cell in cells}
    return dialogue_parts.Item(
        key=cells[0]["knowledge_key"].rpartition("/")[0],
        index=index,
        values=tuple(map(values.get, columns)),
        is_shared=cells[0]["is_shared"],
        selected_in=tuple(row["turn_index"] for row in selections),
    )
