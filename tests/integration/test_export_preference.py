"""`export --form preference`: chosen and rejected answers are those of the files; what is in no example is counted."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.exporting import losses, preference, writing
from dialogue_warehouse.exporting.preference import PreferenceOptions
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.reading.selection import Selection
from dialogue_warehouse.settings import Settings
from tests import exported, fixtures
from tests.conftest import Once, run_command
from tests.unit.published import snapshot

CORPORA = [corpus.corpus_id for corpus in registry.load_corpora() if (corpus.folder / "preferences.sql").is_file()]
OTHERS = sorted(set(registry.corpus_ids()) - set(CORPORA))
SOURCES = ("sample", "real")
Export = Callable[[str], Path]


def write(warehouse: Path, to: Path, selection: Selection, options: PreferenceOptions, **settings: Any) -> list[Any]:
    """Export in this process."""
    given = Settings(warehouse=warehouse, **settings)
    return writing.export_published(WarehousePaths(warehouse), given, selection, options, to, Reporter())


@pytest.fixture(scope="module")
def preferences(once: Once, request: pytest.FixtureRequest) -> Export:
    """Return a function that exports a warehouse once, and returns the folder."""

    def export(source: str) -> Path:
        warehouse = request.getfixturevalue(f"{source}_folder")
        return once(f"preferences_{source}", lambda to: write(warehouse, to, Selection(), PreferenceOptions()) and None)

    return export


def release_of(source: str, corpus_id: str, request: pytest.FixtureRequest) -> Path:
    """Return the folder of the release."""
    if source == "real":
        folder = request.getfixturevalue("real_corpora") / corpus_id
    else:
        folder = request.getfixturevalue("sample_folder") / "sample" / corpus_id
    if not folder.is_dir():
        pytest.skip(f"no real files of {corpus_id}")
    return folder


def text(messages: list[dict[str, str]], role: str) -> str:
    """Return the text of the only message, which has this role."""
    ((found, content),) = [(message["role"], message["content"]) for message in messages]
    assert found == role
    return content


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("corpus_id", CORPORA)
def test_preferences_are_those_of_the_files(
    preferences: Export, request: pytest.FixtureRequest, source: str, corpus_id: str
) -> None:
    release, folder = release_of(source, corpus_id, request), preferences(source)
    expected = fixtures.load(corpus_id, "preferences")
    pairs, labels, counts = {}, {}, Counter[str]()
    for path, examples in exported.read(folder / corpus_id).items():
        for example in examples:
            prompt, votes = text(example["prompt"], "user"), example["source"]
            if path.startswith("pairs/"):
                chosen, rejected = (text(example[name], "assistant") for name in ("chosen", "rejected"))
                pairs[example["id"]] = (prompt, chosen, rejected, votes["chosen"]["votes"], votes["rejected"]["votes"])
            else:
                answer = text(example["completion"], "assistant")
                labels[example["id"]] = (prompt, answer, votes["answer"]["votes"], example["label"])
    assert pairs == expected.pairs(release)
    assert labels == expected.labels(release)
    ledger = json.loads((folder / losses.LEDGER).read_text(encoding="utf-8"))
    for path, of_file in ledger["corpora"][corpus_id]["files"].items():
        if "/pairs/" in path:
            counts.update(of_file)
    assert {name: counts[name] for name in expected.left_out(release)} == expected.left_out(release)
    assert all(counts[name] for name in ("ties", "pairs_with_one_text", "chosen_without_answer", "blank_answers"))
    described = (CLONE / "docs" / "export.md").read_text(encoding="utf-8")
    left_out = counts.keys() - {"dialogues", "exported_dialogues", "examples"}
    assert [name for name in sorted(left_out) if f"`{name}`" not in described] == []


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_keys_in_source_lead_to_the_answers(preferences: Export, sample_folder: Path, corpus_id: str) -> None:
    """The row of core with the key of an answer has its text."""
    examples = exported.examples(preferences("sample"), corpus_id)
    answers = {
        example["source"][place]["key"]: text(example[name], "assistant")
        for example in examples
        for place, name in (("chosen", "chosen"), ("rejected", "rejected"), ("answer", "completion"))
        if name in example
    }
    with duckdb.connect(str(sample_folder / "dialogues.duckdb"), read_only=True) as con:
        found = dict(con.execute("select response_key, response from core.fct_responses").fetchall())
        turns = dict(con.execute("select turn_key, utterance from core.fct_turns").fetchall())
    assert answers
    assert {key: found[key] for key in answers} == answers
    for example in examples:
        said = [[turns[key] for key in keys] for keys in example["source"]["turn_keys"]]
        assert said == [[message["content"]] for message in example["prompt"]]


def test_file_has_the_same_bytes_on_every_run(
    preferences: Export, sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with another number of threads, and in other batches."""
    monkeypatch.setattr(preference, "BATCH_DIALOGUES", 7)
    write(sample_folder, tmp_path / "out", Selection(), PreferenceOptions(), threads=1)
    first = preferences("sample")
    assert {path.relative_to(first): data for path, data in snapshot(first).items()} == {
        path.relative_to(tmp_path / "out"): data for path, data in snapshot(tmp_path / "out").items()
    }


