"""Files with slightly wrong names are read; the best of several candidates for one file is used."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import SourceFile
from dialogue_warehouse.releases import finding
from dialogue_warehouse.releases.file_names import names_of, repository_of, repository_path
from dialogue_warehouse.releases.finding import Places
from dialogue_warehouse.releases.records import LandingError
from pipelines.ingestion import landing
from pipelines.ingestion.landing import LandingTask
from tests.unit.releases.toy_releases import ALL, CORPUS, ENTITIES, NAMES, TALKS, TEXT, found, ignored, write

NEAR = {
    "train/talks_001.json.gz": TALKS,
    "all_v1.1.json": ALL,
    "TRAIN/Talks_001.JSON": TALKS,
    "Train/talks_007.json": "train/talks_007.json",
    "ALL_v1.1.json": ALL,
    "data/names.json": NAMES,
    "data/train/talks_001.json.GZ": TALKS,
    "0123abcd/data/names.json": NAMES,
    "repository/data/names.json": NAMES,
    "repository-main/data/names.json.gz": NAMES,
    "repository-0123abcd/data/all_v1.1.json": ALL,
    "repository-main/repository-main/data/names.json": NAMES,
    "raw.example.com/owner/repository/0123abcd/data/names.json": NAMES,
}
FAR = (
    "repository/names.json",
    "repository/repository/repository/data/names.json",
    "other/data/names.json",
    "names.json.gz.gz",
    "all_v1.2.json.gz",
    "data.json",
    "test/talks_001.json",
    "repository_x/data/names.json",
    "sample.json",
    "data/sample.json",
)


@pytest.mark.parametrize("path", NEAR)
def test_file_is_read_under_a_similar_name(tmp_path: Path, path: str) -> None:
    """Regression: files compressed, unpacked, in other case, or laid out as in a clone were skipped silently.

    https://github.com/facebookresearch/ParlAI/issues/343
    """
    release = found(tmp_path, path)
    assert [name for _, name in release.files] == [NEAR[path]]
    assert release.found_as == {NEAR[path]: path}
    assert release.place(NEAR[path]).read_bytes() == TEXT
    assert release.ignored == ()


@pytest.mark.parametrize("path", FAR)
def test_file_of_another_name_is_not_read(tmp_path: Path, path: str) -> None:
    assert found(tmp_path, path).files == ()


def test_exact_name_keeps_its_path_and_is_not_another_name(tmp_path: Path) -> None:
    release = found(tmp_path, TALKS, NAMES, ALL)
    assert (release.missing, release.found_as, release.ignored) == ((), {}, ())


def test_best_of_several_names_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    """The order is that of the documentation: exact path, letter case, compression."""
    names = [NAMES, "names.json.gz", "Names.json", "data/names.json", "repository/data/names.json"]
    better = names[0]
    release = found(tmp_path, *names)
    while names:
        assert [release.found_as.get(path, path) for _, path in release.files] == [better]
        seconds = sorted((name, better) for name in names if name != better)
        assert ignored(release).get("second", []) == seconds
        (release.folder / better).unlink()
        names.remove(better)
        better = names[0] if names else ""
        release = finding.find_release(CORPUS, tmp_path)
    assert release.files == ()


def test_missing_files_are_counted_among_the_listed_ones(tmp_path: Path) -> None:
    """Regression: files that are read but not listed were counted as expected: "181 of 189", although 184 are listed."""
    release = found(tmp_path, TALKS, "train/talks_002.json", "dev/talks_001.json")
    assert (len(release.files), len(release.missing), release.listed) == (3, 2, 3)


@pytest.mark.parametrize("corpus", registry.load_corpora(), ids=lambda corpus: corpus.corpus_id)
def test_clone_of_the_publishers_repository_is_read_completely(tmp_path: Path, corpus) -> None:
    """A clone in place of the corpus's folder is read, as the source.toml of the corpus says."""
    folder = tmp_path / corpus.corpus_id
    data = [file for file in corpus.files if not file.is_documentation]
    for file in corpus.files:
        place = folder / repository_path(corpus, file)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    (folder / ".git/objects").mkdir(parents=True)
    for name in (".git/objects/pack", "README.md", "LICENSE", ".gitignore", "paper.pdf"):
        (folder / name).touch()
    release = finding.find_release(corpus, tmp_path)
    assert sorted(path for _, path in release.files) == sorted(file.path for file in data)
    assert (release.missing, release.ignored) == ((), ())


@pytest.mark.parametrize("corpus", registry.load_corpora(), ids=lambda corpus: corpus.corpus_id)
def test_listed_file_is_found_packed_and_unpacked(corpus) -> None:
    names = names_of(corpus)
    for file in corpus.files:
        other = file.path.removesuffix(".gz") if file.path.endswith(".gz") else f"{file.path}.gz"
        for path in (file.path, other, other.upper()):
            name = names.find(path)
            assert (name.path if name else None) == (None if file.is_documentation else file.path), path


def verification(source: Path, path: str, found_as: str) -> str:
    return landing.identify(CORPUS, source / CORPUS.corpus_id, path, found_as)[1]


def test_listed_checksum_is_compared_with_the_text(tmp_path: Path) -> None:
    """The checksum of a plain file applies to its text, with any compression."""
    for level in (1, 9):
        write(tmp_path, "names.json.gz", text=gzip.compress(TEXT, level))
        assert verification(tmp_path, NAMES, "names.json.gz") == "verified"
    write(tmp_path, "names.json.gz", text=gzip.compress(TEXT + b" "))
    assert verification(tmp_path, NAMES, "names.json.gz") == "mismatch"
    write(tmp_path, "names.json.gz")
    assert verification(tmp_path, NAMES, "names.json.gz") == "verified"


