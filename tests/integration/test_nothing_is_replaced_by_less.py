"""No data are replaced by less: not by `build`, a run of the graph, or `restore`, except on request."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import BuildError, InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from tests.conftest import run_command
from tests.unit.published import snapshot

ONE, OTHER = registry.corpus_ids()[:2]


@pytest.fixture
def published(awkward_folder: Path, tmp_path: Path) -> WarehousePaths:
    """Return a copy of a warehouse of files that were not generated."""
    shutil.copytree(awkward_folder, tmp_path / "warehouse", symlinks=True)
    return WarehousePaths(tmp_path / "warehouse")


def readable(paths: WarehousePaths) -> dict[Path, bytes]:
    """Return the files that a reader sees, with their bytes."""
    kept = [path for path in paths.builds.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in (paths.published, paths.pointer, *kept)}


@pytest.mark.parametrize("narrowing", [(), ("--corpora", ONE, "--corpora", OTHER)])
def test_build_is_rejected_and_changes_nothing(
    published: WarehousePaths, awkward_releases: Path, narrowing: tuple
) -> None:
    """Neither the sample nor two of the corpora replace all of them; repeated options add up."""
    before = readable(published)
    source = ("--source", awkward_releases) if narrowing else ()
    refused = run_command("build", "--warehouse", published.root, *source, *narrowing)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert len(refused.stderr.splitlines()) == 1
    lost = [name for name in registry.corpus_ids() if f"of {name} would" in refused.stderr]
    assert lost == [name for name in registry.corpus_ids() if name not in narrowing]
    assert readable(published) == before


@pytest.mark.filterwarnings("ignore")
def test_run_of_the_graph_is_rejected_and_changes_nothing(
    published: WarehousePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A "Materialize all" in Dagster, with settings from the environment."""
    from pipelines.dagster_graph.graph import assemble
    from pipelines.dagster_graph.jobs import EVERYTHING

    for name in ("SOURCE", "ONLY", "REPLACE"):
        monkeypatch.delenv(f"DIALOGUE_{name}", raising=False)
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(published.root))
    before = readable(published)
    with pytest.raises(InputError, match=r"would replace build .* with less.*--replace"):
        assemble(Settings.from_environment()).resolve_job_def(EVERYTHING).execute_in_process()
    assert readable(published) == before


@pytest.mark.filterwarnings("ignore")
def test_run_of_the_graph_checks_its_input_and_the_disk_first(
    awkward_releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: "Materialize all", a schedule and a sensor did not check what `build` checks before it begins."""
    from pipelines.dagster_graph.graph import assemble
    from pipelines.dagster_graph.jobs import EVERYTHING

    large = shutil.copytree(awkward_releases, tmp_path / "large")
    with next(large.rglob("*.gz")).open("wb") as file:
        file.truncate(1 << 43)  # a sparse file: it needs no space itself
    (tmp_path / "empty").mkdir()
    for name in ("SOURCE", "ONLY", "REPLACE"):
        monkeypatch.delenv(f"DIALOGUE_{name}", raising=False)
    paths = WarehousePaths(tmp_path / "warehouse")
    monkeypatch.setenv("DIALOGUE_WAREHOUSE", str(paths.root))
    monkeypatch.setenv("DIALOGUE_QUIET_SECONDS", "0.01")
    job = assemble(Settings.from_environment()).resolve_job_def(EVERYTHING)
    for source, kind, reported in (
        (tmp_path / "nowhere", InputError, "nowhere: no such folder"),
        (tmp_path / "empty", InputError, "empty: no data file of "),
        (large, BuildError, r"warehouse: a build of this source needs about 17.6 TB, and [\d.]+ [MGT]B are free"),
    ):
        monkeypatch.setenv("DIALOGUE_SOURCE", str(source))
        with pytest.raises(kind, match=reported) as refused:
            job.execute_in_process()
        assert "\n" not in str(refused.value)
        assert not paths.raw.exists()
        assert not paths.sample.exists()


def test_restore_overwrites_nothing_that_differs(awkward_folder: Path, tmp_path: Path) -> None:
    """No file is written without the option; a file that is equal may be written again."""
    restore = ("restore", "--warehouse", awkward_folder, "--corpus", ONE, "--to", tmp_path)
    assert run_command(*restore).returncode == 0
    restored = snapshot(tmp_path)
    assert run_command(*restore).returncode == 0
    assert snapshot(tmp_path) == restored

    first, *others = sorted(restored)
    first.write_bytes(b"real")
    others[0].unlink()
    refused = run_command(*restore)
    assert refused.returncode == 2
    assert f"{first}: exists and differs from the restored file; nothing was written" in refused.stderr
    assert snapshot(tmp_path) == {path: text for path, text in restored.items() if path in others[1:]} | {
        first: b"real"
    }
    assert not list(tmp_path.glob(".restoring-*"))

    assert run_command(*restore, "--force").returncode == 0
    assert snapshot(tmp_path) == restored


def test_restore_replaces_no_folder(awkward_folder: Path, tmp_path: Path) -> None:
    """Not even with the option to overwrite."""
    restore = ("restore", "--warehouse", awkward_folder, "--corpus", ONE, "--to", tmp_path)
    assert run_command(*restore).returncode == 0
    file = min(snapshot(tmp_path))
    file.unlink()
    file.mkdir()
    refused = run_command(*restore, "--force")
    assert (refused.returncode, refused.stderr) == (2, f"error: {file}: is not a file and is not overwritten\n")
