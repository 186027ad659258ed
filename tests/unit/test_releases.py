"""Releases at the source: what is there, in the form asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.corpora import registry
from pipelines.errors import InputError
from pipelines.intake import releases


def test_table_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    corpus, form = registry.load_corpus("mutualfriends"), registry.load_form("mutualfriends", "huggingface")
    folder = tmp_path / "mutual_friends" / "plain_text"
    folder.mkdir(parents=True)
    (folder / "train.parquet").touch()
    found = releases.find_form(corpus, tmp_path, form)
    assert [path for _, path in found.files] == ["mutual_friends/plain_text/train.parquet"]
    assert [file.path for file in found.missing] == [
        f"mutual_friends/plain_text/{split}.parquet" for split in ("validation", "test")
    ]
    (folder / "train.jsonl").touch()
    with pytest.raises(InputError, match=r"train\.jsonl is there too, give one of them"):
        releases.find_form(corpus, tmp_path, form)


def test_corpus_without_the_form_has_no_files(tmp_path: Path) -> None:
    assert registry.load_form("bbai", "huggingface") is None
    assert releases.find_form(registry.load_corpus("bbai"), tmp_path, None).files == ()
