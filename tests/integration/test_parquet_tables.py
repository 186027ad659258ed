"""A warehouse with Parquet tables answers like one with a DuckDB file, and is published, kept and repaired alike."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars
import pyarrow.dataset
import pytest

from dialogue_warehouse.errors import CheckError, InputError
from dialogue_warehouse.lineage import verifying
from dialogue_warehouse.paths import CLONE, WarehousePaths
from dialogue_warehouse.reading import catalogue, connection
from dialogue_warehouse.reading.changes import find_changes
from dialogue_warehouse.releases.finding import Source
from dialogue_warehouse.settings import DUCKDB_TABLES, PARQUET_TABLES, Settings
from dialogue_warehouse.site.pictures import read_pictures
from dialogue_warehouse.site.report import is_about
from dialogue_warehouse.storage import builds, publication, retention
from dialogue_warehouse.storage.publication import pin, roll_back
from dialogue_warehouse.terminal.status import read_status
from expectations.client import AuditProcess
from pipelines.building import checks, fingerprint
from tests.conftest import Once, run_command
from tests.faults.killing import HOOKS
from tests.integration.test_pages_of_docs import blocks
from tests.unit.parquet_builds import parquet_of, publish, shown

FIRST, SECOND, THIRD = (f"2026010{day}T000000000000Z" for day in (1, 2, 3))
HISTORY = ("quality.builds", "quality.expectation_results", "quality.build_changes", "quality.restorations")
"""Tables about the builds themselves."""
OF_A_BUILD = re.compile(r"\d{8}T\d{12}Z")


@pytest.fixture(scope="session")
def parquet_folder(once: Once, sample_folder: Path) -> Path:
    """Return the folder of the sample's warehouse, in which the same sample has been built again, as Parquet."""

    def fill(folder: Path) -> None:
        shutil.copytree(sample_folder, folder, dirs_exist_ok=True, symlinks=True)
        built = run_command("build", "--tables", "parquet", "--verify", "--warehouse", folder)
        assert built.returncode == 0, built.stderr
        assert "nothing changed" not in built.stdout
        assert "nothing differs" in built.stdout
        paths = WarehousePaths(folder)
        assert f"\ntables: Parquet, below {paths.build_tables(builds.published_build(paths)[0])}\n" in built.stdout

    return once("parquet", fill)


@pytest.fixture
def paths(parquet_folder: Path, tmp_path: Path) -> WarehousePaths:
    """Return a warehouse with a build of each form, the Parquet build published; tests may change it."""
    return WarehousePaths(shutil.copytree(parquet_folder, tmp_path / "warehouse", symlinks=True))


@pytest.fixture
def small(tmp_path: Path) -> WarehousePaths:
    """Return a warehouse with three small builds, the second only in DuckDB, the last one published."""
    paths = WarehousePaths(tmp_path / "small")
    for build_id, form in ((FIRST, PARQUET_TABLES), (SECOND, DUCKDB_TABLES), (THIRD, PARQUET_TABLES)):
        publish(paths, build_id, form)
    return paths


def both(folder: Path) -> tuple[str, str]:
    """Return the build in DuckDB, and the build in Parquet."""
    before, now = retention.kept_builds(WarehousePaths(folder))
    return before, now


# The same answers


def test_every_table_has_the_same_rows_and_types(parquet_folder: Path) -> None:
    before, now = (WarehousePaths(parquet_folder).build_database(one) for one in both(parquet_folder))
    with duckdb.connect() as con:
        builds.serve(con, before, now)
        con.execute(f"attach '{before}' as one (read_only); attach '{now}' as two (read_only)")
        found = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() where database_name = 'one'"
        ).fetchall()
        assert len(found) > 40
        for (table,) in found:
            columns = "select column_name, data_type from duckdb_columns() where database_name = '{}' and "
            columns += f"schema_name || '.' || table_name = '{table}' order by column_index"
            described = con.execute(columns.format("one")).fetchall()
            assert described == con.execute(columns.format("two")).fetchall(), table
            if table not in HISTORY:
                for left, right in (("one", "two"), ("two", "one")):
                    assert con.execute(f"from {left}.{table} except all from {right}.{table} limit 3").fetchall() == []
        contract = "select table_name, column_name, is_nullable from duckdb_columns() where database_name = '{}' and {} order by all"
        assert (
            con.execute(contract.format("two", "schema_name = 'contracts'")).fetchall()
            == con.execute(contract.format("one", "true")).fetchall()
        )


