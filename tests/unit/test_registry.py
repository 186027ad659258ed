"""A room that contradicts itself is refused, in one line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pipelines.corpora import registry

CORPUS = registry.corpus_ids()[0]


def load_edited(folder: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, replacement: str) -> None:
    """Read a copy of a room, a line of its source.toml replaced."""
    room = shutil.copytree(registry.room_folder(CORPUS), folder / CORPUS)
    source = room / "source.toml"
    edited, count = re.subn(pattern, replacement, source.read_text(encoding="utf-8"), count=1, flags=re.M)
    assert count == 1
    source.write_text(edited, encoding="utf-8")
    monkeypatch.setattr(registry, "room_folder", lambda _: room)
    registry.load_corpus.__wrapped__(CORPUS)


def test_copy_of_a_room_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_edited(tmp_path, monkeypatch, "^text_kind", "text_kind")


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        ('^text_kind = ".*"\n', "", "text_kind"),
        ('^corpus_id = ".*"', 'corpus_id = "other"', "corpus_id is 'other'"),
        ('^license = ".*"', 'licence = "none"', "licence"),
    ],
)
def test_fact_that_is_wrong_or_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, replacement: str, message: str
) -> None:
    with pytest.raises(registry.RoomError, match=rf"^{CORPUS}/source\.toml: .*{message}"):
        load_edited(tmp_path, monkeypatch, pattern, replacement)
