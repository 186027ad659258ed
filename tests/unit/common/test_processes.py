"""Items that several processes take in turn."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import CLONE

SHARED = """
import os, time
from dialogue_warehouse.common import processes

begun = os.getpid()

def work(items):
    done = {}
    for item in items:
        time.sleep(0.01)
        if item == WRONG and os.getpid() != begun:
            raise LookupError(f"{item} is not here")
        if WRONG is not None and os.getpid() == begun and not done:
            time.sleep(3)  # the other one gets there first
        done[item] = os.getpid()
    return done

assert processes.can_fork()
done = processes.in_turn(work, range(COUNT), PROCESSES)
assert list(sorted(done)) == list(range(COUNT)), done
print(len(done), len(set(done.values())), begun in done.values())
"""


def shared(count: int, processes: int, wrong: int | None = None) -> subprocess.CompletedProcess[str]:
    """Share this number of items in a separate process, because a worker of the tests has threads."""
    given = f"COUNT, PROCESSES, WRONG = {count}, {processes}, {wrong}\n"
    return subprocess.run(
        [sys.executable, "-c", given + SHARED], cwd=CLONE, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("count", "processes", "reported"),
    [(40, 2, "40 2 True"), (40, 1, "40 1 True"), (1, 4, "1 1 True"), (0, 2, "0 0 False")],
)
def test_each_item_is_done_once(count: int, processes: int, reported: str) -> None:
    ran = shared(count, processes)
    assert (ran.stdout.strip(), ran.stderr, ran.returncode) == (reported, "", 0)


def test_error_of_a_forked_process_is_raised_by_its_parent() -> None:
    ran = shared(40, 2, wrong=3)
    assert ran.returncode == 1
    assert ran.stderr.strip().endswith("LookupError: 3 is not here")
