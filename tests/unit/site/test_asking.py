"""The chart of a query's answer: its scales."""

from __future__ import annotations

import re

import pytest

from dialogue_warehouse.site import asking
from dialogue_warehouse.site.query_process import Answer


def labels(rows: list[list[str | None]], is_number: bool = True) -> tuple[list[str], list[str]]:
    """Return the texts of the scale up and of the scale across of a chart with lines."""
    answer = Answer(columns=["x", "y"], is_number=[is_number, True], rows=rows)
    drawn = asking.draw(answer, ["x", "y"] if is_number else ["y"], {"chart": "lines", "across": "x", "up": "y"})[
        "drawn"
    ]
    places = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="\w+">([^<]*)</text>', drawn)
    left = f"{asking.LEFT - 6}"
    return [text for x, text in places if x == left], [text for x, text in places if x != left]


@pytest.mark.parametrize(
    ("highest", "up"),
    [
        ("62697", ["0", "20,000", "40,000", "60,000", "80,000"]),
        ("5", ["0", "1", "2", "3", "4", "5"]),
        ("0.35", ["0", "0.1", "0.2", "0.3", "0.4"]),
        ("-3.5", ["-4", "-3", "-2", "-1", "0"]),
        ("0", ["0"]),
    ],
)
def test_scale_has_round_numbers_that_include_every_value(highest: str, up: list[str]) -> None:
    assert labels([["0", "0"], ["1", highest]])[0] == up


def test_scale_across_names_places_between_the_first_and_the_last_value() -> None:
    rows: list[list[str | None]] = [[str(year), "1"] for year in range(2015, 2021)]
    assert labels(rows)[1] == ["2015", "2016", "2017", "2018", "2019", "2020"]
    assert labels([["3", "1"]])[1] == ["3"]
    assert labels([["0", "1"], ["49000", "1"]])[1] == ["0", "10,000", "20,000", "30,000", "40,000"]


@pytest.mark.parametrize("kind", ["bars", "lines", "points"])
@pytest.mark.parametrize("across", ["x", "y"])
def test_column_without_values_is_not_drawn(kind: str, across: str) -> None:
    """Regression: a chart over a column of NULLs was an error of the program."""
    answer = Answer(columns=["x", "y"], is_number=[True, True], rows=[[None, "1"], [None, "2"]])
    chart = asking.draw(answer, ["x", "y"], {"chart": kind, "across": across, "up": "y" if across == "x" else "x"})
    is_drawn = kind == "bars" and across == "x"  # NULL is a bar with a name
    assert (bool(chart["drawn"]), chart["note"]) == (is_drawn, None if is_drawn else "The column has no values.")


@pytest.mark.parametrize("kind", ["bars", "lines", "points"])
def test_null_is_a_label_as_it_is_in_the_rows(kind: str) -> None:
    """Regression: the label was None, a word of Python."""
    for columns, rows in (
        (["x", "y"], [[None, "1"], ["a", "2"]]),
        (["x", "z", "y"], [["a", None, "1"], ["a", "b", "2"]]),
    ):
        answer = Answer(columns=columns, is_number=[*(name == "y" for name in columns)], rows=rows)
        drawn = asking.draw(answer, ["y"], {"chart": kind, "across": "x", "up": "y"})["drawn"]
        assert "NULL" in drawn
        assert "None" not in drawn


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_of_an_error_is_that_of_duckdb(end: str) -> None:
    """Regression: a line separator or a form feed inside a text counted as the end of a line."""
    line = asking.divide_line(f"select '\u2028\x0c',{end}  nope{end}", (2, "nope"))
    assert line == {"number": 2, "before": "  ", "at": "nope", "after": ""}


def test_smallest_numbers_are_drawn() -> None:
    assert labels([["0", "0"], ["5e-324", "5e-324"]]) == (["0"], ["0"])


def test_largest_numbers_are_drawn_apart() -> None:
    """Regression: the chart was an error of the program, or its points were at no place or at the same one."""
    for rows in ([["0", "0"], ["1.7e308", "1.7e308"]], [["-1e308", "-1e308"], ["1e308", "1e308"]]):
        ends = [f"{float(one):g}" for one, _ in rows]
        assert labels(rows) == (ends, ends)
        answer = Answer(columns=["x", "y"], is_number=[True, True], rows=rows)
        drawn = asking.draw(answer, ["x", "y"], {"chart": "lines", "across": "x", "up": "y"})["drawn"]
        bottom, right = asking.HEIGHT - asking.FOOT, asking.WIDTH - asking.RIGHT
        places = [(float(x), float(y)) for x, y in re.findall(r'cx="([^"]*)" cy="([^"]*)"', drawn)]
        assert places == [(asking.LEFT, bottom), (right, asking.TOP)]


def test_names_without_enough_space_are_the_first_and_the_last() -> None:
    rows: list[list[str | None]] = [[f"{'long ' * 9}{number}", "1"] for number in range(9)]
    assert labels(rows, is_number=False)[1] == [rows[0][0], rows[-1][0]]
    assert labels([["a", "1"]], is_number=False)[1] == ["a"]
