"""The loss ledger of an export: the fate of every value of core.

`messages.toml` of a corpus declares which columns of core are in its examples, where, and why the others are not. The
ledger counts each declaration on the rows of the warehouse. A value is

- kept: in an example, alone;
- merged: in an example, joined with other values to one text;
- joinable: in no example, but the keys in `source` of an example lead to its row;
- dropped: in no example, and no key of an example leads to its row.

The four numbers of a column add up to the number of its values that are not NULL.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import duckdb
import msgspec
from msgspec import Struct

from dialogue_warehouse.common.database import identifier, one_line
from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.corpora.sections import file_of

MESSAGES_TOML = "messages.toml"
USUAL = Path(__file__).with_name(MESSAGES_TOML)
"""The declaration of a corpus that has no such file."""
LEDGER = "losses.json"
PARTS = ("text", "call", "result", "system", "example")
EXPORTED = """
create or replace temp table exported (
    dialogue_key varchar, variant varchar, turn_key varchar, part varchar, is_merged boolean
)
"""
"""The parts of the examples of a corpus; `messages.toml` joins them with the rows of core."""
IN_SOURCE = {"dialogue_key", "corpus_id", "split"}
"""Columns whose values are in `source` of an example, if the table has the key of a dialogue."""
DIALOGUE_KEYS = ("dialogue_key", "scenario_key")
HAS_EXAMPLES = "(select count(*) > 0 from exported)"
"""A row without the key of a dialogue belongs to its corpus, which `source` of each example names."""
DROPPED = "no example of its dialogue, or of its corpus, is in the export"


class Kept(Struct, forbid_unknown_fields=True, rename={"relation": "from"}):
    """Columns whose values are in a part of an example, and the rows for which this is so."""

    columns: list[str]
    part: Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(PARTS)})$")]
    place: str
    relation: str = "exported"
    match: str = "exported.turn_key = rows.turn_key"


class Table(Struct, forbid_unknown_fields=True):
    """A table of core: its columns that are kept, and why the others are not."""

    why: str
    kept: list[Kept] = []


def declared(corpus: Corpus) -> tuple[str, dict[str, Table]]:
    """Return the usual reason, and the declared tables. Raises CorpusError if the file is wrong."""
    place = f"{corpus.corpus_id}/{MESSAGES_TOML}"
    try:
        tables = msgspec.toml.decode(file_of(corpus, MESSAGES_TOML, USUAL).read_bytes(), type=dict[str, Any])
        why = msgspec.convert(tables.pop("why", None), str)
        return why, msgspec.convert(tables, dict[str, Table])
    except msgspec.MsgspecError as error:
        raise CorpusError(f"{place}: {error}") from error


def count(con: duckdb.DuckDBPyConnection, corpus: Corpus) -> list[dict[str, Any]]:
    """Return each table of core that has rows of a corpus, with the fate of the values of each column.

    `exported` has the parts of the corpus' examples, and core is the default schema of the connection.
    """
    why, tables = declared(corpus)
    columns: dict[str, list[str]] = {}
    for table, column in con.execute(
        "select table_name, column_name from duckdb_columns() where database_name = 'dialogues'"
        " and schema_name = 'core' order by table_name, column_index"
    ).fetchall():
        columns.setdefault(table, []).append(column)
    if unknown := sorted(tables.keys() - columns.keys()):
        raise CorpusError(f"{corpus.corpus_id}/{MESSAGES_TOML}: core has no table {unknown[0]}")
    found = []
    for table, names in columns.items():
        entry = tables.get(table, Table(why))
        if unknown := [name for kept in entry.kept for name in kept.columns if name not in names]:
            raise CorpusError(f"{corpus.corpus_id}/{MESSAGES_TOML}: {table} has no column {unknown[0]}")
        counted = _count_table(con, corpus, table, names, entry)
        if counted["rows"]:
            found.append(counted)
    return found


def _count_table(
    con: duckdb.DuckDBPyConnection, corpus: Corpus, table: str, names: list[str], entry: Table
) -> dict[str, Any]:
    """Count the values of a table with one query."""
    declarations = [*entry.kept, *_in_source(names)]
    exists = "exists (select 1 from {0.relation} where exported.part = '{0.part}' and ({0.match}){1})"
    states = [
        f"{exists.format(kept, more)} as {name}_{number}"
        for number, kept in enumerate(declarations)
        for name, more in (("kept", ""), ("whole", " and not exported.is_merged"))
    ]
    of_corpus = "rows.corpus_id = $corpus"
    if "corpus_id" not in names:
        files = "select source_file_id from dim_source_files where corpus_id = $corpus"
        of_corpus = f"rows.source_file_id in ({files})"
    key = next((name for name in DIALOGUE_KEYS if name in names), None)
    reached = f"coalesce(rows.{key} in (select dialogue_key from exported), false)" if key else HAS_EXAMPLES
    measures = ["count(*)", "count(*) filter (is_reached)"]
    for name in names:
        numbers = [number for number, kept in enumerate(declarations) if name in kept.columns]
        whole, kept = (" or ".join(f"{state}_{number}" for number in numbers) or "false" for state in ("whole", "kept"))
        conditions = [whole, f"({kept}) and not ({whole})", f"not ({kept}) and is_reached"]
        measures += [f"count({identifier(name)})"]
        measures += [f"count({identifier(name)}) filter ({condition})" for condition in conditions]
    query = f"""
        with judged as (
            select {", ".join(["rows.*", f"{reached} as is_reached", *states])}
            from {identifier(table)} as rows
            where {of_corpus}
        )

        select {", ".join(measures)} from judged
    """
    try:
        rows, reached_rows, *numbers = con.execute(query, {"corpus": corpus.corpus_id}).fetchall()[0]
    except (duckdb.ProgrammingError, duckdb.DataError) as error:
        raise CorpusError(f"{corpus.corpus_id}/{MESSAGES_TOML}: {table}: {one_line(error)}") from error
    places = {name: kept.place for kept in reversed(declarations) for name in kept.columns}
    return {
        "table": f"core.{table}",
        "rows": rows,
        "joinable_rows": reached_rows,
        "dropped_rows": rows - reached_rows,
        "columns": [
            _fate(name, places.get(name), numbers[4 * place : 4 * place + 4], entry.why)
            for place, name in enumerate(names)
        ],
    }


def _in_source(names: list[str]) -> list[Kept]:
    """Return the declarations of the keys that are in `source` of every example."""
    if "dialogue_key" not in names:
        return []
    same = "exported.dialogue_key = rows.dialogue_key"
    kept = [Kept([name for name in names if name in IN_SOURCE], "example", "source", match=same)]
    if "turn_key" in names:
        kept += [Kept(["turn_key"], part, "source") for part in ("text", "call", "result")]
    return kept


def _fate(name: str, place: str | None, numbers: list[int], why: str) -> dict[str, Any]:
    values, whole, merged, joinable = numbers
    fate: dict[str, Any] = {"column": name, "values": values, "kept": whole, "merged": merged}
    fate |= {"joinable": joinable, "dropped": values - whole - merged - joinable}
    if place:
        fate["place"] = place
    if joinable:
        fate["why_joinable"] = why
    if fate["dropped"]:
        fate["why_dropped"] = DROPPED
    return fate
