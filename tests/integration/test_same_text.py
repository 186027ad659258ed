"""One definition of the same text: rule, table and query find the same dialogues of train copied into test."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.paths import CLONE
from tests.conftest import build_warehouse
from tests.integration.analyst_answers import letters_and_digits

QUERY = CLONE / "warehouse" / "queries" / "10_which_test_texts_are_in_train.sql"
COPIED = ("bbai", "mutualfriends")
"""Corpora of questions and of dialogues."""
TEXTS = (
    "What's the weather in Zürich?",
    "  WHAT IS IT — 3½ or ٣?  ",
    'नमस्ते, Ωmega\tστίγμας\n"quoted" [a] {b} \\ | ~ ^ ` £',
    "?!…",
    "",
)


def in_capitals(text: str) -> str:
    return text.upper()


def in_other_marks(text: str) -> str:
    return "… " + text.replace(" ", " - ").replace(".", "!").replace("'", "’") + " »"


def exactly(text: str) -> str:
    return text


WAYS = (in_capitals, in_other_marks, exactly)


def copy_dialogues(releases: Path) -> None:
    """Copy three dialogues of MutualFriends from train to test, each in another way."""
    train = json.loads((releases / "mutualfriends/train.json").read_bytes())
    test = json.loads((releases / "mutualfriends/test.json").read_bytes())
    spoken = [dialogue for dialogue in train if sum(event["action"] == "message" for event in dialogue["events"]) > 2]
    for place, change in enumerate(WAYS):
        copy = json.loads(json.dumps(spoken[place])) | {"uuid": f"copy-{place}"}
        for event in copy["events"]:
            if event["action"] == "message":
                event["data"] = change(event["data"])
        test.append(copy)
    (releases / "mutualfriends/test.json").write_text(json.dumps(test), encoding="utf-8")


def copy_questions(releases: Path) -> None:
    """Copy three new questions of BBAI's test, one of them a classifier example of its split too.

    A question without a letter is in each split: no text is left that could be the same.
    """
    train = json.loads((releases / "bbai/train.json").read_bytes())
    test = json.loads((releases / "bbai/test.json").read_bytes())
    examples = json.loads((releases / "bbai/test_classifier.json").read_bytes())
    known = {letters_and_digits(text) for text in test}
    fresh = [text for text in train if letters_and_digits(text) not in known][: len(WAYS)]
    for text, change in zip(fresh, WAYS, strict=True):
        assert change(text) not in test
        test[change(text)] = train[text]
    train["?!"], test["…"] = train[fresh[0]], train[fresh[0]]
    examples.append([fresh[-1], ["google"]])
    (releases / "bbai/train.json").write_text(json.dumps(train), encoding="utf-8")
    (releases / "bbai/test.json").write_text(json.dumps(test), encoding="utf-8")
    (releases / "bbai/test_classifier.json").write_text(json.dumps(examples), encoding="utf-8")


@pytest.fixture(scope="module")
def copied_warehouse(tmp_path_factory: pytest.TempPathFactory, sample_folder: Path) -> Path:
    """Return the database built from the embedded sample with three copies in each of the two corpora."""
    releases = tmp_path_factory.mktemp("copied")
    for corpus_id in COPIED:
        ignored = shutil.ignore_patterns("SIMULATED.json")
        shutil.copytree(sample_folder / "sample" / corpus_id, releases / corpus_id, ignore=ignored)
    copy_dialogues(releases)
    copy_questions(releases)
    return build_warehouse(tmp_path_factory.mktemp("warehouse"), "--source", releases) / "dialogues.duckdb"


def found(database: Path, corpus_id: str) -> dict[str, int]:
    """Return the number of texts of test that are in train, by rule, table and query."""
    with duckdb.connect(str(database), read_only=True) as con:

        def one(sql: str) -> Any:
            row = con.execute(sql).fetchone()
            assert row is not None
            return row[0]

        rule = one(
            f"""
            select count(*)
            from quality.violations
            where
                rule_id = 'leaked_text'
                and corpus_id = '{corpus_id}'
                and source_file_id glob '*/test*'
                and other_key glob '{corpus_id}/train*'
            """
        )
        table = one(
            f"""
            select other_leaked_count
            from analytics.split_leakage
            where corpus_id = '{corpus_id}' and split = 'train' and other_split = 'test'
            """
        )
        query = one(f"select seen_dialogues from ({QUERY.read_text(encoding='utf-8')}) where corpus_id = '{corpus_id}'")
    return {"rule": rule, "table": table, "query": query}


@pytest.mark.parametrize("corpus_id", COPIED)
def test_three_copies_are_found_by_rule_table_and_query(
    sample_warehouse: Path, copied_warehouse: Path, corpus_id: str
) -> None:
    """Regression: "the same text" was defined three times, and three copies were counted as one, two or three."""
    before, after = found(sample_warehouse, corpus_id), found(copied_warehouse, corpus_id)
    assert len(set(before.values())) == 1
    assert {name: after[name] - before[name] for name in after} == {"rule": 3, "table": 3, "query": 3}


def test_classifier_example_that_is_a_question_is_not_another_text(copied_warehouse: Path) -> None:
    with duckdb.connect(str(copied_warehouse), read_only=True) as con:
        assert con.execute(
            "select count(*) from core.fct_classifier_examples where dialogue_key is not null"
        ).fetchone()
        leaked = con.execute(
            """
            select examples.example_key
            from quality.violations
            inner join core.fct_classifier_examples as examples
                on violations.row_key = examples.example_key
            where violations.rule_id in ('leaked_text', 'repeated_text') and examples.dialogue_key is not null
            """
        ).fetchall()
        seen = con.execute(
            f"select seen_texts, seen_dialogues from ({QUERY.read_text(encoding='utf-8')}) where corpus_id = 'bbai'"
        ).fetchall()
    assert leaked == []
    assert seen[0][0] == seen[0][1] > 0


@pytest.mark.parametrize("text", TEXTS)
def test_published_macro_keeps_letters_and_digits_of_any_script(sample_warehouse: Path, text: str) -> None:
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        assert con.execute("select core.same_text(?)", [text]).fetchall() == [(letters_and_digits(text),)]
