"""Shares and scaled counts, from which the simulators are built."""

from __future__ import annotations

import pytest

from dialogue_warehouse.corpora.generation import apportion, scaled


@pytest.mark.parametrize(
    ("total", "weights", "minimum", "shares"),
    [
        (10, (1, 1), 0, [5, 5]),
        (10, (2, 1, 0), 0, [7, 3, 0]),
        (10, (98, 1, 1), 2, [6, 2, 2]),
        (0, (1, 2), 0, [0, 0]),
    ],
)
def test_shares_add_up_and_keep_their_minimum(total, weights, minimum, shares):
    assert apportion(total, weights, minimum) == shares


def test_a_count_never_vanishes():
    assert [scaled(100, 0.5), scaled(100, 0.001), scaled(3, 0.1, minimum=2)] == [50, 1, 2]
