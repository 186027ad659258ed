"""Each type of expectation in use passes on good rows and fails on a bad one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from dialogue_warehouse.corpora.suites import IGNORES_ROWS, QUERY_ROWS, UNEXPECTED_ROWS, load_suites
from expectations.client import AuditProcess
from tests.unit.bench import Bench


@dataclass(frozen=True)
class TypeCase:
    """An expectation on a table of (corpus, name, twin, first, last), a row that is well, and one that is not.

    `is_filtered` is for those that narrow their rows: the bad row must not matter when it is another corpus's.
    """

    kwargs: dict[str, Any]
    bad: str
    good: str = "('x', 'one', 'one', 1, 2)"
    is_filtered: bool = True


TYPE_CASES = {
    UNEXPECTED_ROWS: TypeCase({}, "('x', 'bad', 'one', 1, 2)", is_filtered=False),
    "expect_column_values_to_be_in_set": TypeCase(
        {"column": "name", "value_set": ["one"]}, "('x', 'two', 'one', 1, 2)"
    ),
    "expect_column_values_to_not_be_null": TypeCase({"column": "name"}, "('x', null, 'one', 1, 2)"),
    "expect_column_values_to_be_null": TypeCase(
        {"column": "name"}, "('x', 'one', 'one', 1, 2)", "('x', null, 'one', 1, 2)"
    ),
    "expect_column_values_to_be_unique": TypeCase({"column": "name"}, "('x', 'one', 'two', 3, 4)"),
    "expect_column_values_to_be_between": TypeCase(
        {"column": "first", "min_value": 0, "max_value": 1}, "('x', 'one', 'one', -1, 2)"
    ),
    "expect_column_value_lengths_to_equal": TypeCase({"column": "name", "value": 3}, "('x', 'four', 'one', 1, 2)"),
    "expect_compound_columns_to_be_unique": TypeCase({"column_list": ["name", "first"]}, "('x', 'one', 'two', 1, 9)"),
    "expect_column_pair_values_to_be_equal": TypeCase(
        {"column_A": "name", "column_B": "twin"}, "('x', 'one', 'two', 1, 2)"
    ),
    "expect_column_pair_values_a_to_be_greater_than_b": TypeCase(
        {"column_A": "last", "column_B": "first"}, "('x', 'one', 'one', 2, 1)"
    ),
    "expect_column_pair_values_to_be_in_set": TypeCase(
        {"column_A": "name", "column_B": "twin", "value_pairs_set": [["one", "one"]]},
        "('x', 'one', 'two', 1, 2)",
        is_filtered=False,
    ),
    "expect_column_distinct_values_to_equal_set": TypeCase(
        {"column": "name", "value_set": ["one"]}, "('x', 'two', 'one', 1, 2)", is_filtered=False
    ),
    "expect_table_row_count_to_equal": TypeCase({"value": 1}, "('x', 'one', 'one', 1, 2)", is_filtered=False),
}


@pytest.fixture(scope="module")
def verdicts(audit: AuditProcess, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """For each type: does it pass on a good table, on one with a bad row, on one with another corpus's bad row?"""
    bench = Bench(audit, tmp_path_factory.mktemp("types"))
    bench.execute("create schema core")
    checks = []
    for number, (kind, case) in enumerate(TYPE_CASES.items()):
        other = case.bad.replace("'x'", "'y'", 1)
        for state, rows in {"good": "", "bad": f", {case.bad}", "other": f", {other}"}.items():
            table = f"core.{state}_{number}"
            columns = "corpus, name, twin, first, last"
            bench.execute(f"create table {table} as from (values {case.good}{rows}) as t ({columns})")
            check: dict[str, Any] = {"id": f"{kind} {state}", "tables": [table]}
            if kind == UNEXPECTED_ROWS:
                check["unexpected_rows"] = "from {table} where corpus = 'x' and name = 'bad'"
            else:
                check |= {"type": kind, "kwargs": case.kwargs}
                check |= {"rows": {"corpus": "x"}} if case.is_filtered else {}
            checks.append(check)
    bench.run(*checks)
    return {identifier: success for _, _, identifier, _, _, success, *_ in bench.results()}


def test_every_type_in_use_has_a_case() -> None:
    in_use = {entry.type for suite in load_suites() for entry in suite.expectations}
    assert in_use | IGNORES_ROWS == {QUERY_ROWS, *TYPE_CASES}


def test_every_type_that_narrows_its_rows_is_tried_so() -> None:
    narrowed = {
        entry.type for suite in load_suites() for entry in suite.expectations if "row_condition" in entry.kwargs
    }
    assert [kind for kind in sorted(narrowed) if not TYPE_CASES[kind].is_filtered] == []


@pytest.mark.parametrize("kind", TYPE_CASES)
def test_type_passes_on_good_rows(kind: str, verdicts: dict[str, bool]) -> None:
    assert verdicts[f"{kind} good"]


@pytest.mark.parametrize("kind", TYPE_CASES)
def test_type_fails_on_a_bad_row(kind: str, verdicts: dict[str, bool]) -> None:
    assert not verdicts[f"{kind} bad"]


@pytest.mark.parametrize("kind", [kind for kind, case in TYPE_CASES.items() if case.is_filtered])
def test_type_leaves_other_rows_out(kind: str, verdicts: dict[str, bool]) -> None:
    assert verdicts[f"{kind} other"]
