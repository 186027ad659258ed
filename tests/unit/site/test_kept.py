"""Values are made once, and a thread that makes one does not block a thread that needs another."""

from __future__ import annotations

import threading

import pytest

from dialogue_warehouse.site.kept import Kept

PATIENCE = 30.0


def test_value_is_made_once_by_the_first_of_many_threads() -> None:
    kept, made, answers = Kept(), list[int](), list[int]()
    is_waiting = threading.Event()

    def make() -> int:
        made.append(1)
        assert is_waiting.wait(PATIENCE)
        return 7

    threads = [threading.Thread(target=lambda: answers.append(kept.get("one", make))) for _ in range(5)]
    for thread in threads:
        thread.start()
    is_waiting.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert (made, answers) == ([1], [7] * 5)


def test_other_values_are_given_while_one_is_made() -> None:
    kept, is_made = Kept(), threading.Event()
    slow = threading.Thread(target=lambda: kept.get("slow", lambda: is_made.wait(PATIENCE)))
    slow.start()
    assert kept.get("quick", lambda: 1) == 1
    assert slow.is_alive()
    is_made.set()
    slow.join(PATIENCE)
    assert kept.get("slow", lambda: pytest.fail("it was made before")) is True


def test_value_that_failed_is_made_by_the_next_who_asks() -> None:
    kept = Kept()
    with pytest.raises(ZeroDivisionError):
        kept.get("one", lambda: 1 // 0)
    assert kept.get("one", lambda: 2) == 2


def test_value_that_was_not_read_for_the_longest_time_is_dropped() -> None:
    kept, made = Kept(most=2), list[str]()

    def get(name: str) -> None:
        kept.get(name, lambda: made.append(name))

    for name in ("a", "b", "a", "c", "a", "b"):
        get(name)
    assert made == ["a", "b", "c", "b"]
