"""An error about the input of a user has one line for each thing that it reports."""

from __future__ import annotations

import pickle

import pytest

from dialogue_warehouse.errors import LONGEST_QUOTE, InputError, quoted
from dialogue_warehouse.reading.findings import TraceError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("no file"), "no file"),
        (InputError("no file 'a\nb'"), r"no file 'a\nb'"),
        (InputError("no file 'a\r\nb\u2028c'"), r"no file 'a\nb\nc'"),
        (InputError("sgd: 'a\nb' is damaged", "abcd: is damaged"), "sgd: 'a\\nb' is damaged\nabcd: is damaged"),
        (TraceError("no row has the key 'a\nb'", near="a"), r"no row has the key 'a\nb'"),
    ],
)
def test_line_end_in_a_quoted_name_is_escaped(error: InputError, text: str) -> None:
    assert str(error) == text
    assert str(pickle.loads(pickle.dumps(error))) == text


def test_long_value_is_cut_in_its_middle() -> None:
    """Regression: a key of 50,000 characters was repeated whole in the errors and notices of a build."""
    assert quoted("x" * LONGEST_QUOTE) == "x" * LONGEST_QUOTE
    assert quoted(7) == "7"
    half = LONGEST_QUOTE // 2
    assert quoted("a" * 50_000 + "b" * 50_000) == f"{'a' * half}…{'b' * half}"
