"""Describe the models and tests of dbt that failed, each in one line with its place, and find the corpora at fault."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import Any

import duckdb

from dialogue_warehouse.common.database import connect, literal
from dialogue_warehouse.errors import CheckError, quoted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings, variable_of
from pipelines.building import dbt, fallback

CORE = ("marts", "core")
"""The folders of the models that stack those of the corpora."""
NO_COLUMN = re.compile(r'Referenced column "\w+" not found')
FIRST_ROWS = 1_000
"""Failing rows of a test that are read."""


def failure(
    results: list[dbt.NodeResult],
    paths: WarehousePaths,
    select: fallback.Select | None = None,
    settings: Settings | None = None,
) -> dbt.ModelError | None:
    """Return an error with a line for each failed model or test, and a failing row of each test; else None.

    `select` returns the first rows of a query. It is needed where the models are in no database of the scratch
    folder.
    """
    failed = [result for result in results if not result.is_passed]
    if not failed:
        return None
    causes = [result for result in failed if result.message != "skipped"] or failed
    select = select or functools.partial(_select, paths, settings or Settings())
    by_name = sorted(causes, key=lambda one: one.name)
    for cause in by_name:
        if cause.is_out_of_memory:  # of no corpus, so that none falls back
            limit = f"{variable_of('memory_limit')} allows ({(settings or Settings()).memory_limit})"
            return dbt.ModelError(f"{cause.title} needs more memory than {limit}: set a larger limit")
    described = [_describe_failure(cause, select) for cause in by_name]
    return dbt.ModelError("\n".join(line for line, _ in described), fallback.at_fault(described))


def _select(
    paths: WarehousePaths, settings: Settings, query: str, most: int
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the first rows of a query of the databases that a build works on."""
    with connect(settings, paths.scratch_database, read_only=True) as con:
        con.execute(f"attach {literal(str(paths.scratch_staging))} as staging (read_only)")
        rows = con.execute(query)
        return [column[0] for column in rows.description], rows.fetchmany(most)


def _describe_failure(result: dbt.NodeResult, select: fallback.Select) -> tuple[str, set[str]]:
    """Return a line about a failure, and the corpora that it is about."""
    if not (result.is_test and result.failures):
        place, about = "", fallback.named(result.folders)
        with contextlib.suppress(duckdb.Error, CheckError):
            place, found = fallback.locate(result.query, result.message, result.folders, select)
            about = about or found
        if result.folders == CORE and NO_COLUMN.search(result.message):
            place += (
                ": a model that it stacks lacks this column: select it there, or name it in `lacks` of its `config`"
            )
        return f"{result.title}: {result.message}{place}", about
    first, about = "", fallback.named(result.folders)
    with contextlib.suppress(duckdb.Error, CheckError):
        names, broken = select(result.query, FIRST_ROWS)
        values = zip(names, broken[0] if broken else (), strict=False)
        first = ", the first: " + ", ".join(f"{name}={quoted(value)}" for name, value in values)
        about = about or fallback.of_rows(broken)
    failing = "1 row fails" if result.failures == 1 else f"{result.failures:,} rows fail"
    return f"{result.title}: {failing}{first}", about
