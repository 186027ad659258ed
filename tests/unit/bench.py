"""A database to audit, and the results of its audit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from expectations.client import AuditProcess


@dataclass(frozen=True)
class Bench:
    """A database to audit, and the folder for the results."""

    audit: AuditProcess
    folder: Path
    corpora: tuple[str, ...] = ()

    @property
    def database(self) -> Path:
        return self.folder / "warehouse.duckdb"

    def execute(self, *statements: str) -> None:
        with duckdb.connect(str(self.database)) as connection:
            for statement in statements:
                connection.execute(statement)

    def run(self, *checks: dict[str, Any], **request: Any) -> dict[str, Any]:
        """Audit these checks as suite `own`, or the project's suites."""
        if checks:
            usual = {"severity": "critical", "description": "It holds.", "why": "It must."}
            (self.folder / "own.toml").write_text(toml({"own": [usual | check for check in checks]}), encoding="utf-8")
            request["suite_file"] = str(self.folder / "own.toml")
        return self.audit.run(
            {
                "database": str(self.database),
                "suites": "all",
                "corpora": list(self.corpora),
                "output": str(self.folder),
                "build_id": "b1",
                "run_at": "2026-01-02T03:04:05+01:00",
            }
            | request
        )

    def results(self) -> list[tuple[Any, ...]]:
        with duckdb.connect() as connection:
            return connection.execute(f"from '{self.folder}/expectation_results/results.parquet'").fetchall()


def toml(document: dict[str, list[dict[str, Any]]]) -> str:
    """Return arrays of tables as TOML."""

    def value(thing: Any) -> str:
        if isinstance(thing, dict):
            return "{ " + ", ".join(f'"{key}" = {value(entry)}' for key, entry in thing.items()) + " }"
        if isinstance(thing, list):
            return "[" + ", ".join(value(entry) for entry in thing) + "]"
        return json.dumps(thing)

    return "".join(
        f"[[{name}]]\n" + "".join(f"{key} = {value(entry)}\n" for key, entry in table.items())
        for name, tables in document.items()
        for table in tables
    )


PASSES = {"id": "passes", "tables": ["core.fct_turns"], "unexpected_rows": "select 1 from core.fct_turns where false"}

FAILS = {"id": "fails", "tables": ["core.fct_turns"], "unexpected_rows": "from core.fct_turns where speaker = 'C'"}


def native(identifier: str, kind: str, **changes: Any) -> dict[str, Any]:
    """Return a check of Great Expectations on the column speaker."""
    kwargs = {"column": "speaker"} | changes.pop("kwargs", {})
    return {"id": identifier, "tables": ["core.fct_turns"], "type": kind, "kwargs": kwargs} | changes
