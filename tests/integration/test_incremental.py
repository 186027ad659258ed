"""Building again: nothing has changed, one file has changed, and Dagster's data versions in both cases."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import changes
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, health, retention
from pipelines.building import fingerprint, history, state
from pipelines.dagster_graph.build import build_warehouse as build_folder
from pipelines.ingestion import simulating
from tests.conftest import build_warehouse, run_command

OF_THE_BUILD = {"builds", "build_changes", "expectation_results"}
"""Tables about the builds themselves."""


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases")
    simulating.simulate(folder, 0.005)
    return folder


@pytest.fixture(scope="module")
def built(releases: Path, tmp_path_factory: pytest.TempPathFactory) -> WarehousePaths:
    return WarehousePaths(build_warehouse(tmp_path_factory.mktemp("built"), "--source", releases))


@pytest.fixture
def again(releases: Path, built: WarehousePaths, tmp_path: Path) -> tuple[Path, WarehousePaths]:
    """Return copies of the releases and of their warehouse, as if it had been built from the copies."""
    shutil.copytree(releases, tmp_path / "releases")
    shutil.copytree(built.root, tmp_path / "warehouse", copy_function=shutil.copy2)
    return tmp_path / "releases", WarehousePaths(tmp_path / "warehouse")


def landed_at(paths: WarehousePaths) -> dict[str, int]:
    return {
        str(path.relative_to(paths.raw)): path.stat().st_mtime_ns
        for path in paths.raw.rglob("*.parquet")
        if not path.name.startswith("empty-")
    }


def contents(database: Path) -> dict[str, list[tuple]]:
    """Return every table of a published database, its rows sorted."""
    with duckdb.connect(str(database), read_only=True) as con:
        tables = con.execute("select schema_name, table_name from duckdb_tables() order by all").fetchall()
        return {
            f"{schema}.{table}": con.sql(f'from "{schema}"."{table}" order by all').fetchall()
            for schema, table in tables
            if table not in OF_THE_BUILD
        }


def data_versions(paths: WarehousePaths) -> dict[str, str]:
    """Return Dagster's data version of every raw table and of two core tables."""
    tables = [f"{corpus.corpus_id}__{entity.name}" for corpus in registry.load_corpora() for entity in corpus.entities]
    found = {}
    with dg.DagsterInstance.local_temp(str(paths.dagster_home)) as instance:
        for key in (*(["raw", table] for table in tables), ["core", "fct_turns"], ["core", "fct_votes"]):
            event = instance.get_latest_materialization_event(dg.AssetKey(key))
            assert event is not None
            found["/".join(key)] = (event.asset_materialization.tags or {})["dagster/data_version"]
    return found


def change_one_word(release: Path) -> None:
    path = release / "sgd" / "train" / "dialogues_001.json"
    dialogues = json.loads(path.read_text())
    dialogues[0]["turns"][0]["utterance"] += "!"
    path.write_text(json.dumps(dialogues))


def test_unchanged_sources_are_not_built_again(releases: Path, built: WarehousePaths) -> None:
    before = retention.kept_builds(built), landed_at(built), built.pointer.read_bytes()
    completed = run_command("build", "--source", releases, "--warehouse", built.root)
    assert completed.returncode == 0, completed.stderr
    assert f"nothing changed, still published: {built.published}" in completed.stdout
    assert (retention.kept_builds(built), landed_at(built), built.pointer.read_bytes()) == before


def test_sample_is_not_built_again(sample_folder: Path, tmp_path: Path) -> None:
    sample_folder = Path(shutil.copytree(sample_folder, tmp_path / "warehouse"))  # no other test builds there
    completed = run_command("build", "--warehouse", sample_folder)
    assert completed.returncode == 0, completed.stderr
    assert "nothing changed" in completed.stdout


def test_unchanged_build_removes_the_files_of_a_killed_one(sample_folder: Path, tmp_path: Path) -> None:
    """The killed build had already published its result; found by `make faults`."""
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))
    before = sorted(path.name for path in paths.scratch.iterdir())
    (paths.scratch_audit / "builds").mkdir(parents=True)
    (paths.scratch_audit / "builds" / "results.parquet").touch()
    paths.scratch_state.write_text("{}")
    completed = run_command("build", "--warehouse", paths.root)
    assert completed.returncode == 0, completed.stderr
    assert "nothing changed" in completed.stdout
    assert sorted(path.name for path in paths.scratch.iterdir()) == before


