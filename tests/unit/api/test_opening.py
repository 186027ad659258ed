"""Opening a warehouse from Python: every kind of place, the sandbox, threads, a newer build."""

from __future__ import annotations

import errno
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dialogue_warehouse as dw
from dialogue_warehouse.api import arguments
from dialogue_warehouse.api.arguments import in_words_of_python
from dialogue_warehouse.api.dialogues import examples_of
from dialogue_warehouse.paths import WarehousePaths, tables_beside
from dialogue_warehouse.reading.findings import refuse_unknown_claim
from dialogue_warehouse.storage import downloads
from tests.unit.parquet_builds import as_parquet, make_database, make_parquet_build
from tests.unit.published import BUILD, TURNS, make_build

COUNT = "select count(*) from fct_turns"
LATER = "20200102T000000000000Z"


def count(warehouse: dw.Warehouse) -> int:
    return warehouse.sql(COUNT).fetchall()[0][0]


def test_folder_of_a_warehouse_is_opened(paths):
    with dw.open(paths.root) as warehouse:
        assert (count(warehouse), warehouse.build_id) == (len(TURNS), BUILD)
        assert repr(warehouse) == f"<Warehouse {str(paths.root)!r}, build {BUILD}>"


def test_published_file_of_a_folder_is_the_warehouse_itself(paths):
    shutil.copy(paths.build_database(BUILD), paths.published)
    with dw.open(str(paths.published)) as warehouse:
        make_build(paths, LATER)
        assert warehouse.refresh()
        assert warehouse.build_id == LATER


def test_builds_that_cannot_be_read_are_an_error_of_the_project(paths, monkeypatch):
    """Regression: Python raised the system's own error."""
    is_file = Path.is_file

    def refuse(file: Path) -> bool:
        if file == paths.build_database(BUILD):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return is_file(file)

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(dw.InputError, match=rf"{BUILD}\.duckdb: Permission denied$"):
        dw.open(paths.root)


def test_copied_file_is_opened_without_its_folder(paths, tmp_path):
    copy = shutil.copy(paths.build_database(BUILD), tmp_path / "it's a copy.duckdb")
    with dw.open(copy) as warehouse:
        assert count(warehouse) == len(TURNS)
        assert not warehouse.refresh()


def test_file_that_was_replaced_is_opened_again_on_request(paths, tmp_path):
    copy = Path(shutil.copy(paths.build_database(BUILD), tmp_path / "copy.duckdb"))
    with dw.open(copy) as warehouse:
        before = warehouse.table("fct_turns")
        with duckdb.connect(tmp_path / "other.duckdb") as con:
            con.execute("create schema core; create table core.fct_turns as select 1 as turn_index")
        os.utime(tmp_path / "other.duckdb", ns=(0, copy.stat().st_mtime_ns))  # so its build has the same id
        (tmp_path / "other.duckdb").replace(copy)
        assert count(warehouse) == len(TURNS)
        assert warehouse.refresh()
        assert (count(warehouse), len(before.fetchall())) == (1, len(TURNS))
        copy.unlink()
        with pytest.raises(dw.InputError, match=r"copy\.duckdb: cannot be read: No such file"):
            warehouse.refresh()
        assert count(warehouse) == 1


def test_replaced_place_is_not_exported_or_scored_before_a_refresh(paths, tmp_path):
    """Regression: the file of the newer build was read, though the older one was open."""
    copy = Path(shutil.copy(paths.build_database(BUILD), tmp_path / "copy.duckdb"))
    make_parquet_build(paths)
    tables = Path(shutil.copytree(paths.build_tables(BUILD), tmp_path / "tables"))
    for place in (copy, tables):
        with dw.open(place) as warehouse:
            examples = examples_in(warehouse)
            (shutil.copytree if place.is_dir() else shutil.copy)(place, tmp_path / "newer")
            place.rename(tmp_path / f"older {place.name}")
            (tmp_path / "newer").rename(place)
            for use in (
                lambda: warehouse.export("chat", tmp_path / "exported"),
                lambda: warehouse.score("bbai", tmp_path / "none.jsonl", split="test"),
                examples,
            ):
                with pytest.raises(
                    dw.InputError, match=r"^\S+: another build has been .* since; refresh\(\) opens it$"
                ):
                    use()
            assert warehouse.refresh()
            with pytest.raises(dw.InputError, match=OF_ANOTHER_BUILD):
                examples()
            assert examples_in(warehouse)() == []


