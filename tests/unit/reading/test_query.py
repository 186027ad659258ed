"""One SELECT or EXPLAIN runs; anything else is rejected in one line."""

from __future__ import annotations

import pytest

from dialogue_warehouse.common.database import QueryError
from tests.unit.published import run

# What may be run


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "  select 1 ; ",
        "select 1;;",
        "select 1 -- one; two",
        "-- first\nselect 1; -- last; 'ü'",
        "select 'ü' /* ; */ ; /* ; */",
        "with one as (select 1) select * from one",
        "from core.fct_turns",
        "from core.fct_turns select turn_index",
        "values (1), (2)",
        "table core.fct_turns",
        "describe core.fct_turns",
        "summarize core.fct_turns",
        "show tables",
        "select 1 union all select 2",
        "pivot core.fct_turns on note in ('a', 'b') using count(*)",
        "explain select 1",
        "explain analyze select 1",
        "explain (format json) select 1",
        "/* why */ explain -- how\n analyze (select 1);",
        "explain describe core.fct_turns",
    ],
)
def test_one_select_or_explain_runs(con, text):
    assert run(con, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the query is empty"),
        (" \n; -- nothing", "the query is empty"),
        ("explain", "Parser Error"),
        ("select 1; select 2", "only one statement can be run at a time, not 2"),
        ("select 1; drop table core.fct_turns;", "only one statement can be run at a time, not 2"),
        ("drop table core.fct_turns", "only SELECT and EXPLAIN can be run here, not DROP"),
        ("insert into core.fct_frames values (1)", "not INSERT"),
        ("create temp table t as select 1", "not CREATE"),
        ("copy core.fct_turns to 'x.csv'", "not COPY"),
        ("attach ':memory:' as other", "not ATTACH"),
        ("set threads = 1", "not SET"),
        ("pragma version", "not PRAGMA"),
        ("call pragma_version()", "not CALL"),
        ("begin", "not TRANSACTION"),
        ("explain analyze create temp table t as select 1", "not CREATE"),
        ("explain analyze copy (select 1) to 'x.csv'", "not COPY"),
        ("explain (format json, analyze) create temp table t as select 1", "not CREATE"),
        ("pivot core.fct_turns on note using count(*)", "a PIVOT must list its values: PIVOT … ON column IN (…)"),
        ("select ?", "parameters"),
        ("select '\udcff'", "the query is not valid UTF-8"),
        ("select 'never ended", "Parser Error: unterminated"),
    ],
)
def test_other_statements_are_rejected_in_one_line(con, text, message):
    with pytest.raises(QueryError) as error:
        run(con, text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "select nope from core.fct_frames",
            'Binder Error: Referenced column "nope" not found in FROM clause! '
            'Candidate bindings: "frame_index" (line 1, at nope)',
        ),
        ("-- why\nselect 1,\n  'ü' || nope", "missing (line 3, at nope)"),
        ("\n\n  selec 1", "(line 3, at selec)"),
        ("\nselect 1,\n cast(utterance as integer) from core.fct_turns", "(line 3, at cast(utterance as integer))"),
        ("select * from core.fct_turn", "Did you mean core.fct_turns? (line 1, at core.fct_turn)"),
        ("select * from Turns", "Did you mean core.fct_turns? (line 1, at Turns)"),
        (
            'select 1 from core.fct_turns where utterance = "Hi there"',
            "A text has single quotes: 'Hi there'. (line 1, at \"Hi there\")",
        ),
        ("select [1, {'a': 2}] as \"a name\"", "'list_value(T, T) -> T[]' (line 1, at {'a': 2})"),
        ("selec 1", 'Parser Error: syntax error at or near "selec" (line 1, at selec)'),
        ("select cast(utterance as integer) from core.fct_turns", "Could not convert string 'Hi' to INT32"),
        ("select * from read_text('/etc/passwd')", "a query can neither read nor write files"),
        ("with w as (copy (select 1) to 'x') select 1", "a query can neither read nor write files"),
    ],
)
def test_an_error_of_duckdb_is_one_line_with_its_place(con, text, message):
    with pytest.raises(QueryError) as error:
        run(con, text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
