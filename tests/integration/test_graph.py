"""The asset graph: lineage from raw files to the published warehouse, one check per suite, records of a run."""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.suites import load_suites
from dialogue_warehouse.errors import BuildError
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, ownership
from pipelines.building import dbt
from pipelines.dagster_graph.instance import open_instance
from pipelines.ingestion import raw_layer

if TYPE_CHECKING:
    import dagster as dg

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("forked_audits")]


def test_parsed_project_is_replaced_in_one_step(tmp_path: Path) -> None:
    """Regression: webserver, daemon and runs parse at the same time. One read a half-written file, and its run failed."""
    paths = WarehousePaths(tmp_path)
    dbt.parse(paths)
    with paths.dbt_manifest.open("rb") as read_before:
        first = read_before.read(1000)
        dbt.parse(paths)
        whole = first + read_before.read()
    assert "model.dialogue_warehouse.fct_turns" in json.loads(whole)["nodes"]
    assert [path.name for path in paths.dbt_target.glob(".*")] == []


@pytest.mark.parametrize("begins", ["from the last parse", "from nothing"])
def test_parsed_project_is_written_as_dbt_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    paths = WarehousePaths(tmp_path)
    if begins == "from nothing":
        monkeypatch.setattr(dbt, "DBT_LAST_PARSE", tmp_path / "last" / "parse")
    dbt.parse(paths).write(str(tmp_path / "by_dbt.json"))
    written, by_dbt = (json.loads(path.read_bytes()) for path in (paths.dbt_manifest, tmp_path / "by_dbt.json"))
    assert written["metadata"].keys() == by_dbt["metadata"].keys()  # whose values include the time
    assert {**written, "metadata": None} == {**by_dbt, "metadata": None}


@pytest.mark.parametrize("is_broken_first", [False, True])
def test_models_are_read_again_after_macros_and_a_model_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_broken_first: bool
) -> None:
    """Regression: a warehouse of an earlier version kept the configuration that the macros of that version made.

    Regression: so did any warehouse, when the project could not be parsed after the macros had changed.
    """
    project, paths = tmp_path / "dbt_project", WarehousePaths(tmp_path / "warehouse")
    shutil.copytree(dbt.DBT_PROJECT, project, ignore=shutil.ignore_patterns("target"))
    monkeypatch.setattr(dbt, "DBT_PROJECT", project)
    monkeypatch.setattr(dbt, "DBT_LAST_PARSE", tmp_path / "last" / "partial_parse.msgpack")
    dbt.parse(paths)
    macros = project / "macros"
    for name, old, new in (
        ("accounting.sql", "'records': records", "'records': records, 'more': 1"),
        ("union_corpora.sql", "macro corpora_with(entity, ", "macro corpora_with(entity, more=none, "),
    ):
        text = (macros / name).read_text(encoding="utf-8")
        assert text.count(old) == 1
        (macros / name).write_text(text.replace(old, new), encoding="utf-8")
    model = project / "models/marts/quality/row_accounting.sql"
    text = model.read_text(encoding="utf-8")
    if is_broken_first:
        model.write_text(f"{text}{{{{", encoding="utf-8")
        with pytest.raises(dbt.ModelError):
            dbt.parse(paths)
    model.write_text(f"{text}\n", encoding="utf-8")
    changed = [node.config.meta.get("more") for name, node in dbt.parse(paths).nodes.items() if "__accounting" in name]
    assert changed
    assert set(changed) == {1}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from pipelines.definitions import assemble

    definitions = assemble(Settings(warehouse=tmp_path_factory.mktemp("graph")))
    return definitions.resolve_asset_graph()


def ancestors(graph, key) -> set:
    found, waiting = set(), [key]
    while waiting:
        for parent in graph.get(waiting.pop()).parent_keys:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return found


def test_every_raw_file_of_every_corpus_flows_into_the_published_warehouse(graph) -> None:
    import dagster as dg

    upstream = ancestors(graph, dg.AssetKey(["published", "dialogues"]))
    corpora = registry.load_corpora()
    for corpus in corpora:
        assert dg.AssetKey(["landing", corpus.corpus_id]) in upstream
    for table in (*raw_layer.raw_tables(corpora), *raw_layer.CATALOG_TABLES):
        assert dg.AssetKey(["raw", table]) in upstream
    published = {dg.AssetKey(["published", name]) for name in ("dialogues", "report")}
    assert graph.get_all_asset_keys() == upstream | published | {dg.AssetKey(["source", "checked"])}
    assert ancestors(graph, dg.AssetKey(["published", "report"])) == upstream | {
        dg.AssetKey(["published", "dialogues"])
    }


