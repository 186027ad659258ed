"""The similarity of two texts, from 0 to 1, exactly as `token_sort_ratio` of fuzzywuzzy says it.

fuzzywuzzy gives different numbers with and without its optional library: with it, the longest common subsequence
counts (`levenshtein`); without it, the matching blocks of Python's difflib (`difflib`). Both are here, without either
library.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

LATIN_1 = dict.fromkeys(range(128, 256))
"""The characters that fuzzywuzzy deletes; it keeps those beyond."""
NOT_A_LETTER = re.compile(r"\W")


def prepared(text: str) -> str:
    """Return the words of a text in lower case, sorted."""
    return " ".join(sorted(NOT_A_LETTER.sub(" ", text.translate(LATIN_1)).lower().split()))


def similarities(gold: str, predicted: str) -> tuple[float, float]:
    """Compare two texts in both ways: difflib, levenshtein. For difflib the order of the texts matters."""
    one, other = prepared(gold), prepared(predicted)
    return _similarity(one, other, _blocks), _similarity(one, other, _subsequence)


def _similarity(one: str, other: str, ratio: Callable[[str, str], float]) -> float:
    if one == other:
        return 1.0
    return round(100 * ratio(one, other)) / 100


def _blocks(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()


def _subsequence(one: str, other: str) -> float:
    """Return the share of the letters that are in the longest common subsequence."""
    letters = len(one) + len(other)
    return 1 - (letters - 2 * _common(one, other)) / letters


def _common(one: str, other: str) -> int:
    """Return the length of the longest common subsequence; a bit is a letter of the first text."""
    places: dict[str, int] = {}
    for place, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << place
    whole = (1 << len(one)) - 1
    row = whole
    for letter in other:
        matches = row & places.get(letter, 0)
        row = (row + matches) | (row - matches)
    return (~row & whole).bit_count()
