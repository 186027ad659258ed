"""What a failure shows says whose rows failed, or nothing does."""

from __future__ import annotations

from pipelines.building import fallback


def test_rows_name_their_corpus_by_key_file_or_column() -> None:
    rows = [("unknown word", "abcd/train/4711", 1), ("sgd, dialogue, train", None), ("bbai",)]
    assert fallback.of_rows(rows) == {"abcd", "sgd", "bbai"}
    assert fallback.of_rows([*rows, ("unknown word", "abcdef/1", 1)]) == set()
    assert fallback.of_rows([]) == set()
    assert fallback.named(("staging", "mutualfriends", "friends")) == {"mutualfriends"}


def test_one_failure_without_a_corpus_leaves_nobody_at_fault() -> None:
    first, second, other = ("one", {"sgd", "abcd"}), ("two", {"abcd"}), ("three", set())
    assert fallback.at_fault([first, second]) == {"abcd": "one", "sgd": "one"}
    assert fallback.at_fault([first, other]) == {}
    assert fallback.at_fault([]) == {}