def test_every_table_has_the_same_description(parquet_folder: Path, sample_folder: Path) -> None:
    described = []
    for folder in (sample_folder, parquet_folder):
        with connection.open_with_landed(WarehousePaths(folder), Settings()) as con:
            described.append(
                {
                    f"{one.schema}.{one.table}": (
                        one.comment,
                        one.links,
                        [
                            (column.column, column.type, column.comment, column.filling and column.filling.shares)
                            for column in one.columns
                        ],
                        listed.summary,
                        listed.rows,
                    )
                    for listed, one in catalogue.describe_tables(con)
                }
            )
    before, now = described
    assert list(before) == list(now)
    assert {name for name in before if before[name] != now[name]} <= set(HISTORY)
    assert all(comment for comment, *_ in now.values())


@pytest.mark.parametrize(
    "command",
    [
        ("sql", "--json", "select corpus_id, role, count(*) as turns from fct_turns group by all order by all"),
        ("sql", "--json", "from core.transcript('sgd/dev/1_00000')"),
        ("sql", "--json", "from core.source_of('sgd/dev/1_00000/0/frame/0')"),
        ("sql", "--json", "select slot_key, core.json_pointer(slot_key) as at from fct_slots order by all limit 50"),
        ("sql", "--raw", "--json", "select dialogue_id, len(turns) as turns from raw.sgd__dialogues order by all"),
        ("show", "--json", "sgd/dev/1_00000/0"),
        ("trace", "--json", "sgd/dev/1_00000/0/frame/0"),
        ("trace", "--json", "sgd/dev/1_00000/99"),
        ("claims", "--json"),
        ("violations", "--json"),
        ("violations", "--rules", "--csv"),
        ("verify", "--json"),
    ],
    ids=lambda command: " ".join(command)[:40],
)
def test_command_gives_the_same_answer(parquet_folder: Path, sample_folder: Path, command: tuple[str, ...]) -> None:
    """Also if the answer is empty."""
    before, now = (run_command(*command, "--warehouse", folder) for folder in (sample_folder, parquet_folder))
    assert now.returncode == before.returncode
    assert before.stdout or before.returncode
    for reported, expected in ((now.stdout, before.stdout), (now.stderr, before.stderr)):
        assert reported.replace(str(parquet_folder), "") == expected.replace(str(sample_folder), "")


def test_published_queries_and_pictures_are_the_same(parquet_folder: Path, sample_folder: Path) -> None:
    answers = []
    for folder in (sample_folder, parquet_folder):
        with connection.open_published(WarehousePaths(folder)) as con:
            answers.append(
                [
                    sorted(map(str, con.execute(query.read_text()).fetchall()))
                    for query in sorted((CLONE / "warehouse" / "queries").glob("*.sql"))
                ]
                + [sorted(map(repr, read_pictures(con)))]
            )
    assert answers[0] == answers[1]
    assert len(answers[0]) > 10


def test_restored_files_are_the_same(parquet_folder: Path, sample_folder: Path, tmp_path: Path) -> None:
    """Equal as JSON, where the keys of an object have no order."""
    written = []
    for folder in (sample_folder, parquet_folder):
        to = tmp_path / folder.name
        restored = run_command("restore", "--corpus", "abcd", "--to", to, "--warehouse", folder)
        assert restored.returncode == 0, restored.stderr
        contents = {file.relative_to(to): file.read_bytes() for file in to.rglob("*") if file.is_file()}
        plain = {path: gzip.decompress(of) if path.suffix == ".gz" else of for path, of in contents.items()}
        written.append({path: json.loads(of) for path, of in plain.items()})
    assert written[0] == written[1] != {}


