"""Whatever happened to the warehouse's own files, the next build reports it in one line and repairs it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from dialogue_warehouse.common import files
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.lineage import verifying
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds, ownership, publication, retention
from pipelines.building import publishing, state
from pipelines.dagster_graph.health import UnhealthyError, check_published
from tests.conftest import CLONE, run_command

FIRST, SECOND = "20260101T000000000000Z", "20250101T000000000000Z"
"""Two builds; the clock was set back between them."""
GONE = "20200101T000000000000Z"
"""Build that is not kept."""
LANDED = "dev.json-0123456789abcdef-0123456789ab"
"""Names of the files that landing writes."""
DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[:100]),
    "overwritten": lambda file: file.write_bytes(b"x" * file.stat().st_size),
    "a list": lambda file: file.write_text("[]"),
    "a folder": lambda file: (file.unlink(), file.mkdir(), (file / "in it").touch()),
}


def make_build(paths: WarehousePaths, build_id: str) -> None:
    """Publish a small build."""
    state.clear_scratch(paths)
    with duckdb.connect(str(paths.scratch_database)) as con:
        con.execute(f"create schema core; create table core.fct_turns as select '{build_id}' as name")
    build = state.Build(build_id, "run", datetime.now(UTC), "source", ("toy",))
    publishing.publish(build, paths)


@pytest.fixture(scope="module")
def two_builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a warehouse with two builds, the second published."""
    paths = WarehousePaths(tmp_path_factory.mktemp("two_builds"))
    for build_id in (FIRST, SECOND):
        make_build(paths, build_id)
    return paths.root


@pytest.fixture
def paths(two_builds: Path, tmp_path: Path) -> WarehousePaths:
    """Return a copy of this warehouse, which a test may change."""
    return WarehousePaths(shutil.copytree(two_builds, tmp_path / "warehouse", symlinks=True))


def shown(paths: WarehousePaths) -> str:
    """Return the rows that a reader of the published file reads."""
    with duckdb.connect(str(paths.published), read_only=True) as con:
        return con.execute("select name from core.fct_turns").fetchall()[0][0]


def damage(file: Path, how: str) -> None:
    """Change a read-only file, as its owner can."""
    file.chmod(0o644)
    DAMAGES[how](file)


def test_undamaged_warehouse_is_not_repaired(paths: WarehousePaths) -> None:
    assert publication.mend(paths) == []
    assert shown(paths) == SECOND


def test_builds_are_in_the_order_they_were_published(paths: WarehousePaths) -> None:
    """The clock gave another order."""
    assert retention.kept_builds(paths) == [FIRST, SECOND]
    retention.prune(paths, 1)
    assert retention.kept_builds(paths) == [SECOND]


def test_foreign_database_is_not_a_build_and_is_kept(paths: WarehousePaths) -> None:
    foreign = paths.builds / "mine.duckdb"
    foreign.touch()
    retention.prune(paths, 1)
    assert retention.kept_builds(paths) == [SECOND]
    assert foreign.exists()


def test_published_files_are_read_only(paths: WarehousePaths) -> None:
    """A reader that opens it for writing is refused; and the published file is a separate copy of the build's file."""
    for file in (paths.published, paths.build_database(SECOND)):
        assert file.stat().st_mode & 0o222 == 0
    assert not paths.published.samefile(paths.build_database(SECOND))


@pytest.mark.parametrize("how", DAMAGES)
def test_published_file_is_taken_from_the_kept_build(paths: WarehousePaths, how: str) -> None:
    damage(paths.published, how)
    assert builds.damage(paths, SECOND) == [paths.published]
    assert publication.mend(paths) == [f"{paths.published} was not the published build {SECOND}: it is restored"]
    assert (shown(paths), builds.damage(paths, SECOND), publication.mend(paths)) == (SECOND, [], [])


@pytest.mark.parametrize("how", DAMAGES)
def test_kept_build_is_taken_from_the_published_file(paths: WarehousePaths, how: str) -> None:
    database = paths.build_database(SECOND)
    damage(database, how)
    assert builds.damage(paths, SECOND) == [database]
    assert publication.mend(paths) == [f"{database} had changed since publishing: it is restored"]
    assert (shown(paths), builds.damage(paths, SECOND), publication.mend(paths)) == (SECOND, [], [])


