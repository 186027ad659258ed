"""Results of scores that are kept in a file: comparisons with several others, and what a failed run leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.corpora.scores import load_scoring, scored_corpora
from dialogue_warehouse.scoring import running, tables
from dialogue_warehouse.scoring.summaries import slots_query
from tests import golden
from tests.conftest import run_command

CORPORA = scored_corpora()


def test_run_keeps_its_comparisons_with_several_others(sample_folder: Path, tmp_path: Path) -> None:
    own, file = golden.example(sample_folder, "bbai", tmp_path), tmp_path / "results.duckdb"
    other = tmp_path / "other.jsonl"
    lines = [json.loads(line) for line in own.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["scores"] = {agent: float(agent == "adasa") for agent in line["scores"]}
    other.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    compared = []
    with dw.open(sample_folder) as warehouse:
        for against in (own, other, other, None):
            scores = warehouse.score("bbai", own, split="test", against=against, to=file)
            assert len(scores) == len({(score.metric, score.group_name) for score in scores})
            compared.append(scores.scores[0].difference)
    assert compared[0] == 0.0
    assert compared[1] == compared[2] != 0.0
    assert compared[3] is None
    rows = kept(sample_folder, file)
    assert {name for name, _ in rows} == {own.name, other.name}
    assert len({number for _, number in rows}) == 1
    other.write_text(json.dumps(lines[0]), encoding="utf-8")  # the same name, other predictions
    with dw.open(sample_folder) as warehouse:
        warehouse.score("bbai", own, split="test", against=other, to=file)
    assert [name for name, _ in kept(sample_folder, file)] == sorted([own.name, other.name])


def test_notices_of_both_predictions_are_shown(sample_folder: Path, tmp_path: Path) -> None:
    """Other predictions that do not count change the comparison, too."""
    own, other = golden.example(sample_folder, "bbai", tmp_path), tmp_path / "other.jsonl"
    text = own.read_text(encoding="utf-8").strip()
    other.write_text(f"{text}\n{text.splitlines()[0]}\n", encoding="utf-8")
    with dw.open(sample_folder) as warehouse:
        scores = warehouse.score("bbai", own, split="test", against=other)
    (notice,) = scores.against_notices
    assert (scores.notices, notice.times, notice.file) == ((), 1, other.name)
    options = ("--corpus", "bbai", "--split", "test", "--warehouse", sample_folder)
    printed = run_command("score", *options, "--predictions", own, "--against", other)
    assert printed.stderr == f"--against: 1 time: {notice.problem}; first in {other.name}: {notice.place}\n"


def kept(warehouse: Path, file: Path) -> list[tuple[str, int]]:
    """Return the names of other predictions, and their numbers of main rows."""
    query = (
        "select against, count(*) as rows from scores.comparisons where group_name = '#ALL'"
        " group by against, against_sha256 order by against"
    )
    completed = run_command("sql", "--scores", file, "--json", query, "--warehouse", warehouse)
    assert completed.returncode == 0, completed.stderr
    return [(row["against"], row["rows"]) for row in json.loads(completed.stdout)]


@pytest.mark.parametrize("corpus_id", CORPORA)
def test_predictions_without_a_common_unit_are_not_compared(
    sample_folder: Path, tmp_path: Path, corpus_id: str
) -> None:
    path, file = golden.example(sample_folder, corpus_id, tmp_path), tmp_path / "results.duckdb"
    none = tmp_path / f"none{path.suffix}"
    none.write_text("[]" if path.suffix == ".json" else "", encoding="utf-8")
    with (
        dw.open(sample_folder) as warehouse,
        pytest.raises(
            dw.InputError, match=rf"none{path.suffix}: nothing can be compared: no unit is in both predictions$"
        ),
    ):
        warehouse.score(corpus_id, path, against=none, to=file, **golden.options_of(corpus_id))
    assert not file.exists()
    with dw.open(sample_folder) as warehouse:
        warehouse.score(corpus_id, path, to=file, **golden.options_of(corpus_id))
    assert kept(sample_folder, file) == []


def test_file_of_results_without_tables_is_filled(sample_folder: Path, tmp_path: Path) -> None:
    """A run that was killed before its first results leaves such a file."""
    path, file = golden.example(sample_folder, "bbai", tmp_path), tmp_path / "results.duckdb"
    duckdb.connect(file).close()
    with dw.open(sample_folder) as warehouse:
        scores = warehouse.score("bbai", path, split="test", to=file)
    with duckdb.connect(file, read_only=True) as con:
        assert con.execute("select run_id from runs").fetchall() == [(scores.run_id,)]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_example_of_a_slot_is_the_first_place_of_its_most_frequent_errors(
    sample_folder: Path, tmp_path: Path, is_reversed: bool
) -> None:
    rows = [
        ("date", "right", 9, "0"),
        ("date", "missed", 2, "b"),
        ("date", "wrong", 2, "a"),
        ("date", "invented", 2, "c"),
    ]
    rows += [("time", "missed", 1, "a"), ("time", "wrong", 3, "b")]
    with golden.scored(sample_folder, "bbai", golden.example(sample_folder, "bbai", tmp_path), split="test") as scores:
        for row in reversed(rows) if is_reversed else rows:
            values = [scores.run_id, *row]
            scores.con.execute("insert into scores.slots values (?, 'Trains', ?, ?, ?, ?, null, null)", values)
        sgd = replace(scores, scoring=load_scoring("sgd"))
        query = slots_query(sgd)
        assert query is not None
        found = scores.con.execute(query).fetchall()
    assert [(slot, example_key) for _, slot, *_, example_key in found] == [("date", "a"), ("time", "b")]


def test_file_that_another_run_filled_meanwhile_stays(
    sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a run that failed removed the results of another run, which had made the file meanwhile."""
    own, file = golden.example(sample_folder, "bbai", tmp_path), tmp_path / "results.duckdb"
    attach = tables.attach

    def attach_later(con: duckdb.DuckDBPyConnection, to: Path | None = None) -> bool:
        if to is not None:
            with duckdb.connect() as another:
                attach(another, to)
                tables.make(another)
        return attach(con, to)

    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(tables, "attach", attach_later)
    monkeypatch.setattr(running, "_insert", fail)
    with dw.open(sample_folder) as warehouse, pytest.raises(RuntimeError):
        warehouse.score("bbai", own, split="test", to=file)
    assert file.is_file()


def test_new_file_is_removed_if_the_commit_fails(tmp_path: Path) -> None:
    """Regression: a full disk at the commit left a file without results."""
    file = tmp_path / "results.duckdb"
    file.touch()

    class Full:
        def execute(self, query: str) -> None:
            if query != "begin":
                raise duckdb.IOException(query)

    with pytest.raises(duckdb.IOException, match="commit"), running._transaction(Full(), file):
        pass
    assert not file.exists()
