"""The mark of a generated release."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.errors import InputError
from pipelines.intake import generated
from pipelines.intake.generated import MARKER, Marker


def test_marker_counts_when_the_release_is_complete(tmp_path: Path) -> None:
    generated.begin_marker(tmp_path, 0.5, 7)
    assert (generated.is_generated(tmp_path), generated.holds_generated(tmp_path)) == (False, True)
    assert generated.read_marker(tmp_path) is None
    generated.finish_marker(tmp_path)
    assert (generated.is_generated(tmp_path), generated.holds_generated(tmp_path)) == (True, True)
    assert generated.read_marker(tmp_path) == Marker(0.5, 7)


def test_folder_of_real_files_has_none(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text("[]")
    assert not generated.holds_generated(tmp_path)
    assert generated.read_marker(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "{}", '{"scale": "one", "seed": 0}', "[]"])
def test_damaged_marker_is_one_line_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / MARKER).write_text(text)
    with pytest.raises(InputError) as error:
        generated.read_marker(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / MARKER}: is not the scale and seed of a generated release: ")
    assert "\n" not in str(error.value)
