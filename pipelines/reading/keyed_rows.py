"""The row that has a key, in whichever table of core; and for a key that no row has, what comes nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.errors import InputError
from pipelines.intake.json_pointer import array_index
from pipelines.reading.connection import Connection

Row = dict[str, Any]
"""A row, by the names of its columns."""
KEYED_TABLES = {
    "dim_dialogues": "dialogue_key",
    "fct_turns": "turn_key",
    "fct_frames": "frame_key",
    "fct_actions": "action_key",
    "fct_slots": "slot_key",
    "fct_votes": "vote_key",
    "fct_responses": "response_key",
    "fct_classifier_examples": "example_key",
    "fct_service_calls": "call_key",
    "fct_service_results": "result_key",
    "fct_candidates": "candidates_key",
    "fct_knowledge_items": "knowledge_key",
    "dim_services": "service_definition_key",
    "dim_intents": "intent_key",
    "dim_slots": "slot_definition_key",
    "dim_guidelines": "guideline_key",
    "dim_split_members": "source_file_id || '/' || record_index",
}
"""The tables of core that have a key of their own, and its column; the key of a line is its file and its number."""
NAMED_KEYS = 3
"""Keys that a message names as examples."""


class TraceError(InputError):
    """A key leads nowhere; the message says how far it leads."""


def find_row(con: Connection, key: str) -> tuple[str, dict[str, Any]]:
    """The table whose own key this is, and its row. Raises TraceError with what is nearest when there is none."""
    present = {
        name
        for (name,) in con.execute(
            "select table_name from information_schema.tables where table_schema = 'core'"
        ).fetchall()
    }
    tables = {table: column for table, column in KEYED_TABLES.items() if table in present}
    for table, column in tables.items():
        rows = read_rows(con, f"select * from core.{table} where {column} = ?", [key])
        if rows:
            return table, rows[0]
    raise TraceError(f"no row has the key '{key}'{_nearest(con, tables, key)}")


def read_rows(con: Connection, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
    """The rows of a query, each by the names of its columns."""
    found = con.execute(query, parameters)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _nearest(con: Connection, tables: dict[str, str], key: str) -> str:
    """The longest beginning of the key that is itself a key, and what stands below it; else a similar dialogue."""
    every_key = " union all ".join(
        f"select '{table}' as name, {column} as found from core.{table}" for table, column in tables.items()
    )
    beginning = key.rstrip("/")
    while "/" in beginning:
        known = con.execute(f"select name from ({every_key}) where found = ? limit 1", [beginning]).fetchone()
        if known:
            break
        beginning = beginning.rpartition("/")[0]
    else:
        similar = con.execute(
            "select dialogue_key from core.dim_dialogues where corpus_id = split_part($1, '/', 1) "
            "order by jaro_winkler_similarity(dialogue_key, $1) desc, dialogue_key limit 1",
            [key],
        ).fetchone()
        if similar is None:
            corpora = con.execute("select corpus_id from core.dim_corpora order by corpus_id").fetchall()
            return f"; a key begins with one of {', '.join(f'{corpus_id}/' for (corpus_id,) in corpora)}"
        return f"; the dialogue most like it is '{similar[0]}'"
    if beginning == key.rstrip("/"):
        return f"; core.{known[0]} has '{beginning}'"
    wanted = key[len(beginning) + 1 :].split("/")[0]
    below = con.execute(
        f"""
        select substr(found, length($1) + 2) as tail
        from ({every_key})
        where starts_with(found, $1 || '/')
        order by not starts_with(tail, $2 || '/'), length(tail), tail
        """,
        [beginning, wanted],
    ).fetchall()
    there = f"; core.{known[0]} has '{beginning}'"
    if known[0] == "dim_dialogues":
        turns = sum(array_index(tail) is not None for (tail,) in below)
        there += f", with {turns:,} turn{'' if turns == 1 else 's'}" + (f", 0 to {turns - 1}" if turns > 1 else "")
        below = [] if array_index(wanted) is not None else below
    if below:
        named = ", ".join(tail for (tail,) in below[:NAMED_KEYS])
        there += f", and below it {named}{' …' if len(below) > NAMED_KEYS else ''}"
    return there
