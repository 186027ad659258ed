"""The chart of one column of a table: its values with their counts, and how far each corpus fills it."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from dialogue_warehouse.common.database import identifier
from dialogue_warehouse.reading.catalogue import Filling
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.query import run_query
from dialogue_warehouse.reading.values import text_of
from dialogue_warehouse.site import drawing

WHOLE_NUMBERS = ("INTEGER", "BIGINT", "SMALLINT", "TINYINT", "UINTEGER", "UBIGINT")
NUMBERS = ("DOUBLE", "FLOAT")
MOST_VALUES = 25
"""Values with a bar: the most frequent ones."""
PARTS = 20
"""Parts of equal width into which numbers with a fraction are divided."""


def draw(con: Connection, rows: str, column: str, kind: str, has_corpora: bool) -> dict[str, Any]:
    """Return the chart of a column, its query, and the number of rows without a value.

    `rows` is the part of a query from `from` on.
    """
    name = identifier(column)
    ((empty, distinct),) = con.execute(
        f"select count(*) filter (where {name} is null), count(distinct {name}) {rows}"
    ).fetchall()
    if kind in WHOLE_NUMBERS:
        chart, query = _histogram(con, rows, column, has_corpora)
    elif kind in NUMBERS:
        chart, query = _parts(con, rows, column)
    else:
        chart, query = _values(con, rows, column)
    return {"column": column, "chart": chart, "query": query, "empty": empty, "distinct": distinct}


def filling(found: Filling | None) -> drawing.Chart | None:
    """Return the share of rows with a value, by corpus; None for a table without rows."""
    if found is None:
        return None
    rows = [(corpus, [share]) for corpus, share in found.shares.items()]
    return drawing.bars("Corpus", ["filled, of all rows"], rows, drawing.share, full=1)


def _histogram(con: Connection, rows: str, column: str, has_corpora: bool) -> tuple[drawing.Chart, str]:
    name = identifier(column)
    by = "corpus_id" if has_corpora and column != "corpus_id" else "'all'"
    query = f"select {by} as corpus, {name} as value, count(*) as row_count\n{rows}\ngroup by all\norder by all"
    weights: dict[str, dict[int, float]] = defaultdict(dict)
    for corpus, value, count in con.execute(query).fetchall():
        if value is not None:
            weights[corpus or "none"][value] = count
    return drawing.histograms(column, weights), query


def _parts(con: Connection, rows: str, column: str) -> tuple[drawing.Chart, str]:
    name = identifier(column)
    of_finite = f"filter (where isfinite({name}))"
    ((least, most),) = con.execute(f"select min({name}) {of_finite}, max({name}) {of_finite} {rows}").fetchall()
    width = ((most or 0) - (least or 0)) / PARTS or 1
    if math.isinf(width):  # their difference is too large for a number
        width = most / PARTS - least / PARTS
    part = f"least(floor(({name} - {least or 0}) / {width}), {PARTS - 1})"  # `least` ignores NULL
    query = (
        f"select if(isfinite({name}), {part}, null) as part, count(*) as row_count\n{rows}\ngroup by all\norder by all"
    )
    counts = [
        (f"{drawing.number(least + part * width)} to {drawing.number(least + (part + 1) * width)}", [float(count)])
        for part, count in con.execute(query).fetchall()
        if part is not None
    ]
    return drawing.bars(column, ["rows"], counts), query


def _values(con: Connection, rows: str, column: str) -> tuple[drawing.Chart, str]:
    name = identifier(column)
    query = f"select {name} as value, count(*) as row_count\n{rows}\ngroup by all\norder by row_count desc, value"
    counts = run_query(con, f"{query}\nlimit {MOST_VALUES + 1}").rows()
    bars = [(text_of(value), [float(count)]) for value, count in counts if value is not None]
    return drawing.bars(column, ["rows"], bars[:MOST_VALUES]), query
