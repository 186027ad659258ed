"""Reading the published warehouse: the fence around a query, what is refused, and the forms a result takes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from rich.console import Console

from pipelines.building import status
from pipelines.corpora import registry
from pipelines.corpora.room import Container, Corpus, Entity, SourceFile
from pipelines.errors import InputError
from pipelines.paths import WarehousePaths
from pipelines.reading import catalog, connection, printing, query
from pipelines.reading.query_errors import QueryError
from pipelines.settings import Settings

BUILD = "20200101T000000000000Z"
TURNS = [(0, "Hi", None), (1, "", "a"), (2, 'He said "x, y"\nand left', "b")]


def make_build(paths: WarehousePaths, build_id: str = BUILD) -> None:
    """A published build of one described table, with one raw table of two files."""
    paths.builds.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(paths.build_database(build_id))) as con:
        con.execute("create schema core")
        con.execute("create table core.fct_turns (turn_index integer, utterance varchar, note varchar)")
        con.executemany("insert into core.fct_turns values (?, ?, ?)", TURNS)
        con.execute("create table core.fct_frames (frame_index integer)")
        con.execute("comment on table core.fct_turns is 'One row per turn, e.g. an utterance. More of it.'")
        con.execute("comment on column core.fct_turns.utterance is 'What was said.'")
    raw = {"fruit__apples": [write_raw(paths, "apples-1", [1]), write_raw(paths, "apples-2", [2, 3])]}
    manifest = {"build_id": build_id, "source": "/releases", "started_at": "2020-01-01T00:00:00", "raw": raw}
    paths.build_manifest(build_id).write_text(json.dumps(manifest))
    paths.pointer.write_text(json.dumps({"build_id": build_id}))


def write_raw(paths: WarehousePaths, name: str, values: list[int]) -> str:
    """A raw Parquet file; its path as a manifest has it."""
    file = paths.raw / "fruit" / "apples" / f"{name}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table({"record_index": values}), file)
    return file.relative_to(paths.root).as_posix()


@pytest.fixture
def paths(tmp_path: Path) -> WarehousePaths:
    """A warehouse folder with one published build; its name holds what SQL and globs would trip on."""
    paths = WarehousePaths(tmp_path / "o'brien [1]*")
    make_build(paths)
    return paths


@pytest.fixture
def con(paths: WarehousePaths):
    """The published build, opened."""
    with connection.open_published(paths, raw=True) as con:
        yield con


def run(con: duckdb.DuckDBPyConnection, text: str) -> list[tuple]:
    """The rows of a query."""
    return list(query.run_query(con, text).rows())


def as_table(con: duckdb.DuckDBPyConnection, text: str, width: int = 100, **options: int) -> str:
    """What a terminal of this width shows of a query's result."""
    stream = io.StringIO()
    printing.render_table(query.run_query(con, text), Console(file=stream, width=width), **options)
    return stream.getvalue()


# Opening


def test_core_tables_resolve_by_schema_and_table(con):
    assert run(con, "select utterance from core.fct_turns order by turn_index") == [(row[1],) for row in TURNS]


def test_raw_tables_are_the_files_that_the_manifest_names_and_no_others(paths):
    write_raw(paths, "apples-of-another-build", [4])
    with connection.open_published(paths, raw=True) as con:
        assert run(con, "select record_index from raw.fruit__apples order by all") == [(1,), (2,), (3,)]


def test_raw_tables_are_absent_unless_asked_for(paths):
    with connection.open_published(paths) as con, pytest.raises(QueryError, match="fruit__apples"):
        run(con, "select * from raw.fruit__apples")


def test_two_readers_can_have_the_warehouse_open(paths):
    with connection.open_published(paths) as one, connection.open_published(paths) as other:
        assert run(one, "select count(*) from core.fct_turns") == run(other, "select count(*) from core.fct_turns")


def test_an_empty_folder_says_what_to_run(tmp_path):
    with pytest.raises(InputError) as error:
        connection.open_published(WarehousePaths(tmp_path / "none"))
    assert str(error.value) == f"no warehouse at {tmp_path / 'none'}: run `dialogue-warehouse build`"


