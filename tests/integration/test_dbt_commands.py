"""dbt's own commands work in a clone, on the files that the published build has read, and so do dbt packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.paths import DBT_PROJECT, WarehousePaths
from tests.conftest import CLONE

TOOLS = Path(os.environ.get("DIALOGUE_TOOLS") or CLONE.parent / "shared" / "tools")
PACKAGES = ("dbt_utils", "dbt_project_evaluator")
OWN_KEY_TEST = {"primary_key_test_macros": [["dialogue_warehouse.test_sound_rows"]]}
"""The evaluator's variable for the tests of a key."""
BY_CHILD = (
    "fct_direct_join_to_source",
    "fct_marts_or_intermediate_dependent_on_source",
    "fct_rejoining_of_upstream_concepts",
)
"""Rules about the model that reads others; the other rules name the resource first."""
EXCEPTIONS = Path(__file__).with_name("evaluator_exceptions.toml")


def copy_project(clone: Path, sample_folder: Path) -> Path:
    """Copy dbt's project, with a warehouse at the place that its profile names; return the folder of the project."""
    shutil.copytree(DBT_PROJECT, clone / "dbt_project", ignore=shutil.ignore_patterns(".*", "target", "logs"))
    kept = WarehousePaths(sample_folder).dbt_sources
    shutil.copytree(kept, WarehousePaths(clone / "warehouse").dbt_sources)
    return clone / "dbt_project"


def run(project: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command `dbt` in the folder of a project."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DIALOGUE_", "DBT_"))}
    program = Path(sys.executable).with_name("dbt")
    return subprocess.run(
        [program, *command], cwd=project, env=kept | variables, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def built(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project that `dbt build` has built, but for the unit tests: test_dbt_unit_tests.py runs them.

    DuckDB can read `record_index=` in the path of a warehouse as the value of this column in each row.
    """
    project = copy_project(tmp_path_factory.mktemp("record_index="), sample_folder)
    warehouse = str(project.parent / "warehouse")
    ran = run(project, "build", "--exclude-resource-type", "unit_test", DIALOGUE_WAREHOUSE=warehouse)
    assert ran.returncode == 0, ran.stdout
    assert " WARN=0 ERROR=0 SKIP=0 " in ran.stdout
    return project


def test_tables_are_those_of_the_published_build(built: Path, sample_warehouse: Path) -> None:
    with duckdb.connect(str(built.parent / "warehouse" / ".dbt" / "dev.duckdb"), read_only=True) as con:
        con.execute(f"attach '{sample_warehouse}' as published (read_only)")
        tables = con.execute("select schema_name, table_name from duckdb_tables() where database_name = 'published'")
        for schema, table in tables.fetchall():
            ours, theirs = f"from {schema}.{table}", f"from published.{schema}.{table}"
            for one, other in ((ours, theirs), (theirs, ours)):
                assert con.execute(f"({one}) except all ({other})").fetchall() == [], table


def test_documentation_has_the_columns_of_the_tables(built: Path) -> None:
    ran = run(built, "docs", "generate")
    assert ran.returncode == 0, ran.stdout
    catalog = json.loads((built / "target" / "catalog.json").read_text(encoding="utf-8"))
    turns = catalog["nodes"]["model.dialogue_warehouse.fct_turns"]
    assert turns["columns"]["turn_key"]["type"] == "VARCHAR"
    assert turns["metadata"]["comment"]


def test_part_of_the_project_is_built_again_and_a_broken_model_fails(built: Path) -> None:
    ran = run(built, "run", "-s", "dim_speakers+")
    assert ran.returncode == 0, ran.stdout
    model = built / "models" / "marts" / "core" / "dim_speakers.sql"
    model.write_text("select corpus_id, source_speaker, role from nowhere\n", encoding="utf-8")
    ran = run(built, "run", "-s", "dim_speakers+")
    assert ran.returncode == 1
    assert "Table with name nowhere does not exist" in ran.stdout


def test_findings_of_the_project_evaluator_are_listed_with_a_reason(sample_folder: Path, tmp_path: Path) -> None:
    """It checks a project against dbt Labs' rules: https://dbt-labs.github.io/dbt-project-evaluator/."""
    if not all((TOOLS / name).is_dir() for name in PACKAGES):
        pytest.skip(f"no dbt-project-evaluator: neither DIALOGUE_TOOLS nor {TOOLS} has it")
    project = copy_project(tmp_path, sample_folder)
    for name in PACKAGES:
        shutil.copytree(TOOLS / name, tmp_path / name)
    (tmp_path / PACKAGES[1] / "packages.yml").write_text("packages: [{local: ../dbt_utils}]\n", encoding="utf-8")
    (project / "packages.yml").write_text(
        "packages: [{local: ../dbt_utils}, {local: ../dbt_project_evaluator}]\n", encoding="utf-8"
    )
    with (project / "dbt_project.yml").open("a", encoding="utf-8") as file:
        file.write("\ndispatch: [{macro_namespace: dbt, search_order: [dbt_project_evaluator, dbt]}]\n")
    only = ["-s", "package:dbt_project_evaluator", "--exclude-resource-type", "test"]
    for command in (["deps"], ["build", *only, "--vars", json.dumps(OWN_KEY_TEST)]):
        ran = run(project, *command)
        assert ran.returncode == 0, ran.stdout
    found = findings(tmp_path / "warehouse" / ".dbt" / "dev.duckdb")
    listed = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8"))["exceptions"]
    covered = {
        (rule, name): [one for one in listed if one["rule"] == rule and fnmatchcase(name, one["resources"])]
        for rule, name in found
    }
    assert [finding for finding, by in covered.items() if not by] == []
    assert [one for one in listed if not any(one in by for by in covered.values())] == []


def findings(database: Path) -> set[tuple[str, str]]:
    """Return the findings: the rule, and the model or source that it is about. Shares that are covered are none."""
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute("select table_name from duckdb_tables() where schema_name = 'main'").fetchall()
        rules = [rule for (rule,) in tables if rule.startswith("fct_") and not rule.endswith("_coverage")]
        about = {rule: "child" if rule in BY_CHILD else "columns(*)" for rule in rules}
        return {
            (rule, str(row[0]))
            for rule in rules
            for row in con.execute(f"select {about[rule]} from main.{rule}").fetchall()
        }