def test_build_that_is_killed_while_it_compares_its_source_is_named(
    sample_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: it left no trace, and `status` called the warehouse healthy."""
    paths = WarehousePaths(shutil.copytree(sample_folder, tmp_path / "warehouse"))

    def be_killed(_source: Source) -> str:
        raise SystemExit

    with monkeypatch.context() as killed, pytest.raises(SystemExit):
        killed.setattr(fingerprint, "nothing_new", be_killed)
        build_folder(Settings(warehouse=paths.root), Reporter(quiet=True), pytest.fail)
    assert [problem.kind for problem in health.find_problems(paths)] == ["build_interrupted"]
    assert build_folder(Settings(warehouse=paths.root), Reporter(quiet=True), pytest.fail).is_unchanged
    assert list(health.find_problems(paths)) == []


def test_fingerprint_covers_every_input_of_a_build(again, monkeypatch: pytest.MonkeyPatch) -> None:
    source, paths = again
    settings = Settings(source=source, warehouse=paths.root)
    manifest = paths.build_manifest(builds.pointed_build(paths))
    moved = json.loads(manifest.read_text())

    def remember(settings: Settings) -> None:
        """Make the published build look like one with these settings."""
        build = state.new_build(settings, "")
        files = [
            (f"{file['corpus_id']}/{file['path']}", file["sha256"], file["verification"], file["found_as"] or "")
            for file in moved["files"]
        ]
        manifest.write_text(json.dumps(moved | {"fingerprint": fingerprint.fingerprint(build, files)}))

    def unchanged(settings: Settings) -> str | None:
        return fingerprint.unchanged(Source(settings, paths))

    remember(settings)
    assert unchanged(settings) == builds.pointed_build(paths)
    assert unchanged(Settings(source=source, warehouse=paths.root, only=("sgd",))) is None
    assert unchanged(Settings(source=source, warehouse=paths.root, strict=True)) is None
    assert unchanged(Settings(source=source, warehouse=paths.root, verify=True)) is None
    assert unchanged(Settings(source=None, warehouse=paths.root)) is None

    monkeypatch.setattr(fingerprint.importlib.metadata, "version", lambda name: f"another {name}")
    assert unchanged(settings) is None
    monkeypatch.undo()
    code = source / "model.sql"
    monkeypatch.setattr(fingerprint, "CLONE", source)
    monkeypatch.setattr(fingerprint, "code_files", lambda: [code])
    code.write_text("select 1")
    remember(settings)
    assert unchanged(settings) == builds.pointed_build(paths)
    code.write_text("select 2")
    assert unchanged(settings) is None
    code.write_text("select 1")

    (source / "bbai" / "SIMULATED.json").rename(source / "bbai" / "was.json")
    assert unchanged(settings) is None
    (source / "bbai" / "was.json").rename(source / "bbai" / "SIMULATED.json")
    assert unchanged(settings) == builds.pointed_build(paths)
    paths.published.unlink()
    assert unchanged(settings) is None


def test_force_lands_and_builds_again(again) -> None:
    source, paths = again
    before, earlier = landed_at(paths), retention.kept_builds(paths)
    options = ("--force", "--corpora", "bbai", "--corpora", "mutualfriends", "--replace")  # repeated options add up
    completed = run_command("build", "--source", source, "--warehouse", paths.root, *options)
    assert completed.returncode == 0, completed.stderr
    assert len(retention.kept_builds(paths)) == len(earlier) + 1
    assert builds.read_manifest(paths, builds.published_build(paths)[0]).corpora == ("bbai", "mutualfriends")
    after = landed_at(paths)
    assert {name for name in before if after[name] != before[name]} == {
        name for name in before if name.startswith(("bbai/", "mutualfriends/"))
    }
    base, now = retention.kept_builds(paths)
    with duckdb.connect(str(paths.published), read_only=True) as con:
        published = con.sql("from quality.build_changes").to_arrow_table().to_pylist()
    found = changes.find_changes(paths, base, now, Settings())
    rows = [tuple(row[name] for name in row) for row in published]
    wanted = [tuple(row[name] for name in history.CHANGES_COLUMNS) for row in changes.change_rows(found)]
    assert sorted(rows, key=repr) == sorted(wanted, key=repr)  # column by column, as it was found
    assert changes.read(paths, base, now, Settings()) == found  # which `diff` reports
    assert changes.read(paths, now, base, Settings()) is None  # this is compared on request
    gone = [row for row in published if (row["kind"], row["corpus_id"], row["change"]) == ("claim", "sgd", "removed")]
    assert len(gone[0]["first_before"]) == gone[0]["row_count"] > 3
    assert set(gone[0]["first_after"]) == {None}


def test_only_the_changed_file_is_landed_and_the_result_equals_a_full_build(again, tmp_path: Path) -> None:
    source, paths = again
    change_one_word(source)
    before, versions = landed_at(paths), data_versions(paths)
    assert len(set(versions.values())) == len(versions)
    completed = run_command("build", "--source", source, "--warehouse", paths.root)
    assert completed.returncode == 0, completed.stderr
    assert "nothing changed" not in completed.stdout
    after = landed_at(paths)
    assert {name: time for name, time in after.items() if name in before} == before
    (landed,) = set(after) - set(before)
    assert landed.startswith("sgd/dialogues/train~dialogues_001.json-")
    changed = {table for table, version in data_versions(paths).items() if version != versions[table]}
    assert {table for table in changed if table.startswith("raw/")} == {"raw/sgd__dialogues"}
    assert "core/fct_turns" in changed
    assert "core/fct_votes" not in changed

    full = build_warehouse(tmp_path / "full", "--source", source)
    assert contents(paths.published) == contents(full / "dialogues.duckdb")
