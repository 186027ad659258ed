"""A result as JSON, CSV, Parquet and a table."""

from __future__ import annotations

import csv
import io
import json
import os
import re

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from rich.console import Console
from rich.table import Table

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.common.database import QueryError
from dialogue_warehouse.reading import query, result_files
from dialogue_warehouse.terminal import printing
from tests.unit.published import TURNS, run, snapshot


def as_table(con: duckdb.DuckDBPyConnection, text: str, width: int = 100, **options: int) -> str:
    """Return the output of a query's result on a terminal of this width."""
    stream = io.StringIO()
    printing.render_table(query.run_query(con, text), Console(file=stream, width=width), **options)
    return stream.getvalue()


# Formats


EVERY_TYPE = """
    select map {'b': 1, 'a': null} as m, [1, 2] as l, []::integer[] as e, {'x': ['y']} as s, null as n, '' as t,
        timestamp '2016-12-03 03:40:53' as at, date '2016-12-03' as d, 1.50 as c, 'nan'::double as f, true as b,
        sum(1) as h, 'ü' as u
"""


def test_json_has_objects_arrays_and_iso_times(con):
    stream = io.StringIO()
    assert result_files.write_json(query.run_query(con, EVERY_TYPE), stream) == 1
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
        "f": "nan",
        "b": True,
        "h": 1,
        "u": "ü",
    }


def test_json_of_no_rows_is_an_empty_array(con):
    stream = io.StringIO()
    assert result_files.write_json(query.run_query(con, "from core.fct_frames"), stream) == 0
    assert json.loads(stream.getvalue()) == []


def test_json_keeps_every_row_and_columns_of_the_same_name(con):
    stream = io.StringIO()
    result_files.write_json(query.run_query(con, "select range as a, 1 as a from range(25_000)"), stream)
    rows = json.loads(stream.getvalue())
    assert [row["a"] for row in rows] == list(range(25_000))
    assert rows[0] == {"a": 0, "a_2": 1}


def test_csv_can_be_read_back_and_distinguishes_null_from_empty(con):
    stream = io.StringIO(newline="")
    result = query.run_query(con, "from core.fct_turns order by turn_index")
    assert result_files.write_csv(result, stream) == len(TURNS)
    text = stream.getvalue()
    assert text.startswith('turn_index,utterance,note\n0,Hi,\n1,"",a\n2,"He said ""x, y""\nand left",b\n')
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read[1:] == [[str(index), utterance, note or ""] for index, utterance, note in TURNS]


def test_csv_writes_lists_and_maps_as_json(con):
    stream = io.StringIO(newline="")
    result_files.write_csv(
        query.run_query(con, "select ['a', 'b'] as l, map {'k': 'v'} as m, 1.50 as c, true as b"), stream
    )
    assert stream.getvalue() == 'l,m,c,b\n"[""a"", ""b""]","{""k"": ""v""}",1.50,true\n'


def test_csv_has_no_empty_line(con):
    stream = io.StringIO(newline="")
    result_files.write_csv(query.run_query(con, "select null as n"), stream)
    assert stream.getvalue() == 'n\n""\n'


def test_parquet_is_written_by_python_and_complete(con, paths, tmp_path):
    file = tmp_path / "out.parquet"
    result = query.run_query(con, "select range as a, range::varchar as a, map {'k': 'v'} as m from range(250_000)")
    assert result_files.write_parquet(result, file) == 250_000
    written = duckdb.sql(f"select count(*), sum(a), min(a_2), any_value(m) from '{file}'").fetchall()
    assert written == [(250_000, sum(range(250_000)), "0", {"k": "v"})]
    assert {path.name for path in tmp_path.iterdir()} == {file.name, paths.root.name}


def test_parquet_replaces_parquet_and_nothing_else(con, paths, tmp_path):
    file = tmp_path / "out.parquet"
    for rows in (1, 2):
        result_files.write_parquet(query.run_query(con, f"from range({rows})"), file)
    assert pyarrow.parquet.read_table(file).num_rows == 2
    before = snapshot(paths.root)
    other = file.with_name("other.duckdb")
    other.write_bytes(b"mine")
    with pytest.raises(QueryError, match="not overwritten"):
        result_files.write_parquet(query.run_query(con, "select 1"), other)
    assert snapshot(paths.root) == before


