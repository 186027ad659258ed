"""Every query of `warehouse/queries` runs, describes its columns and rows, and is right.

The right answer is the one that `analyst_answers` computes from the release files without SQL: on the
disturbed sample (`disturb.py` of the fixtures), where rare cases are frequent, and on the real data if they are
available.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.paths import CLONE
from tests.integration import analyst_answers
from tests.integration.analyst_sources import CORPORA

QUERIES = sorted((CLONE / "warehouse" / "queries").glob("*.sql"))
MOST_ROWS = 300
WRONG = {
    "how_large_are_the_corpora": ("sum(length * occurrence_count)", "sum(length)"),
    "which_agent_wins_the_vote": ("times desc, response", "times, response"),
    "where_do_the_two_annotators_agree": ("others.start_char < spans.end_char", "others.end_char < spans.end_char"),
    "do_agents_follow_the_guidelines": ("('exact', 'interrupted')", "('exact', 'shortened')"),
    "how_hard_is_retrieval": (">= candidates.target_times", "> candidates.target_times"),
    "which_services_are_unseen": ("exposure.state_frame_count", "exposure.frame_count"),
    "how_do_belief_states_grow": ("change = 'changed'", "change <> 'carried'"),
    "where_do_call_arguments_come_from": (
        "arguments.turn_index > heard.turn_index",
        "arguments.turn_index >= heard.turn_index + 3",
    ),
    "when_is_the_mutual_friend_found": ("solvability.is_found", "solvability.selector_count = 2 as is_found"),
    "which_test_texts_are_in_train": ("core.same_text(utterance)", "lower(utterance)"),
}
"""Maps a query to an error and the right text: each error must be noticed."""


def title(path: Path) -> str:
    """Return the file's name without number and suffix."""
    return path.stem[3:]


@functools.cache
def answer(path: Path, releases: Path) -> list[tuple[Any, ...]]:
    """Return the answer to the query, computed from the release files once."""
    return getattr(analyst_answers, title(path))(releases)


def header(path: Path) -> dict[str, Any]:
    """Return the content of the comment at the top of the file: question, grain, columns and tables."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = "\n".join(lines[: lines.index("with")])
    question, grain = lines[:2]
    section = re.search(r"^-- Columns\n(.*?)^--\n", comment, flags=re.S | re.M)
    assert section is not None, f"{path.name}: no section Columns"
    reads = re.search(r"^-- Reads: (.*?)(?=^-- \w)", comment, flags=re.S | re.M)
    assert reads is not None, f"{path.name}: no line Reads"
    return {
        "question": question.removeprefix("-- "),
        "grain": re.findall(r"\w+", grain.removeprefix("-- One row per ").replace(" and ", ", ")),
        "grain_line": grain,
        "columns": [
            name for names in re.findall(r"^--   ([a-z][\w, ]*):", section[1], flags=re.M) for name in names.split(", ")
        ],
        "tables": re.findall(r"\w+\.\w+", reads[1]),
        "sections": re.findall(r"^-- (Columns|Reads|Expect|Source)\b", comment, flags=re.M),
    }


def run(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    """Return names and types of the columns, and the rows."""
    cursor = con.execute(sql)
    return [(column[0], str(column[1])) for column in cursor.description], cursor.fetchall()


def of_answered(columns: list[tuple[str, str]], rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the rows that name a corpus with answers, or no corpus."""
    places = [place for place, (name, _) in enumerate(columns) if name == "corpus_id"]
    return [row for row in rows if all(row[place] in CORPORA for place in places)]


@pytest.mark.parametrize("path", QUERIES, ids=title)
def test_query_gives_what_the_files_hold(source, path) -> None:
    con, releases = source
    columns, rows = run(con, path.read_text(encoding="utf-8"))
    assert of_answered(columns, rows) == answer(path, releases)
    assert [name for name, _ in columns] == header(path)["columns"]
    grain = [[name for name, _ in columns].index(column) for column in header(path)["grain"]]
    assert len({tuple(row[place] for place in grain) for row in rows}) == len(rows) <= MOST_ROWS
    # DuckDB sums integers to HUGEINT, which a Parquet file of the result cannot hold as a whole number.
    assert {kind for _, kind in columns} <= {"VARCHAR", "INTEGER", "BIGINT", "DOUBLE", "BOOLEAN"}


@pytest.mark.parametrize("path", QUERIES, ids=title)
def test_answers_would_notice_a_wrong_query(disturbed_folder, path) -> None:
    right, wrong = WRONG[title(path)]
    sql = path.read_text(encoding="utf-8")
    assert sql.count(right) >= 1
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        columns, rows = run(con, sql.replace(right, wrong))
    assert of_answered(columns, rows) != answer(path, disturbed_folder / "releases")


@pytest.mark.parametrize("path", QUERIES, ids=title)
def test_no_column_of_the_answers_is_the_same_throughout(disturbed_folder, path) -> None:
    names = header(path)["columns"]
    with duckdb.connect(str(disturbed_folder / "dialogues.duckdb"), read_only=True) as con:
        _, rows = run(con, path.read_text(encoding="utf-8"))
    assert [name for name, values in zip(names, zip(*rows, strict=True), strict=True) if len(set(values)) == 1] == []


