"""The Python API in several processes: each opens its own warehouse."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from pathlib import Path

import pytest

import dialogue_warehouse as dw


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