@pytest.mark.parametrize("how", DAMAGES)
def test_earlier_build_is_published_if_both_copies_are_lost(paths: WarehousePaths, how: str) -> None:
    for file in (paths.published, paths.build_database(SECOND)):
        damage(file, how)
    (message,) = publication.mend(paths)
    assert message.startswith(f"build {SECOND} is lost: ")
    assert message.endswith(f"; build {FIRST} is published instead")
    assert (shown(paths), retention.kept_builds(paths), publication.mend(paths)) == (FIRST, [FIRST], [])


def test_nothing_is_published_if_no_build_is_complete(paths: WarehousePaths) -> None:
    retention.prune(paths, 1)
    for file in (paths.published, paths.build_database(SECOND)):
        damage(file, "cut")
    (message,) = publication.mend(paths)
    assert message.endswith(", and no other build is kept")
    assert (paths.published.exists(), builds.pointed_build(paths), publication.mend(paths)) == (False, None, [])


def test_file_with_another_time_is_read_before_it_counts_as_changed(paths: WarehousePaths) -> None:
    """A copy of a warehouse has other modification times."""
    copied = WarehousePaths(paths.root.with_name("copied"))
    shutil.copytree(paths.root, copied.root, copy_function=shutil.copyfile)
    assert builds.damage(copied, SECOND) == []


@pytest.mark.parametrize("content", ["", "{", "{}", "[]", "null", '{"build_id": 1}', "\ud800", "[" * 100_000])
def test_damaged_pointer_is_reported_and_replaced(paths: WarehousePaths, content: str) -> None:
    paths.pointer.write_bytes(content.encode(errors="surrogatepass"))
    with pytest.raises(InputError, match=r"^[^\n]*published\.json: [^\n]*$"):
        builds.published_build(paths)
    (message,) = publication.mend(paths)
    assert message.startswith(f"{paths.pointer}: is not the name of the published build: ")
    assert message.endswith(f"; it names build {SECOND} again")
    assert (shown(paths), publication.mend(paths)) == (SECOND, [])


def test_missing_pointer_is_reported_and_written_again(paths: WarehousePaths) -> None:
    """Regression: a build of fewer corpora was published without `--replace`."""
    publication.roll_back(paths)
    paths.pointer.unlink()
    (message,) = publication.mend(paths)
    assert message == f"{paths.pointer} was missing; it names build {FIRST} again"
    assert (shown(paths), publication.mend(paths)) == (FIRST, [])


def test_error_of_a_damaged_pointer_says_what_repairs_it(paths: WarehousePaths) -> None:
    paths.pointer.write_text("")
    with pytest.raises(InputError, match=r": Input data was truncated; `.*dialogue-warehouse build .*` repairs it$"):
        builds.published_build(paths)
    damage(paths.pointer, "a folder")
    with pytest.raises(InputError, match=r"not a regular file$"):
        builds.published_build(paths)


def test_pointer_that_is_a_folder_is_reported_and_replaced(paths: WarehousePaths) -> None:
    """If the published file is gone too, the last complete build is published."""
    damage(paths.pointer, "a folder")
    paths.published.unlink()
    damage(paths.build_database(SECOND), "cut")
    (message,) = publication.mend(paths)
    assert message.endswith(f"; it names build {FIRST} again")
    assert shown(paths) == FIRST


@pytest.mark.parametrize("content", ["", "[]", '{"build_id": []}', "folder"])
def test_damaged_record_of_a_publication_does_not_stop_a_build(paths: WarehousePaths, content: str) -> None:
    if content == "folder":
        paths.started_publication.mkdir()
    else:
        paths.started_publication.write_text(content)
    assert publication.mend(paths) == []
    assert not paths.started_publication.exists()


def test_lost_manifest_does_not_change_the_published_build(paths: WarehousePaths) -> None:
    damage(paths.build_manifest(SECOND), "cut")
    damage(paths.build_manifest(FIRST), "a folder")
    removed = f"{paths.build_manifest(FIRST)} was a folder instead of a file: it is removed"
    assert publication.mend(paths) == [removed]
    assert shown(paths) == SECOND
    retention.prune(paths, 2)
    assert set(retention.kept_builds(paths)) == {FIRST, SECOND}


