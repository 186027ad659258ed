"""How much a claim was held against: the rows that it is about, and the records that landing refused because of it.

A claim that no row can break says nothing, and one whose culprits never became rows looks as if it held: neither may
count as reproduced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import duckdb

from pipelines.corpora.claims import Claim, Entry
from pipelines.intake.sql_text import identifier, literal

ABOUT_NULL = ("expect_column_values_to_be_null", "expect_column_values_to_not_be_null")
"""Types for which a NULL is a value to judge; Great Expectations passes over it in the others."""


@dataclass(frozen=True)
class Basis:
    """What a claim was held against in one warehouse."""

    rows: int = 0
    """The rows that it is about, refused records that break it included."""
    refused: int = 0
    """Records that landing refused, with an error that breaks the claim."""
    first_refused: str | None = None
    """File, error and path of the first of them."""


def rows_query(corpus_id: str, entry: Entry) -> str | None:
    """What counts the rows that a claim is about: what it says itself, else the rows of its table that it reads."""
    if entry.not_checkable:
        return None
    if entry.tested:
        return f"select count(*) from {entry.tested}"
    conditions = [f"corpus_id = {literal(corpus_id)}"]
    for column, value in entry.rows.items():
        values = value if isinstance(value, list) else [value]
        if column != "corpus_id":
            conditions.append(f"{identifier(column)} in ({', '.join(map(literal, values))})")
    column = entry.kwargs.get("column")
    if column and entry.type not in ABOUT_NULL:
        conditions.append(f"{identifier(column)} is not null")
    return f"select count(*) from {entry.table} where {' and '.join(conditions)}"


def count_basis(
    con: duckdb.DuckDBPyConnection, claims: Iterable[Claim], queries: Mapping[str, str | None]
) -> dict[str, Basis]:
    """By claim, what each is held against; `queries` are those of `rows_query`, by claim too."""
    refusals = _refusals(con)
    counted: dict[str, int] = {}
    tested = {}
    for claim in claims:
        query = queries[claim.claim_id]
        if query is None:
            continue
        if query not in counted:
            counted[query] = con.execute(query).fetchall()[0][0]
        refused = _breaking(con, claim, refusals)
        tested[claim.claim_id] = Basis(counted[query] + len(refused), len(refused), refused[0] if refused else None)
    return tested


def _refusals(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """By corpus, the path and the error of each refused record."""
    refusals: dict[str, list[str]] = {}
    for corpus_id, refusal in con.execute(
        """
        select
            corpus_id,
            substring(source_file_id, length(corpus_id) + 2) || ' ' || error
        from core.source_quarantine
        order by source_file_id, record_index
        """
    ).fetchall():
        refusals.setdefault(corpus_id, []).append(refusal)
    return refusals


def _breaking(con: duckdb.DuckDBPyConnection, claim: Claim, refusals: Mapping[str, list[str]]) -> list[str]:
    """The refusals that break a claim, by the expression that it gives; DuckDB's, as in all of its SQL."""
    found = refusals.get(claim.corpus_id)
    if claim.refused is None or not found:
        return []
    matching = "select list_filter(?::varchar[], lambda refusal: regexp_matches(refusal, ?))"
    return con.execute(matching, [found, claim.refused]).fetchall()[0][0]