def test_report_is_about_the_build(parquet_folder: Path) -> None:
    in_one_file, in_parquet = both(parquet_folder)
    assert is_about(in_parquet, parquet_folder / "reports")
    assert not is_about(in_one_file, parquet_folder / "reports")


def test_audit_of_the_views_has_the_same_result(parquet_folder: Path, tmp_path: Path, audit: AuditProcess) -> None:
    paths = WarehousePaths(parquet_folder)
    manifest = builds.read_manifest(paths, both(parquet_folder)[1])
    found = []
    for build_id in both(parquet_folder):
        request = {
            "database": str(paths.build_database(build_id)),
            "suites": "all",
            "corpora": list(manifest.corpora),
            "output": str(tmp_path / build_id),
            "build_id": "same",
            "run_at": "2026-01-01T00:00:00Z",
            "scales": manifest.scales,
            "processes": 2,
        }
        summary = audit.run(request)
        checks = duckdb.sql(f"from '{tmp_path / build_id}/claim_checks/*.parquet' order by all").fetchall()
        results = duckdb.sql(f"from '{tmp_path / build_id}/expectation_results/*.parquet' order by all").fetchall()
        found.append((summary, checks, results))
    assert found[0] == found[1]
    assert sum(suite["evaluated"] for suite in found[0][0].values()) > 200


def test_other_engines_read_the_same_counts(parquet_folder: Path) -> None:
    paths = WarehousePaths(parquet_folder)
    folder = paths.build_tables(both(parquet_folder)[1])
    with connection.open_published(paths) as con:
        for table in catalogue.list_tables(con):
            place = folder / table.schema / table.table
            assert pyarrow.dataset.dataset(place, partitioning="hive").count_rows() == table.rows, place
            assert len(polars.scan_parquet(place, hive_partitioning=True).collect()) == table.rows, place
        corpora = con.execute("select corpus_id, count(*) from fct_slots group by all order by all").fetchall()
    slots = polars.scan_parquet(folder / "core/fct_slots", hive_partitioning=True)
    assert slots.group_by("corpus_id").len().sort("corpus_id").collect().rows() == corpora


@pytest.mark.parametrize("number", range(2))
def test_python_of_the_page_reads_the_folder(parquet_folder: Path, tmp_path: Path, number: int) -> None:
    found = [block for block in blocks("query_it", "python") if ".tables" in block]
    assert len(found) == 2
    (tmp_path / "warehouse").symlink_to(parquet_folder)
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", found[number]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


# Builds of both forms in one warehouse


def test_form_is_an_input_of_a_build(parquet_folder: Path) -> None:
    """The same source was built again, as `parquet_folder` shows; it is not built a third time."""
    paths = WarehousePaths(parquet_folder)
    sources = {form: Source(Settings(tables=form), paths) for form in (DUCKDB_TABLES, PARQUET_TABLES)}
    of_forms = {form: fingerprint.of_source(source) for form, source in sources.items()}
    for build_id, form in zip(both(parquet_folder), of_forms, strict=True):
        assert builds.read_manifest(paths, build_id).fingerprint == of_forms[form]
    assert of_forms[DUCKDB_TABLES] != of_forms[PARQUET_TABLES]
    assert fingerprint.unchanged(sources[PARQUET_TABLES]) == both(parquet_folder)[1]


