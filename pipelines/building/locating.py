"""Find the corpus, the file and the record of which a model fails: its own query is run on parts of the rows.

A query that fails of a few rows fails wherever they are and nowhere else. Where that is not so, nothing is said.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import duckdb

from pipelines.building import blaming
from pipelines.intake.sql_text import literal

Select = Callable[[str, int], tuple[list[str], list[tuple[Any, ...]]]]
"""Gives the names of a query's columns, and its first rows."""
NOT_NULL = re.compile(r"NOT NULL constraint failed: \w+\.(\w+)")
FEW, MOST = 1_000, 10_000_000
"""Rows that are looked at, and values of a column."""


def locate(query: str, message: str, folders: Iterable[str], select: Select) -> tuple[str, set[str]]:
    """Return where a model's query fails, as the end of a message, and the corpora; nothing where that is not known."""
    if not query:
        return "", set()
    absent = NOT_NULL.search(message)
    if absent is not None:
        return _of_rows(*select(f"select * from ({query}) as made where {absent[1]} is null", FEW), select)
    columns, _ = select(f"select * from ({query}) as made limit 0", 1)
    corpora = blaming.named(folders)
    if not corpora and "corpus_id" in columns:
        every = [name for name in _values(query, "corpus_id", "true", select) if name is not None]
        corpora = {name for name in every if _fails(query, f"corpus_id = {literal(name)}", select)}
        if _fails(query, "corpus_id = ''", select):  # of no row at all
            corpora = set()
    if len(corpora) != 1:
        return "", corpora
    return _dialogue(query, columns, *corpora, select), corpora


def _of_rows(names: list[str], rows: Sequence[tuple[Any, ...]], select: Select) -> tuple[str, set[str]]:
    """The first of the rows that a model must not have, and the corpora of all."""
    if not rows:
        return "", set()
    first = dict(zip(names, rows[0], strict=True))
    told = ", ".join(f"{name}={value}" for name, value in first.items() if value is not None)
    return f", the first: {told}{_place(first.get('dialogue_key'), select)}", blaming.of_rows(rows)


def _dialogue(query: str, columns: Sequence[str], corpus_id: str, select: Select) -> str:
    """The one dialogue of which the query fails, found by halves."""
    if "dialogue_key" not in columns:
        return ""
    about = f"corpus_id = {literal(corpus_id)}" if "corpus_id" in columns else "true"
    keys = [key for key in _values(query, "dialogue_key", about, select) if key is not None]
    while len(keys) > 1:
        middle = len(keys) // 2
        keys = next((half for half in (keys[:middle], keys[middle:]) if _fails(query, _between(half), select)), [])
    return f", of {keys[0]}{_place(keys[0], select)}" if keys else ""


def _values(query: str, column: str, condition: str, select: Select) -> list[Any]:
    """The values of a column, which can be known although another column cannot be computed."""
    with contextlib.suppress(duckdb.Error):
        _, rows = select(f"select distinct {column} from ({query}) as made where {condition} order by all", MOST)
        return [value for (value,) in rows]
    return []


def _between(keys: Sequence[str]) -> str:
    return f"dialogue_key between {literal(keys[0])} and {literal(keys[-1])}"


def _fails(query: str, condition: str, select: Select) -> bool:
    """Say whether the query fails of the rows of which a condition is true."""
    try:
        select(f"select max(hash(made)) from (select * from ({query}) as every where {condition}) as made", 1)
    except duckdb.Error:
        return True
    return False


def _place(dialogue_key: str | None, select: Select) -> str:
    """The file and the record of a dialogue."""
    if dialogue_key is None:
        return ""
    query = f"select source_file_id, record_index from core.dim_dialogues where dialogue_key = {literal(dialogue_key)}"
    with contextlib.suppress(duckdb.CatalogException):  # it may be made after the model
        _, rows = select(query, 1)
        return "".join(f" ({file}, record {index})" for file, index in rows)
    return ""
