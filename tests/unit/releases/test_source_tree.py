"""The tree of a source: ignored files are named by kind, links are followed, generated releases are marked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.releases import finding, source_tree
from dialogue_warehouse.releases import source_tree as ignored_files
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.releases.records import LandingError
from dialogue_warehouse.releases.source_tree import MARKER, Marker
from dialogue_warehouse.settings import Settings
from pipelines.building.checks import check_input
from pipelines.ingestion import landing
from tests.unit.releases.toy_releases import ALL, CORPUS, NAMES, TALKS, found, ignored, write

NOT_READ = {
    "train/talks_001.jsonl": ("format", TALKS),
    "train/talks_001.csv": ("format", TALKS),
    "train/talks_001.jsonl.gz": ("format", TALKS),
    "train/talks_001": ("format", TALKS),
    "train/talks_001.json.txt": ("format", TALKS),
    "talks.ndjson": ("format", ""),
    "train/talks_001.parquet": ("parquet", TALKS),
    "train-00000-of-00001.parquet": ("parquet", ""),
    "toy.zip": ("archive", ""),
    "toy.tar.gz": ("archive", ""),
    "train/talks_001.json.bz2": ("archive", TALKS),
    "names.zip": ("archive", NAMES),
    "all_v1.2.json.gz": ("version", ALL),
    "all_v2.json": ("version", ALL),
    "data/all_v1.0.json.gz": ("version", ALL),
    "train/talks_001.json~": ("copy", TALKS),
    "train/talks_001.json.bak": ("copy", TALKS),
    "train/talks_001 (1).json": ("copy", TALKS),
    "train/talks_001(2).json": ("copy", TALKS),
    "train/talks_001 - Copy.json": ("copy", TALKS),
    "train/Copy of talks_001.json": ("copy", TALKS),
    "train/#talks_001.json#": ("copy", TALKS),
    "train/.talks_001.json.swp": ("copy", TALKS),
    "train/talks_001.json.1": ("copy", TALKS),
    "all_v1.1 copy 2.json.gz": ("copy", ALL),
    "train/talks_001.json.part": ("partial", TALKS),
    "train/talks_001.json.mismatch": ("partial", TALKS),
    "names.json.crdownload": ("partial", NAMES),
    "train/.talks_001.json.Xy12aB": ("partial", TALKS),
    "other.part": ("partial", ""),
    "names.json.sha256": ("format", NAMES),
    "talks_001.json": ("other", TALKS),
    "data/Talks_001.json.gz": ("other", TALKS),
    "data.json": ("other", ""),
    "notice.json": ("other", ""),
    "authors.csv": ("format", ""),
    "x\udcff.json": ("other", ""),
}
HARMLESS = (
    "README",
    "README.txt",
    "LICENSE",
    "Licence.md",
    "README_en",
    "README.zh.md",
    "LICENSE-MIT.txt",
    "docs/paper.pdf",
    "sample.json",
    "data/sample.json",
    ".git/objects/00/11",
    ".gitignore",
    "train/.DS_Store",
    "train/._talks_001.json",
    "__MACOSX/talks_001.json",
    "Thumbs.db",
    ".cache/huggingface/download/names.json.metadata",
    "SIMULATED.json",
    "train/talks_001.json.part.etag",
)


@pytest.mark.parametrize("path", NOT_READ, ids=ascii)
def test_file_that_is_not_read_is_named_with_its_kind(tmp_path: Path, path: str) -> None:
    """Regression: a corpus without any read file was published with 0 dialogues, and its files were not mentioned.

    https://github.com/ConvLab/ConvLab-3/issues/166
    """
    kind, expected = NOT_READ[path]
    release = found(tmp_path, path)
    assert release.files == ()
    shown = path.encode("utf-8", "backslashreplace").decode()
    assert ignored(release) == {kind: [(shown, expected)]}
    (line,) = release.ignored_lines()
    assert line.startswith("toy: 1 file is not read: ")
    assert shown in line
    assert f"Expected names are for example {TALKS}, {NAMES}, {ALL}" in line


@pytest.mark.parametrize("path", HARMLESS)
def test_documentation_and_system_files_are_not_reported(tmp_path: Path, path: str) -> None:
    release = found(tmp_path, path)
    assert (release.files, release.ignored, list(release.ignored_lines())) == ((), (), [])


def test_page_lists_the_kinds_of_ignored_files() -> None:
    page = (CLONE / "docs" / "which_files_are_read.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.M) == list(ignored_files.KINDS)


def test_folder_without_read_files_is_one_entry(tmp_path: Path) -> None:
    """Regression: the variants in a separate folder of a clone, beside the data, were skipped silently."""
    variants = [f"toy_x/data/v{number}/train/talks_00{number}.json" for number in range(1, 6)]
    release = found(tmp_path, TALKS, "train/notes.dat", *variants)
    (group,) = release.ignored
    assert (group.kind, group.files) == ("other", 6)
    assert [(file.path, file.files) for file in group.first] == [("toy_x/", 5), ("train/notes.dat", 1)]
    assert "toy_x/ (5 files)" in next(release.ignored_lines())


def test_line_about_many_files_stays_short(tmp_path: Path) -> None:
    release = found(tmp_path, *(f"train/talks_{number:03}.jsonl" for number in range(300)), "b.zip")
    (line,) = release.ignored_lines()
    assert "301 files are not read" in line
    assert "and 295 more" in line
    assert len(line) < 600


def test_folder_that_is_a_link_is_read(tmp_path: Path) -> None:
    """Regression: a split on another disk, linked into the release, was skipped silently."""
    write(tmp_path / "elsewhere", TALKS)
    folder = write(tmp_path, NAMES)
    (folder / "train").symlink_to(tmp_path / "elsewhere/toy/train")
    (folder / "link.json").symlink_to("names.json")
    release = finding.find_release(CORPUS, tmp_path)
    assert [path for _, path in release.files] == [NAMES, TALKS]
    assert ignored(release) == {"other": [("link.json", "")]}


def test_circular_links_end(tmp_path: Path) -> None:
    folder = write(tmp_path, TALKS)
    for name, target in {"up": "..", "self": ".", "train/back": "..", "both": "also", "also": "train"}.items():
        (folder / name).symlink_to(target)
    for number in range(8):
        (folder / f"ring{number}").mkdir()
        for other in range(8):
            (folder / f"ring{number}" / f"to{other}").symlink_to(f"../ring{other}")
    release = finding.find_release(CORPUS, tmp_path)
    assert [path for _, path in release.files] == [TALKS]
    (unreadable,) = (group for group in release.ignored if group.kind == "unreadable")
    assert {"a link to a folder that is searched already"} == {file.problem for file in unreadable.first}


@pytest.mark.parametrize(
    ("make", "problem", "refused"),
    [
        (os.mkfifo, "not a regular file", "is a pipe or a device"),
        (lambda path: path.symlink_to("/dev/null"), "not a regular file", "is a pipe or a device"),
        (lambda path: path.symlink_to("nowhere"), "a broken link", "is a broken link; mount the disk"),
        (lambda path: path.symlink_to(path.name), "Too many levels", "is a link that leads back to itself"),
    ],
    ids=["pipe", "device", "nowhere", "itself"],
)
def test_other_object_than_a_file_is_named_and_rejected_at_its_path(
    tmp_path: Path, make: Callable[[Path], object], problem: str, refused: str
) -> None:
    folder = write(tmp_path, TALKS)
    make(folder / "odd")
    make(folder / "names.json.gz")
    release = finding.find_release(CORPUS, tmp_path)
    (group,) = release.ignored
    assert (group.kind, [file.path for file in group.first]) == ("unreadable", ["odd"])
    assert problem in group.first[0].problem
    assert release.found_as == {NAMES: "names.json.gz"}
    with pytest.raises(LandingError, match=f"^toy/{NAMES}: {refused}"):
        landing.identify(CORPUS, folder, NAMES, "names.json.gz")


def test_folder_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    """Regression: its files were missing, without a hint that they may be there.

    Root of another namespace has no rights.
    """
    folder = write(tmp_path, TALKS, NAMES)
    (folder / "train").chmod(0)
    code = (
        "import sys, pathlib; from dialogue_warehouse.releases import finding; from tests.unit.releases import toy_releases as toy; "
        "print(*finding.find_release(toy.CORPUS, pathlib.Path(sys.argv[1])).ignored_lines())"
    )
    without_rights = ["unshare", "--user"]
    if subprocess.run([*without_rights, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user name space can be had here")
    tmp_path.chmod(0o755)
    ran = subprocess.run(
        [*without_rights, sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    (folder / "train").chmod(0o755)
    assert "toy: 1 file is not read: cannot be read: train/ (Permission denied)" in ran.stdout


def test_other_object_at_the_path_of_a_corpus_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "toy").write_text("")
    assert "./ (Not a directory)" in next(finding.find_release(CORPUS, tmp_path).ignored_lines())
    (tmp_path / "toy").unlink()
    (tmp_path / "toy").symlink_to("nowhere")
    assert "./ (No such file or directory)" in next(finding.find_release(CORPUS, tmp_path).ignored_lines())


# What belongs to no corpus


def test_source_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    """Its folders can still be read if their names are known."""
    (source := tmp_path / "releases").write_text("")
    assert entries(source) == {"unreadable": {"": ""}}


def entries(source: Path, form: str = "release") -> dict[str, dict[str, str]]:
    settings = Settings(source=source, form=form)
    groups = finding.find_foreign(settings, WarehousePaths(source / "warehouse"))
    return {group.kind: {file.path: file.expected for file in group.first} for group in groups}


@pytest.mark.parametrize("corpus", registry.load_corpora(), ids=lambda corpus: corpus.corpus_id)
def test_unknown_folder_is_named_with_the_similar_corpus(tmp_path: Path, corpus) -> None:
    """Regression: a release in a folder with a similar name was skipped silently."""
    name = corpus.corpus_id
    parts = [name.upper(), f"{name}_x_v1", f"{name}-master", corpus.title.partition(" (")[0].partition(":")[0]]
    for part in parts:
        (tmp_path / part).mkdir()
    for known in (name, "warehouse", ".git"):
        (tmp_path / known).mkdir()
    (tmp_path / "README.md").touch()
    expected = {"no_corpus": dict.fromkeys((f"{part}/" for part in parts), f"{name}/")}
    assert entries(tmp_path) == expected
    (link := tmp_path.with_name(f"{tmp_path.name}-link")).symlink_to(tmp_path)
    assert entries(link) == expected  # without the warehouse, which is below the folder itself


def test_misspelled_folder_is_named_with_its_corpus(tmp_path: Path) -> None:
    long = [name for name in registry.corpus_ids() if len(name) > 10]
    for name in long:
        (tmp_path / f"{name[:-3]}{name[-2:]}").mkdir()
    assert sorted(entries(tmp_path)["no_corpus"].values()) == [f"{name}/" for name in long]


def test_folder_is_named_with_that_of_the_requested_form(tmp_path: Path) -> None:
    """Regression: for a download of the Hub, the error named the folder of the release, where that form is not read."""
    for corpus in registry.load_corpora():
        form = registry.load_form(corpus.corpus_id, "huggingface")
        (tmp_path / corpus.corpus_id / f"{corpus.corpus_id}-hub").mkdir(parents=True)
        found = entries(tmp_path / corpus.corpus_id, "huggingface")
        assert found == {"no_corpus": {f"{corpus.corpus_id}-hub/": f"{form.dataset}/" if form else ""}}


@pytest.mark.all_corpora
def test_folder_of_another_dataset_is_named_without_a_guess(tmp_path: Path) -> None:
    others = {re.sub(r"\d+", "77", name) for name in registry.corpus_ids() if re.search(r"\d", name)}
    others |= {"data", "b", "multiwoz"}
    for other in others:
        (tmp_path / other).mkdir()
    assert entries(tmp_path)["no_corpus"] == {f"{other}/": "" for other in sorted(others)[: ignored_files.FIRST]}


def test_file_beside_the_folders_is_named_with_its_place(tmp_path: Path) -> None:
    corpus = next(
        corpus for corpus in registry.load_corpora() if any(file.path.endswith(".gz") for file in corpus.files)
    )
    file = next(file for file in corpus.files if file.path.endswith(".gz"))
    (tmp_path / file.path).touch()
    (tmp_path / "unknown.json").touch()
    expected = {file.path: f"{corpus.corpus_id}/{file.path}", "unknown.json": ""}
    assert entries(tmp_path) == {"no_corpus": expected}


def test_releases_in_another_form_are_named(tmp_path: Path) -> None:
    forms = {corpus_id: registry.load_form(corpus_id, "huggingface") for corpus_id in registry.corpus_ids()}
    corpus_id, form = next((corpus_id, form) for corpus_id, form in forms.items() if form)
    (tmp_path / corpus_id).mkdir()
    (tmp_path / form.dataset).mkdir()
    assert entries(tmp_path) == {"other_form": {f"{form.dataset}/": ""}}
    assert entries(tmp_path, "huggingface") == {"other_form": {f"{corpus_id}/": ""}}


def test_source_in_another_form_is_rejected_with_the_option_that_reads_it(tmp_path: Path) -> None:
    """Regression: beside releases, the error took its folder for that of one corpus."""
    forms = {corpus_id: registry.load_form(corpus_id, "huggingface") for corpus_id in registry.corpus_ids()}
    corpus_id, form = next((corpus_id, form) for corpus_id, form in forms.items() if form)
    corpus = next(corpus for corpus in registry.load_corpora() if corpus.corpus_id == corpus_id)
    for path in (f"hub/{form.stems()[0][1]}.parquet", f"{corpus_id}/{corpus.files[0].path}"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).touch()
    with pytest.raises(
        InputError, match=r"hub: holds files of the form huggingface, which `--form huggingface` reads$"
    ):
        check_input(Source(Settings(source=tmp_path / "hub"), WarehousePaths(tmp_path / "warehouse")))


def test_source_that_is_a_corpus_or_has_none_is_rejected_with_its_content(tmp_path: Path) -> None:
    corpus = max(registry.load_corpora(), key=lambda one: len(one.files))
    listed = next(file.path for file in corpus.files if not file.is_documentation)
    for folder, path in (("clone", listed), ("capitals", f"{corpus.corpus_id.upper()}/{listed}")):
        (tmp_path / folder / path).parent.mkdir(parents=True)
        (tmp_path / folder / path).touch()
    paths = WarehousePaths(tmp_path / "warehouse")
    with pytest.raises(InputError, match=f"clone: holds the files of {corpus.corpus_id}; put it at FOLDER/"):
        check_input(Source(Settings(source=tmp_path / "clone"), paths))
    reported = rf"no data file of .*{corpus.corpus_id.upper()}/ \(expected {corpus.corpus_id}/\)$"
    with pytest.raises(InputError, match=reported):
        check_input(Source(Settings(source=tmp_path / "capitals"), paths))


def test_marker_counts_if_the_release_is_complete(tmp_path: Path) -> None:
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
