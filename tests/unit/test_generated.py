"""The mark of a generated release."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases import source_tree
from dialogue_warehouse.releases.source_tree import MARKER, Marker


def test_marker_counts_when_the_release_is_complete(tmp_path: Path) -> None:
    source_tree.begin_marker(tmp_path, 0.5, 7)
    assert (source_tree.is_generated(tmp_path), source_tree.holds_generated(tmp_path)) == (False, True)
    assert source_tree.read_marker(tmp_path) is None
    source_tree.finish_marker(tmp_path)
    assert (source_tree.is_generated(tmp_path), source_tree.holds_generated(tmp_path)) == (True, True)
    assert source_tree.read_marker(tmp_path) == Marker(0.5, 7)


def test_folder_of_real_files_has_none(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text("[]")
    assert not source_tree.holds_generated(tmp_path)
    assert source_tree.read_marker(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "{}", '{"scale": "one", "seed": 0}', "[]"])
def test_damaged_marker_is_one_line_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(InputError) as error:
        source_tree.read_marker(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / MARKER}: is not the scale and seed of a generated release: ")
    assert "\n" not in str(error.value)
