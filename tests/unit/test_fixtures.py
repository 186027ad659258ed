"""The fixtures of every corpus are complete, and missing pieces are named."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialogue_warehouse.corpora import registry
from tests import fixtures
from tests.fixtures import shapes
from tests.fixtures.twins import Files
from tests.integration import recount

SHARED_TESTS = ("contract", "unit/test_architecture.py", "unit/test_fixtures.py", "fixtures/shapes.py", "conftest.py")
"""Tests of all corpora, which therefore know none."""


@pytest.mark.parametrize("corpus_id", registry.corpus_ids())
def test_fixtures_are_complete(corpus_id: str) -> None:
    assert fixtures.problems(corpus_id) == []


@pytest.mark.parametrize("piece", fixtures.PIECES)
def test_missing_piece_is_named(piece: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = registry.corpus_ids()[0]
    shutil.copytree(fixtures.folder_of(corpus_id), tmp_path / corpus_id)
    monkeypatch.setattr(fixtures, "FOLDER", tmp_path)
    path = tmp_path / corpus_id / piece
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert fixtures.problems(corpus_id) == [f"tests/fixtures/{corpus_id}/{piece} is missing"]


def test_compressed_file_of_a_hand_written_release_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = registry.corpus_ids()[0]
    shutil.copytree(fixtures.folder_of(corpus_id), tmp_path / corpus_id)
    monkeypatch.setattr(fixtures, "FOLDER", tmp_path)
    (tmp_path / corpus_id / "release" / "more").mkdir()
    (tmp_path / corpus_id / "release" / "more" / "a.json.gz").write_bytes(gzip.compress(b"[]"))
    assert fixtures.problems(corpus_id) == [
        f"tests/fixtures/{corpus_id}/release/more/a.json.gz is compressed: unpack it, "
        "tests compress it where source.toml has this name"
    ]


@pytest.mark.parametrize(
    ("path", "text", "declared", "members", "record_count"),
    [
        ("a.jsonl.gz", '{"a": "\u2028"}\n{}\n', {}, None, 2),
        ("a.json.gz", "[1, 2, 3]", {}, None, 3),
        ("a.json", '{"train": [1], "dev": [2, 3]}', {}, None, 2),
        ("a.json", '{"train": [1], "dev": [2, 3]}', {"OF_SPLITS": {"a.json"}}, ("train", "dev"), 3),
        ("a.json.gz", "[1, 2, 3]", {"ONE_RECORD": {"a.json.gz"}}, None, 1),
        ("a.tsv", 'id\ttext\n1\t"a\nb"\n', {"WITH_HEADER": {"a.tsv"}}, None, 1),
        ("a.csv.gz", "1,2\n3,4\n", {}, None, 2),
    ],
)
def test_recount_counts_the_records_of_every_kind_of_file(
    tmp_path: Path, path: str, text: str, declared: dict[str, set[str]], members: tuple | None, record_count: int
) -> None:
    (tmp_path / "tram").mkdir()
    data = text.encode()
    (tmp_path / "tram" / path).write_bytes(gzip.compress(data) if path.endswith(".gz") else data)
    names = {"ONE_RECORD": set(), "OF_SPLITS": set(), "WITH_HEADER": set(), "DATA_FILES": ".*"}
    rows = recount.recount_shared({"tram": SimpleNamespace(**names | declared)}, tmp_path)
    [(_, _, _, found, _, _, count)] = rows["dim_source_files"]
    assert (found, count) == (members, record_count)


@pytest.mark.parametrize("path", ["ratings.csv", "ratings.tsv", "ratings.tsv.gz"])
def test_edit_of_a_table_keeps_its_separator(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    separator = "," if path.endswith(".csv") else "\t"
    pack, unpack = (gzip.compress, gzip.decompress) if path.endswith(".gz") else (bytes, bytes)
    (tmp_path / path).write_bytes(pack(f"id{separator}stars\na{separator}1\nb{separator}2\n".encode()))
    monkeypatch.setattr(Files, "_has_header", lambda *_: True)
    files = Files(tmp_path)
    files[path][0]["stars"] = "5"
    files.write()
    assert unpack((tmp_path / path).read_bytes()).decode() == f"id{separator}stars\na{separator}5\nb{separator}2\n"


def test_missing_name_of_a_piece_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = fixtures.having("broken.py")[0]
    monkeypatch.delattr(fixtures.load(corpus_id, "broken"), "CASES")
    monkeypatch.delattr(fixtures.load(corpus_id, "broken"), "documents")
    place = f"tests/fixtures/{corpus_id}/broken.py"
    assert fixtures.problems(corpus_id) == [f"{place} has no CASES", f"{place} has no documents"]


def test_claim_without_an_error_and_error_of_an_unknown_claim_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = registry.corpus_ids()[0]
    first, *others = [claim for claim in fixtures.load_claims(corpus_id) if not claim.not_checkable]
    other = replace(first, claim_id="tram_H01")
    monkeypatch.setattr(fixtures, "load_claims", lambda _: (other, *others))
    place = f"tests/fixtures/{corpus_id}/twins.py"
    assert fixtures.problems(corpus_id) == [
        f"{place} has no error that claim tram_H01 must notice",
        f"{place} names claim {first.claim_id}, which claims.toml does not have, or cannot check",
    ]


def test_name_that_a_piece_may_lack_has_the_value_of_the_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = fixtures.having("broken.py")[0]
    recount = fixtures.load(corpus_id, "recount")
    monkeypatch.delattr(recount, "RECOUNTED_RULES")
    monkeypatch.delattr(recount, "broken_rules")
    assert fixtures.problems(corpus_id) == []
    found = fixtures.load_or_default(corpus_id, "recount")
    assert (found.RECOUNTED_RULES, found.broken_rules(Path()), found.count) == ({}, (), recount.count)


def test_cases_of_rules_are_needed_where_defects_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus_id = fixtures.having("broken.py")[0]
    shutil.copytree(fixtures.folder_of(corpus_id), tmp_path / corpus_id)
    (tmp_path / corpus_id / "broken.py").unlink()
    monkeypatch.setattr(fixtures, "FOLDER", tmp_path)
    assert fixtures.problems(corpus_id) == [f"tests/fixtures/{corpus_id}/broken.py is missing"]
    monkeypatch.setattr(fixtures, "load_defects", lambda _: ())
    assert fixtures.problems(corpus_id) == []


def test_test_that_needs_a_missing_piece_says_where_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixtures, "FOLDER", tmp_path)
    message = r"tests/fixtures/some/twins.py is missing; docs/add_a_corpus.md says what it is for"
    with pytest.raises(fixtures.FixtureError, match=message):
        fixtures._piece("some", "twins.py")


def test_every_piece_is_described_in_the_page() -> None:
    page = (Path(fixtures.FOLDER).parents[1] / "docs" / "add_a_corpus.md").read_text(encoding="utf-8")
    pieces = {**fixtures.PIECES, **fixtures.OPTIONAL}
    assert [piece for piece in pieces if f"`{piece}`" not in page and f"`{piece}/`" not in page] == []


def test_shapes_have_the_documented_names() -> None:
    assert fixtures.offered(shapes.Traces) == {"AGREES", "WITHOUT_PLACE", "KEYS"}
    assert fixtures.offered(shapes.Strategies) == {"NEVER", "mend_record"}
    assert fixtures.offered(shapes.Score) == {"MODES", "splits", "score"}
    assert fixtures.offered(shapes.Predictions) == {"edit_gold", "predict"}


@pytest.mark.all_corpora
def test_every_folder_of_fixtures_belongs_to_a_corpus() -> None:
    folders = {path.name for path in fixtures.FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(registry.corpus_ids())