@pytest.mark.parametrize("is_described", [True, False], ids=["with its database", "alone"])
def test_folder_of_parquet_tables_is_opened(paths, tmp_path, is_described):
    shutil.rmtree(paths.root)
    make_parquet_build(paths)
    tables, catalog = paths.build_tables(BUILD), paths.build_database(BUILD)
    moved = tmp_path / "elsewhere" / tables.name
    shutil.copytree(tables, moved)
    if is_described:
        shutil.copy(catalog, moved.parent)
    with dw.open(moved) as warehouse:
        assert count(warehouse) == len(TURNS)
        with pytest.raises(dw.QueryError, match="a query can neither read nor write files"):
            warehouse.sql("from read_parquet($file)", file=str(next(moved.rglob("*.parquet")))).fetchall()


def test_database_with_its_parquet_tables_beside_it_is_opened(paths, tmp_path):
    shutil.rmtree(paths.root)
    make_parquet_build(paths)
    copy = Path(shutil.copy(paths.build_database(BUILD), tmp_path))
    shutil.copytree(paths.build_tables(BUILD), tables_beside(copy))
    with dw.open(copy) as warehouse:
        assert count(warehouse) == len(TURNS)


@pytest.mark.parametrize(
    ("opened", "is_described"),
    [("copy [1].tables", True), ("copy [1].duckdb", True), ("copy [1].tables", False)],
    ids=["tables", "database", "tables alone"],
)
def test_renamed_parquet_tables_keep_the_id_of_their_build(tmp_path, opened, is_described):
    """Regression: they got an id from the time of the file, and with their database were called damaged."""
    built = make_database(
        tmp_path / "built.duckdb",
        "create schema core; create table core.fct_turns as select 1 as turn_index; create schema quality; "
        f"create table quality.builds as select '{BUILD}' as build_id, timestamp '2020-01-01' as started_at "
        "union all select '20190101T000000000000Z', timestamp '2021-01-01'",  # the clock was set back in between
    )
    catalog = as_parquet(built, tmp_path)
    tables_beside(catalog).rename(tmp_path / "copy [1].tables")
    if is_described:
        catalog.rename(tmp_path / "copy [1].duckdb")
    with dw.open(tmp_path / opened) as warehouse:
        assert (count(warehouse), warehouse.build_id) == (1, BUILD)
        assert BUILD in {build_id for build_id, _ in warehouse.table("builds").fetchall()}


def test_view_in_a_file_cannot_read_other_files(paths, tmp_path):
    """The maker of a file decides what its views read: also that of the builds, which is read when it is opened."""
    secret = tmp_path / "secret.csv"
    secret.write_text("build_id,started_at\n20990101T000000000000Z,2099-01-01\n")
    with duckdb.connect(tmp_path / "strange.duckdb") as con:
        con.execute("create schema quality; create schema core; create table core.fct_turns as select 1 as turn_index")
        con.execute(f"create view quality.builds as from read_csv('{secret}')")
    with dw.open(tmp_path / "strange.duckdb") as warehouse:
        assert count(warehouse) == 1
        assert warehouse.build_id != "20990101T000000000000Z"
        with pytest.raises(dw.QueryError, match="can neither read nor write files"):
            warehouse.sql("from quality.builds")


