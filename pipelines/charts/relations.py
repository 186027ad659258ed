"""A picture of how tables are joined: a box a table, the ones that it belongs to at its left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from markupsafe import Markup

from pipelines.charts.drawing import template
from pipelines.reading.declared import Join, Links

WIDTH, HEIGHT = 190, 24
"""Of a box, in pixels."""
ACROSS, DOWN = 70, 8
"""Between two boxes."""


@dataclass(frozen=True)
class Box:
    """A table, and where its box stands."""

    table: str
    left: int
    top: int


@dataclass(frozen=True)
class Line:
    """A join, from the right side of one box to the left side of another."""

    title: str
    start: tuple[int, int]
    end: tuple[int, int]


@dataclass(frozen=True)
class Relations:
    """The picture, to be drawn."""

    boxes: list[Box]
    lines: list[Line]
    width: int
    height: int

    def draw(self) -> Markup:
        """The picture as SVG; each box leads to its table's name as a fragment of the page."""
        drawn = template("relations.html").render(
            picture=self, box={"width": WIDTH, "height": HEIGHT}, bend=ACROSS // 2
        )
        return Markup(drawn)  # noqa: S704


def relations(tables: Mapping[str, Links], everywhere: str) -> Relations:
    """The picture of these tables, by name with schema.

    Joins with the table that is `everywhere` are left out, and so is what another join leads to: a turn is one of a
    dialogue, so that what belongs to the turn needs no line to the dialogue.
    """
    parents = {table: _nearest(table, tables, everywhere) for table in tables if table != everywhere}
    joined = {join.to for joins in parents.values() for join in joins}
    layers: dict[int, list[str]] = {}
    for table, joins in parents.items():
        if joins or table in joined:
            layers.setdefault(_depth(table, parents), []).append(table)
    places: dict[str, tuple[int, int]] = {}
    for depth in sorted(layers):
        order = {
            table: fmean([places[join.to][1] for join in parents[table]]) if parents[table] else 0
            for table in layers[depth]
        }
        for row, table in enumerate(sorted(order, key=lambda table: (order[table], table))):
            places[table] = (depth * (WIDTH + ACROSS), row * (HEIGHT + DOWN))
    lines = [
        Line(f"{table} joins {join}", _middle(places[join.to], WIDTH), _middle(places[table], 0))
        for table, joins in parents.items()
        for join in joins
    ]
    return Relations(
        [Box(table, *place) for table, place in places.items()],
        lines,
        max((left for left, _ in places.values()), default=0) + WIDTH,
        max((top for _, top in places.values()), default=0) + HEIGHT,
    )


def _nearest(table: str, tables: Mapping[str, Links], everywhere: str) -> list[Join]:
    """The joins that no other join of the table leads to."""
    joins = [join for join in tables[table].joins if join.to in tables and join.to not in (everywhere, table)]
    beyond = set[str]()
    for join in joins:
        beyond |= _reached(join.to, tables) - {join.to}
    nearest = [join for join in joins if join.to not in beyond]
    return list({join.to: join for join in reversed(nearest)}.values())[::-1]


def _reached(table: str, tables: Mapping[str, Links]) -> set[str]:
    """The table, and all that its joins lead to."""
    found, open_ends = {table}, [table]
    while open_ends:
        new = {join.to for join in tables[open_ends.pop()].joins if join.to in tables} - found
        found |= new
        open_ends.extend(new)
    return found


def _depth(table: str, parents: Mapping[str, list[Join]]) -> int:
    """The longest way from a table that belongs to no other one."""
    return max((1 + _depth(join.to, parents) for join in parents[table]), default=0)


def _middle(place: tuple[int, int], right: int) -> tuple[int, int]:
    """The middle of a box's side."""
    return place[0] + right, place[1] + HEIGHT // 2
