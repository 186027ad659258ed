"""The words that select dialogues: each keeps what it says, and a word that cannot be used is an error of one line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
from click.testing import CliRunner

from dialogue_warehouse.cli.options import sample_options, selection_options
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import open_published
from dialogue_warehouse.reading.selection import DEFECTS, MACROS, SPLITS, Dialogue, Selection, select
from tests.conftest import rows, run_command


@pytest.fixture(scope="module")
def con(sample_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_published(WarehousePaths(sample_folder)) as con:
        yield con


def keys_of(dialogues: list[Dialogue]) -> set[str]:
    return {dialogue.key for dialogue in dialogues}


def keys(con: duckdb.DuckDBPyConnection, condition: str) -> set[str]:
    """Return the keys of dialogues by a query that shares nothing with the selection."""
    found = rows(
        con, f"select dialogue_key from core.dim_dialogues join core.dim_corpora using (corpus_id) where {condition}"
    )
    return {key for (key,) in found}


def test_every_dialogue_is_selected_if_nothing_is_asked(con: duckdb.DuckDBPyConnection) -> None:
    selected = select(con, Selection())
    assert len(selected) == len(keys_of(selected)) == rows(con, "select count(*) from core.dim_dialogues")[0][0]
    assert selected == sorted(selected, key=lambda one: (one.corpus_id, one.split is None, one.split or "", one.key))


@pytest.mark.parametrize("split", SPLITS)
def test_split_is_that_of_the_warehouse(con: duckdb.DuckDBPyConnection, split: str) -> None:
    expected = keys(con, "split is null" if split == "none" else f"split = '{split}'")
    assert expected
    assert keys_of(select(con, Selection(splits=(split,)))) == expected


def test_several_words_are_all_true(con: duckdb.DuckDBPyConnection) -> None:
    corpus_id, license_, turns = rows(
        con,
        "select corpus_id, license, max(turn_count) from core.dim_dialogues join core.dim_corpora using (corpus_id)"
        " where split = 'train' group by all order by 3 desc limit 1",
    )[0]
    selection = Selection((corpus_id,), ("train",), f"turn_count < {turns} -- not the longest", licenses=(license_,))
    expected = keys(con, f"corpus_id = '{corpus_id}' and split = 'train' and turn_count < {turns}")
    assert keys_of(select(con, selection)) == expected


def test_license_is_used_only_if_it_is_named(con: duckdb.DuckDBPyConnection) -> None:
    licenses = [name for (name,) in rows(con, "select distinct license from core.dim_corpora")]
    for name in licenses:
        assert keys_of(select(con, Selection(licenses=(name,)))) == keys(con, f"license = '{name}'")
    named = tuple(name for name in licenses if name not in ("unknown", "none stated"))
    found = rows(con, "select distinct license from core.dim_corpora where license in ('unknown', 'none stated')")
    assert found, "a corpus without a license is what the word is for"
    assert keys_of(select(con, Selection(licenses=named))) == keys(con, "license not in ('unknown', 'none stated')")


def test_expression_may_ask_other_tables(con: duckdb.DuckDBPyConnection) -> None:
    where = "dialogue_key in (select dialogue_key from fct_turns where utterance like '%?%')"
    expected = {key for (key,) in rows(con, "select dialogue_key from core.fct_turns where contains(utterance, '?')")}
    assert keys_of(select(con, Selection(where=where))) == expected


@pytest.mark.parametrize(
    "where",
    [
        "true) or (true",
        "true from core.fct_turns",
        "1, 2",
        "",
        "true; select 1",
        "true union select true",
        "nope",
        "'x'",
    ],
)
def test_text_that_is_not_a_condition_is_refused_in_one_line(con: duckdb.DuckDBPyConnection, where: str) -> None:
    with pytest.raises(InputError, match=r"\A--where: .+\Z") as refused:
        select(con, Selection(where=where))
    assert "\n" not in str(refused.value)


def test_expression_cannot_read_a_file(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(InputError, match="--where"):
        select(con, Selection(where="exists (select 1 from read_text('/etc/passwd'))"))


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("random() < 0.5", "random()"),
        ("dialogue_key in (select dialogue_key from fct_turns order by uuid() limit 3)", "uuid()"),
        ("length(task) > 2 and now() > timestamp '2020-01-01'", "now()"),
        ("current_date > date '2020-01-01'", "current_date"),
        ("localtimestamp > timestamp '2020-01-01'", "localtimestamp"),
        ("AGO(interval 1 day) > timestamp '2020-01-01'", "ago()"),
        ("age(timestamp '2020-01-01') > interval 1 day", "age() of one date"),
        ("timestamp '2020-01-01'.age() > interval 1 day", "age() of one date"),
        ("exists (select 1 from fct_turns using sample 10%)", "a sample"),
        ("exists (from query('select 1 where random() < 0.5'))", "query()"),
    ],
)
def test_expression_that_changes_from_run_to_run_is_refused(
    con: duckdb.DuckDBPyConnection, where: str, named: str
) -> None:
    with pytest.raises(
        InputError, match=rf"\A--where: {re.escape(named)} can select other dialogues on the next run; "
    ):
        select(con, Selection(where=where))


def test_macros_that_change_from_run_to_run_are_those_of_duckdb(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute(
        "select function_name from duckdb_functions() where internal and function_type like '%macro'"
        " and regexp_matches(macro_definition, '(?i)current_(date|time)|localtime|now\\(|today\\(|random\\(|uuid')"
    )
    assert {name for (name,) in found.fetchall()} == MACROS


@pytest.mark.parametrize(
    "where",
    [
        "true or error('x')",
        "length(task) >= 0 or task is null",
        "true /* ; -- */ -- ;",
        "age(timestamp '2020-01-02', timestamp '2020-01-01') = interval 1 day",
        "turn_count + 1 - 1 = turn_count and year(date '2020-01-01') = 2020",
    ],
)
def test_expression_that_is_always_the_same_is_accepted(con: duckdb.DuckDBPyConnection, where: str) -> None:
    assert select(con, Selection(where=where)) == select(con, Selection())


@pytest.mark.parametrize(
    "where",
    [
        "exists (select * from glob('/*'))",
        "exists (with written as (copy (select 1) to 'x.csv') select 1)",
        "exists (from query('select * from read_text(''/etc/passwd'')'))",
        "getenv('HOME') <> ''",
        "turn_count > $1",
        "true /* not closed",
        "true; set threads = 1",
        "task = '\udcff'",
    ],
)
def test_expression_reaches_nothing_outside_the_warehouse(con: duckdb.DuckDBPyConnection, where: str) -> None:
    with pytest.raises(InputError, match=r"\A--where: .+\Z"):
        select(con, Selection(where=where))


def test_expression_that_does_not_end_is_stopped(sample_folder: Path, tmp_path: Path) -> None:
    """Also if one step of it ignores the interrupt: the connection is busy then, and ends with the process."""
    where = "list_sum(range(2000000000)) > 0"
    arguments = ("--form", "chat", "--to", tmp_path, "--warehouse", sample_folder, "--where", where)
    ended = run_command("export", *arguments, DIALOGUE_QUERY_TIMEOUT="1")
    reported = "DIALOGUE_QUERY_TIMEOUT, or --timeout of `sql`, allows more"
    assert (ended.returncode, ended.stderr) == (2, f"error: --where: stopped after 1 seconds; {reported}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", DEFECTS)
def test_dialogue_with_a_defect_is_left_out(con: duckdb.DuckDBPyConnection, word: str) -> None:
    """Also one without turns, which has no row in annotation_risk; both words leave out the same dialogues."""
    risky = {key for (key,) in rows(con, f"select dialogue_key from quality.annotation_risk where {DEFECTS[word]} > 0")}
    found = rows(con, "select dialogue_key from quality.violations where kind = 'defect' and turn_index is null")
    of_dialogues = {key for (key,) in found if key is not None}
    assert risky and of_dialogues - risky
    assert keys_of(select(con, Selection(without_defects=word))) == keys(con, "true") - risky - of_dialogues


def test_rule_can_be_left_out_by_an_expression(con: duckdb.DuckDBPyConnection) -> None:
    where = "dialogue_key not in (select dialogue_key from violations where rule_id = 'empty_dialogue')"
    empty = {
        key for (key,) in rows(con, "select dialogue_key from quality.violations where rule_id = 'empty_dialogue'")
    }
    assert empty
    assert keys_of(select(con, Selection(where=where))) == keys(con, "true") - empty


def test_dialogues_of_given_keys_are_in_their_order(con: duckdb.DuckDBPyConnection) -> None:
    known = [dialogue.key for dialogue in select(con, Selection(sample=5))]
    asked = (known[3], known[1], known[3], known[4])
    assert [one.key for one in select(con, Selection(keys=asked))] == [known[3], known[1], known[4]]
    assert len(select(con, Selection(keys=asked, sample=2))) == 2
    with pytest.raises(InputError, match=r"^no dialogue of the published warehouse matches the selection$"):
        select(con, Selection(keys=asked, where="false"))


def test_training_dialogue_that_another_split_has_is_left_out(con: duckdb.DuckDBPyConnection) -> None:
    """For each corpus the number is between that of one other split and the sum of all, as split_leakage has them."""
    left = Counter(dialogue.corpus_id for dialogue in select(con, Selection()))
    left.subtract(dialogue.corpus_id for dialogue in select(con, Selection(without_leaks=True)))
    leaks = rows(
        con,
        "select corpus_id, max(leaked_count), sum(leaked_count) from analytics.split_leakage"
        " where split = 'train' and other_split is distinct from 'train' group by corpus_id",
    )
    assert any(most for _, most, _ in leaks)
    assert all(most <= left[corpus_id] <= total for corpus_id, most, total in leaks), (leaks, left)
    kept = select(con, Selection(without_leaks=True))
    assert keys(con, "split is distinct from 'train'") <= keys_of(kept)


def test_sample_is_the_same_on_every_run_and_grows(con: duckdb.DuckDBPyConnection) -> None:
    small, same, large, other = (
        select(con, Selection(sample=number, seed=seed)) for number, seed in ((20, 1), (20, 1), (50, 1), (20, 2))
    )
    assert small == same
    assert len(small) == 20
    assert keys_of(small) < keys_of(large)
    assert small != other


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(corpora=("nope",)), "--corpora: the published warehouse has no corpus 'nope'; it has "),
        (Selection(licenses=("GPL-3.0",)), "--licenses: the published warehouse has no license 'GPL-3.0'; it has "),
        (Selection(splits=("dev",)), "--split: there is no split 'dev'; there are train, validation, test, none"),
        (
            Selection(keys=("no/such/key",)),
            "--keys: no row has the key 'no/such/key'; a key of this build begins with ",
        ),
        (
            Selection(keys=("abcd/train/56/0",)),
            "--keys: 'abcd/train/56/0' is the key of a row of core.fct_turns, not of a dialogue; its dialogue is"
            " 'abcd/train/56'",
        ),
        (Selection(where="false"), "no dialogue of the published warehouse matches the selection"),
    ],
)
def test_unknown_word_is_named(con: duckdb.DuckDBPyConnection, selection: Selection, message: str) -> None:
    with pytest.raises(InputError) as refused:
        select(con, selection)
    assert str(refused.value).startswith(message)


def read_options(*arguments: str) -> tuple[int, Any]:
    """Return the exit status, and the selection that a command with these options gets."""
    given = []

    @click.command()
    @selection_options
    @sample_options
    def command(selection: Selection) -> None:
        given.append(selection)

    result = CliRunner().invoke(command, arguments)
    return result.exit_code, given[0] if given else result


def test_options_are_the_words_of_a_selection() -> None:
    assert read_options() == (0, Selection())
    arguments = "--corpora a,b --corpora c --split train,none --where x --without-defects here --without-leaks"
    status, selection = read_options(
        *arguments.split(), "--licenses", "none stated,MIT", "--sample", "3", "--seed", "-1"
    )
    expected = Selection(("a", "b", "c"), ("train", "none"), "x", "here", True, ("none stated", "MIT"), 3, -1)
    assert (status, selection) == (0, expected)
    untried = {one.name for one in fields(Selection) if getattr(expected, one.name) == one.default}
    assert untried == {"keys"}, "only Python selects by keys"


def test_seed_without_a_sample_is_refused() -> None:
    status, result = read_options("--seed", "0")
    assert (status, result.output.splitlines()[-1]) == (2, "Error: --seed has no effect without --sample N")


@pytest.mark.parametrize("arguments", [("--split", ","), ("--sample", "0"), ("--without-defects", "nowhere")])
def test_option_with_nothing_or_another_word_is_refused(arguments: tuple[str, ...]) -> None:
    status, result = read_options(*arguments)
    assert status != 0
    assert isinstance(result.exception, InputError) or f"Invalid value for '{arguments[0]}'" in result.output