def test_builds_of_both_forms_do_not_differ(parquet_folder: Path) -> None:
    paths = WarehousePaths(parquet_folder)
    before, now = both(parquet_folder)
    for one, other in ((before, now), (now, before), (now, now)):
        found = find_changes(paths, one, other, Settings())
        assert (found.columns, found.rows, found.moved) == ((), (), ())
    reported = run_command("diff", "--warehouse", parquet_folder)
    assert (reported.returncode, "nothing differs" in reported.stdout) == (0, True), reported.stderr


def test_diff_across_the_forms_finds_differences(paths: WarehousePaths) -> None:
    before, now = both(paths.root)
    database = paths.build_database(before)
    database.chmod(0o644)
    with duckdb.connect(str(database)) as con:
        con.execute("delete from core.fct_turns where turn_key = 'sgd/dev/1_00000/0'")
        con.execute("update core.fct_turns set utterance = 'x' where turn_key = 'sgd/dev/1_00000/1'")
    found = find_changes(paths, before, now, Settings())
    assert [(row.table_name, row.change, row.first_keys) for row in found.rows] == [
        ("core.fct_turns", "added", ("sgd/dev/1_00000/0",)),
        ("core.fct_turns", "changed", ("sgd/dev/1_00000/1",)),
    ]


def test_history_continues_across_the_forms(parquet_folder: Path) -> None:
    with connection.open_published(WarehousePaths(parquet_folder)) as con:
        assert con.execute("select build_id from quality.builds order by all").fetchall() == [
            (one,) for one in both(parquet_folder)
        ]
    assert builds.earlier_builds(WarehousePaths(parquet_folder), Settings()) == set(both(parquet_folder))


def test_build_in_duckdb_follows_one_in_parquet(paths: WarehousePaths) -> None:
    """It reads the history of the other build, and compares itself with it."""
    now = both(paths.root)[1]
    built = run_command("build", "--warehouse", paths.root)
    assert built.returncode == 0, built.stderr
    assert f"nothing differs, against build {now}" in built.stdout
    with duckdb.connect(str(paths.published), read_only=True) as con:
        assert con.execute("select count(*) from quality.builds").fetchall() == [(3,)]
        assert con.execute("select count(*) from core.fct_turns").fetchall() != [(0,)]


def test_rollback_leads_back_and_forth_between_the_forms(small: WarehousePaths) -> None:
    assert shown(small) == THIRD
    assert roll_back(small) == (THIRD, SECOND)
    assert shown(small) == SECOND
    assert roll_back(small) == (SECOND, FIRST)
    assert shown(small) == FIRST
    assert roll_back(small, THIRD) == (FIRST, THIRD)
    assert (shown(small), builds.damage(small, THIRD), publication.mend(small)) == (THIRD, [], [])
    assert small.published.read_bytes() == small.build_database(THIRD).read_bytes()


def test_pruned_build_is_removed_with_its_files_and_a_pinned_one_is_kept(small: WarehousePaths) -> None:
    pin(small, FIRST)
    publish(small, "20260104T000000000000Z", DUCKDB_TABLES)
    retention.prune(small, 1)
    assert retention.kept_builds(small) == [FIRST, "20260104T000000000000Z"]
    assert [folder.name for folder in small.builds.glob("*.tables")] == [f"{FIRST}.tables"]
    assert roll_back(small, FIRST)[1] == shown(small) == FIRST


def test_status_counts_the_files(parquet_folder: Path) -> None:
    paths = WarehousePaths(parquet_folder)
    before, now = both(parquet_folder)
    sizes = [file.stat().st_size for file in paths.build_tables(now).rglob("*.parquet")]
    newest, oldest = read_status(paths, Settings(warehouse=parquet_folder)).builds
    assert newest.database_bytes == sum(sizes) + paths.build_database(now).stat().st_size
    assert oldest.database_bytes == paths.build_database(before).stat().st_size > newest.database_bytes


