"""The shapes: bars, columns over a scale, cells in shades. Each is an HTML table, its text escaped.

Sizes are classes of the style sheet: a page may forbid an element a style of its own, and take SVG out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import jinja2
from markupsafe import Markup

from dialogue_warehouse.site import rendering
from dialogue_warehouse.site.rendering import harmless

COLORS = 6
"""Colors that the style sheet has; more series than that begin again with the first."""
SHADES = 9
STEPS = 200
"""Sizes that a bar can have."""
COLUMNS_SHOWN = 60
"""Columns of a histogram; where its scale is longer, several values share one."""
TAIL = 0.01
"""Of a histogram's row, what may lie beyond the scale, in its last column: one odd value makes no picture flat."""
LONGEST_LABEL = 48
"""Characters of a label."""
Words = Callable[[float], str]
"""How a value is told."""


@dataclass(frozen=True)
class Bar:
    """A bar as wide, or a column as high, as this part of the room that there is, and what its pointing at tells."""

    color: int
    size: float
    title: str = ""


@dataclass(frozen=True)
class Cell:
    """A number; with a shade, from 0 to SHADES, where the chart is made of them."""

    text: str
    shade: int | None = None


@dataclass(frozen=True)
class Line:
    """A row of a chart."""

    label: str
    bars: Sequence[Sequence[Bar]]
    """Those of a row stand beside each other, the rows below each other."""
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Chart:
    """A chart, to be drawn."""

    head: str
    """What the labels are."""
    columns: Sequence[str]
    """What the numbers are."""
    lines: Sequence[Line]
    is_keyed: bool = False
    """Whether each column of numbers has a color."""
    is_upright: bool = False
    """Whether the bars are columns."""
    is_shaded: bool = False

    def draw(self) -> Markup:
        """The table, as HTML."""
        drawn = template("chart.html").render(chart=self, colors=COLORS, longest=LONGEST_LABEL)
        return Markup(drawn)  # noqa: S704


def style() -> str:
    """The style sheet, whose rules reach nothing but charts."""
    sizes = [
        f".chart .w{step}{{width:{100 * step / STEPS:g}%}}.chart .h{step}{{height:{100 * step / STEPS:g}%}}"
        for step in range(STEPS + 1)
    ]
    return f"{(rendering.TEMPLATES / 'charts.css').read_text(encoding='utf-8')}{''.join(sizes)}\n"


def count(value: float) -> str:
    """A whole number."""
    return f"{value:,.0f}"


def number(value: float) -> str:
    """A number to three digits, at least to its unit."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def share(value: float) -> str:
    """A share from 0 to 1, in percent."""
    return f"{100 * value:.1f}%"


def bars(
    head: str,
    series: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float | None]]],
    words: Words = count,
    full: float | None = None,
) -> Chart:
    """A row for each label, a bar for each series below the other; `full` is the value of a bar of full length.

    A value that is None has no bar, and a dash where its number would stand. Values are not negative.
    """
    longest = full or max((value or 0 for _, values in rows for value in values), default=0) or 1
    lines = [
        Line(
            label,
            [
                [Bar(index, (value or 0) / longest, f"{label}, {name}: {_shown(value, words)}")]
                for index, (name, value) in enumerate(zip(series, values, strict=True))
            ],
            [Cell(_shown(value, words)) for value in values],
        )
        for label, values in rows
    ]
    return Chart(head, series, lines, is_keyed=len(series) > 1)


def stacked_bars(
    head: str, series: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]], words: Words = count
) -> Chart:
    """A row for each label, whose bar is put together of the series, each as a part of the row's sum."""
    lines = []
    for label, values in rows:
        whole = sum(values) or 1
        parts = [
            Bar(index, value / whole, f"{label}, {series[index]}: {words(value)}")
            for index, value in enumerate(values)
            if value
        ]
        lines.append(Line(label, [parts], [Cell(words(value)) for value in values]))
    return Chart(head, series, lines, is_keyed=True)


def histograms(head: str, rows: Mapping[str, Mapping[int, float]], words: Words = share) -> Chart:
    """A row for each name, with a column for each value of a scale that all rows share; a row's values are weights.

    Beside it stand the least value, the middle one (half of the weight is at most there) and the largest. Columns are
    as high as the largest of their row, and the last one of the scale has all that lies beyond.
    """
    rows = {name: values for name, values in rows.items() if sum(values.values()) > 0}
    first = min((min(values) for values in rows.values()), default=0)
    last = max((_quantile(values, 1 - TAIL) for values in rows.values()), default=0)
    step = -(-(last - first + 1) // COLUMNS_SHOWN)
    places = (last - first) // step + 1
    lines = []
    for index, (name, values) in enumerate(rows.items()):
        whole = sum(values.values())
        heights = [0.0] * places
        for value, weight in values.items():
            heights[min((value - first) // step, places - 1)] += weight / whole
        lines.append(
            Line(
                name,
                [
                    [
                        Bar(
                            index,
                            height / max(heights),
                            f"{_range(first + place * step, step, is_last=place == places - 1)}: {words(height)}",
                        )
                        for place, height in enumerate(heights)
                    ]
                ],
                [Cell(f"{value:,}") for value in (min(values), _quantile(values, 0.5), max(values))],
            )
        )
    return Chart(f"{head}, {first:,} to {last:,}", ("least", "middle", "largest"), lines, is_upright=True)


def shades(
    head: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[float | None]]], words: Words = share
) -> Chart:
    """A row for each label with a cell for each column, the darker the larger its value, which is from 0 to 1."""
    lines = [
        Line(label, (), [Cell(words(value), round(value * SHADES)) if value else Cell("", 0) for value in values])
        for label, values in rows
    ]
    return Chart(head, columns, lines, is_shaded=True)


def _shown(value: float | None, words: Words) -> str:
    return "-" if value is None else words(value)


def _range(first: int, step: int, is_last: bool) -> str:
    if is_last:
        return f"{first:,} or more"
    return f"{first:,}" if step == 1 else f"{first:,} to {first + step - 1:,}"


def _quantile(values: Mapping[int, float], part: float) -> int:
    """The least value up to which so much of the weight lies."""
    ordered = sorted(values)
    wanted = part * sum(values.values())
    sums = accumulate(values[value] for value in ordered)
    return next((value for value, upto in zip(ordered, sums, strict=True) if upto >= wanted), ordered[-1])


def _pieces(text: str) -> list[str]:
    """A label, cut where it is too long for a picture, in pieces: behind the signs that join its words it may break."""
    shown = text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"
    return re.split(r"(?<=[_/.-])", harmless(shown))


def _step(size: float) -> int:
    """The size as the style sheet has it: one that is more than nothing is seen."""
    return 0 if size <= 0 else min(max(round(size * STEPS), 1), STEPS)


@functools.cache
def template(name: str) -> jinja2.Template:
    """Load a template of the pages."""
    return rendering.environment(rendering.TEMPLATES, harmless=harmless, pieces=_pieces, step=_step).get_template(name)
