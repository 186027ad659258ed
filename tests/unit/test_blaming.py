"""What a failure shows says whose rows failed, or nothing does."""

from __future__ import annotations

from pipelines.building import blaming


def test_rows_name_their_corpus_by_key_file_or_column() -> None:
    rows = [("unknown word", "abcd/train/4711", 1), ("sgd, dialogue, train", None), ("bbai",)]
    assert blaming.of_rows(rows) == {"abcd", "sgd", "bbai"}
    assert blaming.of_rows([*rows, ("unknown word", "abcdef/1", 1)]) == set()
    assert blaming.of_rows([]) == set()
    assert blaming.named(("staging", "mutualfriends", "friends")) == {"mutualfriends"}


def test_one_failure_without_a_corpus_leaves_nobody_at_fault() -> None:
    first, second, other = ("one", {"sgd", "abcd"}), ("two", {"abcd"}), ("three", set())
    assert blaming.at_fault([first, second]) == {"abcd": "one", "sgd": "one"}
    assert blaming.at_fault([first, other]) == {}
    assert blaming.at_fault([]) == {}
