"""A query on the published build, in the same read-only sandbox as the command `sql`: table, chart, download."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow
import streamlit as st

from dialogue_warehouse.dashboard import published, showing
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import example_queries
from dialogue_warehouse.reading.query import QueryResult, run_query
from dialogue_warehouse.reading.result_files import stream_parquet, write_csv, write_json
from dialogue_warehouse.reading.values import NULL, text_of

FIRST = "select corpus_id, role, count(*) as turns\nfrom fct_turns\ngroup by all\norder by all"
SHOWN = 1_000
"""Maximum number of rows that the page shows; a download has all rows."""
LARGEST_INTEGER = 2**53
"""Integers in JavaScript are exact below this value."""


def show() -> None:
    """Show the page."""
    st.title("SQL")
    queries = {"(new query)": FIRST} | {
        path.stem.replace("_", " "): path.read_text(encoding="utf-8") for path in example_queries()
    }
    chosen = st.selectbox("Question", queries, key="question")
    text = st.text_area("Query", queries[chosen], height=260, key=f"query {chosen}")
    if not st.button("Run", type="primary", key="run") and st.session_state.get("asked") != text:
        st.info("One SELECT or EXPLAIN. Tables of core, analytics and quality need no schema.")
        return
    st.session_state["asked"] = text
    try:
        table, is_more = _answer(published.build_id(), text)
    except InputError as error:
        showing.refused(str(error))
        return
    if not table.num_rows:
        st.info("The query has no rows.")
        return
    st.write(f"The first {table.num_rows:,} rows." if is_more else f"{table.num_rows:,} rows.")
    st.dataframe(table, hide_index=True, width="stretch", placeholder=NULL)
    _chart(table)
    for column, (name, (write, kind)) in zip(st.columns(len(DOWNLOADS)), DOWNLOADS.items(), strict=True):
        column.download_button(
            f"Download {name}", lambda write=write: write(text), file_name=f"answer.{kind}", key=f"download {name}"
        )


@st.cache_data(max_entries=20, show_spinner="Running the query …")
def _answer(build: str, text: str) -> tuple[pyarrow.Table, bool]:
    """Return the first rows, and True if there are more."""
    own = published.settings()

    return published.reading_published(lambda con: shown(run_query(con, text, timeout=own.query_timeout)))


def shown(result: QueryResult) -> tuple[pyarrow.Table, bool]:
    """Read the first rows of a result for the browser; also return True if there are more."""
    with contextlib.closing(result.rows()) as rows:
        first = list(itertools.islice(rows, SHOWN + 1))
    columns = zip(*first[:SHOWN], strict=True) if first else [[] for _ in result.columns]
    return pyarrow.table([_column(values) for values in columns], names=result.columns), len(first) > SHOWN


def _column(values: Iterable[Any]) -> pyarrow.Array:
    """Make a column for the browser: numbers that JavaScript represents exactly, booleans, or else texts."""
    values = list(values)
    given = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in given):
        return pyarrow.array(values, pyarrow.bool_())
    if all(type(value) is int and abs(value) < LARGEST_INTEGER for value in given):
        return pyarrow.array(values, pyarrow.int64())
    if all(isinstance(value, float | Decimal) and _is_exact(value) for value in given):
        return pyarrow.array([None if value is None else float(value) for value in values], pyarrow.float64())
    return pyarrow.array([None if value is None else text_of(value) for value in values], pyarrow.string())


def _is_exact(value: float | Decimal) -> bool:
    """Tell if a floating-point number represents the value exactly."""
    return math.isfinite(value) and Decimal(repr(float(value))) == Decimal(str(value))


def _chart(table: pyarrow.Table) -> None:
    """Draw a chart of the shown rows, if a column has numbers."""
    numbers = [
        field.name
        for field in table.schema
        if pyarrow.types.is_integer(field.type) or pyarrow.types.is_floating(field.type)
    ]
    if not numbers:
        return
    left, middle, right = st.columns(3)
    kind = left.selectbox("Chart", ["none", "bars", "lines", "points"], key="kind")
    across = middle.selectbox("Across", table.column_names, key="across")
    up = right.selectbox("Up", numbers, key="up")
    draw = {"bars": st.bar_chart, "lines": st.line_chart, "points": st.scatter_chart}.get(kind)
    if draw is not None:
        data = table.select(list(dict.fromkeys([across, up]))).to_pandas()
        draw(data, x=across, y=up)


def _written(text: str, write: Any) -> str:
    own = published.settings()

    def read(con: Any) -> str:
        out = io.StringIO()
        write(run_query(con, text, timeout=own.query_timeout), out)
        return out.getvalue()

    return published.reading_published(read)


def _parquet(text: str) -> bytes:
    own = published.settings()

    def read(con: Any) -> bytes:
        out = io.BytesIO()
        stream_parquet(run_query(con, text, timeout=own.query_timeout), out)
        return out.getvalue()

    return published.reading_published(read)


DOWNLOADS = {
    "CSV": (lambda text: _written(text, write_csv), "csv"),
    "JSON": (lambda text: _written(text, write_json), "json"),
    "Parquet": (_parquet, "parquet"),
}
"""Download formats of a result: the function that writes it, and the suffix of the file."""