@pytest.mark.parametrize("damage", [b"", b"<html>not found</html>", "cut off"])
def test_a_damaged_database_is_one_line(paths, damage):
    database = paths.build_database(BUILD)
    database.write_bytes(database.read_bytes()[:20_000] if damage == "cut off" else damage)
    with pytest.raises(QueryError) as error:
        connection.open_published(paths)
    assert str(database) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("pointer", ["", "[]", "{}", "{"])
def test_a_damaged_pointer_is_one_line(paths, pointer):
    paths.pointer.write_text(pointer)
    with pytest.raises(InputError, match="does not name the published build"):
        connection.open_published(paths)


def test_a_pointer_to_a_build_that_is_gone_says_so(paths):
    paths.build_database(BUILD).unlink()
    with pytest.raises(InputError, match=f"names build {BUILD}"):
        connection.open_published(paths)


def test_a_missing_raw_file_is_one_line(paths):
    (paths.raw / "fruit" / "apples" / "apples-1.parquet").unlink()
    with pytest.raises(QueryError, match="raw table fruit__apples"):
        connection.open_published(paths, raw=True)


def test_a_missing_manifest_hinders_only_raw(paths):
    paths.build_manifest(BUILD).unlink()
    connection.open_published(paths).close()
    with pytest.raises(InputError, match="manifest of build"):
        connection.open_published(paths, raw=True)


def test_a_memory_limit_that_is_none_names_the_setting(paths):
    with pytest.raises(QueryError, match="DIALOGUE_MEMORY_LIMIT"):
        connection.open_published(paths, settings=Settings(memory_limit="a lot"))


def test_memory_and_threads_are_limited_as_the_settings_say(paths):
    with connection.open_published(paths, settings=Settings(memory_limit="1GiB", threads=1)) as con:
        assert run(con, "select current_setting('memory_limit'), current_setting('threads')") == [("1.0 GiB", 1)]


# The fence: on the connection itself, so that it holds for every statement, whatever `run_query` lets through


