"""Which corpora fill a column, and what stands in it: counted where the rows are, for no document can know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.intake.sql_text import identifier
from pipelines.reading.cells import text_of
from pipelines.reading.connection import Connection

LONGEST_EXAMPLE = 80
"""Characters of an example."""
FIRST_ROWS = 100
"""Rows in which an example is looked for before the whole column is."""
EMPTY: tuple[object, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Filling:
    """How far a column is filled, where its table has rows."""

    shares: dict[str, float]
    """By corpus, the share of its rows where the column is not NULL, 0 to 1; by `all` where rows are of no corpus."""
    example: str | None
    """The column's first value that is not empty, cut at LONGEST_EXAMPLE."""

    def __str__(self) -> str:
        """The shares in words: `always`, `never`, or the corpora that fill it, and how much where it is not always."""
        if all(share == 1 for share in self.shares.values()):
            return "always"
        if not any(self.shares.values()):
            return "never"
        filled = {corpus: share for corpus, share in self.shares.items() if share}
        return ", ".join(corpus if share == 1 else f"{corpus} {percent(share)}" for corpus, share in filled.items())


def percent(share: float) -> str:
    """A part of a whole in percent: never 0 or 100, since it is neither nothing nor everything."""
    return "<1%" if share < 0.01 else f"{min(round(share * 100), 99)}%"


def read_filling(con: Connection, address: str, columns: Sequence[str]) -> dict[str, Filling]:
    """The filling of each column of a table, one pass over it; none where it has no rows.

    `address` is its name as SQL has it.
    """
    by = "coalesce(corpus_id, 'all')" if "corpus_id" in columns else "'all'"
    counts = con.execute(
        f"select {by} as filled_by, count(*), {', '.join(f'count({identifier(column)})' for column in columns)} "
        f"from {address} group by filled_by order by filled_by"
    ).fetchall()
    if not counts:
        return {}
    filled = [column for index, column in enumerate(columns) if any(row[2 + index] for row in counts)]
    examples = _first_values(con, address, filled)
    return {
        column: Filling({row[0]: row[2 + index] / row[1] for row in counts}, _shortened(examples.get(column)))
        for index, column in enumerate(columns)
    }


def _first_values(con: Connection, address: str, columns: Sequence[str]) -> dict[str, object]:
    """The first value of each column that is not empty, from as few rows as it takes: a raw row is a whole dialogue."""
    found: dict[str, object] = {}
    for rows in (1, FIRST_ROWS):
        wanted = [column for column in columns if column not in found]
        if wanted:
            names = ", ".join(map(identifier, wanted))
            first_rows = con.execute(f"select {names} from {address} limit {rows}").fetchall()
            for column, values in zip(wanted, zip(*first_rows, strict=True), strict=True):
                example = next((value for value in values if value not in EMPTY), None)
                if example is not None:
                    found[column] = example
    return found | {column: _first_value(con, address, column) for column in columns if column not in found}


def _first_value(con: Connection, address: str, column: str) -> object:
    """The first value that is not empty: DuckDB keeps the order of the rows, and stops at the first that is wanted."""
    name = identifier(column)
    found = con.execute(
        f"select {name} from {address} where cast({name} as varchar) not in ('', '[]', '{{}}') limit 1"
    ).fetchone()
    return found and found[0]


def _shortened(value: object) -> str | None:
    if value is None:
        return None
    text = text_of(value)
    return text if len(text) <= LONGEST_EXAMPLE else f"{text[: LONGEST_EXAMPLE - 1]}…"
