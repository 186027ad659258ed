"""The state of a warehouse folder."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Container, Corpus, Entity, SourceFile
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage.landed import Cause, Fallback
from dialogue_warehouse.terminal import status
from tests.unit.published import BUILD, make_build

# The state of a warehouse folder


@pytest.fixture
def fruit(monkeypatch) -> Corpus:
    """Return the only corpus: two data files and a documentation file."""
    corpus = Corpus(
        corpus_id="fruit",
        title="",
        homepage="",
        license="",
        citation="",
        release="",
        text_kind="dialogue",
        goal_kind="none",
        files=(
            SourceFile("train/a.json", "https://example.com/train/a.json"),
            SourceFile("b.json", "https://example.com/b.json"),
            SourceFile("README.md", "https://example.com/README.md", is_documentation=True),
        ),
        entities=(Entity("apples", str, Container.ARRAY, r"(train/)?[ab]\.json"),),
        folder=Path(),
    )
    monkeypatch.setattr(registry, "load_corpora", lambda only=(): (corpus,))
    return corpus


def test_status_names_the_published_build_and_the_files_on_disk(paths, fruit):
    make_build(paths, "20210101T000000000000Z")
    paths.build_manifest(BUILD).unlink()
    found = status.read_status(paths, Settings())
    newest, oldest = found.builds
    assert (found.published_build, found.source) == ("20210101T000000000000Z", "/releases")
    assert (newest.is_published, newest.source, newest.built_at) == (True, "/releases", "2020-01-01T00:00:00")
    assert (oldest.build_id, oldest.is_published, oldest.source, oldest.raw_bytes) == (BUILD, False, None, 0)
    sizes = [file.stat().st_size for file in paths.raw.rglob("*.parquet")]
    assert found.raw_bytes == newest.raw_bytes == sum(sizes)
    assert found.database_bytes == sum(file.stat().st_size for file in paths.builds.glob("*.duckdb"))


def test_status_names_each_missing_file_with_where_to_get_and_put_it(paths, fruit, tmp_path):
    present = tmp_path / "releases" / "fruit" / "train" / "a.json"
    present.parent.mkdir(parents=True)
    present.write_text("[]")
    found = status.read_status(paths, Settings(source=tmp_path / "releases"))
    (corpus,) = found.releases
    assert (corpus.corpus_id, corpus.present, corpus.listed) == ("fruit", 1, 2)
    put_at = str(tmp_path / "releases" / "fruit" / "b.json")
    assert corpus.missing == (status.MissingFile("b.json", "https://example.com/b.json", put_at),)
    stream = io.StringIO()
    status.print_status(found, Console(file=stream, width=100))
    for words in (BUILD, "(published)", "fruit: 1 of 2 files present", "https://example.com/b.json", put_at):
        assert words in stream.getvalue()


def test_status_of_an_empty_folder_says_what_to_run(tmp_path, fruit):
    found = status.read_status(WarehousePaths(tmp_path), Settings())
    assert (found.published_build, found.builds, found.raw_bytes) == (None, (), 0)
    assert (found.corpora, found.last_attempt, found.last_check) == ((), None, None)
    assert [problem.kind for problem in found.problems] == ["nothing_published"]
    stream = io.StringIO()
    status.print_status(found, Console(file=stream, width=100))
    assert f"dialogue-warehouse build --warehouse {tmp_path}`" in stream.getvalue()
    assert "fruit (2 files, license: ): https://example.com/<path> to FOLDER/fruit/<path>" in stream.getvalue()


def test_releases_to_download_are_those_of_the_settings(tmp_path):
    """Regression: all were listed, below a `fetch` that downloads only those of DIALOGUE_ONLY."""
    stream, first = io.StringIO(), registry.corpus_ids()[0]
    found = status.read_status(WarehousePaths(tmp_path), Settings(only=(first,)))
    status.print_status(found, Console(file=stream), only=(first,))
    listed = [line for line in stream.getvalue().splitlines() if "license: " in line]
    assert listed and all(line.startswith(f"  {first} (") for line in listed)


def test_place_of_a_file_whose_url_does_not_end_with_its_path_is_its_own_line(fruit):
    """Regression: the line was `https://example.org/get?id=7<path>`, and counted all files of the corpus."""
    other = SourceFile("b c.json", "https://example.org/get?id=7")
    assert status.places([replace(fruit, files=(*fruit.files, other))]) == [
        "fruit (2 files, license: ): https://example.com/<path> to FOLDER/fruit/<path>",
        "fruit (1 file, license: ): https://example.org/get?id=7 to FOLDER/fruit/b c.json",
    ]


def test_status_says_which_corpus_is_stale_since_when_and_why(paths, fruit):
    manifest = json.loads(paths.build_manifest(BUILD).read_text())
    carried = {
        "apples": Fallback("20190101T000000000000Z", Cause.DAMAGED, "apples/a.json: not JSON", "2020-01-01T00:00:00"),
        "pears": Fallback("20190101T000000000000Z", Cause.NOT_ASKED_FOR),
    }
    manifest |= {"number": 7, "corpora": ["apples", "pears", "plums"], "carried": msgspec.to_builtins(carried)}
    manifest |= {"scales": {"plums": 0.01}}
    paths.build_manifest(BUILD).write_text(json.dumps(manifest))
    paths.published.write_bytes(paths.build_database(BUILD).read_bytes())
    found = status.read_status(paths, Settings())
    assert [build.number for build in found.builds] == [7]
    assert [(corpus.corpus_id, corpus.is_stale, corpus.stale_since, corpus.cause) for corpus in found.corpora] == [
        ("apples", True, "2020-01-01T00:00:00", Cause.DAMAGED),
        ("pears", False, None, Cause.NOT_ASKED_FOR),
        ("plums", False, None, None),
    ]
    assert [corpus.corpus_id for corpus in found.corpora if corpus.is_generated] == ["plums"]
    (problem,) = found.problems
    assert problem.kind == "stale_corpus"
    assert problem.text == (
        "apples is stale since 2020-01-01T00:00:00: its rows are those of build 20190101T000000000000Z, "
        "because apples/a.json: not JSON"
    )
    stream = io.StringIO()
    status.print_status(found, Console(file=stream, width=100))
    assert f"problem    {problem.text}\n" in stream.getvalue()


def test_status_is_shown_while_a_build_removes_an_older_one(paths, fruit, monkeypatch):
    """Regression: the file of the older one was missing when its size was read, and `status` failed."""
    gone = "20190101T000000000000Z"
    monkeypatch.setattr(status, "kept_builds", lambda _: [gone, BUILD])
    found = status.read_status(paths, Settings())
    assert [(build.build_id, build.database_bytes > 0) for build in found.builds] == [(BUILD, True), (gone, False)]


def test_damaged_files_are_named_as_they_are(paths, fruit, capsys):
    damaged = tuple(f"/[b]/[/b]\x1b/{number}" for number in range(status.DISPLAYED_DAMAGED + 1))
    status.print_status(replace(status.read_status(paths, Settings()), damaged=damaged))
    shown = capsys.readouterr().out
    assert "damaged    /[b]/[/b]\\x1b/0 is missing: the next build repairs it\n" in shown
    assert "damaged    and 1 more file\n" in shown
