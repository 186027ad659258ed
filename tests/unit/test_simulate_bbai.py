"""The generated BBAI release: its questions, and the awkward cases of the real one."""

from __future__ import annotations

import json

from pipelines.corpora.bbai import simulate as bbai
from pipelines.corpora.generation import scaled


def test_bbai_questions_are_unique_and_in_blocks_of_one_domain():
    for scale in (0.01, 1, 5):
        per_domain = [scaled(part.questions_per_domain, scale) for part in bbai.PARTS.values()]
        first = [0, per_domain[0]]
        asked = [
            bbai.questions(part, [number % 2 == 0 for number in range(37 * count)], start)
            for part, count, start in zip(bbai.PARTS, per_domain, first, strict=True)
        ]
        texts = [text for part in asked for _, text in part]
        assert len(set(texts)) == len(texts) == 37 * sum(per_domain)
        assert [domain for domain, _ in asked[1]][:: per_domain[1]] == list(bbai.TOPICS)


def test_bbai_sample_has_the_awkward_responses_and_characters(generated_sample):
    data = (generated_sample / "bbai" / "test.json").read_bytes()
    assert data.isascii()
    assert rb"\u2019" in data
    assert rb"\u00a3" in data
    questions = json.loads(data)
    first = next(iter(questions.values()))
    assert list(first)[:2] == ["human_vote", "alexa"]
    assert list(first)[-3:] == ["covid", "intent", "human"]
    responses = [record[agent] for record in questions.values() for agent in bbai.AGENTS]
    assert "" in responses
    assert any("\n" in response for response in responses)
    assert "sports" in json.loads((generated_sample / "bbai" / "descriptions.json").read_bytes())


def test_bbai_classifier_repeats_the_answerable_questions(generated_sample):
    for part in ("train", "test"):
        questions = json.loads((generated_sample / "bbai" / f"{part}.json").read_bytes())
        examples = json.loads((generated_sample / "bbai" / f"{part}_classifier.json").read_bytes())
        assert len({record["intent"] for record in questions.values()}) == 37
        answerable = [[text, record["human"]] for text, record in questions.items() if "none" not in record["human"]]
        assert examples == answerable