def test_required_space_depends_on_the_form(paths: WarehousePaths) -> None:
    now = both(paths.root)[1]
    manifest = json.loads(paths.build_manifest(now).read_text()) | {"source": str(paths.sample), "built_bytes": 10**9}
    paths.build_manifest(now).write_text(json.dumps(manifest))
    needed = {
        form: checks.needed_bytes(Source(Settings(warehouse=paths.root, source=paths.sample, tables=form), paths))
        for form in (DUCKDB_TABLES, PARQUET_TABLES)
    }
    assert needed[DUCKDB_TABLES] - needed[PARQUET_TABLES] == 10**9 - builds.size_of(paths, now)


# Publishing and mending


def test_published_files_are_read_only_and_listed(parquet_folder: Path) -> None:
    paths = WarehousePaths(parquet_folder)
    now = both(parquet_folder)[1]
    folder, manifest = paths.build_tables(now), builds.read_manifest(paths, now)
    files = builds.files_below(folder)
    assert {file.stat().st_mode & 0o222 for file in (*files, paths.published, paths.build_database(now))} == {0}
    assert set(manifest.tables) == {file.relative_to(folder).as_posix() for file in files}
    assert all(builds.describe_file(folder / name) == known for name, known in manifest.tables.items())
    assert paths.published.stat().st_size < sum(file.stat().st_size for file in files)
    assert builds.damage(paths, now) == []
    assert not list(paths.scratch.glob("*.tables"))


def test_warehouse_may_be_moved(paths: WarehousePaths) -> None:
    query = "select corpus_id, count(*) from fct_slots group by all order by all"
    with connection.open_published(paths) as con:
        expected = con.execute(query).fetchall()
    moved = WarehousePaths(paths.root.rename(paths.root.with_name("somewhere else")))
    with connection.open_published(moved) as con:
        assert con.execute(query).fetchall() == expected
    assert builds.damage(moved, both(moved.root)[1]) == []
    assert run_command("sql", "--warehouse", moved.root, query).returncode == 0


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[:100]),
    "overwritten": lambda file: file.write_bytes(b"x" * file.stat().st_size),
    "missing": lambda file: file.unlink(),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "all missing": lambda file: shutil.rmtree(file.parents[2]),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_build_with_a_damaged_file_is_reported_and_replaced_by_another(small: WarehousePaths, how: str) -> None:
    """There is no second copy of the file."""
    file = parquet_of(small, THIRD)
    file.chmod(0o644)
    DAMAGES[how](file)
    assert builds.damage(small, THIRD) == [file]
    assert read_status(small, Settings(warehouse=small.root)).damaged == (str(file),)
    with pytest.raises(CheckError, match=rf"^{re.escape(str(file))}: has changed since build {THIRD} was published"):
        verifying.refuse_damage(small)
    (reported,) = publication.mend(small)
    lost = f"build {THIRD} is lost: {file} has changed since publishing, and there is no copy of it"
    assert reported == f"{lost}; build {SECOND} is published instead"
    assert (shown(small), retention.kept_builds(small), publication.mend(small)) == (SECOND, [FIRST, SECOND], [])
    assert not small.build_tables(THIRD).exists()


def test_rollback_to_a_build_with_a_damaged_file_is_rejected(small: WarehousePaths) -> None:
    file = parquet_of(small, FIRST)
    file.chmod(0o644)
    file.write_bytes(b"")
    with pytest.raises(InputError, match=rf"^{re.escape(str(file))}: has changed since publishing, so its build"):
        roll_back(small, FIRST)
    assert shown(small) == THIRD


def test_damaged_build_replaces_no_other(small: WarehousePaths) -> None:
    for build_id in (FIRST, THIRD):
        file = parquet_of(small, build_id)
        file.chmod(0o644)
        file.write_bytes(b"")
    retention.remove(small, SECOND)
    (reported,) = publication.mend(small)
    assert reported.endswith(", and no other build is kept")
    assert builds.pointed_build(small) is None


