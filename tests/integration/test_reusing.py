"""A changed model is built in the published warehouse: the result equals that of a complete build."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.storage import builds
from pipelines.building import history, reusing
from tests.benchmarks import compare_builds
from tests.integration.clones import build_with, copy_clone

ANALYTICS = "models/marts/analytics/"
OF_EVERY_BUILD = {f"quality.{name}" for name in history.HISTORY_TABLES}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the project of a copy of the clone with one rewritten query, one with fewer rows, one new description."""
    project = copy_clone(tmp_path_factory.mktemp("clone"))
    replace(project / "models/marts/core/fct_turns.sql", "('turns') }}\n", "('turns') }} -- of all corpora")
    replace(project / f"{ANALYTICS}label_distribution.sql", "\nwindow", "\nwhere labels.label_kind <> 'domain'\nwindow")
    replace(project / f"{ANALYTICS}selections.yml", "One row per selection", "One row a selection")
    return project


@pytest.fixture(scope="module")
def changed(project: Path, sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[WarehousePaths, str]:
    """Return the sample's warehouse, built again with that project, and the output of the build."""
    paths = WarehousePaths(tmp_path_factory.mktemp("changed") / "warehouse")
    shutil.copytree(sample_folder, paths.root, copy_function=shutil.copy2)
    completed = build_with(project, paths.root)
    assert completed.returncode == 0, completed.stderr
    return paths, completed.stderr


def comments(database: Path) -> dict[str, str]:
    """Return the comments of the tables and columns of a database."""
    with duckdb.connect(str(database), read_only=True) as con:
        return dict(
            con.execute(
                "select table_name, comment from duckdb_tables() union all "
                "select table_name || '.' || column_name, comment from duckdb_columns() where comment is not null"
            ).fetchall()
        )


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_what_has_not_changed_is_taken_from_the_published_build(changed: tuple[WarehousePaths, str]) -> None:
    paths, reported = changed
    found = re.search(r"(\d+) models?, (\d+) tests?; (\d+) reused", reported)
    assert found, reported
    models, tests, stay = map(int, found.groups())
    assert models < 20 and tests == 2  # of label_distribution and of corpus_profile, which reads it
    assert models + tests + stay > 150
    manifest = builds.read_manifest(paths, builds.published_build(paths)[0])
    assert [name.rpartition(".")[2] for name in sorted(manifest.definitions.contents)] == ["fct_turns", "selections"]
    assert "against build" in reported and "row" in manifest.changed


def test_result_equals_that_of_building_everything(
    changed: tuple[WarehousePaths, str], project: Path, tmp_path: Path
) -> None:
    completed = build_with(project, tmp_path, "--quiet")
    assert completed.returncode == 0, completed.stderr
    whole, published = WarehousePaths(tmp_path).published, changed[0].published
    differences = compare_builds.compare(whole, published)
    assert "analytics.label_distribution" in differences
    assert {table for table, lines in differences.items() if lines} <= OF_EVERY_BUILD
    assert comments(whole) == comments(published)


def test_what_a_changed_model_breaks_is_found(
    changed: tuple[WarehousePaths, str], project: Path, tmp_path: Path
) -> None:
    paths = WarehousePaths(tmp_path / "warehouse")
    shutil.copytree(changed[0].root, paths.root, copy_function=shutil.copy2)
    broken = tmp_path / "clone" / "dbt_project"
    shutil.copytree(project.parent, broken.parent, symlinks=True)
    replace(broken / f"{ANALYTICS}label_distribution.sql", "\n    labels.label,\n", "\n    'one' as label,\n")
    completed = build_with(broken, paths.root)
    assert completed.returncode == 1
    assert re.search(r"^error: test sound_label_distribution: .* rows fail, the first: ", completed.stderr, re.M)
    assert builds.published_build(paths)[0] == builds.published_build(changed[0])[0]


def test_changed_build_is_not_reused(sample_folder: Path, tmp_path: Path) -> None:
    paths = WarehousePaths(tmp_path / "warehouse")
    shutil.copytree(sample_folder, paths.root, copy_function=shutil.copy2)
    build_id, database = builds.published_build(paths)
    base = reusing._base(paths)
    assert base is not None and base.build_id == build_id
    database.chmod(0o600)
    with database.open("ab") as stream:
        stream.write(b"more")
    assert reusing._base(paths) is None
