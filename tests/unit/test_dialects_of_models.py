"""SQL with the same meaning on DuckDB and Spark: constructs that models must not use, and the macros that replace them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dialogue_warehouse.paths import DBT_PROJECT
from tests.unit.model_sql import plain_sql

SQL = sorted((DBT_PROJECT / "models").rglob("*.sql"))
MACROS_OF_THE_DIALECT = {
    "explode_indexed",
    "explode_map",
    "list_at",
    "list_of",
    "map_at",
    "list_map",
    "list_join",
    "list_flatten",
    "list_agg_ordered",
    "regexp_replace_all",
    "lower_case",
    "explode_split",
    "words",
    "word_count",
    "null_as",
}

DIFFERENT_ON_SPARK = {
    "unnest": r"\bunnest\s*\(",
    "generate_subscripts": r"\bgenerate_subscripts\b",
    "lambda": r"\blambda\b|->",
    "list_* functions": r"\blist_(?!at\b|map\b|join\b|flatten\b|agg_ordered\b)\w+\s*\(",
    "array_agg, array_to_string, string_agg, listagg": r"\b(array_agg|array_to_string|string_agg|listagg)\s*\(",
    "split (a regular expression on Spark)": r"\bsplit\s*\(",
    "regexp_replace (first match on DuckDB, all on Spark)": r"\bregexp_replace\s*\(",
    "indexing a list (from 1 on DuckDB, from 0 on Spark)": r"\w\[",
    "a list literal": r"(?<![\w{%])\[(?=[^\]]*\])",
    "a quoted identifier (a string on Spark: a word of SQL needs no quotes after its table, as in lines.order)": r'"',
    "exclude": r"\bexclude\b",
    "union by name": r"\bby\s+name\b",
    "try_cast": r"\btry_cast\b",
    "varchar without length": r"\bvarchar\b",
    "json arrows and functions": r"\bjson_\w+\s*\(",
    "flatten (NULL on Spark where a list within is NULL)": r"\bflatten\s*\(",
    "avg (of doubles it depends on their order: divide a sum of integers)": r"\bavg\s*\(",
    "lower (Spark changes two letters in another way: lower_case)": r"\blower\s*\(",
    "trim without its signs (every space on DuckDB, blanks on Spark)": r"\b[lr]?trim\s*\(\s*(?!both\b)",
    "a named window that is given more (DuckDB alone)": r"\bover\s*\(\s*(?!partition\b|order\b|rows\b|range\b)\w+\s+\w",
    "a minus behind a named window (part of its name on Spark)": r"\bover\s+\w+\s*-",
}


def offences(text: str) -> list[str]:
    """Return the names of the constructs in this SQL that have another meaning on the other engine."""
    return [name for name, pattern in DIFFERENT_ON_SPARK.items() if re.search(pattern, plain_sql(text))]


@pytest.mark.parametrize("path", SQL, ids=lambda path: path.stem)
def test_model_has_no_sql_with_another_meaning_on_spark(path: Path) -> None:
    assert offences(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "sql",
    [
        "select unnest(turns) from x",
        "select list_transform(a, x -> x)",
        "select split(name, '.')",
        "select regexp_replace(a, 'b', 'c')",
        "select names[1] from x",
        "select [1, 2] as list",
        'select "values" from x',
        "select string_agg(a, ',') from x",
        "select try_cast(a as integer)",
        "select a from x union all by name select b from y",
        "select cast(a as varchar)",
        "select flatten(lists) from x",
        "select avg(share) from x",
        "select lower(name) from x",
        "select trim(name) from x",
        "select rtrim(name) from x",
        "select sum(a) over (of_measure order by b) from x window of_measure as (partition by c)",
        "select lead(a) over in_label - a from x window in_label as (partition by c)",
    ],
)
def test_dialect_lint_finds_planted_sql(sql: str) -> None:
    assert offences(sql)


def test_both_engines_have_exactly_the_listed_dialect_macros() -> None:
    text = (DBT_PROJECT / "macros" / "dialect.sql").read_text(encoding="utf-8")
    assert set(re.findall(r"{% macro (?!default__)(\w+)", text)) == MACROS_OF_THE_DIALECT
    assert set(re.findall(r"{% macro default__(\w+)", text)) == MACROS_OF_THE_DIALECT
    text = (DBT_PROJECT / "macros" / "dialect_spark.sql").read_text(encoding="utf-8")
    assert set(re.findall(r"{% macro spark__(\w+)", text)) == MACROS_OF_THE_DIALECT
