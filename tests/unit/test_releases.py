"""Releases at the source: what is there, in the form asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.corpora import registry
from pipelines.errors import InputError
from pipelines.intake import landing, releases
from pipelines.intake.records import LandingError


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


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda path: path.mkdir(), "not a regular file"),
        (os.mkfifo, "not a regular file"),
        (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links"),
        (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
    ],
    ids=["folder", "pipe", "ring", "nowhere"],
)
def test_what_stands_in_the_place_of_a_file_is_refused_and_not_passed_over(
    tmp_path: Path, made: Callable[[Path], object], told: str
) -> None:
    """A build waited for the other end of a pipe, or took the file for missing."""
    corpus = registry.load_corpora()[0]
    listed = next(file for file in corpus.files if corpus.entity_of(file.path) and not file.is_documentation)
    place = tmp_path / corpus.corpus_id / listed.path
    place.parent.mkdir(parents=True)
    made(place)
    release = releases.find_release(corpus, tmp_path)
    assert [path for _, path in release.files] == [listed.path]
    assert listed not in release.missing
    with pytest.raises(LandingError, match=f"^{corpus.corpus_id}/{listed.path}: {told}$"):
        landing.identify(corpus, release.folder, listed.path)