def test_database_of_a_parquet_build_is_taken_from_the_other_copy(small: WarehousePaths) -> None:
    for file in (small.published, small.build_database(THIRD)):
        file.chmod(0o644)
        file.write_bytes(b"")
        (reported,) = publication.mend(small)
        assert "it is restored" in reported
        assert (shown(small), builds.damage(small, THIRD)) == (THIRD, [])


def test_copy_of_a_warehouse_is_read_before_it_counts_as_changed(small: WarehousePaths) -> None:
    copied = WarehousePaths(small.root.with_name("copied"))
    shutil.copytree(small.root, copied.root, copy_function=shutil.copyfile)
    assert builds.damage(copied, THIRD) == []


def test_query_of_a_damaged_file_is_refused_in_one_line(small: WarehousePaths) -> None:
    file = parquet_of(small, THIRD)
    file.chmod(0o644)
    file.write_bytes(b"")
    refused = run_command("sql", "--warehouse", small.root, "from core.fct_turns")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr


PUBLISH = """
import os, runpy, shutil, sys
from pathlib import Path
from dialogue_warehouse.paths import WarehousePaths
from tests.unit.parquet_builds import publish
hook, before, folder, build_id, form = sys.argv[1:]
status = -1
while status != 0:  # until there is no such step
    paths = WarehousePaths(Path(folder, str(len(os.listdir(folder)) + 1)))
    shutil.copytree(before, paths.root, symlinks=True)
    if os.fork() == 0:
        os.environ |= {"FAULT_STEP": paths.root.name, "FAULT_FROM": paths.started_publication.name}
        runpy.run_path(hook)
        publish(paths, build_id, form)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    print(status)
    assert status <= 0
"""


@pytest.mark.parametrize("forms", ["duckdb parquet", "parquet parquet", "parquet duckdb"])
def test_killed_at_any_step_of_publishing_shows_one_build_or_the_other(tmp_path: Path, forms: str) -> None:
    """For each step, a warehouse in which a process was killed before it; one process is killed at none."""
    before, form = forms.split()
    (folder := tmp_path / "steps").mkdir()
    publish(WarehousePaths(tmp_path / "before"), FIRST, before)
    command = (sys.executable, "-c", PUBLISH, HOOKS / "sitecustomize.py", tmp_path / "before", folder, SECOND, form)
    ended = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    *killed, last = map(int, ended.stdout.split())
    assert (set(killed), last, len(killed) > 10) == ({-signal.SIGKILL}, 0, True)
    outcomes = []
    for step, _ in enumerate(killed, 1):
        paths = WarehousePaths(folder / str(step))
        seen = shown(paths)
        assert seen in (FIRST, SECOND)
        assert len(publication.mend(paths)) <= 1
        now = shown(paths)
        assert (now, seen) != (FIRST, SECOND), "a build that readers have seen is withdrawn"
        outcomes.append(now)
        assert builds.damage(paths, now) == []
        assert publication.mend(paths) == []
        complete = {FIRST} | ({SECOND} if now == SECOND else set())
        assert set(retention.kept_builds(paths)) == complete
        left = {file.name.partition(".")[0] for file in paths.builds.iterdir()}
        assert left == complete, "files of a removed build are left"
    assert set(outcomes) == {FIRST, SECOND}
    assert outcomes == sorted(outcomes)


def test_files_without_their_database_are_removed(small: WarehousePaths) -> None:
    left = small.build_tables("20250101T000000000000Z")
    shutil.copytree(small.build_tables(THIRD), left)
    foreign = small.builds / "mine.tables"
    foreign.mkdir()
    assert publication.mend(small) == []
    assert (left.exists(), foreign.exists(), small.build_tables(THIRD).exists()) == (False, True, True)


def test_setting_rejects_other_forms(small: WarehousePaths) -> None:
    refused = run_command("build", "--warehouse", small.root, DIALOGUE_TABLES="orc")
    assert (refused.returncode, refused.stderr) == (2, "error: DIALOGUE_TABLES: 'orc' is not one of duckdb, parquet\n")
