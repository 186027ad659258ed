"""A build of releases whose files have slightly wrong names, beside files that are not read: messages and stored facts.

One build serves all tests: the hand-written releases, laid out as in their publishers' repositories and compressed.
"""

from __future__ import annotations

import codecs
import gzip
import json
import shutil
from pathlib import Path

import duckdb
import msgspec
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases.file_names import repository_path
from dialogue_warehouse.storage import builds
from tests.conftest import build_warehouse, rows, run_command

IGNORED = {"data.json": "other", "names.jsonl": "format", "all.zip": "archive", "variants/x/a.dat": "other"}
KNOWN = ("README.md", ".git/HEAD")


def data_files(corpus: Corpus, releases: Path) -> list[str]:
    folder = releases / corpus.corpus_id
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if corpus.entity_of(path)]


@pytest.fixture(scope="module")
def renamed(awkward_releases: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return the releases under other names, with files beside them that are not read; and each name by its id.

    Each text begins with a byte-order mark.
    """
    source, names = tmp_path_factory.mktemp("renamed"), {}
    for corpus in registry.load_corpora():
        listed = {file.path: repository_path(corpus, file) for file in corpus.files}
        inner = next(iter(listed.values())).removesuffix(next(iter(listed)))
        for path in data_files(corpus, awkward_releases):
            data = (awkward_releases / corpus.corpus_id / path).read_bytes()
            name = inner + (path.removesuffix(".gz") if path.endswith(".gz") else f"{path}.gz")
            place = source / corpus.corpus_id / name
            place.parent.mkdir(parents=True, exist_ok=True)
            text = codecs.BOM_UTF8 + (gzip.decompress(data) if path.endswith(".gz") else data)
            place.write_bytes(text if path.endswith(".gz") else gzip.compress(text))
            names[f"{corpus.corpus_id}/{path}"] = name
        for path in (*IGNORED, *KNOWN):
            (source / corpus.corpus_id / path).parent.mkdir(parents=True, exist_ok=True)
            (source / corpus.corpus_id / path).write_text("x")
        (source / corpus.corpus_id.upper()).mkdir()
    return source, names


@pytest.fixture(scope="module")
def warehouse(renamed: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the warehouse built from them."""
    return build_warehouse(tmp_path_factory.mktemp("warehouse"), "--source", renamed[0])


@pytest.fixture(scope="module")
def manifest(warehouse: Path) -> builds.BuildManifest:
    paths = WarehousePaths(warehouse)
    return builds.read_manifest(paths, builds.published_build(paths)[0])


def test_rows_and_ids_do_not_depend_on_the_names_of_files(
    warehouse: Path, awkward_warehouse: duckdb.DuckDBPyConnection
) -> None:
    """Regression: files under other names were skipped, and a warehouse without their dialogues was published.

    The status was 0. https://github.com/facebookresearch/ParlAI/issues/343
    """
    query = "select source_file_id, path, source_part, record_count from core.dim_source_files order by all"
    turns = "select turn_key, utterance from core.fct_turns order by all"
    with duckdb.connect(str(warehouse / "dialogues.duckdb"), read_only=True) as con:
        for one in (query, turns):
            assert rows(con, one) == rows(awkward_warehouse, one) != []


def test_facts_are_kept_with_the_build(renamed: tuple[Path, dict[str, str]], manifest: builds.BuildManifest) -> None:
    assert {file.source_file_id: file.found_as for file in manifest.files} == renamed[1]
    for corpus_id in registry.corpus_ids():
        kinds = {group.kind: group.files for group in manifest.ignored[corpus_id]}
        assert kinds == {"other": 2, "format": 1, "archive": 1}
        assert any(f"{corpus_id}: " in notice and "another name" in notice for notice in manifest.notices)
    texts = "\n".join(manifest.notices)
    assert [file.place for file in manifest.files if f"{file.place}: skipped a byte-order mark" not in texts] == []
    (foreign,) = manifest.ignored["no_corpus"]
    assert foreign.files == len(registry.corpus_ids())


def test_build_and_status_say_what_is_not_read(renamed: tuple[Path, dict[str, str]], warehouse: Path) -> None:
    """Also if nothing has changed, and if the source is gone."""
    source, _ = renamed
    corpus_id = registry.corpus_ids()[0]
    again = run_command("build", "--source", source, "--warehouse", warehouse).stdout
    assert "nothing changed" in again
    shown = run_command("status", "--warehouse", warehouse).stdout
    for text in (again, shown):
        assert text.count("4 files are not read: archives that must be unpacked first: all.zip") == len(
            registry.corpus_ids()
        )
        assert f"{corpus_id.upper()}/ (expected {corpus_id}/)" in text
        assert "README" not in text
    (source / corpus_id / "late.json").write_text("x")
    assert "5 files are not read" in run_command("build", "--source", source, "--warehouse", warehouse).stdout
    (source / corpus_id / "late.json").unlink()
    source.rename(source.with_name("gone"))
    try:
        gone = run_command("status", "--warehouse", warehouse).stdout
    finally:
        source.with_name("gone").rename(source)
    assert f"{corpus_id}: during the build, 4 files are not read" in gone


def test_files_that_were_read_are_verified_traced_and_restored_under_their_own_path(
    renamed: tuple[Path, dict[str, str]], warehouse: Path, awkward_releases: Path, tmp_path: Path
) -> None:
    source, names = renamed
    verified = run_command("verify", "--json", "--warehouse", warehouse)
    assert verified.returncode == 0, verified.stderr
    assert {one["source_file_id"] for one in json.loads(verified.stdout)} == names.keys()
    with duckdb.connect(str(warehouse / "dialogues.duckdb"), read_only=True) as con:
        keys = dict(rows(con, "select corpus_id, min(dialogue_key) from core.dim_dialogues group by all"))
    for corpus in registry.load_corpora():
        folder = tmp_path / corpus.corpus_id
        run_command("restore", "--corpus", corpus.corpus_id, "--to", folder, "--warehouse", warehouse)
        paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        assert paths == data_files(corpus, awkward_releases)
        traced = run_command("trace", keys[corpus.corpus_id], "--warehouse", warehouse)
        assert traced.returncode == 0, traced.stderr
        assert "has changed" not in traced.stdout
        assert f"on disk  {source / corpus.corpus_id}/" in traced.stdout


def test_verify_notices_a_changed_text(renamed: tuple[Path, dict[str, str]], warehouse: Path, tmp_path: Path) -> None:
    source, names = renamed
    changed, (file_id, name) = shutil.copytree(source, tmp_path / "changed"), next(iter(names.items()))
    corpus_id = file_id.partition("/")[0]
    (changed / corpus_id / name).write_bytes(gzip.compress(b"[]") if name.endswith(".gz") else b"[]")
    verified = run_command("verify", "--source", changed, "--warehouse", warehouse)
    assert verified.returncode == 1
    assert (
        f"{file_id}: the restored file differs: {changed / corpus_id / name}: has changed since it was read"
        in verified.stderr
    )


def test_manifest_of_an_earlier_version_is_read(warehouse: Path, manifest: builds.BuildManifest) -> None:
    """A warehouse that was published before these facts were recorded is read as one without them."""
    document = json.loads(builds.encode_manifest(manifest))
    del document["ignored"]
    for file in document["files"]:
        del file["found_as"]
    read = msgspec.convert(document, builds.BuildManifest)
    assert (read.ignored, {file.found_as for file in read.files}) == ({}, {None})
