"""`new-corpus` writes every piece of a corpus under its name, overwrites nothing, and reports invalid input."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.corpora import registry, starting
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import CLONE
from tests import fixtures
from tests.unit.sentences import read_notes

LIKE = [None, *registry.corpus_ids()]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the files of a clone that `new-corpus` reads."""
    shutil.copytree(CLONE / starting.SMALLEST_FOLDER, tmp_path / starting.SMALLEST_FOLDER)
    folders = [place.format(corpus_id) for place in starting.PLACES for corpus_id in registry.corpus_ids()]
    for folder in filter(lambda folder: (CLONE / folder).is_dir(), folders):
        shutil.copytree(CLONE / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CLONE / starting.PROJECT, tmp_path / starting.PROJECT)
    return tmp_path


def variables(clone: Path) -> dict[str, dict[str, list[str]]]:
    return yaml.safe_load((clone / starting.PROJECT).read_text(encoding="utf-8"))["vars"]


def texts(clone: Path, paths: list[str]) -> str:
    return "\n".join((clone / path).read_text(encoding="utf-8") for path in paths if path != starting.PROJECT)


@pytest.mark.parametrize("like", LIKE)
def test_every_piece_is_written_under_the_new_name(clone: Path, like: str | None) -> None:
    before, model = variables(clone), like or starting.SMALLEST
    written = starting.start_corpus("newcorpus", like, clone)
    assert all((clone / path).is_file() for path in written)
    assert registry.problems(clone / "dialogue_warehouse/corpora/newcorpus") == []
    pieces = {
        path.removeprefix("tests/fixtures/newcorpus/").partition("/")[0] for path in written if "/fixtures/" in path
    }
    assert set(fixtures.PIECES) <= pieces
    renamed = re.sub(starting.OF_THE_PUBLISHER, "", texts(clone, written), flags=re.M) + " ".join(written)
    assert not re.search(rf"(?<![A-Za-z0-9]){model}(?![a-z0-9])", renamed)
    after = variables(clone)
    assert after["corpora"].pop("newcorpus")
    for variable in ("derived", "staged"):
        assert after[variable].pop("newcorpus", []) == before[variable].get(model, [])
    entities = starting.entities_of("newcorpus", clone=clone)
    assert entities
    assert {starting.model_of("newcorpus", entity, clone) for entity in entities} <= set(written)
    assert after == before


@pytest.mark.parametrize("like", LIKE)
def test_words_and_addresses_of_the_publisher_keep_the_name_that_he_uses(clone: Path, like: str | None) -> None:
    def words(corpus_id: str, folder: Path) -> list[object]:
        room, tests = (folder / place.format(corpus_id) for place in (starting.PLACES[0], starting.PLACES[-1]))
        source, claims = (tomllib.loads((room / name).read_text("utf-8")) for name in ("source.toml", "claims.toml"))
        sentences = tests / "sentences.toml"
        return [
            source["homepage"],
            source["citation"],
            [file["url"] for file in source["files"]],
            [claim["quote"] for claim in claims["claims"] if "quote" in claim],
            [note.texts for note in read_notes(sentences if sentences.is_file() else None)],
        ]

    starting.start_corpus("newcorpus", like, clone)
    model, folder = (like, clone) if like else (starting.SMALLEST, clone / starting.SMALLEST_FOLDER)
    assert words("newcorpus", clone) == words(model, folder)


