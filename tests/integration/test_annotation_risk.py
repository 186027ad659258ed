"""The risk of a turn is recounted without SQL, from the published rows, where every rule has a case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

Rows = list[dict[str, Any]]
SELF, DEFINITION, DIALOGUE, EARLIER = range(4)


@pytest.fixture(scope="module")
def con(defective_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Return the warehouse of the defective releases."""
    with duckdb.connect(str(defective_folder / "dialogues.duckdb"), read_only=True) as connection:
        yield connection


def rows(con: duckdb.DuckDBPyConnection, query: str) -> Rows:
    result = con.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def uses_of_definitions(con: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    """Map the key of each definition of a service, intent, slot or guideline to the turns that use it."""
    users: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    for frame in rows(con, "from core.fct_frames"):
        place, turn = (frame["corpus_id"], frame["split"]), frame["turn_key"]
        users["service", *place, frame["service"]].add(turn)
        users["intent", *place, frame["service"], frame["active_intent"]].add(turn)
        for slot in frame["requested_slots"] or ():
            users["slot", *place, frame["service"], slot].add(turn)
    for table in ("fct_slots", "fct_actions"):
        for row in rows(con, f"select distinct turn_key, corpus_id, split, service, slot_name from core.{table}"):
            users["service", row["corpus_id"], row["split"], row["service"]].add(row["turn_key"])
            users["slot", row["corpus_id"], row["split"], row["service"], row["slot_name"]].add(row["turn_key"])
    for turn in rows(con, "select turn_key, corpus_id, split, intent from core.fct_turns where intent is not null"):
        users["intent", turn["corpus_id"], turn["split"], None, turn["intent"]].add(turn["turn_key"])
    splits = {row["split"] for row in rows(con, "select distinct split from core.dim_dialogues")}
    found: dict[str, set[str]] = defaultdict(set)
    for kind, table, key in (
        ("service", "dim_services", "service_definition_key"),
        ("intent", "dim_intents", "intent_key"),
        ("intent", "dim_guidelines", "guideline_key"),
        ("slot", "dim_slots", "slot_definition_key"),
    ):
        for row in rows(con, f"from core.{table}"):
            name = () if kind == "service" else (row[kind],)
            for split in splits if row.get("split") is None else {row["split"]}:
                found[row[key]] |= users[kind, row["corpus_id"], split, row.get("service"), *name]
    return found


def test_defects_of_every_turn_are_those_that_touch_it(con: duckdb.DuckDBPyConnection) -> None:
    turns: dict[str, Rows] = defaultdict(list)
    for turn in rows(con, "select turn_key, dialogue_key, turn_index from core.fct_turns"):
        turns[turn["dialogue_key"]].append(turn)
    frames: dict[tuple[str, str], Rows] = defaultdict(list)
    for frame in rows(con, "select turn_key, dialogue_key, turn_index, service from core.fct_frames"):
        frames[frame["dialogue_key"], frame["service"]].append(frame)
    uses = uses_of_definitions(con)
    touched: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for defect in rows(con, "from quality.violations where kind = 'defect'"):
        distances = dict.fromkeys(uses.get(defect["row_key"], ()), DEFINITION)
        for turn in turns.get(defect["dialogue_key"], ()):
            if defect["turn_index"] is None:
                distances.setdefault(turn["turn_key"], DIALOGUE)
            elif turn["turn_index"] == defect["turn_index"]:
                distances[turn["turn_key"]] = SELF
        for frame in frames.get((defect["dialogue_key"], defect["service"]), ()):
            if defect["turn_index"] is not None and frame["turn_index"] > defect["turn_index"]:
                distances.setdefault(frame["turn_key"], EARLIER)
        for turn_key, distance in distances.items():
            touched[turn_key].append((distance, defect["rule_id"]))
    expected = {
        key: (sum(distance < EARLIER for distance, _ in found), len(found), min(found)[1])
        for key, found in touched.items()
    }
    risks = con.execute(
        "select turn_key, defects_here, defects_from_then_on, worst_rule from quality.annotation_risk"
    ).fetchall()
    assert {key: tuple(values) for key, *values in risks} == expected
    assert len(risks) == len(expected)
    kinds = {distance for found in touched.values() for distance, _ in found}
    assert kinds == {SELF, DEFINITION, DIALOGUE, EARLIER}
