"""Chart shapes: bars, columns over a scale, shaded cells. Each is an HTML table with escaped text.

Sizes are classes of the style sheet, because a page may forbid inline styles and remove SVG.
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
"""Number of colors in the style sheet. Further series reuse them from the first."""
SHADES = 9
STEPS = 200
"""Number of sizes that a bar can have."""
COLUMNS_SHOWN = 60
"""Maximum number of columns of a histogram. On a longer scale several values share a column."""
TAIL = 0.01
"""Share of a histogram's row that may lie beyond the scale, in the last column: one outlier must not flatten it."""
LONGEST_LABEL = 48
"""Maximum number of characters of a label."""
Words = Callable[[float], str]
"""Formats a value as text."""


@dataclass(frozen=True)
class Bar:
    """A bar or column of this size, as a share of the available length, and its tooltip."""

    color: int
    size: float
    title: str = ""


@dataclass(frozen=True)
class Cell:
    """A number. In a chart of shades it has a shade from 0 to SHADES."""

    text: str
    shade: int | None = None


@dataclass(frozen=True)
class Line:
    """A row of a chart."""

    label: str
    bars: Sequence[Sequence[Bar]]
    """Rows of bars. The bars of one row are side by side; the rows are one below the other."""
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Chart:
    """A chart that can be drawn."""

    head: str
    """Heading of the labels."""
    columns: Sequence[str]
    """Headings of the numbers."""
    lines: Sequence[Line]
    is_keyed: bool = False
    """True if each column of numbers has a color."""
    is_upright: bool = False
    """True if the bars are columns."""
    is_shaded: bool = False

    def draw(self) -> Markup:
        """Return the table as HTML."""
        drawn = template("chart.html").render(chart=self, colors=COLORS, longest=LONGEST_LABEL)
        return Markup(drawn)  # noqa: S704


def style() -> str:
    """Return the style sheet; its rules apply only to charts."""
    sizes = [
        f".chart .w{step}{{width:{100 * step / STEPS:g}%}}.chart .h{step}{{height:{100 * step / STEPS:g}%}}"
        for step in range(STEPS + 1)
    ]
    return f"{(rendering.TEMPLATES / 'charts.css').read_text(encoding='utf-8')}{''.join(sizes)}\n"


def count(value: float) -> str:
    """Format a whole number."""
    return f"{value:,.0f}"


def number(value: float) -> str:
    """Format a number with three significant digits; from 100 on, as a whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def share(value: float) -> str:
    """Format a share from 0 to 1 in percent."""
    return f"{100 * value:.1f}%"


def bars(
    head: str,
    series: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float | None]]],
    words: Words = count,
    full: float | None = None,
) -> Chart:
    """Return a chart with one row per label and one bar per series; a bar of full length has the value `full`.

    A value of None has no bar, and a dash instead of its number. Values are not negative.
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
    """Return a chart with one row per label; its bar is divided by series, each as a share of the row's sum."""
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
    """Return a chart with one row per name, and one column per value of a shared scale; the numbers are weights.

    Each row also shows its least value, its median by weight, and its largest. Columns are scaled to the largest column
    of their row, and the last column of the scale includes all values beyond it.
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
    beyond = " or more" if any(max(values) > last for values in rows.values()) else ""
    return Chart(f"{head}, {first:,} to {last:,}{beyond}", ("least", "middle", "largest"), lines, is_upright=True)


def shades(
    head: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[float | None]]], words: Words = share
) -> Chart:
    """Return a chart with one row per label and one cell per column; larger values, from 0 to 1, are darker."""
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
    """Return the least value up to which this share of the weight lies."""
    ordered = sorted(values)
    wanted = part * sum(values.values())
    sums = accumulate(values[value] for value in ordered)
    return next((value for value, upto in zip(ordered, sums, strict=True) if upto >= wanted), ordered[-1])


def _pieces(text: str) -> list[str]:
    """Shorten a long label and split it into pieces: a line may break after characters such as `_` and `/`."""
    shown = text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"
    return re.split(r"(?<=[_/.-])", harmless(shown))


def _step(size: float) -> int:
    """Return the size class of the style sheet; a size above zero is always visible."""
    return 0 if size <= 0 else min(max(round(size * STEPS), 1), STEPS)


@functools.cache
def template(name: str) -> jinja2.Template:
    """Load a template of the pages."""
    return rendering.environment(rendering.TEMPLATES, harmless=harmless, pieces=_pieces, step=_step).get_template(name)
