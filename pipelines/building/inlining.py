"""Putting dbt's inlined (ephemeral) models before a query without parsing the whole query.

dbt puts them behind the query's first `with`. To find it, it lexes and groups every query with sqlparse, a fifth of
the model stage on the sample (6.5 s for 8.3 s, medians of pairs in one run). Our models begin with `with` or `select`;
what begins otherwise, or has a semicolon in it, goes dbt's way.

It replaces a function that dbt does not publish, for as long as dbt runs here; tests/integration/test_inlining.py holds
it against dbt's own, text for text, for every query of the project, and fails when dbt no longer calls it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt.contracts.graph.nodes import InjectedCTE

BEGINNING = re.compile(r"(?:\s|--[^\n]*\n)*(?P<word>with(?:\s+recursive)?|select)\b", re.IGNORECASE)
"""White space, comments of one line, and the first word of a query."""


def inlined(query: str, models: list[InjectedCTE]) -> str | None:
    """The query with these models before its own subqueries; None where dbt has to look for the place itself."""
    start = BEGINNING.match(query)
    if not start or ";" in query:
        return None
    before = ", ".join(model.sql for model in models)
    if start["word"].lower() != "select":
        return f"{query[: start.end()]}{before}, {query[start.end() :]}"
    if re.search(r"\bwith\b", query, re.IGNORECASE):
        return None
    place = len(query) - len(query.lstrip())
    return f"{query[:place]}with{before} {query[place:]}"


@contextlib.contextmanager
def without_parsing() -> Generator[None]:
    """Let dbt inline models this way, as long as the context lasts."""
    from dbt import compilation

    by_dbt = compilation.inject_ctes_into_sql

    def inject(sql: str, ctes: list[InjectedCTE]) -> str:
        return sql if not ctes else inlined(sql, ctes) or by_dbt(sql, ctes)

    compilation.inject_ctes_into_sql = inject  # ty: ignore[invalid-assignment]
    try:
        yield
    finally:
        compilation.inject_ctes_into_sql = by_dbt
