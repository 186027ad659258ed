"""The generated Taskmaster-1 release: its rules, and the awkward cases of the real one."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

from pipelines.corpora.taskmaster1 import simulate as taskmaster1


def test_taskmaster_splits_are_ranges_of_the_sorted_ids():
    members = [taskmaster1.split_members(split, 1, seed=0) for split in ("dev", "test", "train")]
    assert [len(ids) for ids in members] == [770, 770, 6_168]
    joined = [identifier for ids in members for identifier in ids]
    assert joined == sorted(set(joined))


def dialogs(generated_sample: Path, name: str) -> list[dict]:
    return json.loads((generated_sample / "taskmaster1" / f"{name}-dialogs.json").read_bytes())


def segments_of(dialog_list: list[dict]) -> list[tuple[str, list[dict]]]:
    utterances = [utterance for dialog in dialog_list for utterance in dialog["utterances"]]
    return [(utterance["text"], utterance["segments"]) for utterance in utterances if "segments" in utterance]


def test_taskmaster_segments_are_pieces_of_their_utterances_in_code_points(generated_sample):
    annotated = segments_of(dialogs(generated_sample, "self") + dialogs(generated_sample, "woz"))
    for text, segments in annotated:
        assert segments
        assert all(text[segment["start_index"] : segment["end_index"]] == segment["text"] != "" for segment in segments)
    assert any(not text.isascii() for text, _ in annotated)


def test_taskmaster_sample_has_the_awkward_annotations(generated_sample):
    annotated = segments_of(dialogs(generated_sample, "self") + dialogs(generated_sample, "woz"))
    names = [[note["name"] for note in segment["annotations"]] for _, segments in annotated for segment in segments]
    assert any(len(pair) == 2 and pair[0] == pair[1] for pair in names)
    assert any(a["end_index"] > b["start_index"] for _, segments in annotated for a, b in pairwise(segments))
    domains = {domain.id: domain for domain in taskmaster1.DOMAINS}
    forms = Counter()
    for name in (name for pair in names for name in pair):
        domain, _, rest = name.partition(".")
        label = rest.removesuffix(".accept").removesuffix(".reject")
        kind = "transaction" if rest in ("accept", "reject") else "bare" if not rest else "label"
        forms["vertical" if label == domains[domain].vertical else kind] += 1
        assert kind != "label" or label in (*domains[domain].labels, domains[domain].vertical)
    assert set(forms) == {"label", "bare", "transaction", "vertical"}


def test_taskmaster_sample_has_the_awkward_dialogs(generated_sample):
    woz = [[utterance["speaker"] for utterance in dialog["utterances"]] for dialog in dialogs(generated_sample, "woz")]
    assert [] in woz
    assert any(len(set(speakers)) == 1 for speakers in woz)
    assert sum(speaker not in ("USER", "ASSISTANT") for speakers in woz for speaker in speakers) == 1
    assert any(first == second for speakers in woz for first, second in pairwise(speakers))
    texts = [utterance["text"] for dialog in dialogs(generated_sample, "woz") for utterance in dialog["utterances"]]
    assert "(deleted)" in texts
    written = [
        [utterance["speaker"] for utterance in dialog["utterances"]] for dialog in dialogs(generated_sample, "self")
    ]
    assert all(speakers[::2] == ["USER"] * len(speakers[::2]) for speakers in written)
    assert all(speakers[1::2] == ["ASSISTANT"] * len(speakers[1::2]) for speakers in written)
