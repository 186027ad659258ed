"""The tables of a build as Parquet: content, order and sizes, and that they are read back unchanged."""

from __future__ import annotations

import os
import resource
import shutil
import threading
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest

from dialogue_warehouse.errors import BuildError
from dialogue_warehouse.paths import WarehousePaths, tables_beside
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds
from dialogue_warehouse.storage.parquet_files import DESCRIPTORS_LEFT, OpenFile, ParquetFiles
from pipelines.building import parquet_tables
from tests.unit.parquet_builds import NULL_PARTITION, as_parquet, make_database
from tests.unit.published import BUILD

NAMES = ("core.fct_slots", "core.fct_frames", "analytics.corpus_overview", "quality.build_changes", "quality.builds")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a database, and its tables as Parquet, which are copied for each test."""
    folder = tmp_path_factory.mktemp("made")
    as_parquet(make_database(folder / "built.duckdb"), folder / "builds")
    return folder


@pytest.fixture
def built(made: Path, tmp_path: Path) -> Path:
    return shutil.copy(made / "built.duckdb", tmp_path / "built.duckdb")


@pytest.fixture
def catalog(made: Path, built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made / "builds", tmp_path / "builds") / f"{BUILD}.duckdb"


def names_below(folder: Path) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in builds.files_below(folder)]


def test_each_corpus_has_a_folder_and_other_tables_have_only_files(catalog: Path) -> None:
    assert names_below(tables_beside(catalog)) == [
        "analytics/corpus_overview/corpus_id=a/part-000.parquet",
        "analytics/corpus_overview/corpus_id=b/part-000.parquet",
        "core/fct_frames/part-000.parquet",
        "core/fct_slots/corpus_id=a/part-000.parquet",
        "core/fct_slots/corpus_id=b/part-000.parquet",
        f"quality/build_changes/{NULL_PARTITION}/part-000.parquet",
        "quality/build_changes/corpus_id=a/part-000.parquet",
        "quality/builds/part-000.parquet",
    ]


@pytest.mark.parametrize("table", NAMES)
def test_every_row_is_read_back_with_its_types(built: Path, catalog: Path, table: str) -> None:
    with duckdb.connect() as con:
        builds.serve(con, catalog)
        con.execute(f"attach '{built}' as one (read_only); attach '{catalog}' as two (read_only)")
        for left, right in (("one", "two"), ("two", "one")):
            assert con.execute(f"from {left}.{table} except all from {right}.{table}").fetchall() == []
        described = [
            con.execute(f"select column_name, column_type from (describe {name}.{table})").fetchall()
            for name in ("one", "two")
        ]
    assert described[0] == described[1]


def test_catalog_has_contracts_comments_and_macros_and_no_rows(built: Path, catalog: Path) -> None:
    with builds.open_build(catalog, Settings()) as con, duckdb.connect(str(built), read_only=True) as plain:
        nullable = "select table_name, column_name, data_type, is_nullable from duckdb_columns() where schema_name {} order by all"
        contracts = con.execute(nullable.format("= 'contracts'")).fetchall()
        assert contracts == plain.execute(nullable.format("in ('core', 'analytics', 'quality')")).fetchall()
        assert con.execute("select sum(estimated_size) from duckdb_tables()").fetchall() == [(0,)]
        comments = "select comment from duckdb_columns() where comment is not null and table_name = 'fct_slots'"
        assert con.execute(comments).fetchall() == plain.execute(comments).fetchall() == [('A "number".',)]
        assert con.execute("select comment from duckdb_views() where view_name = 'fct_slots'").fetchall() == [
            ("One row per slot's value.",)
        ]
        assert con.execute("select core.any_key('a/1')").fetchall() == [("a/1",)]


def test_other_clients_get_an_error_with_the_place_of_the_rows(catalog: Path) -> None:
    with duckdb.connect(str(catalog), read_only=True) as con:
        (storage,) = con.execute(
            "select tags['storage_version'] from duckdb_databases() where not internal"
        ).fetchall()[0]
        assert storage.startswith("v1.5")
        assert ("fct_slots",) in con.execute("select table_name from information_schema.tables").fetchall()
        for query in ("select count(*) from core.fct_slots", "select core.any_key('a/1')"):
            with pytest.raises(duckdb.IOException, match=f"dialogue-warehouse://{BUILD}/core/fct_slots/"):
                con.execute(query).fetchall()


def test_no_file_declares_a_column_as_not_null(catalog: Path) -> None:
    """The types that DuckDB infers from one corpus may not fit another, and the first file gives a dataset its types."""
    for file in builds.files_below(tables_beside(catalog)):
        schema = pyarrow.parquet.read_schema(file)
        assert [field.name for field in schema if not field.nullable] == [], file


def test_other_engines_read_the_folder(catalog: Path) -> None:
    import polars
    import pyarrow.dataset  # which imports pandas

    folder = tables_beside(catalog)
    for table, rows, of_a in (("core/fct_slots", 3, 1), ("core/fct_frames", 0, 0), ("quality/build_changes", 3, 1)):
        arrow = pyarrow.dataset.dataset(folder / table, partitioning="hive")
        frame = polars.scan_parquet(folder / table, hive_partitioning=True)
        of_corpus = pyarrow.dataset.field("corpus_id") == "a"
        assert (arrow.count_rows(), arrow.count_rows(filter=of_corpus)) == (rows, of_a), table
        assert len(frame.collect()) == rows
        assert len(frame.filter(polars.col("corpus_id") == "a").collect()) == of_a
        assert frame.collect_schema()["corpus_id"] == polars.String
    assert polars.scan_parquet(folder / "core/fct_frames").collect_schema()["requested_slots"] == polars.List(
        polars.String
    )
    changes = polars.scan_parquet(folder / "quality/build_changes", hive_partitioning=True).collect()
    assert changes["corpus_id"].null_count() == 2


@pytest.mark.parametrize("corpora", [["007"], ["2020-01-01"], ["a b/c", "50%", "x=y", "ü*", "o'brien"]])
def test_name_of_a_corpus_survives_in_any_folder_name(tmp_path: Path, corpora: list[str]) -> None:
    """A number, a date, and names that a folder, a pattern or a URL would read differently."""
    built = make_database(
        tmp_path / "built.duckdb", "create schema core; create table core.t (corpus_id varchar, n int)"
    )
    with duckdb.connect(str(built)) as con:
        con.executemany("insert into core.t values (?, 1)", [[corpus] for corpus in corpora])
    with builds.open_build(as_parquet(built, tmp_path / "builds"), Settings()) as con:
        assert sorted(con.execute("select corpus_id, n from core.t").fetchall()) == sorted((one, 1) for one in corpora)


def test_files_have_a_maximum_size_and_the_order_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all files of a corpus as well: each has the next keys."""
    monkeypatch.setattr(parquet_tables, "FILE_BYTES", 40_000)
    statements = """
        create schema core;
        create table core.fct_turns as
        select md5(range::varchar) as turn_key, 'toy' as corpus_id, repeat(md5(range::varchar), 1 + range % 3) as name
        from range(9000)
    """
    catalog = as_parquet(make_database(tmp_path / "built.duckdb", statements), tmp_path / "builds")
    files = builds.files_below(tables_beside(catalog))
    assert len(files) > 3
    assert max(file.stat().st_size for file in files) <= 40_000
    keys = [key for file in files for key in pyarrow.parquet.ParquetFile(file).read()["turn_key"].to_pylist()]
    assert (len(keys), keys) == (9000, sorted(keys))
    assert {tuple(pyarrow.parquet.read_schema(file).names) for file in files} == {("turn_key", "name")}
    with builds.open_build(catalog, Settings()) as con:
        assert con.execute("select count(*), min(corpus_id) from core.fct_turns").fetchall() == [(9000, "toy")]