def snapshot(folder: Path) -> dict[Path, bytes]:
    """Every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


READS = (
    "select * from read_csv('{file}')",
    "select * from read_text('{file}')",
    "select * from read_blob('{file}')",
    "select * from read_json('{file}')",
    "select * from read_parquet('{file}')",
    "select * from sniff_csv('{file}')",
    "select * from parquet_metadata('{file}')",
    "select * from read_duckdb('{file}')",
    "select * from '{file}'",
    "select * from query_table('{file}')",
    "select * from query('select * from read_text(''{file}'')')",
    "select * from glob('{folder}/*')",
    "attach '{file}' as other",
    "attach '{file}' as other (read_only)",
    "import database '{folder}'",
    "create temp table copied as select * from read_text('{file}')",
    "copy core.fct_frames from '{file}'",
    "select getenv('HOME')",
    "install httpfs",
    "load httpfs",
    "load '{file}'",
    "select * from read_text('https://example.com/')",
)


@pytest.mark.parametrize("statement", READS)
@pytest.mark.parametrize("target", ["/etc/passwd", "database", "raw"])
def test_no_statement_reads_a_file(con, paths, statement, target):
    raw = paths.raw / "fruit" / "apples" / "apples-1.parquet"
    file = {"database": paths.build_database(BUILD), "raw": raw}.get(target, Path(target))
    with pytest.raises(duckdb.Error):
        con.execute(statement.format(file=quoted(file), folder=quoted(file.parent))).fetchall()


def quoted(path: Path) -> str:
    """The path as it stands inside a string of SQL."""
    return str(path).replace("'", "''")


WRITES = (
    "copy (select 1) to '{file}'",
    "copy (select 1) to '{file}' (use_tmp_file false)",
    "with written as (copy (select 1) to '{file}' (use_tmp_file false)) select 1",
    "select * from query('with written as (copy (select 1) to ''{file}'' (use_tmp_file false)) select 1')",
    "explain analyze copy (select 1) to '{file}' (use_tmp_file false)",
    "export database '{file}'",
    "attach '{file}.new' as other",
    "set profiling_output = '{file}'",
    "set log_query_path = '{file}'",
)


@pytest.mark.parametrize("statement", WRITES)
@pytest.mark.parametrize("name", ["new.csv", "builds/{build}.duckdb", "builds/{build}.duckdb.wal", "raw"])
def test_no_statement_writes_a_file(con, paths, statement, name):
    # begotten by DuckDB 2.0.0: with enable_external_access=false alone, the third statement overwrites the database
    raw = paths.raw / "fruit" / "apples" / "apples-1.parquet"
    file = raw if name == "raw" else paths.root / name.format(build=BUILD)
    before = snapshot(paths.root)
    with pytest.raises(duckdb.Error):
        con.execute(statement.format(file=quoted(file))).fetchall()
    assert snapshot(paths.root) == before


@pytest.mark.parametrize(
    "statement",
    [
        "insert into core.fct_turns values (3, 'x', 'y')",
        "with gone as (delete from core.fct_turns returning *) select * from gone",
        "update core.fct_turns set utterance = ''",
        "drop table core.fct_turns",
        "create table core.other (a integer)",
        "comment on table core.fct_turns is 'x'",
        "detach dialogues",
    ],
)
def test_no_statement_changes_the_database(con, paths, statement):
    before = snapshot(paths.root)
    with pytest.raises(duckdb.Error):
        con.execute(statement).fetchall()
    assert snapshot(paths.root) == before
    assert con.execute("select count(*) from dialogues.core.fct_turns").fetchall() == [(len(TURNS),)]


@pytest.mark.parametrize(
    "statement",
    [
        "set threads = 8",
        "reset threads",
        "set global memory_limit = '1TB'",
        "pragma threads = 8",
        "set enable_external_access = true",
        "set disabled_filesystems = ''",
        "set allowed_directories = ['/']",
        "set lock_configuration = false",
        "set python_enable_replacements = true",
        "call enable_logging()",
        "pragma enable_profiling",
    ],
)
def test_no_statement_changes_a_setting(con, statement):
    with pytest.raises(duckdb.Error):
        con.execute(statement)


def test_no_progress_bar_gets_into_a_result(con):
    assert con.execute("select current_setting('enable_progress_bar')").fetchone() == (False,)


def test_a_query_does_not_see_the_variables_of_python(con):
    secrets = pyarrow.table({"secret": [1]})
    with pytest.raises(QueryError, match="secrets"):
        run(con, "select * from secrets")
    assert secrets.num_rows == 1


def test_a_query_sees_no_stored_secrets(con):
    assert run(con, "select * from duckdb_secrets()") == []
    assert run(con, "select current_setting('allow_persistent_secrets')") == [(False,)]


def test_a_cursor_stands_behind_the_same_fence(con):
    with pytest.raises(duckdb.PermissionException):
        con.cursor().execute("select * from read_text('/etc/passwd')")


@pytest.mark.parametrize(
    ("limit", "half"), [("4GB", "2.000GB"), ("1.5 GiB", "0.750GiB"), ("80%", "40.000%"), ("a lot", "a lot")]
)
def test_processes_share_the_memory(limit, half):
    assert Settings(memory_limit=limit).memory_limit_of_each(2) == half


def test_sorting_beyond_memory_fails_instead_of_spilling_to_disk(paths):
    with connection.open_published(paths, settings=Settings(memory_limit="20MB", threads=1)) as con:
        before = snapshot(paths.root)
        with pytest.raises(QueryError, match="Out of Memory"):
            run(con, "select hash(range) as h from range(5_000_000) order by h desc limit 1 offset 4_000_000")
        assert snapshot(paths.root) == before


# What may be run


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "  select 1 ; ",
        "select 1;;",
        "select 1 -- one; two",
        "-- first\nselect 1; -- last; 'ü'",
        "select 'ü' /* ; */ ; /* ; */",
        "with one as (select 1) select * from one",
        "from core.fct_turns",
        "from core.fct_turns select turn_index",
        "values (1), (2)",
        "table core.fct_turns",
        "describe core.fct_turns",
        "summarize core.fct_turns",
        "show tables",
        "select 1 union all select 2",
        "pivot core.fct_turns on note in ('a', 'b') using count(*)",
        "explain select 1",
        "explain analyze select 1",
        "explain (format json) select 1",
        "/* why */ explain -- how\n analyze (select 1);",
        "explain describe core.fct_turns",
    ],
)
def test_one_select_or_explain_runs(con, text):
    assert run(con, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the query is empty"),
        (" \n; -- nothing", "the query is empty"),
        ("explain", "Parser Error"),
        ("select 1; select 2", "one statement at a time: these are 2"),
        ("select 1; drop table core.fct_turns;", "one statement at a time: these are 2"),
        ("drop table core.fct_turns", "only SELECT and EXPLAIN can be run here, not DROP"),
        ("insert into core.fct_frames values (1)", "not INSERT"),
        ("create temp table t as select 1", "not CREATE"),
        ("copy core.fct_turns to 'x.csv'", "not COPY"),
        ("attach ':memory:' as other", "not ATTACH"),
        ("set threads = 1", "not SET"),
        ("pragma version", "not PRAGMA"),
        ("call pragma_version()", "not CALL"),
        ("begin", "not TRANSACTION"),
        ("explain analyze create temp table t as select 1", "not CREATE"),
        ("explain analyze copy (select 1) to 'x.csv'", "not COPY"),
        ("explain (format json, analyze) create temp table t as select 1", "not CREATE"),
        ("pivot core.fct_turns on note using count(*)", "a PIVOT needs its values here: PIVOT … ON column IN (…)"),
        ("select ?", "parameters"),
        ("select '\udcff'", "the query is no valid UTF-8"),
        ("select 'never ended", "Parser Error: unterminated"),
    ],
)
def test_anything_else_is_refused_in_one_line(con, text, message):
    with pytest.raises(QueryError) as error:
        run(con, text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "select nope from core.fct_frames",
            'Binder Error: Referenced column "nope" not found in FROM clause! '
            'Candidate bindings: "frame_index" (line 1, at nope)',
        ),
        ("-- why\nselect 1,\n  'ü' || nope", "missing (line 3, at nope)"),
        ("\n\n  selec 1", "(line 3, at selec)"),
        ("\nselect 1,\n cast(utterance as integer) from core.fct_turns", "(line 3, at cast(utterance as integer))"),
        ("select * from core.fct_turn", 'Did you mean "fct_turns"? (line 1, at core.fct_turn)'),
        ("selec 1", 'Parser Error: syntax error at or near "selec" (line 1, at selec)'),
        ("select cast(utterance as integer) from core.fct_turns", "Could not convert string 'Hi' to INT32"),
        ("select * from read_text('/etc/passwd')", "a query can neither read nor write files"),
        ("with w as (copy (select 1) to 'x') select 1", "a query can neither read nor write files"),
    ],
)
def test_an_error_of_duckdb_is_one_line_with_its_place(con, text, message):
    with pytest.raises(QueryError) as error:
        run(con, text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# Formats


EVERY_TYPE = """
    select map {'b': 1, 'a': null} as m, [1, 2] as l, []::integer[] as e, {'x': ['y']} as s, null as n, '' as t,
        timestamp '2016-12-03 03:40:53' as at, date '2016-12-03' as d, 1.50 as c, 'nan'::double as f, true as b,
        sum(1) as h, 'ü' as u
