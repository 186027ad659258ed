"""A disk that is too small is reported in one line, with the folder and the needed size; the published build stays."""

from __future__ import annotations

import dataclasses
import errno
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.common.progress import Reporter
from dialogue_warehouse.errors import NO_SPACE, BuildError, InputError, is_full, is_out_of_memory
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import SPARK, Settings
from dialogue_warehouse.storage import publication
from pipelines.building import checks
from pipelines.building.session import explained, open_session
from tests.running import ALONE

BUILD = f"{sys.executable} -m dialogue_warehouse build --quiet --warehouse wh"


def on_a_disk_of(mebibytes: int, folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in the folder, on a separate disk; skip the test if there can be none."""
    mount = f"mount -t tmpfs -o size={mebibytes}m tmpfs {folder} && cd {folder}"
    if subprocess.run([*ALONE, mount], capture_output=True, check=False).returncode:
        pytest.skip("no disk of one's own can be mounted here")
    return subprocess.run([*ALONE, f"{mount}; {script}"], capture_output=True, text=True, check=False)


def test_build_that_does_not_fit_is_refused_before_it_begins(tmp_path: Path) -> None:
    ended = on_a_disk_of(30, tmp_path, f"{BUILD}; echo $?; ls -A wh")
    message = (
        rf"error: {re.escape(str(tmp_path))}/wh: a build of this source needs about 77.6 MB, and 31\.\d MB are free\n"
    )
    assert re.fullmatch(message, ended.stderr)
    assert ended.stdout == "1\n.dialogue-warehouse\n.lock\n.scratch\n.trouble.json\nalerts.jsonl\n"


REPORT = """
import sys
from pathlib import Path
import dagster as dg
from dialogue_warehouse.paths import WarehousePaths
from pipelines.dagster_graph.instance import PUBLISHED, events_of, report_build
paths = WarehousePaths(Path(sys.argv[1]))
paths.root.mkdir()
@dg.asset(key=PUBLISHED)
def published():
    return 1
result = dg.materialize([published], instance=dg.DagsterInstance.ephemeral())
with (paths.root / "filler").open("wb", buffering=0) as filler:
    try:
        while True:
            filler.write(bytes(1 << 16))
    except OSError:
        pass
report_build(events_of(result), paths, print)
"""
"""Reports a build to the kept instance on a disk that is full."""


def test_disk_that_fills_up_after_publication_loses_the_history_alone(tmp_path: Path) -> None:
    """Reporting a published build to Dagster is its last step."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "report.py").write_text(REPORT)
    reporting = f"PYTHONPATH={CLONE} {sys.executable} -W ignore {tmp_path}/report.py $PWD/wh"
    ended = on_a_disk_of(4, tmp_path / "disk", f"{reporting}; echo status $?")
    notice = f"{tmp_path}/disk/wh/.dagster: the history of this build cannot be kept there: "
    assert (ended.stdout.startswith(notice), "Traceback" in ended.stderr) == (True, False), ended.stderr
    assert ended.stdout.endswith("\nstatus 0\n")
    assert ended.stdout.count("\n") == 2


FILL = "(while ! test -e {}; do sleep 0.02; done; cat /dev/zero > filler 2>/dev/null) & "
"""Fills the disk as soon as such a file exists."""


def test_disk_that_fills_up_meanwhile_is_reported_in_one_line(tmp_path: Path) -> None:
    """It fills up while the models are built. `make faults` fills it at random moments."""
    fill = FILL.format("wh/.scratch/dialogues.duckdb")
    ended = on_a_disk_of(84, tmp_path, f"{fill}{BUILD}; echo $?; ls wh; rm filler; echo left")
    message = f"error: {tmp_path}/wh: No space left on device; a build of this source needs about 77.6 MB, and "
    assert ended.stderr.startswith(message)
    assert ended.stderr.endswith("B are free\n")
    assert ended.stderr.count("\n") == 1
    status, *there, end = ended.stdout.split()
    assert (status, end) == ("1", "left")
    assert "dialogues.duckdb" not in there


def test_repair_that_does_not_fit_is_reported_like_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: the message only named a temporary file."""
    paths = WarehousePaths(tmp_path / "warehouse")

    def fill(_: WarehousePaths) -> list[str]:
        raise OSError(errno.ENOSPC, NO_SPACE, f"{paths.root}/.dialogues.duckdb.1.tmp")

    monkeypatch.setattr(publication, "mend", fill)
    opened = open_session(Settings(warehouse=paths.root), paths, Reporter(quiet=True))
    with pytest.raises(BuildError, match=f"^{paths.root}: {NO_SPACE}; a build of this source needs about "), opened:
        pass


def test_words_of_a_full_disk_in_a_release_are_none() -> None:
    said = "No space left on device"
    assert not is_full(InputError(f"demo/file.json: unknown key '{said}'"))
    assert is_full(RuntimeError(f"IO Error: {said}"))
    assert is_full(OSError(errno.ENOSPC, "any words"))
    error = sqlite3.OperationalError("disk I/O error")
    assert not is_full(error)
    error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
    assert is_full(error)
    error.sqlite_errorname = "SQLITE_IOERR_SHMMAP"
    assert not is_full(error), "mapping a file takes no space"
    assert is_out_of_memory(error)


def test_need_grows_with_the_files_and_most_with_compressed_ones(tmp_path: Path) -> None:
    folder = tmp_path / "releases" / "abcd"
    folder.mkdir(parents=True)
    settings, paths = Settings(source=tmp_path / "releases"), WarehousePaths(tmp_path)
    needs = [checks.needed_bytes(Source(settings, paths))]
    for name in ("kb.json", "abcd_v1.1.json.gz"):
        with (folder / name).open("wb") as file:
            file.truncate(1_000_000)
        needs.append(checks.needed_bytes(Source(settings, paths)))
    assert needs == [checks.FIXED_BYTES, checks.FIXED_BYTES + 600_000, checks.FIXED_BYTES + 2_600_000]
    on_spark = {
        master: checks.needed_bytes(Source(dataclasses.replace(settings, engine=SPARK, spark_master=master), paths))
        for master in ("local[2]", "local-cluster[2,1,1024]", "spark://elsewhere:7077")
    }
    fixed = checks.FIXED_BYTES + checks.SPARK_BYTES
    assert [*on_spark.values()] == [fixed + 4_680_000, fixed + 4_680_000, fixed + 2_600_000]
    with (folder / "abcd_v1.1.json.gz").open("wb") as file:
        file.truncate(1 << 43)  # a sparse file: it needs no space itself
    with pytest.raises(BuildError, match=r"needs about 17.6 TB, and [\d.]+ [MGT]B are free"):
        checks.refuse_full_disk(Source(settings, paths))


def test_file_that_cannot_be_looked_at_needs_no_space(tmp_path: Path) -> None:
    """Regression: `--keep-going` failed when it added up the sizes; landing decides that a corpus falls back."""
    file = tmp_path / "source" / "sgd" / "dev" / "dialogues_001.json"
    file.parent.mkdir(parents=True)
    file.symlink_to(file.name)
    settings = Settings(source=tmp_path / "source", warehouse=tmp_path / "wh")
    assert checks.needed_bytes(Source(settings, WarehousePaths(settings.warehouse))) == checks.FIXED_BYTES


def test_every_step_of_the_graph_tells_of_a_full_disk(tmp_path: Path) -> None:
    """Regression: a run of Dagster named neither the folder nor the needed size.

    A step may return several results, or one.
    """
    settings, paths = Settings(warehouse=tmp_path), WarehousePaths(tmp_path)

    def fails(_context, _session):
        raise OSError(errno.ENOSPC, "No space left on device")

    def fails_on_the_way(_context, _session):
        yield 1
        raise duckdb.IOException("could not write: No space left on device")

    message = rf"^{tmp_path}: No space left on device; a build of this source needs about 77.6 MB, and [\d.]+ [MGT]B are free$"
    with open_session(settings, paths, Reporter(quiet=True)) as session:
        with pytest.raises(BuildError, match=message):
            explained(fails)(None, session)
        with pytest.raises(BuildError, match=message):
            list(explained(fails_on_the_way)(None, session))
        with pytest.raises(ZeroDivisionError):
            explained(lambda *_: 1 / 0)(None, session)
    with pytest.raises(BuildError, match=message), open_session(settings, paths, Reporter(quiet=True)) as session:
        fails(None, session)
    modules = [file.read_text() for file in (CLONE / "pipelines" / "dagster_graph").glob("*.py")]
    decorated = [re.findall(r"(\S+)\n +def \w+\(\s*context: dg\.AssetExecutionContext", text) for text in modules]
    assert sum(map(len, decorated)) == 8
    assert {decorator for found in decorated for decorator in found} == {"@explained"}


def test_export_that_does_not_fit_leaves_no_file(sample_folder: Path, tmp_path: Path) -> None:
    """DuckDB or Python notices it; the line names the folder of the export."""
    (tmp_path / "disk").mkdir()
    export = f"PYTHONPATH={CLONE} {sys.executable} -m dialogue_warehouse export --form chat --to out --quiet"
    ended = on_a_disk_of(1, tmp_path / "disk", f"{export} --warehouse {sample_folder}; echo $?; find .")
    assert ended.stderr == f"error: {tmp_path}/disk/out: No space left on device\n"
    assert ended.stdout == "1\n.\n"
