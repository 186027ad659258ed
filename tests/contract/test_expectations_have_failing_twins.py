"""Every expectation about the shared tables holds for the sample warehouse, and fails if the warehouse is made wrong.

The statements that make it wrong are in shared_twins.toml. Each is applied alone to a copy of the sample, its
expectation is audited, and the changed table is restored.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dialogue_warehouse.corpora.suites import Expectation, load_marts_suites
from expectations.client import AuditProcess
from tests.contract import twins
from tests.contract.twins import TWINS

EXPECTATIONS = {
    f"{suite.name}/{expectation.expectation_id}": expectation
    for suite in load_marts_suites()
    for expectation in suite.expectations
}
TARGET = re.compile(r"^(?:update|insert into|delete from) (core\.\w+) ")


def twin_of(key: str) -> str | None:
    """Return the statement for an expectation's key, `<suite>/<expectation>`."""
    suite, _, identifier = key.partition("/")
    return twins.twin_of(suite, identifier, EXPECTATIONS[key].table)


@dataclass(frozen=True)
class Copy:
    """Copy of the sample's tables, without constraints, and the audit that reads it."""

    database: Path
    pristine: Path
    corpora: list[str]
    audit: AuditProcess
    output: Path

    def run(self, *only: str) -> dict[str, Any]:
        """Audit the copy: these expectations, or all."""
        request = {
            "database": str(self.database),
            "suites": sorted({suite.name for suite in load_marts_suites()}),
            "corpora": self.corpora,
            "output": str(self.output),
            "build_id": "copy",
            "run_at": "2026-01-01T00:00:00",
        }
        return self.audit.run(request | ({"only": list(only)} if only else {}))

    def change(self, statement: str) -> int:
        """Make the copy wrong; return the number of changed rows."""
        with duckdb.connect(str(self.database)) as connection:
            row = connection.execute(statement).fetchone()
        return row[0] if row else 0

    def restore(self, table: str) -> None:
        """Restore a table."""
        with duckdb.connect(str(self.database)) as connection:
            connection.execute(f"attach '{self.pristine}' as pristine (read_only)")
            connection.execute(f"create or replace table {table} as from pristine.{table}")

    def empty_table(self, expectation: Expectation) -> str | None:
        """Return a table that the expectation reads and that has no rows in the sample."""
        tables = {expectation.table, *re.findall(r"\bcore\.\w+", str(expectation.kwargs.get("query", "")))}
        with duckdb.connect(str(self.database), read_only=True) as connection:
            for table in sorted(tables):
                if connection.execute(f"select 1 from {table} limit 1").fetchone() is None:
                    return table
        return None


@pytest.fixture(scope="module")
def copy(sample_warehouse: Path, audit: AuditProcess, tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Return a copy that tests can change without changing the sample."""
    folder = tmp_path_factory.mktemp("twins")
    database, pristine = folder / "copy.duckdb", folder / "pristine.duckdb"
    with duckdb.connect(str(pristine)) as connection:
        connection.execute(f"attach '{sample_warehouse}' as sample (read_only)")
        tables = connection.execute(
            "select schema_name, table_name from duckdb_tables() where database_name = 'sample'"
        ).fetchall()
        for schema, table in tables:
            connection.execute(f"create schema if not exists {schema}")
            connection.execute(f"create table {schema}.{table} as from sample.{schema}.{table}")
        corpora = connection.execute("select corpus_id from core.dim_corpora order by corpus_id").fetchall()
    shutil.copyfile(pristine, database)
    return Copy(database, pristine, [corpus for (corpus,) in corpora], audit, folder)


@pytest.fixture(scope="module")
def baseline(copy: Copy) -> dict[str, dict[str, str]]:
    """Return the violations of each suite on the unchanged sample: observed values, by expectation."""
    return {
        suite: {failure["expectation"]: failure["observed"] for failure in summary["failures"]}
        for suite, summary in copy.run().items()
    }


def test_every_expectation_has_a_twin() -> None:
    assert [key for key in EXPECTATIONS if twin_of(key) is None] == []


def test_every_twin_belongs_to_an_expectation() -> None:
    known = {"/".join(key.split("/")[:2]) for key in EXPECTATIONS}
    assert [
        f"{suite}/{name}"
        for suite, names in TWINS.items()
        if suite != "dbt"
        for name in names
        if f"{suite}/{name}" not in known
    ] == []


@pytest.mark.parametrize("key", EXPECTATIONS)
def test_expectation_holds_and_its_twin_fails(key: str, copy: Copy, baseline: dict[str, dict[str, str]]) -> None:
    suite, _, identifier = key.partition("/")
    assert identifier not in baseline[suite], f"{key} does not hold of the sample: {baseline[suite][identifier]}"
    statement = twin_of(key) or ""
    target = TARGET.match(statement)
    assert target, f"{key}: the twin changes no table of core"
    try:
        if copy.change(statement) == 0:
            if empty := copy.empty_table(EXPECTATIONS[key]):
                pytest.skip(f"{key}: the sample has no row of {empty}")
            pytest.fail(f"{key}: the twin changes nothing")
        summary = copy.run(key)[suite]
        assert [failure["expectation"] for failure in summary["failures"]] == [identifier]
        assert summary["failures"][0]["severity"] == EXPECTATIONS[key].severity
        assert summary["failures"][0]["observed"].startswith("{"), summary["failures"][0]["observed"]
    finally:
        copy.restore(target[1])
