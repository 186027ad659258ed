"""An error about the input of a user has one line for each thing that it reports."""

from __future__ import annotations

import errno
import pickle

import duckdb
import pytest

from dialogue_warehouse.cli import main
from dialogue_warehouse.errors import LONGEST_QUOTE, NO_QUOTA, NO_SPACE, InputError, is_full, quoted, words_of_full
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


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, NO_SPACE, "file"), NO_SPACE),
        (OSError(errno.EDQUOT, NO_QUOTA, "file"), NO_QUOTA),
        (duckdb.IOException(f'Could not write file "file": {NO_QUOTA}'), NO_QUOTA),
        (duckdb.IOException(f'Could not write file "file": {NO_SPACE}'), NO_SPACE),
    ],
)
def test_quota_that_is_used_up_is_a_full_disk(error: Exception, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: it counted as bad input of the user, with status 2, and a build did not say how much it needs."""
    assert is_full(error)
    assert words_of_full(error) == words
    assert main._status_of(error) == 1
    assert capsys.readouterr().err.endswith(f": {words}\n")