"""


def test_json_has_objects_arrays_and_iso_times(con):
    stream = io.StringIO()
    assert printing.write_json(query.run_query(con, EVERY_TYPE), stream) == 1
    (row,) = json.loads(stream.getvalue())
    assert row == {
        "m": {"b": 1, "a": None},
        "l": [1, 2],
        "e": [],
        "s": {"x": ["y"]},
        "n": None,
        "t": "",
        "at": "2016-12-03T03:40:53",
        "d": "2016-12-03",
        "c": 1.5,
        "f": None,
        "b": True,
        "h": 1,
        "u": "ü",
    }


def test_json_of_no_rows_is_an_empty_array(con):
    stream = io.StringIO()
    assert printing.write_json(query.run_query(con, "from core.fct_frames"), stream) == 0
    assert json.loads(stream.getvalue()) == []


def test_json_keeps_every_row_and_columns_of_the_same_name(con):
    stream = io.StringIO()
    printing.write_json(query.run_query(con, "select range as a, 1 as a from range(25_000)"), stream)
    rows = json.loads(stream.getvalue())
    assert [row["a"] for row in rows] == list(range(25_000))
    assert rows[0] == {"a": 0, "a_2": 1}


def test_csv_can_be_read_back_and_tells_null_from_empty(con):
    stream = io.StringIO(newline="")
    result = query.run_query(con, "from core.fct_turns order by turn_index")
    assert printing.write_csv(result, stream) == len(TURNS)
    text = stream.getvalue()
    assert text.startswith('turn_index,utterance,note\r\n0,Hi,\r\n1,"",a\r\n2,"He said ""x, y""\nand left",b\r\n')
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read[1:] == [[str(index), utterance, note or ""] for index, utterance, note in TURNS]


def test_csv_writes_lists_and_maps_as_json(con):
    stream = io.StringIO(newline="")
    printing.write_csv(
        query.run_query(con, "select ['a', 'b'] as l, map {'k': 'v'} as m, 1.50 as c, true as b"), stream
    )
    assert stream.getvalue() == 'l,m,c,b\r\n"[""a"", ""b""]","{""k"": ""v""}",1.50,true\r\n'


def test_csv_leaves_no_line_empty(con):
    stream = io.StringIO(newline="")
    printing.write_csv(query.run_query(con, "select null as n"), stream)
    assert stream.getvalue() == 'n\r\n""\r\n'


def test_parquet_is_written_by_python_and_complete(con, paths, tmp_path):
    file = tmp_path / "out.parquet"
    result = query.run_query(con, "select range as a, range::varchar as a, map {'k': 'v'} as m from range(250_000)")
    assert printing.write_parquet(result, file) == 250_000
    written = duckdb.sql(f"select count(*), sum(a), min(a_2), any_value(m) from '{file}'").fetchall()
    assert written == [(250_000, sum(range(250_000)), "0", {"k": "v"})]
    assert {path.name for path in tmp_path.iterdir()} == {file.name, paths.root.name}


def test_parquet_replaces_parquet_and_nothing_else(con, paths, tmp_path):
    file = tmp_path / "out.parquet"
    for rows in (1, 2):
        printing.write_parquet(query.run_query(con, f"from range({rows})"), file)
    assert pyarrow.parquet.read_table(file).num_rows == 2
    before = snapshot(paths.root)
    with pytest.raises(QueryError, match="not overwritten"):
        printing.write_parquet(query.run_query(con, "select 1"), paths.build_database(BUILD))
    assert snapshot(paths.root) == before


@pytest.mark.parametrize("failing", ["select error('no') from range(5)", "select interval 1 day as i"])
def test_parquet_that_fails_leaves_no_file(con, tmp_path, failing):
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(QueryError) as error:
        printing.write_parquet(query.run_query(con, failing), folder / "out.parquet")
    assert "\n" not in str(error.value)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("place", ["", "nowhere/out.parquet"])
def test_parquet_into_no_place_is_refused(con, tmp_path, place):
    with pytest.raises(QueryError, match="no file can be written there"):
        printing.write_parquet(query.run_query(con, "select 1"), tmp_path / place)


def test_a_table_shows_null_as_a_word_and_the_empty_text_as_nothing(con):
    shown = as_table(con, "select utterance, note from core.fct_turns where turn_index < 2 order by turn_index")
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    assert lines[2].split() == ["Hi", "NULL"]
    assert lines[3].split() == ["a"]
    assert lines[4] == "2 rows"


def test_a_table_fits_the_terminal(con):
    shown = as_table(con, "select repeat('long ', 500) as a, repeat('wide ', 500) as b", width=60)
    assert max(map(len, shown.splitlines())) <= 60
    assert "…" in shown


def test_a_table_that_is_too_wide_says_how_many_columns_fit(con):
    columns = ", ".join(f"'value {index}' as a_long_column_name_{index}" for index in range(20))
    shown = as_table(con, f"select {columns}", width=60)
    assert max(map(len, shown.splitlines())) <= 60
    assert "value 2" in shown
    assert "1 row; 3 of 20 columns fit" in shown


def test_a_table_gives_no_column_more_than_it_needs(con):
    shown = as_table(con, "select 1 as a, repeat('long ', 500) as b, 2 as c", width=60)
    assert shown.splitlines()[1].split() == ["a", "b", "c"]
    assert max(map(len, shown.splitlines())) in range(56, 61)


def test_a_table_shows_control_characters_instead_of_sending_them(con):
    assert r"x\n\x1b[31m" in as_table(con, "select 'x' || chr(10) || chr(27) || '[31m' as a")


def test_a_table_does_not_read_markup_in_the_data(con):
    assert "[bold]x[/bold]" in as_table(con, "select '[bold]x[/bold]' as a")


def test_a_table_stops_and_says_how_many_rows_there_are(con):
    shown = as_table(con, "from range(123456)", limit=3)
    assert "first 3 of 123,456 rows, 123,453 more not shown: --json, --csv and --parquet give them all" in shown
    assert len(shown.splitlines()) < 10


def test_a_result_that_is_not_read_to_its_end_leaves_the_connection_free(con):
    assert next(query.run_query(con, "from range(123456)").rows()) == (0,)
    assert run(con, "select 1") == [(1,)]


def test_a_table_as_long_as_the_limit_is_complete(con):
    assert "3 rows" in as_table(con, "from range(3)", limit=3)


def test_a_plan_is_shown_as_it_is_drawn(con):
    assert "projection" in as_table(con, "explain select turn_index + 1 from core.fct_turns").lower()


@pytest.mark.parametrize(("form", "expected"), [("json", '[\n{"a": 1}\n]\n'), ("csv", "a\r\n1\r\n")])
def test_a_result_is_printed_in_the_form_asked_for(con, capfd, form, expected):
    printing.print_result(query.run_query(con, "select 1 as a"), form)
    assert capfd.readouterr().out == expected


def test_a_parquet_result_leaves_standard_output_empty(con, capsys, tmp_path):
    printing.print_result(query.run_query(con, "select 1 as a"), None, tmp_path / "a.parquet")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"1 row written to {tmp_path / 'a.parquet'}\n")


# The catalog


def test_tables_are_listed_with_exact_rows_and_the_first_sentence(con):
    assert [(t.schema, t.table, t.rows, t.summary) for t in catalog.list_tables(con)] == [
        ("core", "fct_frames", 0, ""),
        ("core", "fct_turns", 3, "One row per turn, e.g. an utterance."),
        ("raw", "fruit__apples", 3, ""),
    ]


@pytest.mark.parametrize("name", ["fct_turns", "core.fct_turns", "CORE.Fct_Turns", '"core"."fct_turns"', " fct_turns "])
def test_a_table_is_described_by_any_of_its_names(con, name):
    description = catalog.describe_table(con, name)
    assert (description.schema, description.table) == ("core", "fct_turns")
    assert description.comment.startswith("One row per turn")
    assert [(column.column, column.type, column.comment) for column in description.columns] == [
        ("turn_index", "INTEGER", None),
        ("utterance", "VARCHAR", "What was said."),
        ("note", "VARCHAR", None),
    ]


def test_a_raw_table_is_described(con):
    assert [column.column for column in catalog.describe_table(con, "raw.fruit__apples").columns] == ["record_index"]


@pytest.mark.parametrize("name", ["fct_turn", "core.fct_trns", "FCT_TURNSS"])
def test_an_unknown_table_suggests_near_names(con, name):
    with pytest.raises(QueryError, match=r"did you mean core\.fct_turns"):
        catalog.describe_table(con, name)


@pytest.mark.parametrize("name", ["", "zzz", "core.fct_turns; drop table x", "'"])
def test_a_name_that_is_near_nothing_is_refused(con, name):
    with pytest.raises(QueryError, match="there is no table"):
        catalog.describe_table(con, name)


def test_a_name_in_two_schemas_has_to_be_qualified(paths):
    with duckdb.connect(str(paths.build_database(BUILD))) as con:
        con.execute("create schema analytics; create table analytics.fct_turns (a integer)")
    with connection.open_published(paths) as con:
        with pytest.raises(QueryError, match=r"analytics\.fct_turns and core\.fct_turns: say which"):
            catalog.describe_table(con, "fct_turns")
        assert catalog.describe_table(con, "analytics.fct_turns").schema == "analytics"


def test_tables_and_descriptions_are_printed(con):
    stream = io.StringIO()
    console = Console(file=stream, width=100)
    catalog.print_tables(catalog.list_tables(con), console)
    catalog.print_description(catalog.describe_table(con, "fct_turns"), console)
    for words in ("core.fct_turns", "One row per turn, e.g. an utterance.", "More of it.", "What was said.", "VARCHAR"):
        assert words in stream.getvalue()


# The state of a warehouse folder


@pytest.fixture
def fruit(monkeypatch) -> Corpus:
    """A corpus of two data files and a documentation file, the only one there is."""
    corpus = Corpus(
        corpus_id="fruit",
        title="",
        homepage="",
        license="",
        citation="",
        release="",
        files=(
            SourceFile("train/a.json", "https://example.com/train/a.json"),
            SourceFile("b.json", "https://example.com/b.json"),
            SourceFile("README.md", "https://example.com/README.md", is_documentation=True),
        ),
        entities=(Entity("apples", str, Container.ARRAY, r"(train/)?[ab]\.json"),),
        folder=Path(),
    )
    monkeypatch.setattr(registry, "load_corpora", lambda only=(): (corpus,))
    return corpus


def test_status_says_which_build_is_published_and_what_lies_on_disk(paths, fruit):
    make_build(paths, "20210101T000000000000Z")
    paths.build_manifest(BUILD).unlink()
    found = status.status(paths, Settings())
    newest, oldest = found.builds
    assert (found.published_build, found.source, found.corpora) == ("20210101T000000000000Z", None, ())
    assert (newest.is_published, newest.source, newest.built_at) == (True, "/releases", "2020-01-01T00:00:00")
    assert (oldest.build_id, oldest.is_published, oldest.source, oldest.raw_bytes) == (BUILD, False, None, 0)
    sizes = [file.stat().st_size for file in paths.raw.rglob("*.parquet")]
    assert found.raw_bytes == newest.raw_bytes == sum(sizes)
    assert found.database_bytes == sum(file.stat().st_size for file in paths.builds.glob("*.duckdb"))


def test_status_names_each_missing_file_with_where_to_get_and_put_it(paths, fruit, tmp_path):
    present = tmp_path / "releases" / "fruit" / "train" / "a.json"
    present.parent.mkdir(parents=True)
    present.write_text("[]")
    found = status.status(paths, Settings(source=tmp_path / "releases"))
    (corpus,) = found.corpora
    assert (corpus.corpus_id, corpus.present, corpus.listed) == ("fruit", 1, 2)
    put_at = str(tmp_path / "releases" / "fruit" / "b.json")
    assert corpus.missing == (status.MissingFile("b.json", "https://example.com/b.json", put_at),)
    stream = io.StringIO()
    status.print_status(found, Console(file=stream, width=100))
    for words in (f"{BUILD} (published)", "fruit: 1 of 2 files present", "https://example.com/b.json", put_at):
        assert words in stream.getvalue()


def test_status_of_an_empty_folder_says_what_to_run(tmp_path, fruit):
    found = status.status(WarehousePaths(tmp_path), Settings())
    assert (found.published_build, found.builds, found.raw_bytes) == (None, (), 0)
    stream = io.StringIO()
    status.print_status(found, Console(file=stream, width=100))
    assert "nothing yet: run `dialogue-warehouse build`" in stream.getvalue()
    assert "fruit (2 files, license: ): https://example.com/<path> to FOLDER/fruit/<path>" in stream.getvalue()
