"""The generated ABCD release: its rules, and the awkward cases of the real one."""

from __future__ import annotations

import gzip
import json

import pytest

from pipelines.corpora.abcd import simulate as abcd
from pipelines.corpora.abcd import simulate_documents


@pytest.fixture(scope="module")
def conversations(generated_sample) -> list[dict]:
    release = json.loads(gzip.decompress((generated_sample / "abcd" / abcd.CONVERSATION_FILE).read_bytes()))
    assert list(release) == ["train", "dev", "test"]
    return [conversation for split in release.values() for conversation in split]


def test_abcd_agent_turns_rank_their_own_text_among_a_hundred_candidates(generated_sample, conversations):
    utterances = json.loads((generated_sample / "abcd" / "utterances.json").read_bytes())
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
