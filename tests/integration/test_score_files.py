"""Files of predictions that are odd or wrong: what `score` says of them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.cli.main import main
from dialogue_warehouse.corpora.scores import scored_corpora
from tests import golden
from tests.conftest import run_command

CORPORA = scored_corpora()


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_other_files_of_a_folder_that_look_like_predictions_are_noticed(
    sample_folder: Path, tmp_path: Path, corpus_id: str
) -> None:
    path, folder = golden.example(sample_folder, corpus_id, tmp_path / "examples"), tmp_path / "folder"
    folder.mkdir()
    (folder / path.name).write_bytes(path.read_bytes())
    for name in ("README.md", "notes.txt", ".hidden.jsonl.gz", "my_dialogues_and_metrics.json"):
        (folder / name).write_text("{}", encoding="utf-8")
    for name in ("0.jsonl.gz", f"old{path.suffix}"):
        (folder / name).mkdir()
    with golden.scored(sample_folder, corpus_id, folder, **golden.options_of(corpus_id)) as scores:
        before = scores.notices
    for name in ("b.JSONL", "a.jsonl.gz", "c.ndjson"):
        (folder / name).write_text("{}", encoding="utf-8")
    with golden.scored(sample_folder, corpus_id, folder, **golden.options_of(corpus_id)) as scores:
        place = f"its name does not end with {path.suffix}"
        assert scores.notices == [*before, ("a file of the folder is not read", 3, "a.jsonl.gz", place)]
        assert not scores.is_complete()


def test_array_beside_lines_is_noticed_where_there_are_only_lines(sample_folder: Path, tmp_path: Path) -> None:
    golden.example(sample_folder, "bbai", tmp_path)
    (tmp_path / "more.json").write_text("[]", encoding="utf-8")
    with golden.scored(sample_folder, "bbai", tmp_path, split="test") as scores:
        assert (
            "a file of the folder is not read",
            1,
            "more.json",
            "its name does not end with .jsonl",
        ) in scores.notices


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_file_in_another_encoding_is_refused_with_what_to_do(
    sample_folder: Path, tmp_path: Path, corpus_id: str
) -> None:
    path = golden.example(sample_folder, corpus_id, tmp_path)
    content = path.read_bytes()
    text = content.decode()
    for changed, problem in (
        (text.encode("utf-8-sig"), r"begins with a byte order mark \(BOM\); write it as UTF-8 without one"),
        (text.encode("utf-16"), "is UTF-16; write it as UTF-8"),
        (gzip.compress(content), "is compressed with gzip; unpack it first"),
    ):
        path.write_bytes(changed)
        with (
            pytest.raises(dw.InputError, match=rf"{path.name}: {problem}$"),
            golden.scored(sample_folder, corpus_id, path, **golden.options_of(corpus_id)),
        ):
            pass


def test_long_text_is_read_and_cut_in_the_message(sample_folder: Path, tmp_path: Path) -> None:
    first = json.loads(golden.example(sample_folder, "bbai", tmp_path).read_text(encoding="utf-8").splitlines()[0])
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps(first | {"question": "x" * 35_000_000}), encoding="utf-8")
    with (
        pytest.raises(dw.InputError, match=r'^long\.jsonl: question "x+…: the split has no such question$') as refused,
        golden.scored(sample_folder, "bbai", path, split="test"),
    ):
        pass
    assert len(str(refused.value)) < 600


def test_notice_is_one_line_without_control_characters(sample_folder: Path, tmp_path: Path) -> None:
    golden.example(sample_folder, "sgd", tmp_path)
    path = tmp_path / "sgd_lines.jsonl"
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    line["slot_values"] = {"a\nb\x1b[31m": "x"}
    path.write_text(json.dumps(line), encoding="utf-8")
    options = ("--corpus", "sgd", "--split", "test", "--predictions", path, "--warehouse", sample_folder)
    completed = run_command("score", *options)
    assert completed.returncode == 0, completed.stderr
    (notice,) = (text for text in completed.stderr.splitlines() if "unknown to its service" in text)
    assert notice.endswith(r", a\nb\x1b[31m")


@pytest.mark.parametrize(
    ("corpus_id", "changed", "problems"),
    [
        (
            "sgd",
            {"active_intent": "FindBanana", "requested_slots": ["banana"]},
            (
                ("an intent is unknown to its service: it counts as wrong", "FindBanana"),
                ("a requested slot is unknown to its service: it counts as wrong", "banana"),
            ),
        ),
        (
            "abcd",
            {"intent": "banana", "next_step": "take-action", "action": "pull_up_account", "value": "Credit Card"},
            (
                ("intent is a label that the corpus does not have: it counts as wrong", "banana"),
                ("next_step is a label that the corpus does not have: it counts as wrong", "take-action"),
                ("action is a label that the corpus does not have: it counts as wrong", "pull_up_account"),
                ("value is a label that the corpus does not have: it counts as wrong", "Credit Card"),
            ),
        ),
        (
            "taskmaster1",
            {"arguments": [{"name": "banana.accept", "text": "8"}]},
            (("the corpus has no such label: it counts as wrong", "banana.accept"),),
        ),
    ],
)
def test_label_that_the_corpus_does_not_have_is_noticed(
    sample_folder: Path,
    tmp_path: Path,
    corpus_id: str,
    changed: dict[str, object],
    problems: tuple[tuple[str, str], ...],
) -> None:
    """Underscores in place of hyphens made every value wrong, and no message said why."""
    golden.example(sample_folder, corpus_id, tmp_path)
    path = next(tmp_path.glob("*lines.jsonl"))
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    options = golden.options_of(corpus_id)
    with golden.scored(sample_folder, corpus_id, path, **options) as scores:
        assert not {problem for problem, *_ in scores.notices} & {problem for problem, _ in problems}
    path.write_text(json.dumps(json.loads(first) | changed) + "\n" + "".join(rest), encoding="utf-8")
    with golden.scored(sample_folder, corpus_id, path, **options) as scores:
        found = {problem: (times, place.rpartition(", ")[2]) for problem, times, _, place in scores.notices}
    assert {problem: found.get(problem) for problem, _ in problems} == {
        problem: (1, label) for problem, label in problems
    }


def test_value_that_its_categorical_slot_does_not_list_is_noticed(sample_folder: Path, tmp_path: Path) -> None:
    """The case of a value made it wrong, and no message said why; `dontcare` and what gold has are right."""
    golden.example(sample_folder, "sgd", tmp_path)
    path = tmp_path / "sgd_lines.jsonl"
    with dw.open(sample_folder) as warehouse:
        listed = warehouse.sql(
            "select service, slot, possible_values[1] from core.dim_slots"
            " where corpus_id = 'sgd' and split = 'test' and is_categorical and len(possible_values) > 0 order by all"
        ).fetchall()
    frames = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    first, slot, value = next(
        (frame, slot, value) for frame in frames for service, slot, value in listed if service == frame["service"]
    )
    found = {}
    for given in (value, "dontcare", f"{value} or so"):
        path.write_text(json.dumps(first | {"slot_values": {slot: given}}), encoding="utf-8")
        with golden.scored(sample_folder, "sgd", path, split="test") as scores:
            found[given] = [
                (times, place.rpartition(", ")[2])
                for problem, times, _, place in scores.notices
                if problem == "a value is unknown to its categorical slot: it counts as wrong"
            ]
    assert found == {value: [], "dontcare": [], f"{value} or so": [(1, f"{value} or so")]}


def test_place_that_a_ranking_has_twice_is_noticed(sample_folder: Path, tmp_path: Path) -> None:
    """A list of zeros and a one, which is not a ranking, was scored without a message."""
    path = golden.example(sample_folder, "abcd", tmp_path)
    first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    found = []
    for ranking in (list(range(100)), [0] * 99 + [1]):
        path.write_text(json.dumps(json.loads(first) | {"ranking": ranking}) + "\n" + "".join(rest), encoding="utf-8")
        with golden.scored(sample_folder, "abcd", path, split="test") as scores:
            found.append([times for problem, times, *_ in scores.notices if "has a place twice" in problem])
    assert found == [[], [1]]


def test_changed_example_is_overwritten_on_request(sample_folder: Path, tmp_path: Path) -> None:
    path = golden.example(sample_folder, "bbai", tmp_path)
    content = path.read_bytes()
    path.write_bytes(b"mine")
    options = ("--corpus", "bbai", "--split", "test", "--example", tmp_path, "--warehouse", sample_folder)
    refused = run_command("score", *options)
    assert refused.returncode == 2
    assert "--force overwrites existing files" in refused.stderr
    assert path.read_bytes() == b"mine"
    assert run_command("score", *options, "--force").returncode == 0
    assert path.read_bytes() == content
    misplaced = run_command("score", *options[:4], "--predictions", path, "--warehouse", sample_folder, "--force")
    assert misplaced.returncode == 2
    assert misplaced.stderr.startswith("error: --force has no effect without --example FOLDER (see ")


@pytest.mark.parametrize(
    "option",
    [
        *("--predictions nowhere.json", "--against nowhere.json", "--to results.duckdb", "--strict", "--fuzzy exact"),
        *("--across-turn", "--without-defects here", "--json", "--csv", "--format table"),
    ],
)
def test_option_without_effect_on_examples_is_refused(
    tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--corpus", "sgd", "--example", str(tmp_path / "example"), "--warehouse", str(tmp_path))
    assert main(["score", *arguments, *option.split()]) == 2
    assert f"error: {option.split()[0]} has no effect with --example FOLDER" in capsys.readouterr().err
    assert not (tmp_path / "example").exists()


def test_name_that_is_not_utf_8_is_refused_in_one_line(sample_folder: Path, tmp_path: Path) -> None:
    """Regression: the command ended with an internal error."""
    content = golden.example(sample_folder, "bbai", tmp_path / "examples").read_bytes()
    folder = tmp_path / "folder"
    folder.mkdir()
    options = ("--corpus", "bbai", "--split", "test", "--warehouse", sample_folder)
    for name in (b"a\xff.jsonl", b"unread\xff.json"):
        file = folder / os.fsdecode(name)
        file.write_bytes(content)
        for place in (file, folder) if file.suffix == ".jsonl" else (folder,):
            completed = run_command("score", *options, "--predictions", place)
            assert completed.returncode == 2, completed.stderr
            assert completed.stderr.endswith(f"{file.suffix}: the name is not valid UTF-8; rename it\n")
            assert len(completed.stderr.splitlines()) == 1
        file.unlink()
        (folder / "b.jsonl").write_bytes(content)


def test_folder_for_temporary_files_is_not_a_value(
    sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB can read `dialogue_id=3` in a path as the value of the column `dialogue_id` in each row."""
    path = golden.example(sample_folder, "sgd", tmp_path / "examples")
    folder = tmp_path / "dialogue_id=3"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with golden.scored(sample_folder, "sgd", path, **golden.options_of("sgd")) as scores:
        assert scores.notices == []