def test_longer_examples_are_left_out_and_counted(preferences: Export, sample_folder: Path, tmp_path: Path) -> None:
    written = write(sample_folder, tmp_path, Selection(), PreferenceOptions(max_characters=250))
    left_out = sum(one.counts["examples_too_long"] for one in written)
    before, after = (
        [example for examples in exported.read(folder).values() for example in examples]
        for folder in (preferences("sample"), tmp_path)
    )
    assert 0 < left_out == len(before) - len(after)
    lengths = [
        sum(
            len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
            for name, value in example.items()
            if name in ("prompt", "chosen", "rejected", "completion")
        )
        for example in after
    ]
    assert max(lengths) <= 250


def test_corpus_without_preferences_is_named_and_its_values_are_dropped(sample_folder: Path, tmp_path: Path) -> None:
    completed = run_command("export", "--form", "preference", "--to", tmp_path / "out", "--warehouse", sample_folder)
    assert completed.returncode == 0, completed.stderr
    said = [line.split(maxsplit=2)[1:] for line in completed.stderr.splitlines() if "has no" in line]
    assert said == [[corpus_id, "has no preferences"] for corpus_id in OTHERS]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*CORPORA, losses.LEDGER}
    ledger = json.loads((tmp_path / "out" / losses.LEDGER).read_text(encoding="utf-8"))
    for corpus_id in OTHERS:
        found = ledger["corpora"][corpus_id]
        assert found["files"] == {}
        assert all(each["dropped"] == each["values"] for table in found["tables"] for each in table["columns"])


def test_export_without_any_preferences_is_refused_and_writes_nothing(sample_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        write(sample_folder, tmp_path / "out", Selection(corpora=tuple(OTHERS)), PreferenceOptions())
    expected = f"--form preference: no selected dialogue has preferences; only {', '.join(CORPORA)} has them"
    assert str(refused.value) == expected
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", [("--profile", "faithful"), ("--arguments", "object"), ("--instructions",)])
def test_option_of_messages_is_refused(tmp_path: Path, option: tuple[str, ...]) -> None:
    refused = run_command("export", "--form", "preference", "--to", tmp_path / "out", *option)
    assert refused.returncode == 2
    assert f"{option[0]} is an option of the forms chat and huggingface, not of preference" in refused.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- part: prompts\nselect nothing from fct_turns\n-- part: answers\nselect 1", "nothing"),
        ("-- part: prompts\nselect 1 as", "no query for answers"),
    ],
)
def test_wrong_query_of_a_corpus_names_its_file(
    sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    corpus_id, load = CORPORA[0], registry.load_corpus
    folder = tmp_path / corpus_id
    shutil.copytree(registry.corpus_folder(corpus_id), folder)
    (folder / preference.PREFERENCES_SQL).write_text(text, encoding="utf-8")
    other = replace(load(corpus_id), folder=folder)
    monkeypatch.setattr(registry, "load_corpus", lambda name: other if name == corpus_id else load(name))
    with pytest.raises(registry.CorpusError, match=rf"\A{corpus_id}/{preference.PREFERENCES_SQL}: .*{message}"):
        write(sample_folder, tmp_path / "out", Selection(), PreferenceOptions())
    assert not (tmp_path / "out").exists()


def test_preferences_of_a_corpus_have_a_second_reading() -> None:
    assert fixtures.having("preferences.py") == CORPORA