@pytest.mark.parametrize(
    ("mart", "raw"),
    [
        ("fct_votes", "bbai__questions"),
        ("fct_knowledge_items", "mutualfriends__dialogues"),
        ("dim_split_members", "taskmaster1__split_members"),
        ("fct_candidates", "abcd__conversations"),
        ("fct_service_results", "sgd__dialogues"),
        ("fct_turns", "sgd__dialogues"),
        ("source_quarantine", "source_quarantine"),
    ],
)
def test_lineage_is_unbroken_from_a_raw_table_to_a_mart(graph, mart: str, raw: str) -> None:
    import dagster as dg

    (key,) = [key for key in graph.get_all_asset_keys() if key.path[-1] == mart and key.path[0] != "raw"]
    assert dg.AssetKey(["raw", raw]) in ancestors(graph, key)


def test_tables_that_are_deleted_before_publishing_have_no_asset(graph) -> None:
    """A page of such a table would show a table that readers cannot open."""
    folders = {key.path[0] for key in graph.get_all_asset_keys()}
    assert folders == {"landing", "raw", *builds.PUBLISHED_SCHEMAS, "audit", "published", "source"}


def test_every_asset_is_described_and_every_suite_is_a_check(graph) -> None:
    undescribed = [key.to_user_string() for key in graph.get_all_asset_keys() if not graph.get(key).description]
    assert undescribed == []
    names = {check.name for check in graph.asset_check_keys}
    assert {suite.name for suite in load_suites()} <= names
    assert {
        "sound_fct_turns",
        "assert_no_row_is_lost",
        "assert_every_record_is_landed",
    } <= names


