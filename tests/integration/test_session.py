"""The session of a build: a run of Dagster refuses what the command refuses, with the same error."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.releases import finding
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import health, ownership
from pipelines.building import checks
from pipelines.dagster_graph.build import build_warehouse
from tests.unit.published import BUILD, make_build

pytestmark = pytest.mark.filterwarnings("ignore")
ONE, OTHER = registry.load_corpora()[:2]


class Refusal(NamedTuple):
    """The class of an error, and its message."""

    kind: str
    message: str


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return all assets."""
    from pipelines.dagster_graph.graph import load_graph

    return load_graph(Settings(warehouse=tmp_path_factory.mktemp("graph")))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the job that builds everything; its runs read the settings when they begin."""
    from pipelines.dagster_graph.graph import assemble
    from pipelines.dagster_graph.jobs import EVERYTHING

    return assemble(Settings(warehouse=tmp_path_factory.mktemp("graph"))).resolve_job_def(EVERYTHING)


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WarehousePaths:
    """Return a new warehouse, which the environment names; as on the command line, no corpus falls back."""
    for name, value in {"WAREHOUSE": str(tmp_path / "warehouse"), "KEEP_GOING": "0", "PATIENCE": "0.01"}.items():
        monkeypatch.setenv(f"DIALOGUE_{name}", value)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return WarehousePaths(tmp_path / "warehouse")


def refused_by_command(graph: Any) -> Refusal:
    """Return the error of the command `build` with the settings of the environment."""
    with pytest.raises((InputError, CheckError)) as refused:
        build_warehouse(Settings.from_environment(), Reporter(quiet=True), lambda _: graph)
    return Refusal(type(refused.value).__name__, str(refused.value))


def refused_by_dagster(job: Any) -> set[Refusal]:
    """Return the errors of a run with the settings of the environment, as an alert has them."""
    import dagster as dg

    from pipelines.dagster_graph.sensors import error_text, raised

    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(run_config=quiet, instance=instance, raise_on_error=False)
    assert not result.success
    errors = [event.step_failure_data.error for event in result.all_events if event.is_step_failure]
    if not errors:  # the session could not be opened
        errors = [event.job_failure_data.error for event in result.all_events if event.is_job_failure]
    return {Refusal(one.cls_name, error_text(one)) for one in map(raised, errors)}


def put(source: Path, corpus: Corpus, content: bytes = b"[]") -> Path:
    """Put a data file of a corpus into a source. Return the source."""
    entity_files = [file.path for file in corpus.files if corpus.entity_of(file.path) and not file.is_documentation]
    file = source / corpus.corpus_id / entity_files[0]
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return source


def publish_real_files(paths: WarehousePaths) -> None:
    """Publish a build with a real file of two corpora."""
    ownership.claim(paths)
    make_build(paths)
    with duckdb.connect(str(paths.build_database(BUILD))) as con:
        con.execute("create table core.dim_source_files (corpus_id varchar, verification varchar)")
        files = [(corpus.corpus_id, "verified") for corpus in (ONE, OTHER)]
        con.executemany("insert into core.dim_source_files values (?, ?)", files)
    shutil.copyfile(paths.build_database(BUILD), paths.published)


def arrange(case: str, paths: WarehousePaths, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make what a build refuses."""
    source = put(folder / "source", ONE, b'[{"' if case == "damaged" else b"[]")
    (folder / "empty").mkdir()
    settings = {
        "no folder": {"SOURCE": folder / "nothing"},
        "empty": {"SOURCE": folder / "empty"},
        "one corpus": {"SOURCE": source / ONE.corpus_id},
        "other form": {"FORM": "huggingface"},
        "other corpus": {"ONLY": "nothing"},
        "strange path": {"WAREHOUSE": folder / "a[1]"},
        "sample": {"SOURCE": ""},
    }
    for name, value in ({"SOURCE": source} | settings.get(case, {})).items():
        monkeypatch.setenv(f"DIALOGUE_{name}", str(value))
    if case in ("less", "sample"):
        publish_real_files(paths)
    if case == "no space":
        full = shutil.disk_usage(folder)._replace(free=1000)
        monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: full)


def count_calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often a release is searched, and how often the check for less is made."""
    calls: Counter[str] = Counter()

    def find(corpus: Corpus, *arguments: Any) -> finding.Release:
        calls[corpus.corpus_id] += 1
        return find_once(corpus, *arguments)

    def refuse_less(source: finding.Source) -> None:
        calls["refuse_less"] += 1
        refuse_once(source)

    find_once, refuse_once = finding.find, checks.refuse_less
    monkeypatch.setattr(finding, "find", find)
    monkeypatch.setattr(checks, "refuse_less", refuse_less)
    return calls


@pytest.mark.parametrize(
    ("case", "kind", "message"),
    [
        ("no folder", "InputError", "no such folder"),
        ("empty", "InputError", "no data file of "),
        ("one corpus", "InputError", "the folder above has: give --source "),
        ("other form", "InputError", "no data file of the form huggingface"),
        ("other corpus", "CorpusError", "nothing: no such corpus"),
        ("strange path", "InputError", "the path of a warehouse cannot have any of "),
        ("less", "InputError", f"1 real file of {OTHER.corpus_id} would be dropped"),
        ("sample", "InputError", "would be replaced by generated ones"),
        ("no space", "BuildError", "a build of this source needs about "),
        ("busy", "BusyError", "another build is running"),
        ("damaged", "LandingError", f"{ONE.corpus_id}/"),
    ],
)
def test_run_of_dagster_refuses_what_the_command_refuses(
    case: str,
    kind: str,
    message: str,
    graph: Any,
    job: Any,
    paths: WarehousePaths,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both search the source once and check once that no more is replaced by less."""
    arrange(case, paths, tmp_path, monkeypatch)
    calls = count_calls(monkeypatch)
    with ownership.exclusive(paths) if case == "busy" else contextlib.nullcontext():
        by_command, of_command = refused_by_command(graph), calls.copy()
        calls.clear()
        assert refused_by_dagster(job) == {by_command}
    assert by_command.kind == kind
    assert message in by_command.message
    assert "\n" not in by_command.message
    assert {*of_command.values(), *calls.values()} <= {1}
    if case in ("less", "sample", "no space", "damaged"):
        assert of_command["refuse_less"] == calls["refuse_less"] == 1


def test_build_that_ends_while_the_graph_is_loaded_was_interrupted(paths: WarehousePaths) -> None:
    """A kill leaves the same: neither runs a step of the graph."""

    def load(_: Settings) -> Any:
        assert health.last_attempt(paths).outcome == "running"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_warehouse(Settings.from_environment(), Reporter(quiet=True), load)
    assert [problem.kind for problem in health.find_problems(paths)] == ["nothing_published", "build_interrupted"]
