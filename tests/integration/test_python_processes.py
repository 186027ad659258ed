"""The Python API in several processes: each opens its own warehouse."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import dialogue_warehouse as dw

FORKED = """
import os, sys
import dialogue_warehouse as dw

warehouse = dw.open(sys.argv[1])
selected = warehouse.dialogues()
turns = len(selected[0].turns)
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert len(selected[0].turns) == turns
    sys.exit()
for use in (lambda: selected[0], warehouse.tables, lambda: list(selected.examples()), warehouse.refresh):
    try:
        use()
    except dw.InputError as error:
        print(error)
inherited, warehouse = warehouse, dw.open(sys.argv[1])
inherited.close()
selected = inherited = None
assert len(warehouse.dialogues()[0].turns) == turns
warehouse.close()
"""


FORKED_FROM_A_FILE = """
import os, sys
import dialogue_warehouse as dw

warehouse = dw.open(sys.argv[1])
child = os.fork()
if not child:
    warehouse = None
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
assert list(warehouse.dialogues(corpus="mutualfriends")[:1].examples())
assert not warehouse.refresh()
"""


def turns_of(place: Path, key: str) -> int:
    with dw.open(place) as warehouse:
        return len(warehouse.dialogue(key).turns)


def test_each_process_opens_its_own_warehouse(sample_folder: Path) -> None:
    with dw.open(sample_folder) as warehouse:
        dialogue = warehouse.dialogues()[0]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(turns_of, (sample_folder, dialogue.key)) == len(dialogue.turns)


def test_selected_dialogues_can_be_copied_but_not_pickled(sample_folder: Path) -> None:
    with dw.open(sample_folder) as warehouse:
        selected = warehouse.dialogues(split="test")
        assert copy.copy(selected).keys == selected.keys
        for copied in (pickle.dumps, copy.deepcopy):
            with pytest.raises(
                TypeError, match=r"^selected dialogues cannot be pickled, .*: pass their `keys` on, and open "
            ):
                copied(selected)


def test_a_forked_process_opens_its_own_warehouse_and_ends(sample_folder: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKED, sample_folder], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    refused = "another process has opened the warehouse"
    assert run.stdout.splitlines() == [
        f"{refused} of these dialogues; open it again in this one",
        *3 * [f"{sample_folder}: {refused}; open it again in this one"],
    ]


def test_end_of_a_forked_process_leaves_the_opened_file_to_its_parent(sample_folder: Path) -> None:
    """Regression: the forked process removed the temporary folder, and the parent had no warehouse there."""
    database = next((sample_folder / "builds").glob("*.duckdb"))
    run = subprocess.run(
        [sys.executable, "-c", FORKED_FROM_A_FILE, database], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