def test_definitions_load_as_dagster_dev_loads_them(tmp_path: Path) -> None:
    environment = os.environ | {
        "DIALOGUE_WAREHOUSE": str(tmp_path),
        "DAGSTER_HOME": str(tmp_path),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    completed = subprocess.run(
        [sys.executable, "-m", "dagster", "definitions", "validate", "-m", "pipelines.definitions"],
        capture_output=True,
        text=True,
        cwd=CLONE,
        env=environment,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    assert "Validation successful" in completed.stdout + completed.stderr


def shown_rows(instance: dg.DagsterInstance, table: str) -> object:
    """Return the number of rows that the page of a core table shows."""
    import dagster as dg

    event = instance.get_latest_materialization_event(dg.AssetKey(["core", table]))
    assert event is not None
    assert event.asset_materialization is not None
    return event.asset_materialization.metadata["dagster/row_count"].value


def published_rows(database: Path, table: str) -> int:
    with duckdb.connect(str(database), read_only=True) as con:
        return con.sql(f"from core.{table}").aggregate("count(*)").fetchall()[0][0]


def state_of_the_process() -> tuple[object, ...]:
    """Return state of the process that a run must not change."""
    return Path.cwd(), dict(os.environ), gc.isenabled(), gc.get_threshold()


def test_graph_runs_with_the_resources_of_dagster_dev(
    awkward_releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """Like "Materialize all": the lock is held, nothing is printed, and the process is left unchanged.

    For one corpus: the number of corpora makes no difference to these.
    """
    import dagster as dg

    from pipelines.dagster_graph.jobs import EVERYTHING
    from pipelines.definitions import definitions

    paths = WarehousePaths(tmp_path / "warehouse")
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(paths.root))
    monkeypatch.setenv("DIALOGUE_SOURCE", str(awkward_releases))
    monkeypatch.setenv("DIALOGUE_ONLY", "bbai")
    monkeypatch.setenv("DIALOGUE_QUIET_SECONDS", "0.01")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    before = state_of_the_process()
    held = []

    @dg.success_hook
    def try_to_build_too(_context: dg.HookContext) -> None:
        if not held:
            with pytest.raises(BuildError, match="another build is running"), ownership.exclusive(paths):
                pass
            held.append(True)

    job = definitions().resolve_job_def(EVERYTHING).with_hooks({try_to_build_too})
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with open_instance(WarehousePaths(tmp_path / "history"), print) as instance:
        assert job.execute_in_process(run_config=quiet, instance=instance).success
        assert shown_rows(instance, "fct_turns") == published_rows(paths.published, "fct_turns") > 0
    assert held == [True]
    with ownership.exclusive(paths):
        assert builds.damage(paths, builds.pointed_build(paths)) == []
    assert (paths.reports / "index.html").is_file()
    assert state_of_the_process() == before
    assert "land     " not in "".join(capfd.readouterr())


def test_session_of_a_run_repairs_and_ends_what_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dagster as dg

    from pipelines.dagster_graph.published import report_asset
    from pipelines.dagster_graph.resources import session_resource

    paths = WarehousePaths(tmp_path)
    paths.started_publication.write_text('{"build_id": "20260101T000000000000Z"}')
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(tmp_path))
    monkeypatch.setenv("DIALOGUE_AUDIT_TIMEOUT", "7.5")
    with dg.build_resources({"session": session_resource([], report_asset())}) as resources:
        session = resources.session
        assert session.reporter.quiet
        assert session.reporter.notices == [
            "build 20260101T000000000000Z had passed its checks, but its publication was interrupted: it is undone"
        ]
        session.audit.start()
        process = session.audit._process
        with pytest.raises(BuildError, match="another build is running"), ownership.exclusive(paths):
            pass
        assert session.audit._timeout == 7.5
    assert process.poll() is not None
    with ownership.exclusive(paths):
        assert not paths.started_publication.exists()


def test_stored_parse_results_work_for_every_warehouse_and_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dbt parses again, which takes five seconds or more, if one of these hashes differs."""
    before = state_of_the_process()
    states = []
    for name, memory in (("one", "4GB"), ("an%20other: 'one'", "3GB")):
        monkeypatch.setenv("DIALOGUE_MEMORY_LIMIT", memory)
        manifest = dbt.parse(WarehousePaths(tmp_path / name))
        states.append(partial_parse_state(tmp_path / name))
        assert not any(str(tmp_path) in str(source.meta) for source in manifest.sources.values())
    assert states[0] == states[1]
    monkeypatch.undo()
    assert state_of_the_process() == before


def partial_parse_state(warehouse: Path) -> object:
    from dbt.contracts.graph.manifest import Manifest

    kept = WarehousePaths(warehouse).dbt_target / "partial_parse.msgpack"
    return Manifest.from_msgpack(kept.read_bytes()).state_check.to_dict()


def test_build_is_reported_with_rows_and_checks(awkward_folder: Path, tmp_path: Path) -> None:
    import dagster as dg

    from pipelines.dagster_graph.graph import assemble

    with dg.DagsterInstance.local_temp(str(awkward_folder / ".dagster")) as instance:
        assert instance.get_run_records() == []
        landed = instance.get_latest_materialization_event(dg.AssetKey(["raw", "sgd__dialogues"]))
        assert landed is not None
        assert landed.asset_materialization is not None
        assert landed.asset_materialization.metadata["dagster/row_count"].value == 10
        assert landed.asset_materialization.metadata["quarantined"].value == 2
        database = awkward_folder / "dialogues.duckdb"
        for table in ("fct_turns", "dim_agents"):
            assert shown_rows(instance, table) == published_rows(database, table) > 0
        published = instance.get_latest_materialization_event(dg.AssetKey(["published", "dialogues"]))
        assert published is not None
        assert published.asset_materialization is not None
        pointed = json.loads((awkward_folder / "published.json").read_text())["build_id"]
        assert published.asset_materialization.metadata["build_id"].value == pointed
        keys = assemble(Settings(warehouse=tmp_path)).resolve_asset_graph().asset_check_keys
        latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(list(keys))
        assert latest.keys() == keys
        checks = {key.name: record.event.dagster_event.event_specific_data for key, record in latest.items()}
    with duckdb.connect(str(awkward_folder / "dialogues.duckdb"), read_only=True) as con:
        results = con.execute("select suite, count(*) from quality.expectation_results group by suite").fetchall()
        verdicts = con.execute("select corpus_id, verdict, count(*) from quality.claim_checks group by all").fetchall()
    assert {suite.name for suite in load_suites()} == dict(results).keys()
    for suite, evaluated in results:
        assert checks[suite].metadata["evaluated"].value == evaluated
    for corpus_id, verdict, count in verdicts:
        assert checks[corpus_id].metadata[verdict].value == count
    assert checks["sound_fct_turns"].passed
