"""Releases at the source: the files that exist, in the requested form."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.releases import finding
from dialogue_warehouse.releases.records import LandingError
from pipelines.ingestion import landing


def form_of(tmp_path: Path, *paths: str, corpus_id: str = "mutualfriends") -> finding.Release:
    """Write empty files below a source and look for the Hugging Face form of a corpus there."""
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    return finding.find_form(registry.load_corpus(corpus_id), tmp_path, registry.load_form(corpus_id, "huggingface"))


CONFIG, DATASET = "mutual_friends/plain_text", "mutual_friends"
LAYOUTS = [
    [f"{CONFIG}/train.parquet"],
    [f"{CONFIG}/train.jsonl"],
    [f"{CONFIG}/train/0000.parquet"],
    [f"{CONFIG}/train/0000.parquet", f"{CONFIG}/train/0001.parquet"],
    [f"{CONFIG}/partial-train/0000.parquet"],
    [f"{CONFIG}/train-00000-of-00001.parquet"],
    [f"{CONFIG}/train-{shard:05}-of-00011.parquet" for shard in range(11)],
    [f"{CONFIG}/train-00000-of-00001-0123456789abcdef.parquet"],
    [f"{CONFIG}/mutual_friends-train.parquet"],
    [f"{CONFIG}/mutual_friends-train-00000-of-00002.jsonl", f"{CONFIG}/mutual_friends-train-00001-of-00002.jsonl"],
    [f"{DATASET}/data/train-00000-of-00001.parquet"],
    [f"{DATASET}/default/train/0000.parquet"],
    [f"{DATASET}/train-00000-of-00001.parquet"],
]


@pytest.mark.parametrize("paths", LAYOUTS, ids=lambda paths: paths[-1])
def test_form_is_found_in_every_layout_of_the_hub(tmp_path: Path, paths: list[str]) -> None:
    """The Hub converts to `<split>/0000.parquet`, and push_to_hub writes `<split>-00000-of-00002.parquet`.

    https://github.com/huggingface/dataset-viewer/issues/1463
    """
    found = form_of(tmp_path, *reversed(paths), f"{CONFIG}/validation.parquet")
    assert [path for _, path in found.files] == [*paths, f"{CONFIG}/validation.parquet"]
    assert [file.path for file in found.missing] == [f"{CONFIG}/test.parquet"]
    assert found.unread == ()
    form = found.form
    assert form is not None
    assert all(form.place(path) == (form.tables[0], "train") for path in paths)
    losses = {form.losses(path)[len(form.tables[0].losses) :] for path in paths}
    cut = (
        f"{CONFIG}/partial-train/*.parquet has only the first rows of train, because the Hub did not convert the others"
    )
    assert losses == {(cut,) if "partial-" in paths[0] else ()}


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["train.parquet", "train.jsonl"], "train.parquet: {0}/train.jsonl exists too; keep only one of them"),
        (["train.parquet", "train/0000.parquet"], "train.parquet: {0}/train/0000.parquet exists too; keep only one"),
        (
            ["train/0000.parquet", "partial-train/0000.parquet"],
            "partial-train/0000.parquet: {0}/train/0000.parquet exists",
        ),
        (
            ["train-00000-of-00001.parquet", "train/0000.parquet"],
            "00000-of-00001.parquet: {0}/train/0000.parquet exists",
        ),
        (["train-00000-of-00001.parquet", "../data/train-00000-of-00001.parquet"], "exists too; keep only one of them"),
        (["train-00000-of-00002.parquet", "train-00000-of-00001.parquet"], "00000-of-00002.parquet exists too"),
        (
            ["train-00000-of-00001-0123456789abcdef.parquet", "train-00000-of-00001.parquet"],
            "train-00000-of-00001.parquet exists too; keep only one of them",
        ),
        (
            ["train-00000-of-00003.parquet", "train-00002-of-00003.parquet"],
            "train-*-of-00003.parquet: only 2 of 3 shards exist, missing are 1; add all of them",
        ),
        (
            ["train-00000-of-00009.parquet"],
            "train-*-of-00009.parquet: only 1 of 9 shards exist, missing are 1, 2, 3, 4, 5,",
        ),
        (["train/0000.parquet", "train/0002.parquet"], "train/*.parquet: only 2 of 3 shards exist, missing are 1; add"),
        (["train-00002-of-00002.parquet"], "00002-of-00002.parquet: has a number beyond the 2 shards of the split"),
        (["train-00000-of-00000.parquet"], "00000-of-00000.parquet: has a number beyond the 0 shards of the split"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_repeated_or_incomplete_split_is_rejected(tmp_path: Path, paths: list[str], message: str) -> None:
    with pytest.raises(InputError, match=r"^mutualfriends/mutual_friends/") as caught:
        form_of(tmp_path, *(f"{CONFIG}/{path}" for path in paths))
    assert message.format(CONFIG) in str(caught.value)


def test_other_files_of_a_form_are_known(tmp_path: Path) -> None:
    others = ["dev.parquet", "train.parquet.part", "train-0-of-1.parquet", "train/part-0.parquet", "train.arrow"]
    found = form_of(tmp_path, *(f"{CONFIG}/{path}" for path in others), f"{CONFIG}/train/0000.parquet")
    assert [path for _, path in found.files] == [f"{CONFIG}/train/0000.parquet"]
    assert sorted(entry.path for entry in found.unread) == sorted(f"{CONFIG}/{path}" for path in others)


def test_folder_without_a_config_is_not_read_if_there_are_several(tmp_path: Path) -> None:
    """`data` is the only config of a dataset; if there are two tables, the folder may belong to either."""
    path = "schema_guided_dstc8/data/train-00000-of-00001.parquet"
    found = form_of(tmp_path, path, corpus_id="sgd")
    assert found.files == ()
    assert [entry.path for entry in found.unread] == [path]


def test_corpus_without_the_form_has_no_files(tmp_path: Path) -> None:
    assert registry.load_form("bbai", "huggingface") is None
    assert finding.find_form(registry.load_corpus("bbai"), tmp_path, None).files == ()


@pytest.mark.parametrize(
    ("made", "reported"),
    [
        (lambda path: path.mkdir(), "is a folder, not a file: put the published file in its place"),
        (os.mkfifo, "is a pipe or a device, not a regular file: put the published file in its place"),
        (
            lambda path: path.symlink_to(path.name),
            "is a link that leads back to itself: put the published file in its place",
        ),
        (
            lambda path: path.symlink_to("nowhere"),
            "is a broken link; mount the disk that it leads to, or put the file in its place",
        ),
    ],
    ids=["folder", "pipe", "ring", "nowhere"],
)
def test_other_object_at_the_path_of_a_file_is_rejected(
    tmp_path: Path, made: Callable[[Path], object], reported: str
) -> None:
    """Regression: a build waited for the other end of a pipe, took the file for missing, or did not say what to do."""
    corpus = registry.load_corpora()[0]
    listed = next(file for file in corpus.files if corpus.entity_of(file.path) and not file.is_documentation)
    place = tmp_path / corpus.corpus_id / listed.path
    place.parent.mkdir(parents=True)
    made(place)
    release = finding.find_release(corpus, tmp_path)
    assert [path for _, path in release.files] == [listed.path]
    assert listed not in release.missing
    with pytest.raises(LandingError, match=f"^{corpus.corpus_id}/{listed.path}: {reported}$"):
        landing.identify(corpus, release.folder, listed.path)
