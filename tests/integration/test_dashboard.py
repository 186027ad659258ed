"""The dashboard's pages, each run as Streamlit runs it: content, filters, empty states, refusals."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

from dialogue_warehouse.dashboard import app, dialogues, serving, showing, sql
from dialogue_warehouse.paths import CLONE, example_queries
from tests.conftest import run_command

PATIENCE = 120


def script(name: str) -> None:
    """Run one page; AppTest calls this script."""
    import importlib

    importlib.import_module(f"dialogue_warehouse.dashboard.{name}").show()


@pytest.fixture(scope="module")
def con(sample_warehouse: Path):
    with duckdb.connect(str(sample_warehouse), read_only=True) as con:
        yield con


@pytest.fixture
def served(sample_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(sample_folder))
    return sample_folder


def open_page(name: str, **address: str) -> AppTest:
    """Return a page, opened with its address, after it has been shown without an error."""
    test = AppTest.from_function(script, default_timeout=PATIENCE, kwargs={"name": name})
    for parameter, value in address.items():
        test.query_params[parameter] = value
    return ran(test)


def ran(test: AppTest) -> AppTest:
    test.run()
    assert [error.value for error in test.exception] == []
    return test


def texts_of(test: AppTest) -> str:
    """Return all HTML texts of the page."""
    return "\n".join(str(element.proto.body) for element in test.get("html"))


@pytest.mark.parametrize("name", ["overview", "corpora", "dialogues", "quality", "sql"])
def test_every_page_of_the_menu_is_shown(served: Path, name: str) -> None:
    assert set(app.PAGES) == {"overview", "corpora", "dialogues", "quality", "sql"}
    test = open_page(name)
    assert [title.value for title in test.title] == [app.PAGES[name][0]]


def test_first_page_has_the_published_counts(served: Path, con) -> None:
    told = {metric.label: metric.value for metric in open_page("overview").metric}
    dialogues_there, turns = con.execute("select count(*), sum(turn_count) from core.dim_dialogues").fetchone()
    assert (told["Dialogues"], told["Turns"]) == (f"{dialogues_there:,}", f"{turns:,}")
    (claims,) = con.execute("select count(*) from quality.claim_checks").fetchone()
    assert told["Claims"] == f"{claims:,}"


def test_each_corpus_has_a_page(served: Path, con) -> None:
    test = open_page("corpora", corpus="sgd")
    assert test.selectbox(key="corpus").value == "sgd"
    (title,) = con.execute("select title from core.dim_corpora where corpus_id = 'sgd'").fetchone()
    assert title in texts_of(test)
    for corpus_id in test.selectbox(key="corpus").options:
        test.selectbox(key="corpus").select(corpus_id)
        ran(test)
        assert 'class="chart' in texts_of(test)
        assert len(test.dataframe) == 1


# The viewer


def test_filters_find_the_matching_dialogues(served: Path, con) -> None:
    test = open_page("dialogues")
    assert len(test.dataframe[0].value) == dialogues.SHOWN
    test.selectbox(key="filter corpus").select("sgd")
    ran(test)
    test.selectbox(key="filter act").select("GOODBYE")
    ran(test)
    expected = con.execute(
        """
        select count(distinct dialogue_key)
        from core.fct_actions
        where corpus_id = 'sgd' and act = 'GOODBYE'
        """
    ).fetchone()[0]
    assert len(test.dataframe[0].value) == min(expected, dialogues.SHOWN)
    test.selectbox(key="filter split").select("validation")
    ran(test)
    found = {re.sub(r".*key=", "", address) for address in test.dataframe[0].value["dialogue_key"]}
    assert found == {
        key
        for (key,) in con.execute(
            """
            select distinct dialogue_key
            from core.fct_actions
            where corpus_id = 'sgd' and act = 'GOODBYE' and split = 'validation'
            """
        ).fetchall()
    }


@pytest.mark.parametrize("name", ["domain", "slot", "defect"])
def test_filter_of_the_address_is_chosen(served: Path, con, name: str) -> None:
    value = {"domain": "Homes", "slot": "area", "defect": "reused_dialogue_id"}[name]
    test = open_page("dialogues", **{name: value})
    assert test.selectbox(key=f"filter {name}").value == value
    assert 0 < len(test.dataframe[0].value) < dialogues.SHOWN


def test_words_are_found_in_all_utterances(served: Path, con) -> None:
    (utterance, key) = con.execute(
        "select utterance, dialogue_key from core.fct_turns where corpus_id = 'taskmaster1' and length(utterance) > 40"
        " order by turn_key limit 1"
    ).fetchone()
    test = open_page("dialogues", said=utterance.upper())
    assert showing.address(key) in set(test.dataframe[0].value["dialogue_key"])
    test = open_page("dialogues", said="no speaker ever says this")
    assert [info.value for info in test.info] == ["No dialogue matches."]


def test_key_of_a_row_opens_its_dialogue(served: Path, con) -> None:
    (key, dialogue_key) = con.execute("select frame_key, dialogue_key from core.fct_frames limit 1").fetchone()
    test = open_page("dialogues", key=key)
    told = texts_of(test)
    assert dialogue_key in told
    assert "data-marked" in told
    assert not test.code, "shown only on request"
    test.toggle[0].set_value(True).run()
    assert f'"key": "{dialogue_key}"' in test.code[0].value


def test_keys_that_are_typed_one_after_another_open_their_dialogues(served: Path, con) -> None:
    keys = [
        key for (key,) in con.execute("select min(dialogue_key) from core.dim_dialogues group by corpus_id").fetchall()
    ]
    test = open_page("dialogues", key=keys[0])
    for key in keys[1:]:
        test.text_input(key=dialogues.KEY_FIELD).input(key)
        ran(test)
        assert key in texts_of(test)
        assert key in test.query_params["key"]
    test.button[0].click()
    ran(test)
    assert test.text_input(key=dialogues.KEY_FIELD).value == ""


def test_unknown_key_is_rejected(served: Path) -> None:
    test = open_page("dialogues", key="sgd/dev/<script>alert(1)</script>")
    assert [error.value for error in test.error] == ["This page cannot be shown."]
    assert "&lt;script&gt;" in texts_of(test)


# Quality


def test_claims_are_filtered_and_opened(served: Path, con) -> None:
    test = open_page("quality")
    test.selectbox(key="claims corpus_id").select("bbai")
    test.selectbox(key="claims outcome").select("not_checkable")
    ran(test)
    expected = con.execute(
        "select claim_id from quality.claim_checks where corpus_id = 'bbai' and verdict = 'not_checkable' order by all"
    ).fetchall()
    assert list(test.dataframe[0].value["claim_id"]) == [claim_id for (claim_id,) in expected]
    test.text_input(key="search claims").input("no claim has these words")
    ran(test)
    assert "No claim matches." in [info.value for info in test.info]


def test_rules_and_builds_agree_with_the_tables(served: Path, con) -> None:
    test = open_page("quality")
    shown = [frame.value for frame in test.dataframe]
    rules = next(frame for frame in shown if "rule_id" in frame)
    assert len(rules) == con.execute("select count(*) from quality.violation_rules").fetchone()[0]
    builds = next(frame for frame in shown if "fingerprint" in frame)
    assert len(builds) == con.execute("select count(*) from quality.builds").fetchone()[0]


# SQL


def test_query_is_run_and_downloaded_in_each_form(served: Path, con) -> None:
    test = open_page("sql")
    assert [info.value for info in test.info] == [
        "One SELECT or EXPLAIN. Tables of core, analytics and quality need no schema."
    ]
    test.button(key="run").click()
    ran(test)
    expected = con.execute("select corpus_id, role, count(*) from core.fct_turns group by all order by all").fetchall()
    assert [tuple(row) for row in test.dataframe[0].value.to_numpy().tolist()] == expected
    text = test.text_area[0].value
    assert sql.DOWNLOADS["CSV"][0](text).count("\n") == len(expected) + 1
    assert sql.DOWNLOADS["JSON"][0](text).count('"corpus_id"') == len(expected)
    assert sql.DOWNLOADS["Parquet"][0](text).startswith(b"PAR1")


@pytest.mark.parametrize("path", example_queries(), ids=lambda path: path.stem)
def test_question_of_the_list_is_answered(served: Path, path: Path) -> None:
    test = open_page("sql")
    test.selectbox(key="question").select(path.stem.replace("_", " "))
    ran(test)
    test.button(key="run").click()
    ran(test)
    assert len(test.dataframe[0].value) > 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("select 1 +", "syntax error"),
        ("drop table core.fct_turns", "only SELECT and EXPLAIN"),
        ("select * from read_csv('/etc/passwd')", "neither read nor write files"),
        ("select '<script>alert(1)</script>' from nowhere", "nowhere"),
    ],
)
def test_rejected_query_says_why(served: Path, text: str, told: str) -> None:
    test = open_page("sql")
    test.text_area[0].input(text)
    test.button(key="run").click()
    ran(test)
    assert [error.value for error in test.error] == ["This page cannot be shown."]
    assert told in texts_of(test)
    assert "<script>" not in texts_of(test)


def test_two_columns_with_the_same_name_keep_their_values(served: Path) -> None:
    """A query returns two columns with the same name, and a chart shows the second one.

    Streamlit shows one of them twice: https://github.com/streamlit/streamlit/issues/10932
    """
    test = open_page("sql")
    test.text_area[0].input(
        "select 1 as a, 2.50 as a, null as b, date 'infinity' as c union all select 3, 4, 'x', null"
    )
    test.button(key="run").click()
    ran(test)
    assert test.dataframe[0].value.astype(object).where(lambda frame: frame.notna(), None).to_dict("list") == {
        "a": [1, 3],
        "a_2": [2.5, 4.0],
        "b": [None, "x"],
        "c": ["infinity", None],
    }
    assert test.selectbox(key="up").options == ["a", "a_2"]
    test.selectbox(key="up").select("a_2")
    test.selectbox(key="kind").select("bars")
    ran(test)


def test_query_without_rows_says_so(served: Path) -> None:
    test = open_page("sql")
    test.text_area[0].input("select 1 where false")
    test.button(key="run").click()
    assert [info.value for info in ran(test).info] == ["The query has no rows."]


# Nothing published, and starting


def test_warehouse_without_a_build_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(tmp_path))
    test = AppTest.from_file(str(serving.APP), default_timeout=PATIENCE)
    ran(test)
    assert [error.value for error in test.error] == ["This page cannot be shown."]
    assert "no warehouse at" in texts_of(test)
    refused = run_command("dashboard", "--warehouse", tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_address_in_use_is_rejected_in_one_line(served: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run_command("dashboard", "--warehouse", served, "--port", str(port))
    assert refused.returncode == 2
    assert refused.stderr == f"error: 127.0.0.1:{port} cannot be served: Address already in use\n"


def test_commands_work_without_streamlit() -> None:
    code = "import sys, dialogue_warehouse.cli.main; assert 'streamlit' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=CLONE)
