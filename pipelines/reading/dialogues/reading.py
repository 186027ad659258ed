"""Fills a dialogue from its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pipelines.errors import InputError
from pipelines.reading.connection import Connection
from pipelines.reading.dialogues import given, parts, turns
from pipelines.reading.dialogues.rows import Row, Rows, read_rows_of
from pipelines.reading.keyed_rows import find_row, read_rows

SHOWN_AS = {
    "action_value": ("/action_value/", "/action/{action_index}"),
    "call_parameter": ("/call_parameter/", "/call"),
    "selection": ("/selection/", "/action/{action_index}"),
}
"""Kind of an annotation -> where its own part of the key begins, and how the key of the part that shows it goes on."""


def read_dialogue(con: Connection, key: str) -> parts.Dialogue:
    """The dialogue that a key belongs to, the row of the key marked in it.

    Raises InputError for a key that no row has, and for one of a table whose rows belong to no dialogue.
    """
    table, row = find_row(con, key)
    dialogue_key = row.get("dialogue_key")
    if dialogue_key is None:
        raise InputError(f"core.{table} has '{key}', but it belongs to no dialogue: `trace` shows where it comes from")
    dialogue = next(read_dialogues(con, [dialogue_key]))
    if key == dialogue_key:
        return dialogue
    return replace(dialogue, mark=_mark(con, dialogue, table, key, row))


def read_dialogues(con: Connection, keys: Sequence[str]) -> Iterator[parts.Dialogue]:
    """Each of these dialogues that there is, nothing marked in it: far faster together than one by one."""
    return map(_dialogue, read_rows_of(con, keys))


def _dialogue(rows: Rows) -> parts.Dialogue:
    steps = turns.steps_of_acts(rows.of["steps"], rows.head["guideline_key"])
    violations = [_violation(violation) for violation in rows.of["violations"]]
    read = turns.read_turns(rows, violations, steps)
    there = {turn.index for turn in read}
    head = rows.head
    return parts.Dialogue(
        key=head["dialogue_key"],
        corpus_id=head["corpus_id"],
        corpus=head["title"],
        split=head["split"],
        source_split=head["source_split"],
        dialogue_id=head["dialogue_id"],
        task=head["task"],
        source_task=head["source_task"],
        channel=head["channel"],
        outcome_reward=head["outcome_reward"],
        source=parts.Source(
            source_file_id=head["source_file_id"],
            record_index=head["record_index"],
            record_pointer=head["record_pointer"],
        ),
        mark=None,
        services=[parts.Service(**_own(service)) for service in rows.of["services"]],
        scenario=_scenario(rows),
        guideline=_guideline(rows),
        knowledge=_knowledge(rows),
        answers=[parts.Answer(**_own(answer)) for answer in rows.of["answers"]],
        turns=read,
        violations=[found for found in violations if found.turn_index not in there],
    )


def _own(row: Row) -> Row:
    """The row without the dialogue that it belongs to."""
    return {name: value for name, value in row.items() if name != "dialogue_key"}


def _violation(row: Row) -> parts.Violation:
    return parts.Violation(
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


def _mark(con: Connection, dialogue: parts.Dialogue, table: str, key: str, row: Row) -> parts.Mark:
    places = read_rows(con, "from core.source_of($key)", {"key": key})
    return parts.Mark(
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
    """The key of the part of a dialogue that shows a row: a value is shown with the slot or the item it belongs to."""
    kind = row.get("annotation_type")
    if kind == "state" or table == "fct_knowledge_items":
        return key.rpartition("/")[0]
    if kind in SHOWN_AS:
        begin, rest = SHOWN_AS[kind]
        return key.partition(begin)[0] + rest.format(**row)
    return key


def keys_of(part: Any) -> Iterator[str]:
    """The keys of everything that a dialogue shows."""
    if isinstance(part, list):
        for element in part:
            yield from keys_of(element)
    elif is_dataclass(part):
        for field in fields(part):
            value = getattr(part, field.name)
            if field.name in ("key", "vote_key", "response_key") and value is not None:
                yield value
            yield from keys_of(value)


def _scenario(rows: Rows) -> given.Scenario | None:
    head = rows.head
    if head["scenario_key"] is None:
        return None
    return given.Scenario(
        scenario_id=head["scenario_id"],
        flow=head["flow"],
        subflow=head["subflow"],
        values=[
            given.ScenarioValue(section=row["section"], field=row["field"], value=row["value"])
            for row in rows.of["scenario_values"]
        ],
        attributes=[
            given.Attribute(attribute=row["attribute"], value_type=row["value_type"], alpha=row["alpha"])
            for row in rows.of["attributes"]
        ],
    )


def _guideline(rows: Rows) -> given.Guideline | None:
    head = rows.head
    if head["guideline_key"] is None:
        return None
    taken = {act: [row["turn_index"] for row in acts] for act, acts in rows.by("acts", "act").items()}
    return given.Guideline(
        key=head["guideline_key"],
        flow=head["flow_title"],
        subflow=head["subflow_title"],
        instructions=head["instructions"] or [],
        steps=[
            given.Step(
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


def _knowledge(rows: Rows) -> list[given.KnowledgeBase]:
    people = {row["source_speaker"]: row["participant_type"] for row in rows.of["participants"]}
    selections = rows.by("selections", "agent", "item_index")
    bases = []
    for agent, cells in rows.by("knowledge", "agent").items():
        columns = list(dict.fromkeys(cell["attribute"] for cell in cells))
        items: dict[int, list[Row]] = {}
        for cell in cells:
            items.setdefault(cell["item_index"], []).append(cell)
        bases.append(
            given.KnowledgeBase(
                agent=agent,
                participant_type=people.get(agent),
                columns=columns,
                items=[_item(index, own, columns, selections[agent, index]) for index, own in items.items()],
            )
        )
    return bases


def _item(index: int, cells: list[Row], columns: list[str], selections: list[Row]) -> given.Item:
    values = {cell["attribute"]: cell["value"] for cell in cells}
    return given.Item(
        key=cells[0]["knowledge_key"].rpartition("/")[0],
        index=index,
        values=[values.get(column) for column in columns],
        is_shared=cells[0]["is_shared"],
        selected_in=[row["turn_index"] for row in selections],
    )
