"""Similarity of texts: the numbers of fuzzywuzzy, in both of its ways."""

from __future__ import annotations

import random

import pytest

from dialogue_warehouse.scoring.similarity import prepared, similarities


@pytest.mark.parametrize(
    ("gold", "predicted", "difflib", "levenshtein"),
    [
        ("San Jose", "san jose", 1, 1),
        ("San Jose", "Jose, San!", 1, 1),
        ("?!", "…", 1, 1),
        ("?!", "a", 0, 0),
        ("café", "caf", 1, 1),
        ("naïve", "nave", 1, 1),
        ("Straße", "strae", 1, 1),
        ("東京", "東", 0.67, 0.67),
        ("a_b", "a b", 0.67, 0.67),
        ("half past 11 in the morning", "h", 0.07, 0.07),
        ("abcd", "bcda", 0.75, 0.75),
        ("6 pm", "7 pm", 0.75, 0.75),
        ("tide", "diet", 0.25, 0.5),
        ("diet", "tide", 0.5, 0.5),
    ],
)
def test_similarity_is_that_of_fuzzywuzzy(gold: str, predicted: str, difflib: float, levenshtein: float) -> None:
    assert similarities(gold, predicted) == (difflib, levenshtein)


def common(one: str, other: str) -> int:
    """Return the length of the longest common subsequence, by the textbook's table."""
    lengths = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for row, letter in enumerate(one):
        for column, against in enumerate(other):
            lengths[row + 1][column + 1] = (
                lengths[row][column] + 1
                if letter == against
                else max(lengths[row][column + 1], lengths[row + 1][column])
            )
    return lengths[-1][-1]


def test_levenshtein_is_the_share_of_the_longest_common_subsequence() -> None:
    draw = random.Random(1)
    for _ in range(500):
        gold, predicted = ("".join(draw.choice("ab c") for _ in range(draw.randint(1, 90))) for _ in range(2))
        one, other = prepared(gold), prepared(predicted)
        if one and other:
            letters = len(one) + len(other)
            expected = round(100 * (1 - (letters - 2 * common(one, other)) / letters)) / 100
            assert similarities(gold, predicted)[1] == expected


def test_difflib_ignores_popular_letters_of_long_texts() -> None:
    for size, difflib in ((99, 0.99), (100, 0.0)):
        assert similarities("ab" * size, "ba" * size) == (difflib, round(100 * (2 * size - 1) / (2 * size)) / 100)
