"""Writing generated releases: strict shape, the same bytes for the same seed, and no foreign file overwritten."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import shutil
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container, Entity, SourceFile
from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.releases.csv_tables import separator_of
from dialogue_warehouse.releases.records import split_records
from dialogue_warehouse.releases.source_tree import MARKER
from dialogue_warehouse.releases.unpacking import sha256_of
from pipelines.ingestion import simulating
from pipelines.ingestion.simulating import SAMPLE_SCALE, simulate
from tests.unit.plans import plan_of

CORPORA = registry.corpus_ids()


def contents(file: Path) -> bytes:
    data = file.read_bytes()
    return gzip.decompress(data) if file.suffix == ".gz" else data


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def decode(entity: Entity, data: bytes, name: str) -> int:
    """Decode a file strictly, and return the number of its records."""
    if entity.container is Container.LINES:
        lines = list(split_records(entity, name, data)[1])
        assert [line.refused for line in lines if line.refused] == []
        return len([msgspec.json.decode(line.text, type=entity.record) for line in lines])
    record = entity.record
    if entity.container is Container.TABLE:
        lines = csv.DictReader(io.StringIO(data.decode(), newline=""), delimiter=separator_of(name))
        return len(msgspec.convert(list(lines), list[record]))
    if entity.container is Container.JSON_LINES:
        return len([msgspec.json.decode(line, type=record) for line in data.splitlines()])
    types = {
        Container.ARRAY: list[record],
        Container.ENTRIES: dict[str, record],
        Container.SPLITS: dict[str, list[record]],
        Container.DOCUMENT: record,
    }
    decoded = msgspec.json.decode(data, type=types[entity.container])
    if entity.container is Container.SPLITS:
        return min(len(records) for records in decoded.values())
    return 1 if entity.container is Container.DOCUMENT else len(decoded)


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_every_generated_file_decodes_with_the_strict_schema_and_has_records(generated_sample, corpus_id):
    corpus = registry.load_corpus(corpus_id)
    for path in (generated_sample / corpus_id).rglob("*"):
        name = path.relative_to(generated_sample / corpus_id).as_posix()
        if path.is_dir() or name == MARKER:
            continue
        entity = corpus.entity_of(name)
        assert entity is not None, name
        assert decode(entity, contents(path), name) > 0, name


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_scale_1_plans_every_data_file_of_the_release(corpus_id):
    corpus = registry.load_corpus(corpus_id)
    listed = {file.path for file in corpus.files if not file.is_documentation and corpus.entity_of(file.path)}
    assert sorted(file.path for file in plan_of(corpus_id, 1)) == sorted(listed)


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_the_sample_has_files_of_every_entity(generated_sample, corpus_id):
    corpus = registry.load_corpus(corpus_id)
    names = [
        path.relative_to(generated_sample / corpus_id).as_posix() for path in (generated_sample / corpus_id).rglob("*")
    ]
    found = {entity.name for name in names if (entity := corpus.entity_of(name))}
    assert found == {entity.name for entity in corpus.entities}


def test_the_same_seed_gives_the_same_bytes_in_one_process_and_in_two(generated_sample, tmp_path):
    simulate(tmp_path, SAMPLE_SCALE, processes=2)
    assert digests(tmp_path) == digests(generated_sample)


def test_another_seed_gives_other_bytes(generated_sample, tmp_path):
    simulate(tmp_path, SAMPLE_SCALE, seed=1)
    first, second = digests(generated_sample), digests(tmp_path)
    changed = {name for name in first if first[name] != second[name]}
    assert {name.split("/")[0] for name in changed} == set(CORPORA)
    assert any("dialogues_" in name for name in changed)


def test_the_marker_says_scale_and_seed(tmp_path):
    simulate(tmp_path, 0.002, seed=7, corpora=("mutualfriends",))
    assert json.loads((tmp_path / "mutualfriends" / MARKER).read_text()) == {"scale": 0.002, "seed": 7}


def test_earlier_generated_release_is_replaced(tmp_path):
    simulate(tmp_path, 0.02, corpora=("sgd",))
    simulate(tmp_path, 0.002, corpora=("sgd",))
    files = [path for path in (tmp_path / "sgd").rglob("*") if path.is_file()]
    assert len(files) == len(plan_of("sgd", 0.002)) + 1
    assert not [path for path in files if path.suffix == ".part"]


def test_folder_with_other_files_is_rejected(tmp_path):
    kept = tmp_path / "bbai" / "test.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    with pytest.raises(InputError, match="not generated"):
        simulate(tmp_path, SAMPLE_SCALE, corpora=("bbai",))
    assert kept.read_text() == "{}"


@pytest.mark.parametrize("known", ["sha256", "git_blob_sha1"])
def test_published_file_among_generated_ones_is_kept(tmp_path, monkeypatch, known):
    """Regression: a file of the publisher that was put over a generated one was removed by the next simulation."""
    kept = tmp_path / "bbai" / "test.json"
    simulate(tmp_path, 0.002, corpora=("bbai",))
    kept.write_text("{}")
    digest = {"sha256": sha256_of(b"{}"), "git_blob_sha1": hashlib.sha1(b"blob 2\0{}").hexdigest()}
    corpus = registry.load_corpus("bbai")
    listed = SourceFile("test.json", "http://x", **{known: digest[known]})
    monkeypatch.setattr(registry, "load_corpus", lambda _: replace(corpus, files=(listed,)))
    with pytest.raises(InputError, match=r"not generated, such as .*test\.json"):
        simulate(tmp_path, 0.002, corpora=("bbai",))
    assert kept.read_text() == "{}"


def test_killed_process_is_reported_in_one_line(tmp_path, monkeypatch):
    def killed(_):
        raise BrokenProcessPool("terminated abruptly")

    monkeypatch.setattr(simulating, "as_completed", killed)
    with pytest.raises(CheckError, match=r"^a process that writes generated files was killed, .* DIALOGUE_PROCESSES$"):
        simulate(tmp_path, 0.002, corpora=("mutualfriends",), processes=2)


def test_unknown_corpus_is_rejected(tmp_path):
    with pytest.raises(InputError, match="nowhere: no such corpus"):
        simulate(tmp_path, SAMPLE_SCALE, corpora=("nowhere",))


def test_scale_of_zero_is_rejected(tmp_path):
    with pytest.raises(InputError, match="above 0"):
        simulate(tmp_path, 0)


def test_each_file_is_reported(tmp_path):
    reported = []
    written = simulate(tmp_path, 0.002, corpora=("bbai", "mutualfriends"), report=reported.append)
    assert sorted(reported, key=lambda file: (file.corpus_id, file.path)) == written
    assert all((tmp_path / file.corpus_id / file.path).stat().st_size == file.bytes for file in written)


@pytest.mark.parametrize("foreign", ["notes.txt", "train/notes.txt", "link"])
def test_foreign_file_in_a_generated_release_is_not_removed(tmp_path: Path, foreign: str) -> None:
    """Regression: the whole folder was removed before the release was generated again."""
    corpus_id = CORPORA[0]
    simulate(tmp_path, SAMPLE_SCALE, corpora=(corpus_id,))
    before = digests(tmp_path)
    own = tmp_path / corpus_id / foreign
    own.parent.mkdir(exist_ok=True)
    own.symlink_to(tmp_path) if foreign == "link" else own.write_text("mine")
    with pytest.raises(
        InputError,
        match=rf"contains files that were not generated, such as {own}; move them away or choose another folder",
    ):
        simulate(tmp_path, SAMPLE_SCALE, seed=1, corpora=(corpus_id,))
    assert {name: digest for name, digest in digests(tmp_path).items() if name in before} == before
    own.unlink()
    simulate(tmp_path, SAMPLE_SCALE, seed=1, corpora=(corpus_id,))
    assert digests(tmp_path).keys() == before.keys()


def test_no_release_is_removed_if_the_folder_of_another_corpus_is_refused(tmp_path: Path) -> None:
    """Regression: the releases of the corpora before it in the alphabet were removed and not written again."""
    simulate(tmp_path, 0.002)
    (tmp_path / CORPORA[-1] / "notes.txt").write_text("mine")
    before = digests(tmp_path)
    with pytest.raises(InputError, match="contains files that were not generated"):
        simulate(tmp_path, 0.002, seed=1)
    assert digests(tmp_path) == before
    shutil.rmtree(tmp_path / CORPORA[-1])
    (tmp_path / CORPORA[-1]).write_text("mine")
    before = digests(tmp_path)
    with pytest.raises(InputError, match="is a file, but a folder is needed there; nothing was written"):
        simulate(tmp_path, 0.002, seed=1)
    assert digests(tmp_path) == before


def test_release_is_not_generated_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / CORPORA[0]).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link"):
        simulate(tmp_path, SAMPLE_SCALE, corpora=CORPORA[:1])
    assert list((tmp_path / "elsewhere").iterdir()) == []
