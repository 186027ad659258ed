"""The published build and its manifest are read in one place; if they cannot be read, the error has one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dialogue_warehouse.corpora.registry import corpus_ids
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.lineage import restoring, tracing, verifying
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.builds import EMBEDDED_SAMPLE, BuildManifest, encode_manifest, read_manifest
from dialogue_warehouse.storage.landed import REASONS, Cause, Fallback, Landed
from tests.unit.published import BUILD

LANDED = Landed("fruit", "apples", "a.json", None, None, 2, "0" * 64, "verified", 1, "fruit/apples/a.parquet")


def test_manifest_is_read_as_it_was_written(paths: WarehousePaths) -> None:
    written = BuildManifest(
        build_id=BUILD,
        started_at="2020-01-01T00:00:00+00:00",
        source="/releases",
        corpora=("fruit",),
        verified=True,
        fingerprint="f",
        raw={"fruit__apples": ["raw/fruit/apples/a.parquet"]},
        files=(LANDED,),
    )
    paths.build_manifest(BUILD).write_bytes(encode_manifest(written))
    assert read_manifest(paths, BUILD) == written
    assert builds.source_of(paths, BUILD) == Path("/releases")
    assert builds.raw_files(paths, BUILD) == {"fruit__apples": [paths.root / "raw/fruit/apples/a.parquet"]}


def test_source_of_the_embedded_sample_is_in_the_warehouse(paths: WarehousePaths) -> None:
    manifest = msgspec.structs.replace(read_manifest(paths, BUILD), source=EMBEDDED_SAMPLE)
    paths.build_manifest(BUILD).write_bytes(encode_manifest(manifest))
    assert builds.source_of(paths, BUILD) == paths.sample


@pytest.mark.parametrize("cause", Cause)
def test_cause_of_a_fallback_does_not_depend_on_the_text(monkeypatch: pytest.MonkeyPatch, cause: Cause) -> None:
    error = "fruit/a.json: not JSON" if cause is Cause.DAMAGED else ""
    text = msgspec.json.encode(Fallback(BUILD, cause, error))
    monkeypatch.setitem(REASONS, Cause.NOT_ASKED_FOR, "other words")
    monkeypatch.setitem(REASONS, Cause.ABSENT, "it is not there")
    found = msgspec.json.decode(text, type=Fallback)
    assert (found.cause, found.is_damaged) == (cause, cause is not Cause.NOT_ASKED_FOR)
    assert found.reason == REASONS.get(cause, error)


@pytest.mark.parametrize(
    ("reason", "is_damaged"),
    [
        ("the run is not about it", False),
        ("none of its files is at the source", True),
        ("fruit/a.json: not JSON", True),
    ],
)
def test_manifest_of_an_earlier_version_says_if_a_corpus_is_damaged(
    paths: WarehousePaths, reason: str, is_damaged: bool
) -> None:
    file = paths.build_manifest(BUILD)
    carried = {"fruit": {"build_id": BUILD, "reason": reason}}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"carried": carried}))
    found = read_manifest(paths, BUILD).carried["fruit"]
    words = reason if is_damaged else REASONS[Cause.NOT_ASKED_FOR]
    assert (found.is_damaged, found.reason) == (is_damaged, words)
    assert found.describe("fruit") == f"fruit falls back to build {BUILD}: {words}"


def test_key_of_another_version_is_ignored(paths: WarehousePaths) -> None:
    file = paths.build_manifest(BUILD)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"weather": "fine"}))
    assert read_manifest(paths, BUILD).source == "/releases"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"build_id": "b", "started_at": "", "source": "/", "raw": []}'])
@pytest.mark.parametrize("read", [builds.read_manifest, builds.source_of, builds.raw_files])
def test_damaged_manifest_is_one_line_with_its_file(paths: WarehousePaths, text: str, read: Callable) -> None:
    file = paths.build_manifest(BUILD)
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read(paths, BUILD)
    assert str(error.value).startswith(f"{file}: is not the manifest of build {BUILD}: ")
    assert "\n" not in str(error.value)


def test_missing_manifest_is_one_line_with_its_file(paths: WarehousePaths) -> None:
    paths.build_manifest(BUILD).unlink()
    with pytest.raises(InputError, match=r"^[^\n]*the manifest of build [^\n]* is missing; build again$"):
        read_manifest(paths, BUILD)


READERS: dict[str, Callable[[WarehousePaths, Path], Any]] = {
    "verify": lambda paths, _: verifying.verify_published(paths, Settings()),
    "restore": lambda paths, folder: restoring.restore_published(paths, Settings(), corpus_ids()[0], folder),
    "trace": lambda paths, _: tracing.trace(paths, Settings(), "a/b/c"),
}


@pytest.mark.parametrize("reader", READERS)
def test_missing_build_is_reported_by_every_reader(paths: WarehousePaths, tmp_path: Path, reader: str) -> None:
    paths.build_database(BUILD).unlink()
    with pytest.raises(InputError, match=rf"^[^\n]*names build {BUILD}, but [^\n]*is missing: build again$"):
        READERS[reader](paths, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()
