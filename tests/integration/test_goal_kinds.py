"""Analyses ask for the kind of a goal, so a corpus with any kind can be added.

The corpus Bargain in tests/bargain has the shape of DealOrNoDeal: two people divide items, each with a reward. It is
added to a copy of the clone, and so is a copy of it for each other kind of goal.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dialogue_warehouse.corpora import starting
from dialogue_warehouse.corpora.release import GOAL_KINDS
from dialogue_warehouse.paths import CLONE
from tests.integration.test_new_corpus import IN_ONE_PROCESS, WRITTEN, copy_clone, run, steps

MODEL, FOLDER = "bargain", "tests/bargain"
CORPUS_OF = {kind: MODEL if kind == "divide_items" else f"{MODEL}{kind.replace('_', '')}" for kind in GOAL_KINDS}
"""Maps a kind of goal to the made-up corpus that declares it."""


def add_with_goal(kind: str, clone: Path) -> None:
    """Add the made-up corpus of a kind of goal to a copy of the clone."""
    name = CORPUS_OF[kind]
    starting.add_corpus(CLONE / FOLDER, MODEL, name, clone)
    source = clone / f"dialogue_warehouse/corpora/{name}/source.toml"
    text = source.read_text(encoding="utf-8")
    edited, count = re.subn("^goal_kind = .*$", f'goal_kind = "{kind}"', text, flags=re.M)
    assert count == 1
    source.write_text(edited, encoding="utf-8")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the clone with Bargain."""
    copy = copy_clone(tmp_path_factory.mktemp("clone"))
    add_with_goal("divide_items", copy)
    for module in WRITTEN.values():
        written = run(copy, "-m", module)
        assert written.returncode == 0, written.stderr
    warehouse = copy.with_name("with_the_corpus")
    built = run(copy, "-m", "dialogue_warehouse", "build", "--corpora", MODEL, "--warehouse", str(warehouse))
    assert built.returncode == 0, built.stderr
    written = run(copy, "-m", "tests.exports_page", str(warehouse))
    assert written.returncode == 0, written.stderr
    return copy


@pytest.fixture(scope="module")
def of_each_kind(clone: Path) -> Path:
    """Return the copy, with a corpus of each kind of goal; all of them are built, and restored, in its warehouse."""
    for kind in set(GOAL_KINDS) - {"divide_items"}:
        add_with_goal(kind, clone)
    built = run(clone, "-m", "dialogue_warehouse", "build", "--verify", "--warehouse", "warehouse")
    assert built.returncode == 0, built.stdout[-2000:] + built.stderr
    return clone


def answer(clone: Path, query: str) -> list[dict[str, Any]]:
    asked = run(clone, "-m", "dialogue_warehouse", "sql", "--json", "--warehouse", "warehouse", query)
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


def shown(clone: Path, key: str) -> str:
    asked = run(clone, "-m", "dialogue_warehouse", "show", "--warehouse", "warehouse", key)
    assert asked.returncode == 0, asked.stderr
    return asked.stdout


def deals(clone: Path, kind: str) -> list[dict[str, Any]]:
    """Return the negotiations of the sample from which the corpus of a kind of goal was built."""
    folder = clone / "warehouse/sample" / CORPUS_OF[kind]
    parts = [(folder / f"{part}.jsonl").read_text(encoding="utf-8") for part in ("train", "dev", "test")]
    return [json.loads(line) for part in parts for line in part.splitlines()]


def taken(deal: dict[str, Any]) -> list[dict[str, int]]:
    """Return what the people of a negotiation take, in order."""
    return [event["takes"] for event in deal["events"] if event["takes"] is not None]


@pytest.mark.timeout(1800)
def test_every_check_of_the_made_up_corpus_passes(clone: Path) -> None:
    checked = run(clone, "-m", "dialogue_warehouse", "check-corpus", MODEL, **IN_ONE_PROCESS)
    found = steps(checked.stdout)
    assert found.pop("documents") == "1 to do"  # it is made up, so that there is no document
    assert set(found.values()) == {"ok"}, checked.stdout[-4000:]
    quickly, slowly = map(int, re.findall(r"(\d+) passed", checked.stdout))
    assert quickly > 50
    assert slowly > 100


def test_each_kind_is_published(of_each_kind: Path) -> None:
    kinds = answer(of_each_kind, "select corpus_id, goal_kind from core.dim_corpora where corpus_id like 'bargain%'")
    assert {row["goal_kind"]: row["corpus_id"] for row in kinds} == CORPUS_OF
    restored = answer(
        of_each_kind, "select count(*) as files, bool_and(is_equal) as is_equal from quality.restorations"
    )
    assert restored[0]["is_equal"] is True


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ("scenario_solvability", "find_shared_item"),
        ("outcome_factors", "find_shared_item"),
        ("guideline_conformance", "follow_guideline"),
    ],
)
def test_analysis_of_a_kind_counts_the_corpora_of_this_kind(of_each_kind: Path, table: str, kind: str) -> None:
    """All the corpora have items, selections and rewards; only the declared kind decides."""
    counted = answer(of_each_kind, f"select distinct corpus_id from analytics.{table}")
    declared = answer(of_each_kind, f"select corpus_id from core.dim_corpora where goal_kind = '{kind}'")
    assert {row["corpus_id"] for row in counted} == {row["corpus_id"] for row in declared} >= {CORPUS_OF[kind]}