@pytest.mark.parametrize("like", LIKE)
def test_no_claim_has_an_id_that_another_corpus_has(clone: Path, like: str | None) -> None:
    def ids(corpus_id: str) -> set[str]:
        claims = (clone / "dialogue_warehouse/corpora" / corpus_id / "claims.toml").read_text(encoding="utf-8")
        return {claim["id"] for claim in tomllib.loads(claims)["claims"]}

    starting.start_corpus("newcorpus", like, clone)
    own = ids("newcorpus")
    assert own
    assert all(own.isdisjoint(ids(corpus_id)) for corpus_id in registry.corpus_ids())
    paths = (clone / "tests/fixtures/newcorpus").glob("*twins.py")
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    decorators = re.findall(r"^@breaks\(([^)]*)\)", text, flags=re.M)
    noticed = {claim_id for found in decorators for claim_id in re.findall(r'"([\w.]+)"|(\w+)=', found)}
    stated = re.findall(r'^    "([\w.]+)": "', text, flags=re.M)
    twins = {*stated, *(positional or keyword for positional, keyword in noticed)}
    assert twins
    assert twins <= own
    tests = "".join(path.read_text(encoding="utf-8") for path in (clone / "tests/fixtures/newcorpus").glob("test_*.py"))
    assert [claim_id for claim_id in own if f'"{claim_id.removeprefix("newcorpus_")}"' in tests] == []
    path = clone / "tests/fixtures/newcorpus/sentences.toml"
    notes = read_notes(path if path.is_file() else None)
    assert notes or not path.is_file()
    assert {note.claim for note in notes if note.claim} <= own


@pytest.mark.parametrize(
    "name",
    ["Newcorpus", "newcorpus-1", "newcorpus_2", "2corpora", "", "t", "../newcorpus", "t" * 31, "corpûs"],
)
def test_invalid_name_of_a_package_or_table_is_rejected(clone: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a corpus: use 2 to 30 lower-case letters"):
        starting.start_corpus(name, None, clone)


def test_word_of_python_is_rejected_with_this_reason(clone: Path) -> None:
    with pytest.raises(InputError, match="'class' cannot be the name of a corpus: it is a keyword of Python"):
        starting.start_corpus("class", None, clone)


@pytest.mark.parametrize("name", [*starting.RESERVED_NAMES, starting.SMALLEST])
def test_word_of_the_project_is_rejected(clone: Path, name: str) -> None:
    with pytest.raises(InputError, match="the project uses this name"):
        starting.start_corpus(name, None, clone)


def test_existing_corpus_is_rejected(clone: Path) -> None:
    corpus_id = registry.corpus_ids()[0]
    with pytest.raises(InputError, match=f"{corpus_id}: the corpus exists already"):
        starting.start_corpus(corpus_id, None, clone)
    with pytest.raises(InputError, match="missing: no such corpus; there are "):
        starting.start_corpus("newcorpus", "missing", clone)


def test_nothing_is_overwritten_and_nothing_half_written(clone: Path) -> None:
    mine = clone / "tests/fixtures/newcorpus/traces.py"
    mine.parent.mkdir(parents=True)
    mine.write_text("# mine\n")
    project = (clone / starting.PROJECT).read_bytes()
    with pytest.raises(InputError, match=r"tests/fixtures/newcorpus/traces\.py exists already; nothing was written"):
        starting.start_corpus("newcorpus", None, clone)
    assert mine.read_text() == "# mine\n"
    assert [path for path in mine.parent.iterdir() if path != mine] == []
    assert not (clone / "dialogue_warehouse/corpora/newcorpus").exists()
    assert (clone / starting.PROJECT).read_bytes() == project


@pytest.mark.parametrize("lacking", [starting.PROJECT, starting.SMALLEST_FOLDER])
def test_error_for_a_folder_that_is_not_a_clone_names_missing_files(clone: Path, lacking: str) -> None:
    path = clone / lacking
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(
        InputError, match=r"a corpus can only be added to a clone of the project: .* lacks dbt_project/"
    ):
        starting.start_corpus("newcorpus", None, clone)


def test_command_lists_the_written_files(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = starting.start_corpus
    monkeypatch.setattr(starting, "start_corpus", lambda name, like: start(name, like, clone))
    shown = CliRunner().invoke(cli, ["new-corpus", "newcorpus", "--warehouse", "there"])
    *written, check, build = shown.output.splitlines()
    assert "dialogue_warehouse/corpora/newcorpus/schema.py" in written
    assert f"{starting.PROJECT} (one entry added)" in written
    assert all((clone / path.removesuffix(" (one entry added)")).is_file() for path in written)
    assert "dialogue-warehouse check-corpus newcorpus --no-tests` says what is left to do" in check
    assert "dialogue-warehouse build --warehouse there` builds the sample with it" in build