@pytest.mark.parametrize("path", QUERIES, ids=title)
def test_query_runs_where_nothing_is_as_usual(awkward_folder, path) -> None:
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        columns, _ = run(con, path.read_text(encoding="utf-8"))
    assert [name for name, _ in columns] == header(path)["columns"]


@pytest.mark.parametrize("path", QUERIES, ids=title)
def test_command_takes_the_file_and_gives_the_same_in_every_form(sample_folder, path) -> None:
    sql = path.read_text(encoding="utf-8")
    with duckdb.connect(str(sample_folder / "dialogues.duckdb"), read_only=True) as con:
        columns, rows = run(con, sql)
    names = [name for name, _ in columns]

    def printed(*form: str) -> str:
        result = CliRunner().invoke(cli, ["sql", "--warehouse", str(sample_folder), *form], input=sql)
        assert result.exit_code == 0, result.output
        return result.output

    assert json.loads(printed("--json")) == [dict(zip(names, row, strict=True)) for row in rows]
    assert list(csv.reader(io.StringIO(printed("--csv")))) == [
        names,
        *(
            ["" if value is None else str(value).lower() if isinstance(value, bool) else str(value) for value in row]
            for row in rows
        ),
    ]
    assert f"{len(rows)} rows" in printed()


@pytest.mark.parametrize("path", QUERIES, ids=title)
def test_file_says_what_it_asks_and_reads(path) -> None:
    said, sql = header(path), path.read_text(encoding="utf-8")
    assert re.fullmatch(r"\d\d_[a-z_]+", path.stem)
    assert said["question"].endswith("?")
    assert re.fullmatch(r"-- One row per \w+(, \w+)*( and \w+)?\.", said["grain_line"])
    assert set(said["grain"]) <= set(said["columns"])
    assert said["sections"] == ["Columns", "Reads", "Expect", "Source"]
    assert set(said["tables"]) == set(re.findall(r"(?<!distinct )\b(?:from|join) (\w+\.\w+)", sql))
    assert {table.split(".")[0] for table in said["tables"]} <= {"core", "analytics", "quality"}
    assert [statement.type.name for statement in duckdb.extract_statements(sql)] == ["SELECT"]
    assert sql.splitlines()[-1].startswith("order by ")


def test_files_are_numbered_and_listed_with_their_question() -> None:
    assert [int(path.stem[:2]) for path in QUERIES] == list(range(1, len(QUERIES) + 1))
    page = (CLONE / "warehouse" / "queries" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+\.sql)` \| (.*?) \| (.*?) \| (.*?) \|$", page, flags=re.M)
    assert [(name, question) for name, question, _, _ in listed] == [
        (path.name, header(path)["question"]) for path in QUERIES
    ]
    assert [re.findall(r"`(\w+)`", tables) for *_, tables in listed] == [
        [table.split(".")[1] for table in header(path)["tables"]] for path in QUERIES
    ]


def test_every_answer_has_its_query_and_its_slip() -> None:
    assert {title(path) for path in QUERIES} == set(WRONG)


def answered(con: duckdb.DuckDBPyConnection, name: str, columns: str, where: str) -> list[tuple[Any, ...]]:
    """Return some columns and rows of a query's result."""
    (path,) = [path for path in QUERIES if title(path) == name]
    return con.execute(f"select {columns} from ({path.read_text(encoding='utf-8')}) where {where}").fetchall()


def test_table_3_of_the_agents_paper_is_reproduced(real_warehouse) -> None:
    columns = "agent_id, right_questions, always_right_percent"
    where = "split = 'test' and agent_id in ('alexa', 'google', 'houndify', 'adasa')"
    assert answered(real_warehouse, "which_agent_wins_the_vote", columns, where) == [
        ("google", 570, 48.06),
        ("alexa", 523, 44.09),
        ("houndify", 380, 32.04),
        ("adasa", 41, 3.45),
    ]
    assert answered(real_warehouse, "which_agent_wins_the_vote", "distinct answerable_questions", "true") == [(1_186,)]


def test_unseen_services_are_the_published_ones(real_warehouse) -> None:
    columns = "split, count(*), count(*) filter (where not is_seen)"
    assert answered(real_warehouse, "which_services_are_unseen", columns, "true group by split order by split") == [
        ("test", 21, 15),
        ("validation", 17, 8),
    ]


def test_test_questions_are_in_train_as_often_as_measured(real_warehouse) -> None:
    columns = "train_texts, test_texts, verbatim_percent, seen_texts, seen_dialogues, labeled_seen, other_label"
    where = "corpus_id = 'bbai'"
    assert answered(real_warehouse, "which_test_texts_are_in_train", columns, where) == [
        (2_399, 1_850, 0.0, 33, 33, 26, 14)
    ]
