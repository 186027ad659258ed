"""Which corpora a failed check is about, as far as what it shows says so.

A model of one corpus lies in a folder of that name, and every key and every file of a corpus begins with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.corpora.registry import corpus_ids

FIRST = re.compile("[/,]")
"""What ends the first part of a key, or of several columns that are a key together."""


def named(words: Iterable[str]) -> set[str]:
    """The corpora among these words."""
    return set(words) & set(corpus_ids())


def of_rows(rows: Iterable[Sequence[Any]]) -> set[str]:
    """The corpora of failing rows; none as soon as there is a row that names none."""
    found: set[str] = set()
    for row in rows:
        about = named(FIRST.split(value)[0] for value in row if isinstance(value, str))
        if not about:
            return set()
        found |= about
    return found


def at_fault(described: Iterable[tuple[str, set[str]]]) -> dict[str, str]:
    """Each corpus at fault with the first line about it; none as soon as there is a failure that is about no corpus."""
    found: dict[str, str] = {}
    for line, corpora in described:
        if not corpora:
            return {}
        for corpus_id in sorted(corpora):
            found.setdefault(corpus_id, line)
    return found
