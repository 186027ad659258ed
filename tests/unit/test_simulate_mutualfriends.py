"""The generated MutualFriends release: its rules, and the awkward cases of the real one."""

from __future__ import annotations

import json
from collections import Counter

import pytest


@pytest.fixture(scope="module")
def friends(generated_sample) -> list[dict]:
    parts = ("train", "dev", "test")
    return [
        record
        for part in parts
        for record in json.loads((generated_sample / f"mutualfriends/{part}.json").read_bytes())
    ]


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
