"""Chat messages with tools, as JSON Lines: one example per line, written by DuckDB in batches of dialogues.

`messages.sql` of a corpus, or the default one beside this module, says how its dialogues become messages. Its part
`messages` returns what is said and called, its part `tools`, which not every corpus has, the tools of each dialogue.
If many dialogues have the same tools, a part `tool_sets` says so, and the tools of one of them are those of all:

- messages: dialogue_key, variant (NULL if a dialogue is one example), turn_index and place (the order; a NULL
  turn_index comes first, a NULL place last), turn_key, role, content, call_name, arguments (a JSON object). The roles
  are `system`, `instructions` (a system prompt on request), `user`, `assistant`, and `call`: a call of a tool whose
  result is `content`. A NULL content is not a message. Rows of an example with the same turn_index and place have a
  fixed order, but none that has a meaning.
- tools: dialogue_key, position, name, description, parameters (JSON Schema).
- tool_sets: dialogue_key, tool_set (a text that only dialogues with the same tools share).

`batch` has the keys of the requested dialogues. The tables of core with the key of a dialogue have only the rows of
dialogues between the first and the last of these keys.
"""

from __future__ import annotations

import itertools
import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dialogue_warehouse.common.database import identifier, literal
from dialogue_warehouse.corpora.registry import CorpusError
from dialogue_warehouse.corpora.release import Corpus
from dialogue_warehouse.corpora.sections import file_of, read_sections
from dialogue_warehouse.exporting import batches, chat_queries
from dialogue_warehouse.lineage.restoring import wrong_query
from dialogue_warehouse.reading.findings import read_rows
from dialogue_warehouse.reading.selection import Dialogue

MESSAGES_SQL = "messages.sql"
USUAL = Path(__file__).with_name(MESSAGES_SQL)
"""The messages of a corpus that has no such file: what user and system say."""
PROFILES = ("faithful", "alternating")
ARGUMENTS = ("object", "string")
TARGETS = ("weight", "train")
LONGEST_NAME = 64
"""Characters of the name of a tool."""
BATCH_TURNS = 120_000
"""Turns of the dialogues of a batch at most; two batches are written at once, which bounds the memory."""
LINES = """
    copy (select concat(
        '{{"id":', to_json(id),
        ',"messages":[', array_to_string(messages, ','), ']',
        ',"tools":' || tools_json,
        ',"source":', to_json(source), '}}'
    ) {rows})
    to {path} (format csv, header false, quote '', delimiter e'\\n')
"""
"""Writes lines. The values are JSON already; DuckDB's format for JSON would read and write them once more."""
Save = Callable[[duckdb.DuckDBPyConnection, str, int, int], Path]
"""Writes the rows of a part of a query, given its number and the number of all parts, and returns the path."""
TABLES_OF_DIALOGUES = """
    select table_name
    from duckdb_columns()
    where database_name = 'dialogues' and schema_name = 'core' and column_name = 'dialogue_key'
"""
"""The tables of core with the key of a dialogue."""
SAME_TOOLS = "select dialogue_key, dialogue_key as tool_set from batch"
"""The tools of a dialogue, for a corpus that does not say which dialogues have the same ones."""


@dataclass(frozen=True)
class ChatOptions:
    """The variants of the form."""

    profile: str = PROFILES[0]
    """`faithful`: each turn is a message. `alternating`: user and assistant take turns, the user first."""
    arguments: str = ARGUMENTS[0]
    """Arguments of a call as a JSON `object`, or as a `string` with JSON."""
    targets: str | None = None
    """The key that marks the messages to train on: `weight` (0 or 1) or `train` (true or false)."""
    instructions: bool = False
    """Adds the instructions that a person of the dialogue had, as the system prompt."""
    max_characters: int | None = None
    """Characters of an example (its messages and tools as JSON) above which it is left out."""


def write(
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Sequence[Dialogue],
    path: Path,
    options: ChatOptions,
    update: Callable[[str], None],
) -> dict[Path, dict[str, int]]:
    """Write the examples of a corpus's dialogues to a file, in their order, and return its path with counts.

    `con` is a connection of `open_core`, with the table `exported` of the loss ledger, to which the parts of examples
    are added. Raises CorpusError if the SQL of the corpus is wrong.
    """

    def save(own: duckdb.DuckDBPyConnection, rows: str, number: int, _parts: int) -> Path:
        part = path.with_suffix(f".part{number}")
        own.execute(LINES.format(rows=rows, path=literal(part)))
        return part

    counts: Counter[str] = Counter()
    with path.open("wb") as whole:
        for part, found in write_parts(con, corpus, dialogues, options, update, save):
            counts.update(found)
            with part.open("rb") as written:
                shutil.copyfileobj(written, whole)
            part.unlink()
    return {path: dict(counts)}


