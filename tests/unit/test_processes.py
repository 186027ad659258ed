"""What a process of ours sets for itself."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest

from dialogue_warehouse.common.processes import with_a_roomy_stack

CALLS = 300
DEPTHS = 250
"""More than the frames that one piece of the stack has place for."""


def descend(depth: int, call: Callable[[], None]) -> None:
    """Call from so many frames further down, again and again."""
    if depth:
        return descend(depth - 1, call)
    for _ in range(CALLS):
        call()
    return None


def faults() -> int:
    """Pages that this process was given while it called from every depth, of which one is at a border."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for depth in range(DEPTHS):
        descend(depth, lambda: None)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_no_memory_is_mapped_at_each_call() -> None:
    usual = faults()
    assert usual > CALLS / 2, "Python keeps the piece now: there is no need for a roomy stack"
    assert with_a_roomy_stack(faults) < usual / 3


def test_what_is_called_returns_and_raises_as_ever() -> None:
    assert with_a_roomy_stack(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        with_a_roomy_stack(lambda: 1 // 0)