@pytest.mark.parametrize(
    "failing", ["select error('no') from range(5)", "select 170141183460469231731687303715884105727::hugeint as i"]
)
def test_parquet_that_fails_leaves_no_file(con, tmp_path, failing):
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(QueryError) as error:
        result_files.write_parquet(query.run_query(con, failing), folder / "out.parquet")
    assert "\n" not in str(error.value)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("columns", "reported"),
    [
        ("1 as n, {}::hugeint as big", r"column big: {} has more than the 38 digits of Parquet: cast it to varchar"),
        ("[{}::hugeint] as bigs", r"{} has more than the 38 digits of Parquet: cast it to varchar"),
        ("c0::decimal(38, 0) as n, 1::hugeint as m from (select {}::hugeint as c0)", r"line 1, at ::decimal\(38, 0\)"),
    ],
    ids=["column", "list", "cast in the query"],
)
def test_number_that_is_too_long_for_parquet_is_rejected_with_its_column(con, tmp_path, columns, reported):
    """Regression: the error named the column `c0`, which the query does not have."""
    number = "-123456789012345678901234567890123456789"
    with pytest.raises(QueryError, match=rf"{reported.format(number)}\)?$"):
        result_files.write_parquet(query.run_query(con, f"select {columns.format(number)}"), tmp_path / "out.parquet")


@pytest.mark.parametrize("place", ["", "nowhere/out.parquet"])
def test_parquet_to_an_impossible_path_is_rejected(con, tmp_path, place):
    with pytest.raises(QueryError, match="is a folder, or its folder does not exist"):
        result_files.write_parquet(query.run_query(con, "select 1"), tmp_path / place)


def test_table_shows_null_as_a_word_and_empty_text_as_nothing(con):
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


def test_truncated_table_says_how_many_rows_there_are(con):
    """Regression: it named `--parquet`, which only `sql` has."""
    shown = as_table(con, "from range(123456)", limit=3)
    assert "first 3 of 123,456 rows, 123,453 not shown: --json and --csv write all" in shown
    for name in ("sql", "search", "claims", "violations", "score"):
        options = {option for one in cli.commands[name].params for option in one.opts}
        assert set(re.findall(r"--\w+", shown)) <= options, "an option that not every command has"
    assert len(shown.splitlines()) < 10


def test_partly_read_result_does_not_block_the_connection(con):
    assert next(query.run_query(con, "from range(123456)").rows()) == (0,)
    assert run(con, "select 1") == [(1,)]


def test_a_table_as_long_as_the_limit_is_complete(con):
    assert "3 rows" in as_table(con, "from range(3)", limit=3)


def test_a_plan_is_shown_as_it_is_drawn(con):
    assert "projection" in as_table(con, "explain select turn_index + 1 from core.fct_turns").lower()


@pytest.mark.parametrize(("form", "expected"), [("json", '[\n{"a": 1}\n]\n'), ("csv", "a\n1\n")])
def test_result_is_printed_in_the_requested_form(con, capfd, form, expected):
    printing.print_result(query.run_query(con, "select 1 as a"), form)
    assert capfd.readouterr().out == expected


def test_a_parquet_result_leaves_standard_output_empty(con, capsys, tmp_path):
    printing.print_result(query.run_query(con, "select 1 as a"), None, tmp_path / "a.parquet")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"1 row written to {tmp_path / 'a.parquet'}\n")


@pytest.mark.parametrize("place", ["new", "there", "read-only", "link"])
def test_parquet_file_of_a_warehouse_is_never_written(con, paths, tmp_path, place):
    """Regression: `--parquet` replaced a file of the published build, although these are read-only."""
    file = paths.raw / "fruit" / "apples" / ("new.parquet" if place == "new" else "apples-1.parquet")
    before = file.read_bytes() if file.exists() else None
    if place == "read-only":
        file.chmod(0o444)
    elif place == "link":
        (tmp_path / "link.parquet").symlink_to(file)
    to = tmp_path / "link.parquet" if place == "link" else file
    with pytest.raises(QueryError, match=rf"^{re.escape(str(to))} belongs to the warehouse [^\n]*$"):
        result_files.write_parquet(query.run_query(con, "select 1"), to)
    assert (file.read_bytes() if file.exists() else None) == before


def test_read_only_file_and_pipe_are_not_replaced_by_parquet(con, tmp_path):
    """Regression: a pipe was opened to see if it is Parquet, which waits for ever."""
    file, pipe = tmp_path / "a.parquet", tmp_path / "pipe.parquet"
    result_files.write_parquet(query.run_query(con, "select 1 as n"), file)
    result_files.write_parquet(query.run_query(con, "select 2 as n"), file)  # one's own result is replaced
    before = file.read_bytes()
    file.chmod(0o444)
    os.mkfifo(pipe)
    for place in (file, pipe):
        with pytest.raises(QueryError, match="not overwritten"):
            result_files.write_parquet(query.run_query(con, "select 3 as n"), place)
    assert file.read_bytes() == before


def test_console_prints_brackets_and_colons_as_they_are(capsys):
    """Regression: a path such as `[/b]` ended `status` and `build` in an internal error, and `[b]` was left out."""
    table = Table("[/head]", title="[/title]")
    table.add_row("[/cell] :key:")
    console = printing.make_console()
    console.print("/[b]/[/b]/:key:")
    console.print(table)
    shown = capsys.readouterr().out
    assert [text for text in ("[/head]", "[/title]", "[/cell] :key:", "/[b]/[/b]/:key:") if text not in shown] == []
