"""The loss ledger of an export: which values of core the export keeps, and which it loses.

A file of the corpus declares which columns of core are in its examples, where, and why the others are not:
`messages.toml` for chat messages, `preferences.toml` for preferences. The ledger counts each declaration on the rows of
the warehouse. A value is

- kept: in an example, alone;
- merged: in an example, joined with other values to one text;
- joinable: in no example, but the keys in `source` of an example lead to its row;
- dropped: in no example, and no key of an example leads to its row.

The four numbers of a column add up to the number of its values that are not NULL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import duckdb
import msgspec
from msgspec import Struct

from dialogue_warehouse.common.database import identifier
from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.corpora.sections import file_of
from dialogue_warehouse.exporting import batches
from dialogue_warehouse.lineage.restoring import wrong_query

MESSAGES_TOML = "messages.toml"
PREFERENCES_TOML = "preferences.toml"
LEDGER = "losses.json"
FATES = ("kept", "merged", "joinable", "dropped")
PARTS = ("text", "call", "result", "system", "answer", "example")
EXPORTED = """
create or replace table memory.exported (
    dialogue_key varchar, variant varchar, turn_key varchar, part varchar, is_merged boolean
)
"""
"""The parts of the examples of a corpus; the declarations join them with the rows of core."""
LEFT_OUT_TURNS = """
create or replace table memory.left_out_turns as
select turns.turn_key
from fct_turns as turns
semi join exported_dialogues as dialogues on turns.dialogue_key = dialogues.dialogue_key
anti join exported on turns.turn_key = exported.turn_key
where turns.corpus_id = $corpus
"""
"""The turns that no example has, of the dialogues that have an example. These are few, or none."""
IN_SOURCE = {"dialogue_key", "corpus_id", "split"}
"""Columns whose values are in `source` of an example, if the table has the key of a dialogue."""
SOURCE = "source"
DIALOGUE_KEYS = ("dialogue_key", "scenario_key")
HAS_EXAMPLES = "(select count(*) > 0 from exported)"
"""A row without the key of a dialogue belongs to its corpus, which `source` of each example names."""
DROPPED = "no example of its dialogue, or of its corpus, is in the export"


class Kept(Struct, forbid_unknown_fields=True, rename={"relation": "from"}):
    """Columns whose values are in a part of an example, and the rows for which this is so."""

    columns: list[str]
    part: Annotated[str, msgspec.Meta(pattern=rf"^({'|'.join(PARTS)})\Z")]
    place: str
    where: str = "true"
    """The rows of the table that can be in the part."""
    relation: str = "exported"
    match: str | None = None
    """The rows that a part belongs to; usually those with the key of its turn."""

    def condition(self, more: str = "true") -> str:
        """Return the condition under which a row is in the part, and `more` is true for the part."""
        parts = f"from {self.relation} where exported.part = '{self.part}' and {more}"
        found = f"exists (select 1 {parts} and ({self.match}))"
        if self.match is None:  # much faster than `exists`
            found = f"rows.turn_key in (select exported.turn_key {parts})"
        return f"coalesce(({self.where}) and {found}, false)"


class Table(Struct, forbid_unknown_fields=True):
    """A table of core: its columns that are kept, and why the others are not."""

    why: str
    kept: list[Kept] = []


def declared(corpus: Corpus, name: str) -> tuple[str, dict[str, Table]]:
    """Return the default reason, and the declared tables. Raises CorpusError if the file is wrong.

    A corpus without the file has the default one of this folder.
    """
    place = f"{corpus.corpus_id}/{name}"
    try:
        path = file_of(corpus, name, Path(__file__).with_name(name))
        tables = msgspec.toml.decode(path.read_bytes(), type=dict[str, Any])
        why = msgspec.convert(tables.pop("why", None), str)
        return why, msgspec.convert(tables, dict[str, Table])
    except msgspec.MsgspecError as error:
        raise CorpusError(f"{place}: {error}") from error


def count(con: duckdb.DuckDBPyConnection, corpus: Corpus, name: str = MESSAGES_TOML) -> list[dict[str, Any]]:
    """Return each table of core that has rows of a corpus, with the counts of its columns.

    `name` is the file of the declarations. `con` is a connection of `open_core`, and `exported` has
    the parts of the corpus's examples. Raises CorpusError if a declaration is wrong.
    """
    why, tables = declared(corpus, name)
    columns: dict[str, list[str]] = {}
    for table, column in con.execute(
        "select table_name, column_name from duckdb_columns() where database_name = 'dialogues'"
        " and schema_name = 'core' order by table_name, column_index"
    ).fetchall():
        columns.setdefault(table, []).append(column)
    if unknown := sorted(tables.keys() - columns.keys()):
        raise CorpusError(f"{corpus.corpus_id}/{name}: core has no table {unknown[0]}")
    con.execute("create or replace table memory.exported_dialogues as select distinct dialogue_key from exported")
    con.execute(LEFT_OUT_TURNS, {"corpus": corpus.corpus_id})
    merged = {part for (part,) in con.execute("select distinct part from exported where is_merged").fetchall()}

    def count_table(own: duckdb.DuckDBPyConnection, table: str) -> dict[str, Any] | None:
        names, entry = columns[table], tables.get(table, Table(why))
        if unknown := [column for kept in entry.kept for column in kept.columns if column not in names]:
            raise CorpusError(f"{corpus.corpus_id}/{name}: {table} has no column {unknown[0]}")
        try:
            return _count_table(own, corpus, table, names, entry, merged)
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise wrong_query(f"{corpus.corpus_id}/{name}: {table}", error) from error

    return [counted for counted in batches.each(con, columns, count_table) if counted and counted["rows"]]


def _count_table(
    con: duckdb.DuckDBPyConnection, corpus: Corpus, table: str, names: list[str], entry: Table, merged: set[str]
) -> dict[str, Any] | None:
    """Count the values of a table with one query; return None if no row is of the corpus.

    `merged` are the parts that can be merged, which are asked twice.
    """
    parameters = {"corpus": corpus.corpus_id}
    own_rows = _own_rows(table, names)
    if not entry.kept and not con.execute(f"select 1 {own_rows} limit 1", parameters).fetchone():
        return None
    states = _states(names, entry, merged)
    query = f"""
        select
            {", ".join(states)}, count(*) as row_count,
            {", ".join(f"count({identifier(name)}) as {identifier(name)}" for name in names)}
        from (
            select rows.*, {", ".join(f"{condition} as {state}" for state, condition in states.items())}
            {own_rows}
        )
        group by {", ".join(states)}
    """
    # Few groups of rows with the same states, which are judged here.
    groups = [
        (dict(zip(states, row, strict=False)), row[len(states)], dict(zip(names, row[len(states) + 1 :], strict=True)))
        for row in con.execute(query, parameters).fetchall()
    ]
    rows = sum(row_count for _, row_count, _ in groups)
    reached_rows = sum(row_count for state, row_count, _ in groups if state["is_reached"])
    columns = []
    for name in names:
        numbers = [number for number, each in enumerate(entry.kept) if name in each.columns]
        fates: Counter[str] = Counter()
        for state, _, values in groups:
            fates[_fate(state, numbers, _is_in_source(name, names, state))] += values[name]
        place = next((entry.kept[number].place for number in numbers), None)
        columns.append(_column(name, fates, place or (SOURCE if _can_be_in_source(name, names) else None), entry.why))
    return {
        "table": f"core.{table}",
        "rows": rows,
        "joinable_rows": reached_rows,
        "dropped_rows": rows - reached_rows,
        "columns": columns,
    }


def _states(names: list[str], entry: Table, merged: set[str]) -> dict[str, str]:
    """Return the conditions that decide what happens to the values of a row, each with its name.

    If a row `is_reached`, the key of its dialogue is in `source`; if it also `has_turn`, the key of its turn is.
    """
    states = {f"kept_{number}": kept.condition() for number, kept in enumerate(entry.kept)}
    states |= {
        f"whole_{number}": kept.condition("not exported.is_merged")
        for number, kept in enumerate(entry.kept)
        if kept.part in merged
    }
    key = next((name for name in DIALOGUE_KEYS if name in names), None)
    reached = f"coalesce(rows.{key} in (select dialogue_key from exported_dialogues), false)" if key else HAS_EXAMPLES
    states["is_reached"] = reached
    if {"dialogue_key", "turn_key"} <= set(names):
        states["has_turn"] = "rows.turn_key not in (select turn_key from left_out_turns)"
    return states


def _own_rows(table: str, names: list[str]) -> str:
    """Return the part of a query that reads the rows of the corpus."""
    of_corpus = "rows.corpus_id = $corpus"
    if "corpus_id" not in names:
        files = "select source_file_id from dim_source_files where corpus_id = $corpus"
        of_corpus = f"rows.source_file_id in ({files})"
    return f"from {identifier(table)} as rows where {of_corpus}"


def _can_be_in_source(name: str, names: list[str]) -> bool:
    """Return whether the values of a column can be in `source` of an example."""
    return "dialogue_key" in names and (name in IN_SOURCE or name == "turn_key")


def _is_in_source(name: str, names: list[str], state: Mapping[str, bool]) -> bool:
    """Return whether the values of a column are in `source` of an example, for rows in this state."""
    return _can_be_in_source(name, names) and state["is_reached"] and (name != "turn_key" or state["has_turn"])


def _fate(state: Mapping[str, bool], numbers: list[int], is_in_source: bool) -> str:
    """Return what is kept of the values of a column in rows of a state, by the declarations with these numbers."""
    if is_in_source or any(state.get(f"whole_{number}", state[f"kept_{number}"]) for number in numbers):
        return "kept"
    if any(state[f"kept_{number}"] for number in numbers):
        return "merged"
    return "joinable" if state["is_reached"] else "dropped"


def _column(name: str, fates: Counter[str], place: str | None, why: str) -> dict[str, Any]:
    """Return the entry of a column in the ledger."""
    column: dict[str, Any] = {"column": name, "values": fates.total()}
    column |= {fate: fates[fate] for fate in FATES}
    if place:
        column["place"] = place
    if fates["joinable"]:
        column["why_joinable"] = why
    if fates["dropped"]:
        column["why_dropped"] = DROPPED
    return column