def test_row_too_large_for_a_file_has_a_separate_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_tables, "FILE_BYTES", 10)
    statements = "create schema core; create table core.t as select range as n from range(3)"
    catalog = as_parquet(make_database(tmp_path / "built.duckdb", statements), tmp_path / "builds")
    assert len(builds.files_below(tables_beside(catalog))) == 3


def test_parquet_with_fewer_rows_than_were_built_is_rejected(built: Path, catalog: Path) -> None:
    parquet_tables.refuse_other_rows(built, catalog, Settings())
    (tables_beside(catalog) / "core/fct_slots/corpus_id=a/part-000.parquet").unlink()
    parquet_tables.write_catalog(built, catalog, Settings())
    with pytest.raises(BuildError, match=r"core\.fct_slots: 3 rows were built, its Parquet has 2"):
        parquet_tables.refuse_other_rows(built, catalog, Settings())


def test_table_without_any_file_has_no_rows_and_its_types(built: Path, catalog: Path) -> None:
    """Other writers of such a folder write no file if there are no rows."""
    (tables_beside(catalog) / "core/fct_frames/part-000.parquet").unlink()
    parquet_tables.write_catalog(built, catalog, Settings())
    with builds.open_build(catalog, Settings()) as con:
        found = con.execute("from core.fct_frames")
        assert (found.fetchall(), [str(kind) for _, kind, *_ in found.description]) == (
            [],
            ["VARCHAR", "VARCHAR", "VARCHAR[]"],
        )