def test_only_files_of_killed_commands_are_removed(paths: WarehousePaths) -> None:
    gone = os.getpid()  # for example of another container, where the number is another process
    left = [paths.root / f".reports.{gone}.tmp", paths.root / f".reports.{gone}.old"]
    for folder in left:
        folder.mkdir()
        (folder / "index.html").touch()
    left += [paths.root / f".dialogues.duckdb.{gone}.tmp", paths.builds / f".{FIRST}.json.0.{gone}.tmp"]
    left += [paths.builds / f"{GONE}.json", paths.builds / f"{GONE}.restorations.json"]
    items = paths.raw / "toy" / "items"
    left += [items / f".a1b2c3d4.{gone}.tmp", items / f".{LANDED}.parquet.{gone}.tmp"]
    left[-2].mkdir(parents=True)
    stays = [paths.root / ".mine", paths.builds / "mine.json"]
    stays += [paths.root / "mine.old", paths.root / ".mine.old", paths.root / f".mine.{gone}.old"]
    stays += [paths.builds / f"{GONE}.notes.json", paths.builds / f".mine.{gone}.tmp", items / f".mine.{gone}.tmp"]
    for file in (*left[2:], *stays):
        if not file.is_dir():
            file.write_text("{}")
    assert publication.mend(paths) == []
    assert [file for file in left if file.exists()] == []
    assert [file for file in stays if not file.exists()] == []


WRITE = """
import sys
from pathlib import Path
from dialogue_warehouse.common import files
file = Path(sys.argv[1])
with files.writing_into(file.parent):
    temporary = files.beside(file, "tmp")
    temporary.mkdir()
    print(temporary, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("place", ["reports", f"builds/{FIRST}.json"])
def test_file_that_is_being_written_is_not_removed(paths: WarehousePaths, place: str) -> None:
    """Containers that share a volume do not see each other's processes: the lock shows that one of them is writing."""
    command = [sys.executable, "-c", WRITE, paths.root / place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CLONE) as writer:
        assert writer.stdout
        temporary = Path(writer.stdout.readline().strip())
        retention.sweep(paths)
        assert temporary.is_dir()
        with files.replacing((paths.root / place).with_name("other")) as other:  # several may write at a time
            other.touch()
        writer.kill()
        writer.communicate()
    retention.sweep(paths)
    assert not temporary.exists()


