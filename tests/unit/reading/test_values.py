"""A value is the same on every surface: terminal, every form of a result, dashboard, report."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pty
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from rich.console import Console

from dialogue_warehouse.cli.main import cli
from dialogue_warehouse.reading import query, result_files
from dialogue_warehouse.reading.values import NULL, text_of
from dialogue_warehouse.site import histories, query_process
from dialogue_warehouse.terminal import printing
from expectations.verdicts import describe_rows
from tests.unit.published import run

DIGITS = "123456789012345678901234567890.12345678"
VALUES: dict[str, tuple[str, Any]] = {
    "null": (NULL, None),
    "''": ("", ""),
    "'NULL'": ("NULL", "NULL"),
    "'a, \"b\"'": ('a, "b"', 'a, "b"'),
    "'=1+1'": ("=1+1", "=1+1"),
    "true": ("true", True),
    "-7::tinyint": ("-7", -7),
    "18446744073709551615::ubigint": ("18446744073709551615", 18446744073709551615),
    "12345678901234567890123456789012345678::hugeint": ("12345678901234567890123456789012345678", Decimal("12345678901234567890123456789012345678")),
    "340282366920938463463374607431768211455::uhugeint": ("340282366920938463463374607431768211455", Decimal(2**128 - 1)),
    "1.50::decimal(6, 2)": ("1.50", Decimal("1.50")),
    f"{DIGITS}::decimal(38, 8)": (DIGITS, Decimal(DIGITS)),
    "0.1::float": ("0.1", 0.1),
    "0.1::double": ("0.1", 0.1),
    "'nan'::double": ("nan", "nan"),
    "'-inf'::float": ("-inf", "-inf"),
    "date '2016-12-03'": ("2016-12-03", "2016-12-03"),
    "date 'infinity'": ("infinity", "infinity"),
    "date '9999-12-31'": ("9999-12-31", "9999-12-31"),
    "date '0044-03-15 (BC)'": ("0044-03-15 (BC)", "0044-03-15 (BC)"),
    "timestamp '-infinity'": ("-infinity", "-infinity"),
    "timestamp '2016-12-03 03:40:53.5'": ("2016-12-03T03:40:53.5", "2016-12-03T03:40:53.5"),
    "timestamp_ns '2016-12-03 03:40:53.123456789'": ("2016-12-03T03:40:53.123456789", "2016-12-03T03:40:53.123456789"),
    "timestamp_s '2016-12-03 03:40:53'": ("2016-12-03T03:40:53", "2016-12-03T03:40:53"),
    "timestamptz '2016-12-03 03:40:53+02'": ("2016-12-03T01:40:53+00:00", "2016-12-03T01:40:53+00:00"),
    "timestamptz '0044-03-15 03:40:53.5+02'": ("0044-03-15T01:40:53.5+00:00", "0044-03-15T01:40:53.5+00:00"),
    "timestamptz '-infinity'": ("-infinity", "-infinity"),
    "time '03:40:53.000001'": ("03:40:53.000001", "03:40:53.000001"),
    "interval '1 day 2 hours'": ("1 day 02:00:00", "1 day 02:00:00"),
    "uuid '4ac7a9e9-607c-4c8a-84f3-843f0191e3fd'": ("4ac7a9e9-607c-4c8a-84f3-843f0191e3fd",) * 2,
    "'a'::enum('a', 'b')": ("a", "a"),
    "'\\xAA\\x00'::blob": ("aa00", "aa00"),
    "'101'::bit": ("101", "101"),
    "'{\"a\": 1.10}'::json": ('{"a": 1.10}', {"a": Decimal("1.10")}),
    "[1, null]": ("[1, null]", [1, None]),
    "[]::integer[]": ("[]", []),
    "[date 'infinity', null]": ('["infinity", null]', ["infinity", None]),
    "array_value(0.1::float, 2)": ("[0.1, 2.0]", [0.1, 2.0]),
    "{'x': 1.50, 'y': [timestamp_ns '2016-12-03 00:00:00.000000001']}": ('{"x": 1.50, "y": ["2016-12-03T00:00:00.000000001"]}', {"x": Decimal("1.50"), "y": ["2016-12-03T00:00:00.000000001"]}),
    "map {}": ("{}", {}),
    "[map {}]": ("[{}]", [{}]),
    "map {'a': 1.10, 'b': null}": ('{"a": 1.10, "b": null}', {"a": Decimal("1.10"), "b": None}),
    "map {[1, 2]: 'x'}": ('{"[1, 2]": "x"}', {"[1, 2]": "x"}),
    "map {date 'infinity': interval 1 day}": ('{"infinity": "1 day"}', {"infinity": "1 day"}),
    "map {[1]: 1}[[2]]": (NULL, None),
}  # fmt: skip
"""An expression of SQL -> its text, and its value in JSON."""
NAMES = ("a", "a_2")
"""Both columns of a query have the name `a`."""


def twice(expression: str) -> str:
    """Return a query with two columns of the same name; the first has another value."""
    return f"select 'other' as a, {expression} as a"


def written(con: duckdb.DuckDBPyConnection, expression: str, write: Any) -> str:
    stream = io.StringIO()
    write(query.run_query(con, twice(expression)), stream)
    return stream.getvalue()


def shown(con: duckdb.DuckDBPyConnection, expression: str, render: Any) -> list[str]:
    """Return the lines that a terminal shows."""
    stream = io.StringIO()
    render(query.run_query(con, twice(expression)), Console(file=stream, width=300))
    return stream.getvalue().splitlines()


def in_parquet(con: duckdb.DuckDBPyConnection, expression: str) -> tuple[Any, ...]:
    """Return the row of a Parquet file, read as the command reads it."""
    stream = io.BytesIO()
    result_files.stream_parquet(query.run_query(con, twice(expression)), stream)
    with duckdb.connect() as other:
        other.execute("set TimeZone = 'UTC'")
        other.register("held", pyarrow.parquet.read_table(pyarrow.BufferReader(stream.getvalue())))
        result = query.run_query(other, "from held")
        assert result.columns == NAMES
        return next(result.rows())


@pytest.mark.parametrize("expression", VALUES)
def test_value_is_the_same_on_every_surface(con: duckdb.DuckDBPyConnection, expression: str) -> None:
    """A query has two columns of one name, decimals, nanoseconds, infinite dates, lists, maps, NULL or ''.

    A page that keeps only one of two columns with the same name shows wrong values.
    """
    text, value = VALUES[expression]
    table = shown(con, expression, printing.render_table)
    assert table[1].split() == ["a", "a_2"]
    assert table[3].split(maxsplit=1) == ["other", text][: 2 if text else 1] or table[3].split() == [
        "other",
        *text.split(),
    ]
    assert [line.split(maxsplit=1) for line in shown(con, expression, printing.render_vertical)[1:3]] == [
        ["a", "other"],
        ["a_2", text] if text else ["a_2"],
    ]
    [row] = json.loads(written(con, expression, result_files.write_json), parse_float=Decimal)
    assert same(row, dict(zip(NAMES, ("other", value), strict=True)))
    assert json.loads(written(con, expression, result_files.write_json_lines), parse_float=Decimal) == row
    header, line = csv.reader(io.StringIO(written(con, expression, result_files.write_csv), newline=""))
    assert (tuple(header), line) == (NAMES, ["other", "" if value is None else text])
    assert written(con, expression, result_files.write_csv).endswith(("other,\n", 'other,""\n')) == (
        text == "" or value is None
    )
    assert (
        written(con, expression, result_files.write_markdown).splitlines()[2]
        == result_files._markdown_line(["other", text]).strip()
    )
    assert [text_of(held) for held in in_parquet(con, expression)] == ["other", text]
    on_a_page = query_process.answer(query.run_query(con, twice(expression)))
    assert (on_a_page.columns, on_a_page.rows) == (list(NAMES), [["other", None if value is None else text]])


def same(left: Any, right: Any) -> bool:
    """Compare JSON values: numbers by value; no number equals a text or a boolean."""
    match left, right:
        case dict(), dict():
            return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(same, left, right))
        case bool() | str() | None, _:
            return type(left) is type(right) and left == right
        case _:
            return not isinstance(right, bool | str) and right is not None and Decimal(str(left)) == Decimal(str(right))


@pytest.mark.parametrize("cell", [None, "", "NULL", True, 7, 1.5, "a; b"])
def test_report_shows_a_measured_cell_as_the_table_does(cell: Any) -> None:
    assert histories.in_words(describe_rows([[cell]])) == text_of(cell)


def test_rows_keep_their_order_if_values_are_cast(con: duckdb.DuckDBPyConnection) -> None:
    """The cast is around the query; DuckDB keeps the order of its rows. This test fails if a version no longer does."""
    text = "select date '2020-01-01' + cast(range as integer) as d, range from range(300_000) order by hash(range)"
    expected = con.execute("select range from range(300_000) order by hash(range)").fetchall()
    assert [(number,) for _, number in run(con, text)] == expected


def test_place_of_an_error_is_in_the_query(con: duckdb.DuckDBPyConnection) -> None:
    failing = "-- a date, which is cast\nselect date '2020-01-01' as d,\n  cast(utterance as integer) from fct_turns"
    with pytest.raises(query.QueryError, match=r"line 3, at cast\(utterance"):
        run(con, failing)


def parts_of(terminal: int) -> Iterator[str]:
    """Yield what was written to a terminal that is closed; Linux ends with an error."""
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 10_000):
            yield part.decode()


@pytest.mark.parametrize(
    ("form", "escaped"), [("csv", r"a\x1b[2Jb\x9b"), ("json", r"a\u001b[2Jb\u009b"), ("markdown", r"a\x1b")]
)
def test_control_characters_do_not_reach_a_terminal(paths, form: str, escaped: str) -> None:
    """A text of a corpus could clear the screen; in a pipe it is unchanged."""
    leader, follower = pty.openpty()
    text = "select 'a' || chr(27) || '[2Jb' || chr(155) as a"
    try:
        with os.fdopen(follower, "w", encoding="utf-8", newline="") as terminal, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdout", terminal)
            cli(["sql", "--warehouse", str(paths.root), "--format", form, text], standalone_mode=False)
        seen = "".join(parts_of(leader))
    finally:
        os.close(leader)
    assert escaped in seen
    assert not {"\x1b", "\x9b"} & set(seen)
    piped = CliRunner().invoke(cli, ["sql", "--warehouse", str(paths.root), "--format", "csv", text]).stdout
    assert "\x1b[2J" in piped