def test_selection_is_shared_or_not_only_where_that_is_the_goal(of_each_kind: Path) -> None:
    judged = answer(
        of_each_kind,
        "select corpus_id, count(*) as selections, count(is_shared) as judged from analytics.selections "
        "where corpus_id like 'bargain%' group by corpus_id",
    )
    counts = {
        corpus_id: sum(len(taken(deal)) for deal in deals(of_each_kind, kind)) for kind, corpus_id in CORPUS_OF.items()
    }
    assert {row["corpus_id"]: row["selections"] for row in judged} == counts
    shared = CORPUS_OF["find_shared_item"]
    assert {row["corpus_id"]: row["judged"] for row in judged if row["judged"]} == {shared: counts[shared]}


def test_outcomes_of_each_kind_are_those_of_the_release(of_each_kind: Path) -> None:
    """The publisher's result of the dialogue comes first, whatever the goal is; a failed negotiation has its row."""
    counted = answer(
        of_each_kind,
        "select goal_kind, is_reached, sum(dialogue_count) as dialogues, min(lowest_reward) as lowest, "
        "max(highest_reward) as highest from analytics.goal_outcomes where corpus_id like 'bargain%' group by all",
    )
    found = {
        (row["goal_kind"], row["is_reached"]): (row["dialogues"], row["lowest"], row["highest"]) for row in counted
    }
    expected = {}
    for kind, agreed in itertools.product(GOAL_KINDS, (True, False)):
        rewards = [
            [person["reward"] for person in deal["people"]]
            for deal in deals(of_each_kind, kind)
            if deal["agreed"] is agreed
        ]
        expected[kind, agreed] = len(rewards), min(map(min, rewards)), max(map(max, rewards))
    assert found == expected
    assert expected["divide_items", False][1:] == (0, 0)


def test_numbers_of_items_add_up_to_the_rewards(of_each_kind: Path) -> None:
    """Core alone is enough: the points of the items that a person takes are the person's reward."""
    (row,) = answer(
        of_each_kind,
        """
        with
        points as (
            select cells.dialogue_key, cells.agent, names.value as item, cells.integer_value as points
            from core.fct_knowledge_items as cells
            inner join core.fct_knowledge_items as names
                on cells.dialogue_key = names.dialogue_key and cells.agent = names.agent
                and cells.item_index = names.item_index and names.attribute = 'name'
            where cells.corpus_id = 'bargain' and cells.attribute = 'points'
        ),
        earned as (
            select slots.dialogue_key, turns.source_speaker, sum(slots.integer_value * points.points) as points
            from core.fct_slots as slots
            inner join core.fct_turns as turns on slots.turn_key = turns.turn_key
            inner join points
                on slots.dialogue_key = points.dialogue_key and turns.source_speaker = points.agent
                and slots.slot_name = points.item
            group by all
        )
        select count(*) as people, count(*) filter (where people.reward = coalesce(earned.points, 0)) as equal
        from core.dim_participants as people
        left join earned
            on people.dialogue_key = earned.dialogue_key and people.source_speaker = earned.source_speaker
        where people.corpus_id = 'bargain'
        """,
    )
    assert row["people"] == row["equal"] == 2 * len(deals(of_each_kind, "divide_items"))


@pytest.mark.parametrize("kind", GOAL_KINDS)
def test_show_says_who_gets_what_or_what_is_shared(of_each_kind: Path, kind: str) -> None:
    deal = next(deal for deal in deals(of_each_kind, kind) if deal["id"] == "train-0")
    text = shown(of_each_kind, f"{CORPUS_OF[kind]}/train/train-0")
    rewards = ", ".join(f"{agent}: {person['reward']:g}" for agent, person in enumerate(deal["people"]))
    assert re.search(rf"^reward +1 \({rewards}\)$", text, flags=re.M)
    assert ("shared one" in text) == (kind == "find_shared_item")
    lines = [re.sub(" +", " ", line).strip() for line in text.splitlines()]
    for items in taken(deal):
        counts = "gets " + ", ".join(f"{number} {item}" for item, number in items.items())
        pairs = "selects " + ", ".join(f"{item}={number}" for item, number in items.items())
        assert (counts in lines) == (kind == "divide_items")
        assert any(line.startswith(pairs) for line in lines) == (kind != "divide_items")
