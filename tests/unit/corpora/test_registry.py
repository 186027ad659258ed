"""A folder of a corpus that contradicts itself is rejected in one line."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.generation import simulator
from dialogue_warehouse.corpora.release import GOAL_KINDS, Corpus
from dialogue_warehouse.corpora.scores import load_scoring
from dialogue_warehouse.paths import CLONE, DBT_PROJECT
from pipelines.ingestion.wanted import plan

CORPUS = registry.corpus_ids()[0]


def load_edited(folder: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, replacement: str) -> Corpus:
    """Read a corpus from a copy of its folder with a changed line of its source.toml."""
    copied = shutil.copytree(registry.corpus_folder(CORPUS), folder / CORPUS)
    source = copied / "source.toml"
    edited, count = re.subn(pattern, replacement, source.read_text(encoding="utf-8"), count=1, flags=re.M)
    assert count == 1
    source.write_text(edited, encoding="utf-8")
    monkeypatch.setattr(registry, "corpus_folder", lambda _: copied)
    return registry.load_corpus.__wrapped__(CORPUS)


def test_copy_of_a_corpus_folder_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_edited(tmp_path, monkeypatch, "^text_kind", "text_kind")


def test_mirrors_of_a_corpus_and_of_a_file_are_asked_after_the_publisher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = (
        'mirrors = ["https://m.example/base"]\n\n[[files]]\nmirrors = ["https://n.example/one", "file:///disk/one"]'
    )
    corpus = load_edited(tmp_path, monkeypatch, r"^\[\[files\]\]", listed)
    first, second = plan((corpus,), tmp_path / "to")[:2]
    below = f"https://m.example/base/{first.file.path}"
    assert first.urls == (first.file.url, "https://n.example/one", "file:///disk/one", below)
    assert second.urls == (second.file.url, f"https://m.example/base/{second.file.path}")


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        ('^text_kind = ".*"\n', "", "text_kind"),
        ('^goal_kind = ".*"\n', "", "goal_kind"),
        ('^goal_kind = ".*"', 'goal_kind = "win"', "goal_kind is 'win'; write one of find_shared_item, divide_items, "),
        ('^corpus_id = ".*"', 'corpus_id = "other"', "corpus_id is 'other'"),
        ('^license = ".*"', 'licence = "none"', "unknown key 'licence'; the keys are corpus_id, title, "),
        ('^license = ".*"\n', "", "'license' is missing"),
        ('^license = ".*"', "license =", "Invalid value .at line "),
        ('^license = ".*"', 'license = " "', "'license' is empty"),
        ('^url = ".*"', 'url = ""', "'url' is empty"),
        ('^license = ".*"', "license = 4", "'license': Expected `str`, got `int`"),
        ('^url = ".*"\n', "", "'url' is missing"),
        ('^path = "(.*)"', r'path = "\1"\nbytes = "12"', "'bytes': Expected `int . null`, got `str`"),
        ('^path = "(.*)"', r'path = "\1"\nurl = "x"\n[[files]]\npath = "\1"', "is listed twice"),
        ("^text_kind", 'mirrors = "https://m.example"\ntext_kind', "mirrors: not a list of URLs"),
        ("^text_kind", 'mirrors = ["m.example"]\ntext_kind', "mirrors: not a list of URLs"),
        ("^text_kind", "mirrors = [1]\ntext_kind", "mirrors: not a list of URLs"),
        ('^path = "(.*)"', r'path = "\1"\nmirrors = ["ftp://m.example/x"]', "mirrors of .*: not a list of URLs"),
    ],
)
def test_wrong_or_missing_fact_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, replacement: str, message: str
) -> None:
    with pytest.raises(registry.CorpusError, match=rf"^{CORPUS}/source\.toml: .*{message}"):
        load_edited(tmp_path, monkeypatch, pattern, replacement)


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("syntax", "class Call(Struct(:", "cannot be loaded: SyntaxError: .* \\(schema.py, line 1\\)"),
        ("absent", "import nothing_has_this_name", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("division", "1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("empty", "", "has no ENTITIES"),
    ],
)
def test_error_of_a_schema_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, message: str
) -> None:
    """Regression: `build` said that it was an internal error, and an error in source.toml was one of schema.py."""
    shutil.copytree(registry.corpus_folder(CORPUS), tmp_path / name)
    (tmp_path / name / "schema.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(registry.corpora, "__path__", [str(tmp_path)])
    with pytest.raises(registry.CorpusError, match=rf"^{name}/schema\.py {message}"):
        registry.load_corpus.__wrapped__(name)


@pytest.mark.parametrize(
    ("module", "needed", "load"),
    [
        ("score", "TABLES", lambda name: load_scoring.__wrapped__(name)),
        ("simulate", "plan", simulator),
        ("huggingface", "FORM", lambda name: registry.load_form.__wrapped__(name, "huggingface")),
    ],
)
def test_error_of_another_module_of_a_corpus_names_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, needed: str, load: Callable[[str], object]
) -> None:
    """Regression: `score` and `simulate` said that it was an internal error."""
    corpus = registry.corpus_folder(CORPUS)
    monkeypatch.setattr(registry.corpora, "__path__", [str(tmp_path)])
    monkeypatch.setattr(registry, "load_corpus", registry.load_corpus.__wrapped__)
    for case, code, message in (("division", "1 / 0", "cannot be loaded: Zero.*"), ("empty", "", f"has no {needed}")):
        name = f"{case}{module}"
        shutil.copytree(corpus, tmp_path / name)
        for file in ("source.toml", "schema.py"):
            text = (tmp_path / name / file).read_text(encoding="utf-8")
            (tmp_path / name / file).write_text(text.replace(f'"{CORPUS}"', f'"{name}"'), encoding="utf-8")
        (tmp_path / name / f"{module}.py").write_text(code, encoding="utf-8")
        with pytest.raises(registry.CorpusError, match=rf"^{name}/{module}\.py {message}"):
            load(name)


def test_kinds_of_goals_are_the_terms_of_the_models_and_of_the_page() -> None:
    project = yaml.safe_load((DBT_PROJECT / "dbt_project.yml").read_text(encoding="utf-8"))
    assert project["vars"]["vocabularies"]["goal_kind"] == list(GOAL_KINDS)
    page = (CLONE / "docs" / "add_a_corpus.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page.partition("| `goal_kind` |")[2].partition("\n\n")[0], re.M) == [
        *GOAL_KINDS
    ]


@pytest.mark.parametrize("name", ["", ".", "../corpora/sgd", "sgd/", "nope"])
def test_name_of_another_folder_is_rejected(name: str) -> None:
    """Regression: a path to a folder was read as a corpus."""
    named = re.escape(name or repr(name))
    with pytest.raises(registry.CorpusError, match=rf"^{named}: no such corpus; there are [^\n]*sgd"):
        registry.load_corpus(name)


@pytest.mark.parametrize("variable", ["DIALOGUE_ONLY", "DIALOGUE_REFRESH"])
def test_variable_with_an_unknown_corpus_is_named(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "sgd, nope")
    with pytest.raises(registry.CorpusError, match=rf"^{variable}: nope: no such corpus; there are "):
        registry.load_corpora(("sgd", "nope"))
    with pytest.raises(registry.CorpusError, match=r"^other: no such corpus; there are "):
        registry.load_corpora(("other",))
