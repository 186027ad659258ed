"""The empty tables of the schema `core`, with the columns and types of their contracts, for tests of claims by hand."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import duckdb
import yaml

from dialogue_warehouse.corpora.claims import Claim
from dialogue_warehouse.paths import DBT_PROJECT


@functools.cache
def contracts() -> dict[str, dict[str, str]]:
    """Map each table to its columns and their types. Every table has a `corpus_id`."""
    found = {}
    for path in sorted((DBT_PROJECT / "models" / "marts" / "core").glob("*.yml")):
        for model in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader).get("models", []):
            columns = {column["name"]: column["data_type"] for column in model.get("columns", [])}
            found[model["name"]] = columns | {"corpus_id": "varchar"}
    return found


def create(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the schema and every table, empty, and the violations that an expectation reads."""
    connection.execute("create schema core")
    for table, columns in contracts().items():
        typed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        connection.execute(f"create table core.{table} ({typed})")
    connection.execute("create schema quality")
    connection.execute("create table quality.violations (rule_id varchar, corpus_id varchar, row_key varchar)")


def insert(connection: duckdb.DuckDBPyConnection, table: str, *rows: dict[str, Any]) -> None:
    """Insert rows into a table of core; columns that a row does not name are NULL."""
    for row in rows:
        marks = ", ".join("?" * len(row))
        connection.execute(f"insert into core.{table} ({', '.join(row)}) values ({marks})", list(row.values()))


def refused_by(error: str, claims: Mapping[str, Claim]) -> set[str]:
    """Return which of these claims a record with this error breaks, as DuckDB matches their patterns."""
    query = "select regexp_matches(?, ?)"
    with duckdb.connect() as con:
        return {
            name for name, claim in claims.items() if con.execute(query, [error, claim.refused]).fetchall() == [(True,)]
        }
