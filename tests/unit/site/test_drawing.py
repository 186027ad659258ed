"""Charts: the drawing shows the given numbers, and no text of a corpus becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from dialogue_warehouse.site import drawing
from dialogue_warehouse.site.drawing import Bar, Cell

HOSTILE = '"><script>alert(1)</script>\x1b[31m\u202e'


class Drawn(HTMLParser):
    """Collect the bars and the text of a chart."""

    def __init__(self, chart: drawing.Chart) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.bars: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(str(chart.draw()))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "i" and "key" not in dict(attrs)["class"]:
            self.bars.append(dict(attrs))

    def handle_data(self, data):
        self.text += data


def test_bars_are_as_long_as_their_values() -> None:
    chart = drawing.bars("Corpus", ["one", "two"], [("a", [4, None]), ("b", [1, 2])])
    assert [line.bars for line in chart.lines] == [
        [[Bar(0, 1, "a, one: 4")], [Bar(1, 0, "a, two: -")]],
        [[Bar(0, 0.25, "b, one: 1")], [Bar(1, 0.5, "b, two: 2")]],
    ]
    assert [line.cells for line in chart.lines] == [[Cell("4"), Cell("-")], [Cell("1"), Cell("2")]]
    drawn = Drawn(chart)
    assert [bar["class"] for bar in drawn.bars] == ["c0 w200", "c1 w0", "c0 w50", "c1 w100"]
    assert [bar.get("title") for bar in drawn.bars] == ["a, one: 4", None, "b, one: 1", "b, two: 2"]
    assert ".w50{width:25%}" in drawing.style()


def test_bars_of_shares_are_parts_of_the_whole() -> None:
    chart = drawing.bars("Agent", ["share"], [("a", [0.5])], drawing.share, full=1)
    assert (chart.lines[0].bars[0][0].size, chart.lines[0].cells) == (0.5, [Cell("50.0%")])
    assert not chart.is_keyed


def test_stacked_bars_fill_the_row() -> None:
    chart = drawing.stacked_bars("Corpus", ["x", "y", "z"], [("a", [1, 0, 3]), ("nothing", [0, 0, 0])])
    assert [(bar.color, bar.size) for bar in chart.lines[0].bars[0]] == [(0, 0.25), (2, 0.75)]
    assert chart.lines[1].bars == [[]]
    assert [cell.text for cell in chart.lines[1].cells] == ["0", "0", "0"]


def test_histogram_has_a_column_for_each_value_of_the_shared_scale() -> None:
    chart = drawing.histograms("Turns", {"a": {1: 1, 2: 3}, "b": {4: 5}})
    assert chart.head == "Turns, 1 to 4"
    assert [[bar.size for bar in line.bars[0]] for line in chart.lines] == [[1 / 3, 1, 0, 0], [0, 0, 0, 1]]
    assert [[cell.text for cell in line.cells] for line in chart.lines] == [["1", "2", "2"], ["4", "4", "4"]]
    assert [bar.title for bar in chart.lines[0].bars[0][:2]] == ["1: 25.0%", "2: 75.0%"]
    assert [bar["class"] for bar in Drawn(chart).bars][:4] == ["c0 h67", "c0 h200", "c0 h0", "c0 h0"]


def test_histogram_of_a_long_scale_groups_values_and_its_tail() -> None:
    values = dict.fromkeys(range(600), 1.0) | {100_000: 1.0}
    chart = drawing.histograms("Tokens", {"a": values})
    assert re.fullmatch(r"Tokens, 0 to 5\d\d or more", chart.head)
    (line,) = chart.lines
    (columns,) = line.bars
    assert 50 < len(columns) <= drawing.COLUMNS_SHOWN
    assert columns[0].title.startswith("0 to 9: ")
    assert re.match(r"5\d\d or more: ", columns[-1].title)
    assert [cell.text for cell in line.cells] == ["0", "300", "100,000"]
    shares = [float(bar.title.rpartition(": ")[2].rstrip("%")) for bar in columns]
    assert sum(shares) == pytest.approx(100, abs=3)


@pytest.mark.parametrize("rows", [{}, {"a": {}}, {"a": {3: 0.0}}])
def test_histogram_of_nothing_is_empty(rows) -> None:
    assert drawing.histograms("Turns", rows).lines == []


def test_shades_are_as_dark_as_the_share() -> None:
    chart = drawing.shades("Act", ["x", "y", "z"], [("a", [1.0, 0.5, None])])
    assert chart.lines[0].cells == [Cell("100.0%", 9), Cell("50.0%", 4), Cell("", 0)]
    classes = re.findall(r'class="number s(\d)"', str(chart.draw()))
    assert classes == ["9", "4", "0"]


@pytest.mark.parametrize(
    "chart",
    [
        drawing.bars(HOSTILE, [HOSTILE, "b"], [(HOSTILE * 9, [1, 2])]),
        drawing.stacked_bars(HOSTILE, [HOSTILE], [(HOSTILE, [1])]),
        drawing.histograms(HOSTILE, {HOSTILE: {1: 2}}),
        drawing.shades(HOSTILE, [HOSTILE], [(HOSTILE, [0.5])]),
    ],
)
def test_text_of_a_corpus_does_not_become_markup(chart: drawing.Chart) -> None:
    drawn = Drawn(chart)
    assert "script" not in drawn.tags
    assert "alert(1)" in drawn.text
    assert all(set(bar) <= {"class", "title"} for bar in drawn.bars)
    assert not {"\x1b", "\u202e"} & set(drawn.text) - set(chart.head)


def test_long_labels_are_cut_and_break_at_their_signs() -> None:
    html = str(drawing.bars("Label", ["n"], [("a_b-c", [1]), ("x" * 100, [1])]).draw())
    assert "a_<wbr>b-<wbr>c" in html
    assert f"{'x' * (drawing.LONGEST_LABEL - 1)}…" in html


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0"), (0.01234, "0.0123"), (1.25, "1.25"), (99.95, "100"), (12345.6, "12,346")]
)
def test_numbers_have_three_digits(value: float, words: str) -> None:
    assert drawing.number(value) == words
