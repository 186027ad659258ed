"""Commands of dbt on the project, run as in a build, for tests that check the result of each node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialogue_warehouse.paths import DBT_PROJECT, WarehousePaths
from dialogue_warehouse.settings import Settings
from pipelines.building import dbt

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest


def run_dbt(manifest: Manifest, paths: WarehousePaths, *command: str) -> list[Any]:
    """Return the result of each node that the command selects. A command that cannot run fails the test."""
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    profiles = dbt.write_profile(paths.scratch, Settings())
    places = ["--project-dir", DBT_PROJECT, "--profiles-dir", profiles, "--target-path", paths.dbt_target]
    silent = ["--quiet", "--log-level", "none", "--log-level-file", "none"]
    arguments = [*silent, *command, "--target", "duckdb", "--no-write-json", *map(str, places)]
    try:
        result: Any = dbtRunner(manifest=manifest).invoke(arguments)
    finally:
        DuckDBConnectionManager.close_all_connections()
    assert result.result is not None, result.exception
    assert result.success or command[0] == "test", [of.message for of in result.result]
    return list(result.result)


def compiled(folder: Path, selected: str) -> dict[str, str]:
    """Return the SQL that dbt compiles for each of these nodes, in an empty folder."""
    paths = WarehousePaths(folder)
    results = run_dbt(dbt.parse(paths), paths, "compile", "--select", selected)
    return {of.node.name: of.node.compiled_code for of in results}