def test_old_leftover_is_removed_if_there_are_no_locks(paths: WarehousePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some network file systems have no locks; a file of yesterday is no longer being written."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    new, old = files.beside(paths.reports, "tmp"), files.beside(paths.reports, "old")
    for folder in (new, old):
        folder.mkdir()
    os.utime(old, (0, 0))
    retention.sweep(paths)
    assert (new.exists(), old.exists()) == (True, False)
    with files.replacing(paths.root / "x") as temporary:
        temporary.touch()


@pytest.mark.parametrize(
    "place",
    [
        ".dagster/dagster.yaml",
        ".scratch/dbt_target/partial_parse.msgpack",
        ".scratch/dbt_target/graph_summary.json",
        ".scratch/dbt_target/compiled/dialogue_warehouse/models/marts/core/fct_turns.sql",
        f"raw/sgd/dialogues/{LANDED}.json",
        f"raw/sgd/dialogues/{LANDED}.parquet",
    ],
)
def test_folder_at_the_path_of_a_file_is_removed_and_reported(paths: WarehousePaths, place: str) -> None:
    """Regression, found by `make faults`: no further build was possible."""
    folder = paths.root / place
    (folder / "in it").mkdir(parents=True)
    assert publication.mend(paths) == [f"{folder} was a folder instead of a file: it is removed"]
    assert not folder.exists()
    assert publication.mend(paths) == []


def test_folder_that_belongs_there_stays(paths: WarehousePaths) -> None:
    """dbt names folders after its YAML, Spark after its tables, and a link there is put there on purpose."""
    own = paths.dbt_target / "compiled" / "fct_turns.yml"
    own.mkdir(parents=True)
    (paths.raw / "sgd" / "dialogues" / "mine.parquet").mkdir(parents=True)
    other = paths.root.parent / "elsewhere"
    other.mkdir()
    (paths.raw / "sgd" / "dialogues" / f"{LANDED}.parquet").symlink_to(other)
    assert publication.mend(paths) == []
    assert own.is_dir()
    assert (paths.raw / "sgd" / "dialogues" / "mine.parquet").is_dir()
    assert other.is_dir()


def test_folder_at_the_path_of_the_lock_does_not_hold_it(paths: WarehousePaths) -> None:
    shutil.rmtree(paths.lock) if paths.lock.is_dir() else paths.lock.unlink(missing_ok=True)
    (paths.lock / "in it").mkdir(parents=True)
    with ownership.exclusive(paths):
        assert paths.lock.is_file()


def test_scratch_folder_that_is_a_link_is_not_emptied(paths: WarehousePaths, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    shutil.rmtree(paths.scratch)
    paths.scratch.symlink_to(precious)
    with pytest.raises(InputError, match="is a link"):
        state.clear_scratch(paths)
    assert (precious / "file").exists()
    assert publishing.tidy(paths, Settings()) == [f"{paths.scratch}: is a link; a build needs a real folder"]


def test_link_in_the_scratch_folder_is_removed_and_not_followed(paths: WarehousePaths, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    shutil.rmtree(paths.dbt_target, ignore_errors=True)
    paths.dbt_target.symlink_to(tmp_path / "precious")
    state.clear_scratch(paths)
    assert not paths.dbt_target.is_symlink()
    assert (tmp_path / "precious/file").exists()


def test_lock_that_is_a_link_is_not_written_to(paths: WarehousePaths, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    paths.lock.unlink(missing_ok=True)
    paths.lock.symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match="is a link"), ownership.exclusive(paths):
        pass
    assert (tmp_path / "precious").read_text() == "kept"


@pytest.mark.parametrize("place", ["/dev/null", "/proc/nothing", "/dev/null/below"])
def test_impossible_place_of_a_warehouse_is_reported_in_one_line(place: str) -> None:
    for command in ("build", "tables", "verify", "report"):
        refused = run_command(command, "--warehouse", place)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), (command, refused.stderr)
        assert refused.stderr.startswith("error: "), command


def test_changed_file_is_noticed_by_verify_and_status(paths: WarehousePaths) -> None:
    """`verify` refuses, `status` reports it. Regression: `status` ended with 0, also if nothing could be read."""
    verifying.refuse_damage(paths)
    assert "damaged" not in run_command("status", "--warehouse", paths.root).stdout
    damage(paths.published, "overwritten")
    message = f"{paths.published}: has changed since build {SECOND} was published; the next build repairs it"
    refused = run_command("verify", "--warehouse", paths.root)
    assert (refused.returncode, refused.stderr) == (1, f"error: {message}\n")
    found = run_command("status", "--warehouse", paths.root)
    assert found.returncode == 1
    assert f"damaged    {paths.published} has changed since publishing: the next build repairs it" in found.stdout
    assert f"problem    the published build is damaged: {paths.published}; `" in found.stdout


def test_missing_manifest_is_noticed_by_status_and_the_health_check(paths: WarehousePaths) -> None:
    """Regression: only `verify` named it, although `status` knows neither the source nor the corpora without it."""
    manifest = paths.build_manifest(SECOND)
    manifest.unlink()
    found = run_command("status", "--json", "--warehouse", paths.root)
    status = json.loads(found.stdout)
    assert (found.returncode, status["damaged"]) == (1, [str(manifest)])
    assert [problem["kind"] for problem in status["problems"]] == ["damaged_build"]
    assert f"damaged    {manifest} is missing: " in run_command("status", "--warehouse", paths.root).stdout
    with pytest.raises(UnhealthyError, match="is damaged; the next build repairs it"):
        check_published(paths)


def test_build_in_a_damaged_warehouse_succeeds(awkward_folder: Path, awkward_releases: Path, tmp_path: Path) -> None:
    """All of the warehouse's own files at once; `--force` works too. One corpus is enough: nothing can be kept."""
    shutil.copytree(awkward_folder, tmp_path / "warehouse", copy_function=shutil.copy)
    paths = WarehousePaths(tmp_path / "warehouse")
    build_id, database = builds.published_build(paths)
    for file in (database, paths.published, paths.build_manifest(build_id), paths.pointer):
        damage(file, "overwritten")
    state.clear_scratch(paths)
    paths.scratch_state.mkdir()
    for history in paths.dagster_home.rglob("*.db"):
        history.write_bytes(b"x" * 5000)
    options = ("--force", "--corpora", registry.corpus_ids()[0])
    built = run_command("build", *options, "--source", awkward_releases, "--warehouse", paths.root)
    assert built.returncode == 0, built.stderr
    assert "cannot be read" in built.stdout or "is not the name of" in built.stdout
    assert builds.damage(paths, builds.published_build(paths)[0]) == []
    assert json.loads(paths.pointer.read_text())["build_id"] != build_id


def test_unchanged_build_renews_a_report_of_another_build(
    awkward_folder: Path, awkward_releases: Path, tmp_path: Path
) -> None:
    """The process was killed between publication and report.

    A report folder with foreign files is reported and kept.
    """
    shutil.copytree(awkward_folder, tmp_path / "warehouse", copy_function=shutil.copy)
    paths = WarehousePaths(tmp_path / "warehouse")
    build_id, _ = builds.published_build(paths)
    index = paths.reports / "index.html"
    index.write_text(index.read_text().replace(build_id, FIRST))
    command = ("build", "--source", awkward_releases, "--warehouse", paths.root)
    renewed = run_command(*command)
    assert "nothing changed" in renewed.stdout, renewed.stderr
    assert "notice: the report was about another build: " in renewed.stdout
    assert build_id in index.read_text()
    assert "the report was about another build" not in run_command(*command).stdout
    shutil.rmtree(paths.reports)
    paths.reports.mkdir()
    (paths.reports / "mine").touch()
    left = run_command(*command)
    assert left.returncode == 0, left.stderr
    assert (
        f"notice: no report of build {build_id}: {paths.reports} contains something other than a report: not overwritten; "
        in left.stdout
    )


@pytest.mark.parametrize("name", ["../../victim/x", "/tmp/x", "..", "", "20260101T000000000000Z/../../victim/x", "x"])
@pytest.mark.parametrize("file", ["pointer", "started_publication"])
def test_name_of_a_build_that_leads_out_of_the_warehouse_is_not_followed(
    paths: WarehousePaths, file: str, name: str
) -> None:
    """Regression: files outside the warehouse, to which the name led, were removed and written."""
    victim = paths.root.parent / "victim"
    victim.mkdir()
    for suffix in ("json", "duckdb", "restorations.json"):
        (victim / f"x.{suffix}").write_text("mine")
    (victim / "x.tables").mkdir()
    getattr(paths, file).write_text(json.dumps({"build_id": name}))
    if file == "pointer":
        with pytest.raises(InputError, match=r"^[^\n]*published\.json: is not the name of the published build[^\n]*$"):
            builds.published_build(paths)
    publication.mend(paths)
    retention.prune(paths, 1)
    assert builds.pointed_build(paths) == SECOND
    assert sorted(path.name for path in victim.iterdir()) == ["x.duckdb", "x.json", "x.restorations.json", "x.tables"]
    assert (victim / "x.duckdb").read_text() == "mine"


@pytest.mark.parametrize("path", ["../victim.parquet", "/etc/passwd", "raw/../../v/a/b.parquet", "builds/a/b.parquet"])
def test_raw_file_outside_the_warehouse_is_not_read(paths: WarehousePaths, path: str) -> None:
    manifest = json.loads(paths.build_manifest(SECOND).read_text())
    paths.build_manifest(SECOND).write_text(json.dumps(manifest | {"raw": {"toy__items": [path]}}))
    with pytest.raises(InputError, match=r"^[^\n]*is not the manifest of build [^\n]*$"):
        builds.raw_files(paths, SECOND)


def test_state_of_a_build_outside_the_warehouse_is_ignored(paths: WarehousePaths) -> None:
    build = state.Build(SECOND, "run", datetime.now(UTC), "source", ("toy",)).save(paths)
    assert state.of_run(paths, "run") == build
    said = json.loads(paths.scratch_state.read_text())
    paths.scratch_state.write_text(json.dumps(said | {"build_id": "../../victim/x"}))
    with pytest.raises(state.BuildError):
        state.of_run(paths, "run")


def test_lost_sample_of_a_corpus_is_generated_before_it_is_read(tmp_path: Path) -> None:
    """The source is compared with the published build before the sample is generated, and searched again afterwards."""
    folder = tmp_path / "warehouse"
    assert run_command("build", "--corpora", "bbai", "--warehouse", folder).returncode == 0
    shutil.rmtree(folder / "sample" / "bbai")
    built = run_command("build", "--corpora", "bbai", "--warehouse", folder)
    assert built.returncode == 0
    assert "no files at the source" not in built.stderr
    with duckdb.connect(str(folder / "dialogues.duckdb"), read_only=True) as con:
        assert con.execute("select count(*) > 0 from core.fct_turns").fetchone() == (True,)