def test_temporary_folder_of_a_file_is_removed_with_the_warehouse(paths, tmp_path):
    copy = shutil.copy(paths.build_database(BUILD), tmp_path / "copy.duckdb")
    code = f"import dialogue_warehouse as dw; w = dw.open({str(copy)!r}); print(w.sql({COUNT!r}).fetchall())"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"TMPDIR": str(temporary)})
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("none", r"none: there is no warehouse; `\S*dialogue-warehouse build --warehouse \S+/none` builds one$"),
        ("none.duckdb", r"none\.duckdb: there is no warehouse$"),
        ("empty", r"no warehouse at \S+/empty: run `\S*dialogue-warehouse build"),
        ("other.duckdb", r"/other\.duckdb: is not the file of a warehouse: it has none of its tables$"),
        ("text.duckdb", r"text\.duckdb cannot be opened: .* not a valid DuckDB database"),
        ("http://host..org/a.duckdb", r"^http://host\.\.org/a\.duckdb: has no host that can be looked up$"),
        (f"http://{'a' * 64}.org/a.duckdb", r": has no host that can be looked up$"),
        ("http://\u2025/a.duckdb", r": has no host that can be looked up$"),
        ("http://host:99999/a.duckdb", r": has no host that can be looked up$"),
        ("ftp://user:secret@host/a.duckdb", r"^ftp://host/a\.duckdb: only http:// and https:// can be opened$"),
    ],
)
def test_place_without_a_warehouse_is_named_in_one_line(tmp_path, place, error):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.duckdb").write_text("text" * 10_000)
    duckdb.connect(str(tmp_path / "other.duckdb")).close()
    with pytest.raises(dw.InputError, match=error) as raised:
        dw.open(place if "://" in place else tmp_path / place)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("place", "limits", "error"),
    [
        (None, {}, r"^place: None is neither a path nor a URL$"),
        ("", {}, r"^place: '' is neither a path nor a URL$"),
        (".", {"memory_limit": "lots"}, r"^memory_limit: 'lots' is not a size such as 4GB, 512MiB or 50%$"),
        (".", {"memory_limit": "1KB"}, r"^memory_limit: '1KB' is too small; a query needs at least 50MB and can "),
        (".", {"memory_limit": 5}, r"^memory_limit: '5' is not a size such as "),
        (".", {"threads": 0}, r"^threads: '0' is not a number from 1 to "),
        (".", {"threads": "two"}, r"^threads: 'two' is not a number from 1 to "),
    ],
)
def test_wrong_place_or_limit_is_named_as_in_python(place, limits, error):
    with pytest.raises(dw.InputError, match=error) as raised:
        dw.open(place, **limits)
    assert "\n" not in str(raised.value)


def test_wrong_variable_is_named_as_a_variable(paths, monkeypatch):
    monkeypatch.setenv("DIALOGUE_THREADS", "many")
    with pytest.raises(dw.InputError, match=r"^DIALOGUE_THREADS: 'many' is not a number"):
        dw.open(paths.root, memory_limit="1GB")


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://пример.испытание:8080/é?a=ü", "http://xn--e1afmkfd.xn--80akhbyknj4f:8080/é?a=ü"),
        ("https://münchen.example/a", "https://xn--mnchen-3ya.example/a"),
        ("http://[::1]:80/é", "http://[::1]:80/é"),
    ],
)
def test_host_in_other_letters_is_sent_as_name_servers_have_it(url, sent):
    """Regression: Cyrillic letters were an internal error, and the server got the name of another host with ü."""
    assert downloads._with_ascii_host(url) == sent


def test_newer_build_is_shown_after_a_refresh_and_earlier_results_stay(paths):
    with dw.open(paths.root) as warehouse:
        assert not warehouse.refresh()
        before = warehouse.sql("from fct_turns")
        make_build(paths, LATER)
        paths.build_database(BUILD).unlink()
        assert warehouse.build_id == BUILD
        assert warehouse.refresh()
        assert warehouse.build_id == LATER
        assert len(before.fetchall()) == count(warehouse) == len(TURNS)


def examples_in(warehouse: dw.Warehouse) -> Callable[[], list[dict[str, Any]]]:
    """Return what reads the examples of no dialogue in the build that is open now."""
    read = examples_of(warehouse._opened)
    return lambda: list(read([], {}))


OF_ANOTHER_BUILD = r"^.*: the dialogues are from build \S+, and another build is open now; select them again$"


