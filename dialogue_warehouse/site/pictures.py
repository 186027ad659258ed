"""Charts of a build, and the diagram of the joins between its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean

from markupsafe import Markup

from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.descriptions import Join, Links
from dialogue_warehouse.reading.findings import Row, read_rows
from dialogue_warehouse.site import drawing
from dialogue_warehouse.site.drawing import template

Draw = Callable[[list[Row]], drawing.Chart]
QUERIES = Path(__file__).with_name("queries")
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Picture:
    """A chart of a published table."""

    name: str
    """A name that is unique among the charts of a corpus."""
    corpus_id: str | None
    """None if it shows all corpora."""
    title: str
    note: str
    table: str
    """The table with the data, with its schema."""
    chart: drawing.Chart


@dataclass(frozen=True)
class _Kind:
    """One kind of chart."""

    name: str
    title: str
    note: str
    table: str
    draw: Draw

    @property
    def query(self) -> str:
        """The query of the rows in drawing order; each `corpus_id` and `part`, if it has these columns, is a chart."""
        return (QUERIES / f"{self.name}.sql").read_text(encoding="utf-8")


def read_pictures(con: Connection) -> Iterator[Picture]:
    """Yield every chart that has rows: first those of all corpora, then by corpus."""
    found = [picture for kind in KINDS for picture in _pictures(con, kind)]
    yield from sorted(found, key=lambda picture: picture.corpus_id or "")


def _pictures(con: Connection, kind: _Kind) -> Iterator[Picture]:
    rows = read_rows(con, kind.query, {})
    for (corpus_id, part), own in groupby(rows, key=lambda row: (row.get("corpus_id"), row.get("part"))):
        shown = list(own)
        if "length" not in shown[0] and len({row["label"] for row in shown}) < 2:
            continue  # a single bar shows no more than its number
        words = "" if part is None else f": {part.replace('_', ' ')}"
        name = kind.name if part is None else f"{kind.name}-{part.replace(' ', '-')}"
        yield Picture(name, corpus_id, f"{kind.title}{words}", kind.note, kind.table, kind.draw(shown))


def _by_series(
    rows: Iterable[Row], order: Iterable[str] = ()
) -> tuple[list[str], list[tuple[str, list[float | None]]]]:
    """Return the series, and their values by label, in the order of the rows; series in `order` come first."""
    values: dict[str, dict[str, float | None]] = defaultdict(dict)
    for row in rows:
        values[str(row["label"])][str(row["series"])] = row["value"]
    there = dict.fromkeys(name for of in values.values() for name in of)
    series = [name for name in order if name in there] + [name for name in there if name not in tuple(order)]
    return series, [(label, [of.get(name) for name in series]) for label, of in values.items()]


def _bars(head: str, words: drawing.Words = drawing.count, full: float | None = None) -> Draw:
    def draw(rows: list[Row]) -> drawing.Chart:
        series, labels = _by_series(rows, SPLITS)
        return drawing.bars(head, series, labels, words, full)

    return draw


def _stacked(head: str, words: drawing.Words = drawing.count) -> Draw:
    def draw(rows: list[Row]) -> drawing.Chart:
        series, labels = _by_series(rows, SPLITS)
        return drawing.stacked_bars(
            head, series, [(label, [of or 0 for of in values]) for label, values in labels], words
        )

    return draw


def _histograms(head: str) -> Draw:
    def draw(rows: list[Row]) -> drawing.Chart:
        names: dict[str, dict[int, float]] = defaultdict(dict)
        for row in rows:
            names[str(row["label"])][row["length"]] = row["value"]
        return drawing.histograms(head, names)

    return draw


def _shades(head: str) -> Draw:
    def draw(rows: list[Row]) -> drawing.Chart:
        series, labels = _by_series(sorted(rows, key=lambda row: row["place"]))
        order = {str(row["label"]): row["label_place"] for row in rows}
        return drawing.shades(head, series, sorted(labels, key=lambda label: order[label[0]]))

    return draw


KINDS = (
    _Kind(
        "splits",
        "Dialogues by split",
        "Some corpora publish their splits elsewhere or not at all: their dialogues may have no split.",
        "analytics.corpus_profile",
        _stacked("Corpus"),
    ),
    _Kind(
        "turns",
        "Turns per dialogue",
        "Share of the corpus's dialogues.",
        "analytics.length_distribution",
        _histograms("Turns"),
    ),
    _Kind(
        "tokens",
        "Tokens per utterance",
        "Share of the utterances of this role in the corpus; tokens are separated by spaces.",
        "analytics.length_distribution",
        _histograms("Tokens"),
    ),
    _Kind(
        "labels",
        "Most frequent labels",
        "At most 12 labels, by number of occurrences in all splits.",
        "analytics.label_distribution",
        _bars("Label"),
    ),
    _Kind(
        "transitions",
        "Which act follows which",
        "For the ten acts that are most often followed by another turn: the share of each act of that turn.",
        "analytics.act_transitions",
        _shades("Act"),
    ),
    _Kind(
        "exposure",
        "Services seen in training",
        "Frames of services that occur in the training split, and of services that do not.",
        "analytics.service_exposure",
        _stacked("Split"),
    ),
    _Kind(
        "slots",
        "Most annotated slots",
        "At most 12 slots, by number of annotations of any kind in all splits.",
        "analytics.slot_profile",
        _bars("Slot"),
    ),
    _Kind(
        "precision",
        "How often each agent has the best answer",
        "Of the questions that any agent answers well, the share whose best answer is this agent's (precision at 1).",
        "analytics.vote_agreement",
        _bars("Agent", drawing.share, full=1),
    ),
    _Kind(
        "best",
        "Coverage of the best agents",
        "Of the questions that any agent answers well, the share that one of the best N agents answers well.",
        "analytics.vote_agreement",
        _bars("Best agents", drawing.share, full=1),
    ),
    _Kind(
        "consensus",
        "Agreement of voters",
        "Share of the questions, by the number of votes for the most popular option.",
        "analytics.vote_consensus",
        _bars("Votes", drawing.share),
    ),
    _Kind(
        "outcomes",
        "Completed dialogues",
        "Of the dialogues with an outcome, the share that was completed, in all splits.",
        "analytics.outcome_factors",
        _bars("Level", drawing.share, full=1),
    ),
    _Kind(
        "completeness",
        "Dialogues with every required argument",
        "Share of a service's dialogues in which every slot that its definition requires is annotated.",
        "analytics.argument_completeness",
        _bars("Service", drawing.share, full=1),
    ),
    _Kind(
        "agreement",
        "Agreement of two annotators",
        "F1 of their spans, by label and exact characters, over all slots of a service.",
        "analytics.annotator_agreement",
        _bars("Service", drawing.share, full=1),
    ),
    _Kind(
        "flows",
        "How closely guidelines are followed",
        "Dialogues of each flow: exact, with other actions in between, with actions left out, or out of order.",
        "analytics.flow_profile",
        _stacked("Flow"),
    ),
    _Kind(
        "targets",
        "Position of the target candidate",
        "Its position among the candidates of a turn, as a share of these turns.",
        "analytics.length_distribution",
        _histograms("Position"),
    ),
)
"""Every kind of chart, in the order on the page."""


WIDTH, HEIGHT = 190, 24
"""Size of a box, in pixels."""
ACROSS, DOWN = 60, 8
"""Space between two boxes, in pixels."""


@dataclass(frozen=True)
class Box:
    """A table, and the position of its box."""

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
    """Tables and joins of the diagram, with their positions."""

    boxes: list[Box]
    lines: list[Line]
    width: int
    height: int

    def draw(self) -> Markup:
        """Return the diagram as SVG; each box links to its table's name as a fragment of the page."""
        drawn = template("relations.html").render(
            picture=self, box={"width": WIDTH, "height": HEIGHT}, bend=ACROSS // 2
        )
        return Markup(drawn)  # noqa: S704