def test_open_build_is_readable_after_its_removal(catalog: Path) -> None:
    with builds.open_build(catalog, Settings()) as con:
        for file in builds.files_below(tables_beside(catalog)):
            file.unlink()
        assert con.execute("select count(distinct slot_key) from core.fct_slots").fetchall() == [(3,)]


def test_threads_that_read_one_file_do_not_interfere(tmp_path: Path) -> None:
    """DuckDB seeks in one step and reads in the next."""
    file = tmp_path / "file"
    file.write_bytes(bytes(range(200)))
    with file.open("rb") as stream:
        opened = OpenFile(stream.fileno(), "file")
        opened.seek(10)
        other = threading.Thread(target=lambda: (opened.seek(100), opened.read(5)))
        other.start()
        other.join()
        assert (opened.read(2), opened.read(1), opened.tell()) == (bytes([10, 11]), bytes([12]), 13)


def test_truncated_file_is_not_read_as_zeros(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    with file.open("rb") as stream, pytest.raises(OSError, match="name is cut off"):
        OpenFile(stream.fileno(), "name").read(4)


def test_closed_builds_leave_no_file_open(catalog: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with builds.open_build(catalog, Settings()) as con:
            con.execute("from core.fct_slots").fetchall()
    del con
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_folder_may_be_moved(catalog: Path, tmp_path: Path) -> None:
    moved = WarehousePaths(tmp_path / "o'brien [1]*")
    moved.root.mkdir()
    catalog.parent.rename(moved.builds)
    with builds.open_build(moved.build_database(BUILD), Settings()) as con:
        assert con.execute("select count(*) from core.fct_slots").fetchall() == [(3,)]


def test_build_is_read_with_a_low_limit_of_open_files(catalog: Path) -> None:
    """Regression: with `ulimit -n 64`, a build of a hundred files could not be read, because each file stayed open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)  # the lowest number that is free
    os.close(free)
    with builds.open_build(catalog, Settings()) as con:
        expected = con.execute("select count(*) from core.fct_slots").fetchall()
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + DESCRIPTORS_LEFT, hard))
    try:
        files = ParquetFiles({str(file): file for file in builds.files_below(tables_beside(catalog))}, {})
        assert files._opened == {}
        with builds.open_build(catalog, Settings()) as con:
            assert con.execute("select count(*) from core.fct_slots").fetchall() == expected
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
