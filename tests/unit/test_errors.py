"""An error about the input of a user has one line for each thing that it reports."""

from __future__ import annotations

import pickle

import pytest

from dialogue_warehouse.errors import InputError
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
