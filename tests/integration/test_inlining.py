"""Inlined models are put before a query exactly as dbt puts them, without parsing it."""

from __future__ import annotations

import pytest
from dbt import compilation
from dbt.contracts.graph.nodes import InjectedCTE

from dialogue_warehouse.paths import WarehousePaths
from pipelines.building import dbt, dbt_changes
from tests.dbt_runs import run_dbt

TWO = [InjectedCTE(id="one", sql=" one as (\nselect 1\n)"), InjectedCTE(id="two", sql=" two as (\nselect 2\n)")]
Calls = list[tuple[str, list[InjectedCTE], str]]
"""A query, the models put before it, and what came of it."""


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    """What dbt asks for as it compiles the whole project."""
    paths = WarehousePaths(tmp_path_factory.mktemp("inlining"))
    manifest = dbt.parse(paths)
    asked: Calls = []
    with pytest.MonkeyPatch.context() as patch, dbt_changes.without_parsing():
        inject = compilation.inject_ctes_into_sql

        def recorded(sql: str, ctes: list[InjectedCTE]) -> str:
            asked.append((sql, list(ctes), inject(sql, ctes)))
            return asked[-1][2]

        patch.setattr(compilation, "inject_ctes_into_sql", recorded)
        run_dbt(manifest, paths, "compile")
    return asked


def test_every_query_of_the_project_is_what_dbt_makes_of_it(calls: Calls) -> None:
    assert len(calls) > 50
    for query, models, made in calls:
        assert made == compilation.inject_ctes_into_sql(query, models)


def test_nearly_every_query_is_spared_the_parsing(calls: Calls) -> None:
    left = [query for query, models, _ in calls if models and dbt_changes.inlined(query, models) is None]
    assert len(left) <= 5, left


@pytest.mark.parametrize(
    "query",
    [
        "select 1",
        "\n\n  SELECT 1",
        "with a as (select 1) select * from a",
        "\n-- Why it is so.\n  -- And so.\nwith a as (select 1) select * from a",
        "With Recursive a as (select 1) select * from a",
        "with recursive_rows as (select 1) select * from recursive_rows",
        "-- with what\nselect 1",
    ],
)
def test_query_of_this_form_is_what_dbt_makes_of_it(query: str) -> None:
    made = dbt_changes.inlined(query, TWO)
    assert made is None or made == compilation.inject_ctes_into_sql(query, TWO)
    assert made is not None or query.startswith("-- with")


@pytest.mark.parametrize(
    "query",
    [
        "(select 1)",
        "\n" * 5_000 + "(select 1)",
        "/* with */ select 1",
        "from a",
        "select ';'",
        "select 1 as selected_with, with",
    ],
)
def test_query_of_another_form_is_left_to_dbt(query: str) -> None:
    assert dbt_changes.inlined(query, TWO) is None


def test_dbt_is_itself_again_afterwards() -> None:
    by_dbt = compilation.inject_ctes_into_sql
    with pytest.raises(RuntimeError), dbt_changes.without_parsing():
        assert compilation.inject_ctes_into_sql is not by_dbt
        assert compilation.inject_ctes_into_sql("/* x */ select 1", TWO) == by_dbt("/* x */ select 1", TWO)
        raise RuntimeError
    assert compilation.inject_ctes_into_sql is by_dbt