def relations(tables: Mapping[str, Links], everywhere: str) -> Relations:
    """Return the diagram of these tables, by name with schema.

    Joins with the table `everywhere` are omitted, and so are joins that follow from another join: a turn belongs to a
    dialogue, so the rows of a turn need no line to the dialogue.
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
    """Return the joins of a table, without those that also exist by way of another table."""
    joins = [join for join in tables[table].joins if join.to in tables and join.to not in (everywhere, table)]
    beyond = set[str]()
    for join in joins:
        beyond |= _reached(join.to, tables) - {join.to}
    nearest = [join for join in joins if join.to not in beyond]
    return list({join.to: join for join in reversed(nearest)}.values())[::-1]


def _reached(table: str, tables: Mapping[str, Links]) -> set[str]:
    """Return the table and all tables that its joins reach."""
    found, open_ends = {table}, [table]
    while open_ends:
        new = {join.to for join in tables[open_ends.pop()].joins if join.to in tables} - found
        found |= new
        open_ends.extend(new)
    return found


def _depth(table: str, parents: Mapping[str, list[Join]]) -> int:
    """Return the length of the longest path from a table without parents."""
    return max((1 + _depth(join.to, parents) for join in parents[table]), default=0)


def _middle(place: tuple[int, int], right: int) -> tuple[int, int]:
    """Return the middle of a box's side."""
    return place[0] + right, place[1] + HEIGHT // 2