def test_dialogues_of_an_earlier_build_have_no_examples_of_another(paths):
    """Regression: after a refresh they were read from the newer build, with its texts, or were not there."""
    with dw.open(paths.root) as warehouse:
        examples = examples_in(warehouse)
        assert examples() == []
        make_build(paths, LATER)
        with pytest.raises(dw.InputError, match=r"has been published since; refresh\(\) opens it$"):
            examples()
        assert warehouse.refresh()
        with pytest.raises(dw.InputError, match=OF_ANOTHER_BUILD):
            examples()
        assert examples_in(warehouse)() == []


def test_closed_warehouse_says_so(paths):
    with dw.open(paths.root) as warehouse:
        pass
    warehouse.close()
    for use in (lambda: warehouse.sql(COUNT), warehouse.tables, warehouse.refresh):
        with pytest.raises(dw.InputError, match="the warehouse is closed; open it again"):
            use()


def test_threads_share_a_warehouse(paths):
    """Each thread gets the rows of its own query, while a build is published and opened."""
    answers: dict[int, set[int]] = {}

    def ask(number: int) -> None:
        answers[number] = {
            warehouse.sql("select $n + 0 * count(*) from fct_turns", n=number).fetchall()[0][0] for _ in range(20)
        }

    with dw.open(paths.root) as warehouse:
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        make_build(paths, LATER)
        warehouse.refresh()
        for thread in threads:
            thread.join()
    assert answers == {number: {number} for number in range(8)}


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to 'file.csv'",
        "attach 'file.duckdb'",
        "set threads = 1",
        "create table core.t as select 1",
        "select 1; select 2",
        "from read_csv('/etc/passwd')",
    ],
)
def test_query_that_is_not_a_select_or_reads_a_file_is_refused(paths, query, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with dw.open(paths.root) as warehouse, pytest.raises(dw.QueryError):
        warehouse.sql(query)
    assert sorted(tmp_path.rglob("*")) == before


def test_result_of_a_query_cannot_be_written_to_a_file(paths, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    with dw.open(paths.root) as warehouse:
        for write in ("write_csv", "write_parquet"):
            with pytest.raises(duckdb.PermissionException):
                getattr(warehouse.table("fct_turns"), write)(str(tmp_path / "result"))
    assert sorted(tmp_path.rglob("*")) == before


def test_parameters_keep_their_types(paths):
    with dw.open(paths.root) as warehouse:
        found = warehouse.sql("select utterance from fct_turns where turn_index in (select unnest($n))", n=[1, 2])
        assert sorted(found.fetchall()) == sorted((row[1],) for row in TURNS[1:])


def test_landed_files_are_added_on_request(paths):
    with dw.open(paths.root, raw=True) as warehouse:
        assert warehouse.table("raw.fruit__apples").fetchall() == [(1,), (2,), (3,)]


def test_unknown_table_names_a_similar_one(paths):
    with dw.open(paths.root) as warehouse:
        for use in (warehouse.table, warehouse.describe):
            with pytest.raises(dw.QueryError, match=r"no table 'fct_turn'; did you mean core\.fct_turns"):
                use("fct_turn")
        assert warehouse.describe("fct_turns").comment == "One row per turn, e.g. an utterance. More of it."
        assert {table.table: table.rows for table in warehouse.tables()} == {"fct_turns": 3, "fct_frames": 0}


def test_every_error_has_one_base_class():
    assert issubclass(dw.QueryError, dw.InputError)
    assert issubclass(dw.InputError, dw.Error)
    assert issubclass(dw.CheckError, dw.Error)
    assert issubclass(dw.Error, Exception)


def test_import_loads_no_library():
    """The libraries are imported when a warehouse is opened."""
    code = "import sys; before = set(sys.modules); import dialogue_warehouse; print(*set(sys.modules) - before)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ended.stdout.split()}
    assert loaded - set(sys.stdlib_module_names) == {"dialogue_warehouse"}


def test_every_public_name_is_there_and_described():
    assert sorted(dw.__all__) == dw.__all__
    assert set(dw.__all__) <= set(dir(dw))
    for name in dw.__all__:
        assert getattr(dw, name).__doc__, name
    with pytest.raises(AttributeError, match="has no attribute 'anything'"):
        _ = dw.anything


def test_warehouse_paths_stay_untouched(paths):
    before = {file: file.read_bytes() for file in paths.root.rglob("*") if file.is_file()}
    with dw.open(paths.root) as warehouse:
        count(warehouse)
    assert {file: file.read_bytes() for file in WarehousePaths(paths.root).root.rglob("*") if file.is_file()} == before


def test_place_that_is_neither_a_folder_nor_a_file_is_refused(tmp_path):
    """Regression: a pipe was opened as a warehouse without tables."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(dw.InputError, match=r"pipe: is neither a folder nor a file$"):
        dw.open(tmp_path / "pipe")


@pytest.mark.parametrize("place", ["/", "/tmp/..", "\udcff"])
def test_place_where_no_warehouse_can_be_is_refused_without_advice_to_build_one(place):
    """Regression: the error of `/` ended in "run `dialogue-warehouse build --warehouse /`", which is refused."""
    with pytest.raises(dw.InputError, match=r"(choose a folder below it|; rename it)$"):
        dw.open(place)


def test_place_with_a_name_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(dw.InputError, match=r": cannot be read: File name too long$"):
        dw.open(tmp_path / ("x" * 300))


def test_folder_with_a_name_that_no_folder_can_have_is_refused(paths, tmp_path):
    with dw.open(paths.root) as warehouse, pytest.raises(dw.CheckError, match=r"xx: File name too long$"):
        warehouse.export("chat", tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    ("to", "reported"),
    [
        ("/", "/: is the root of the file system; choose a folder below it"),
        ("/tmp/..", "/tmp/..: is the root of the file system; choose a folder below it"),
        ("http://host/folder", "to: 'http://host/folder' is a URL; only local folders can be used"),
        ("a\0b", r"to: 'a\x00b' is not a path"),
    ],
)
def test_place_of_an_export_is_refused_as_by_the_command(to: str, reported: str) -> None:
    """Regression: files were written into the root, and into a folder with the name of the URL."""
    with pytest.raises(dw.InputError, match=f"^{re.escape(reported)}$"):
        arguments.folder("to", to)


def test_form_that_is_not_a_text_is_refused(paths, tmp_path):
    with dw.open(paths.root) as warehouse, pytest.raises(dw.InputError, match=r"^there is no form \[\]; "):
        warehouse.export([], tmp_path)


def test_json_is_refused_as_a_file_of_another_kind(tmp_path):
    """Regression: DuckDB opened it as a database in memory, and its error was about that."""
    (tmp_path / "published.json").write_text("{}")
    with pytest.raises(
        dw.InputError, match=r"published\.json cannot be opened: [^\n]* not a valid DuckDB database file"
    ):
        dw.open(tmp_path / "published.json")


def test_error_about_an_argument_is_one_line_in_words_of_python(paths):
    with (
        dw.open(paths.root) as warehouse,
        pytest.raises(dw.QueryError, match=r"^there is no table 'a\\nb'; tables\(\)"),
    ):
        warehouse.table("a\nb")


def test_landed_table_that_is_not_added_is_named_in_words_of_python(paths):
    with (
        dw.open(paths.root) as warehouse,
        pytest.raises(dw.QueryError, match=r"open\(…, raw=True\) adds the landed files"),
    ):
        warehouse.sql("from raw.fruit__apples")


def test_unknown_claim_is_reported_in_words_of_python(paths):
    with duckdb.connect() as con:
        con.execute("create schema quality; create table quality.claims as select 'A01' as claim_id")
        with (
            pytest.raises(dw.InputError, match=r"^there is no claim 'x'; claims\(\) lists all claims$"),
            in_words_of_python(),
        ):
            refuse_unknown_claim(con, "x")


def test_place_with_a_null_character_is_refused():
    with pytest.raises(dw.InputError, match=r"^place: 'a\\x00b' is neither a path nor a URL$"):
        dw.open("a\0b")


def test_open_warehouse_cannot_be_pickled_and_says_what_to_do(paths):
    with dw.open(paths.root) as warehouse:
        for copied in (pickle.dumps, deepcopy):
            with pytest.raises(TypeError, match=r"^an open warehouse cannot be pickled or copied: open it again"):
                copied(warehouse)