def test_listed_checksum_of_an_archive_says_nothing_about_its_text(tmp_path: Path) -> None:
    write(tmp_path, "all_v1.1.json")
    assert verification(tmp_path, ALL, "all_v1.1.json") == "unlisted"
    write(tmp_path, ALL, text=gzip.compress(TEXT))
    assert verification(tmp_path, ALL, ALL) == "mismatch"


def test_generated_release_in_the_publishers_layout_is_generated(tmp_path: Path) -> None:
    """Its marker is moved with its files, so that they do not count as real ones."""
    write(tmp_path, "data/names.json", ALL)
    write(tmp_path, "data/SIMULATED.json", text=b'{"scale": 0.5, "seed": 1}')
    release = finding.find_release(CORPUS, tmp_path)
    assert release.marked == release.folder / "data"
    assert verification(tmp_path, NAMES, "data/names.json") == "simulated"
    assert verification(tmp_path, ALL, ALL) == "unlisted"


@pytest.mark.parametrize("found_as", ["names.json.GZ", "NAMES.JSON.GZ"])
def test_letter_case_of_a_suffix_needs_no_note(tmp_path: Path, found_as: str) -> None:
    write(tmp_path, found_as, text=gzip.compress(TEXT))
    landed = landing.land_file(task(tmp_path, NAMES, found_as, tmp_path / "raw"))
    assert (landed.record_count, landed.notes) == (1, [])


def test_note_about_a_name_ends_when_the_file_has_another_name(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    landed = []
    for name in (NAMES, "names.json.gz"):
        write(tmp_path, name, text=packed)
        landed.append(landing.land_file(task(tmp_path, NAMES, name, tmp_path / "raw")))
    assert [file.notes for file in landed] == [
        ["is compressed with gzip although its name does not end in .gz"],
        [],
    ]
    assert landed[0].parquet == landed[1].parquet


def test_note_about_no_records_follows_the_mark_of_a_generated_release(tmp_path: Path) -> None:
    notes = []
    marker = write(tmp_path, NAMES, "SIMULATED.json", text=b"[]") / "SIMULATED.json"
    for _ in range(2):
        notes.append(landing.land_file(task(tmp_path, NAMES, None, tmp_path / "raw")).notes)
        marker.unlink(missing_ok=True)
    assert notes == [[], ["has no records"]]


def task(source: Path, path: str, found_as: str | None, target: Path) -> LandingTask:
    entity = next(entity for entity in ENTITIES if entity.name == "names")
    corpus = registry.load_corpora()[0]
    return LandingTask(corpus, entity, source / CORPUS.corpus_id, path, target, found_as=found_as)


def test_row_of_a_file_keeps_its_path_in_the_release_and_says_where_it_was(tmp_path: Path) -> None:
    """Neither a key nor the id of a file depends on a new name of the file."""
    write(tmp_path, "names.json.gz", text=gzip.compress(TEXT))
    write(tmp_path, NAMES, "data/names.json")
    packed, plain, moved = (
        landing.land_file(task(tmp_path, NAMES, name, tmp_path / "raw"))
        for name in ("names.json.gz", None, "data/names.json")
    )
    assert [row.path for row in (packed, plain, moved)] == [NAMES] * 3
    assert [row.found_as for row in (packed, plain, moved)] == ["names.json.gz", None, "data/names.json"]
    assert packed.record_count == plain.record_count == moved.record_count == 1
    assert moved.parquet == plain.parquet


def test_error_about_a_file_names_the_file_on_disk(tmp_path: Path) -> None:
    folder = write(tmp_path, "data/names.json", text=b"{")
    with pytest.raises(LandingError, match=rf"names\.json: .* \(the file is {folder}/data/names\.json\)$"):
        landing.land_file(task(tmp_path, NAMES, "data/names.json", tmp_path / "raw"))


def test_file_that_was_read_is_found_again_where_it_was_or_under_another_name(tmp_path: Path) -> None:
    """`verify` and `trace` read the file of the build, even if there is now a file with a better name."""
    folder = write(tmp_path, "data/names.json")
    places = Places(tmp_path, {f"toy/{NAMES}": "data/names.json"})
    assert places.find(CORPUS, NAMES) == folder / "data/names.json"
    write(tmp_path, NAMES)
    assert places.find(CORPUS, NAMES) == folder / "data/names.json"
    (folder / "data/names.json").rename(folder / "names.json.gz")
    (folder / NAMES).unlink()
    assert places.find(CORPUS, NAMES) == folder / "names.json.gz"
    assert places.find(CORPUS, TALKS) == folder / TALKS


@pytest.mark.parametrize(
    ("url", "repository"),
    [
        ("https://raw.example.com/owner/talks/{release}/data/names.json", "talks"),
        ("https://talks.example/data/{release}/names.json", None),
        ("https://talks.example/download?id=7", None),
    ],
)
def test_repository_has_an_owner_and_a_host_before_it(url: str, repository: str | None) -> None:
    """Regression: a folder of the publisher's own site was taken for a repository."""
    file = SourceFile("names.json", url.format(release=CORPUS.release))
    assert repository_of(replace(CORPUS, files=(file,))) == repository