def write_parts(
    con: duckdb.DuckDBPyConnection,
    corpus: Corpus,
    dialogues: Sequence[Dialogue],
    options: ChatOptions,
    update: Callable[[str], None],
    save: Save,
) -> Iterator[tuple[Path, dict[str, int]]]:
    """Save the examples of each batch, and yield the path of each file with its counts.

    A query has one thread: with several, the order of rows and the sizes of their groups depend on which is faster.
    Raises CorpusError if the SQL of the corpus is wrong.
    """
    queries = read_sections(file_of(corpus, MESSAGES_SQL, USUAL), "part")
    if "messages" not in queries:
        raise CorpusError(f"{corpus.corpus_id}/{MESSAGES_SQL}: no query for messages")
    tables = [table for (table,) in con.execute(TABLES_OF_DIALOGUES).fetchall()]
    parts = list(_batches(dialogues))

    def write_part(
        own: duckdb.DuckDBPyConnection, numbered: tuple[int, Sequence[Dialogue]]
    ) -> tuple[Path, dict[str, int]]:
        number, batch = numbered
        own.execute(
            "create temp table batch as select unnest(?::varchar[]) as dialogue_key",
            [[dialogue.key for dialogue in batch]],
        )
        _narrow(own, tables)
        try:
            _read_batch(own, queries, options)
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise wrong_query(f"{corpus.corpus_id}/{MESSAGES_SQL}", error) from error
        own.execute(f"create temp table examples as {_examples(options)}")
        fits = "true" if options.max_characters is None else f"characters <= {options.max_characters}"
        path = save(own, chat_queries.ROWS.format(fits=fits, has_tools="tools" in queries), number, len(parts))
        own.execute(chat_queries.PARTS.format(fits=fits))
        [counts] = read_rows(own, chat_queries.COUNTS.format(fits=fits))
        return path, {"dialogues": len(batch)} | counts

    done = 0
    for path, counts in batches.each(con, enumerate(parts), write_part, in_one_thread=True):
        yield path, counts
        done += counts["dialogues"]
        update(f"{done:,} of {len(dialogues):,} dialogues")


def _batches(dialogues: Sequence[Dialogue]) -> Iterator[list[Dialogue]]:
    """Yield the dialogues in groups of about equal size: an even number of groups, because two are written at a time.

    Dialogues with few turns are one group.
    """
    starts = list(itertools.accumulate((max(dialogue.turn_count, 1) for dialogue in dialogues), initial=0))
    turns = starts.pop()
    number = 1 if turns < BATCH_TURNS / 10 else 2 * math.ceil(turns / (2 * BATCH_TURNS))
    for _, batch in itertools.groupby(zip(starts, dialogues, strict=True), key=lambda one: one[0] * number // turns):
        yield [dialogue for _, dialogue in batch]


def _narrow(con: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
    """Hide tables of core behind views that have only the rows between the first and the last key of the batch.

    With a join alone, DuckDB also decodes the rows of all other dialogues. Its statistics have the first eight
    characters of a text, which the keys of a split share.
    """
    [(first, last)] = con.execute("select min(dialogue_key), max(dialogue_key) from batch").fetchall()
    for table in tables:
        con.execute(
            f"create temp view {identifier(table)} as select * from dialogues.core.{identifier(table)}"
            f" where dialogue_key between {literal(first)} and {literal(last)}"
        )


def _read_batch(con: duckdb.DuckDBPyConnection, queries: Mapping[str, str], options: ChatOptions) -> None:
    """Make the tables of what is `placed` in messages, and of the tools."""
    said = _said(queries["messages"], options)
    placed = chat_queries.PLACED[options.profile]
    con.execute(f"create temp table placed as with said as ({said}) select * from ({placed})")
    if "tools" in queries:
        con.execute(chat_queries.TOOL_SETS.format(query=queries.get("tool_sets", SAME_TOOLS)))
        con.execute(chat_queries.TOOLS.format(query=queries["tools"], name=_name_of_tool("name")))
    else:
        con.execute(chat_queries.NO_TOOLS)


def _name_of_tool(column: str) -> str:
    """Return the SQL of a valid name; one that is changed gets a hash, so that different tools keep different names."""
    valid = f"regexp_replace(coalesce({column}, ''), '[^a-zA-Z0-9_-]', '_', 'g')"
    changed = f"concat(left({valid}, {LONGEST_NAME - 9}), '_', left(md5(coalesce({column}, '')), 8))"
    return f"if(regexp_full_match({column}, '[a-zA-Z0-9_-]{{1,{LONGEST_NAME}}}'), {column}, {changed})"


def _said(query: str, options: ChatOptions) -> str:
    """Return the query of what is said and called, numbered in each example. A call has an id that is unique there."""
    roles = "'system', 'user', 'assistant', 'call'" + (", 'instructions'" if options.instructions else "")
    return f"""
    select
        dialogue_key, variant, turn_key, content,
        if(role = 'call', coalesce(arguments, '{{}}'), null) as arguments,
        if(role = 'instructions', 'system', role) as role,
        if(role = 'call', {_name_of_tool("call_name")}, null) as call_name,
        row_number() over so_far as position,
        if(role = 'call', printf('call%05d', count(*) filter (where role = 'call') over so_far), null) as call_id
    from ({query})
    where role in ({roles}) and content is not null
    window so_far as (
        partition by dialogue_key, variant
        order by
            role not in ('system', 'instructions'), turn_index nulls first, role = 'instructions',
            place nulls last, hash(role, content, call_name, arguments, turn_key)
        rows between unbounded preceding and current row
    )
    """


def _examples(options: ChatOptions) -> str:
    """Return the query of the examples: a row for each variant of a dialogue, with its messages."""
    marks = {"weight": ", 'weight', if(has_defect, 0, 1)", "train": ", 'train', not has_defect"}
    return chat_queries.EXAMPLES.format(
        arguments="arguments" if options.arguments == "object" else "cast(arguments as varchar)",
        mark=marks[options.targets] if options.targets else "",
        no_mark=", 'train', false" if options.targets == "train" else "",
        has_defect=f"coalesce(turn_key in ({chat_queries.DEFECTS}), false)" if options.targets else "false",
    )
