"""The search index beside a build: SQLite with the words of all utterances, and the dialogues of each label.

It is made while a build is published, and is kept, published again and removed with it. Readers make the same index in
memory if a build has none (`dialogue_warehouse.reading.search`). The full text keeps words and places but no text, so
the file is small; the texts are in the build.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb

from dialogue_warehouse.common import files
from dialogue_warehouse.settings import Settings
from dialogue_warehouse.storage import builds

VERSION = 2
"""Version of these tables. An index with another one is not read."""
TURN_BITS = 16
"""Bits of a row's number in the full text that are the turn; those above are the number of the dialogue."""
WORDS = "tokenize = 'unicode61 remove_diacritics 2'"
"""Words are compared without capitals and accents."""
NUMBERED = """
    select
        dialogues.*,
        row_number() over (
            order by dialogues.corpus_id, dialogues.source_file_id, dialogues.record_index, dialogues.dialogue_key
        ) - 1 as number
    from core.dim_dialogues as dialogues
"""
"""The dialogues with their numbers, from 0 in the order of publication."""
DIALOGUES = f"""
    with

    numbered as ({NUMBERED}),

    defects as (
        select
            dialogue_key,
            count(*) as defect_count
        from quality.violations
        where kind = 'defect'
        group by dialogue_key
    ),

    dates as (
        select
            dialogue_key,
            min(occurred_at) as began
        from core.fct_turns
        where occurred_at is not null
        group by dialogue_key
    )

    select
        numbered.number,
        numbered.dialogue_key,
        numbered.turn_count,
        coalesce(defects.defect_count, 0) as defect_count,
        strftime(dates.began, '%Y-%m-%dT%H:%M:%S') as began
    from numbered
    left join defects
        on numbered.dialogue_key = defects.dialogue_key
    left join dates
        on numbered.dialogue_key = dates.dialogue_key
    order by numbered.number
"""
TURNS = f"""
    select
        (numbered.number << {TURN_BITS}) + turns.turn_index as place,
        turns.utterance
    from core.fct_turns as turns
    inner join ({NUMBERED}) as numbered
        on turns.dialogue_key = numbered.dialogue_key
    where turns.utterance is not null and turns.turn_index < {1 << TURN_BITS}
    order by place
"""
"""The utterances of the first 65,536 turns of each dialogue: a later one would get the number of another dialogue."""
LABELS = f"""
    with

    numbered as materialized ({NUMBERED}),

    labels as (
        select
            'corpus' as kind,
            dialogue_key,
            corpus_id as label
        from numbered
        union all
        select
            'split' as kind,
            dialogue_key,
            coalesce(split, 'none') as label
        from numbered
        union all
        select
            'domain' as kind,
            dialogue_key,
            domain as label
        from core.dim_dialogue_services
        union all
        select
            'task' as kind,
            dialogue_key,
            task as label
        from numbered
        union all
        select
            'channel' as kind,
            dialogue_key,
            channel as label
        from numbered
        union all
        select
            'act' as kind,
            dialogue_key,
            act as label
        from core.fct_actions
        union all
        select
            'slot' as kind,
            dialogue_key,
            slot_name as label
        from core.fct_slots
        union all
        select
            if(kind = 'defect', 'defect', 'by_design') as kind,
            dialogue_key,
            rule_id as label
        from quality.violations
        union all
        select
            'defect' as kind,
            dialogue_key,
            'any' as label
        from quality.violations
        where kind = 'defect'
    )

    select
        labels.kind,
        labels.label,
        cast(bitstring_agg(numbered.number, 0, {{last}}) as text) as dialogues
    from labels
    inner join numbered
        on labels.dialogue_key = numbered.dialogue_key
    where labels.label is not null
    group by labels.kind, labels.label
    order by labels.kind, labels.label
"""
"""The labels, each with a bit per dialogue; `last` is the number of the last dialogue."""
KINDS = ("corpus", "split", "domain", "task", "channel", "act", "slot", "defect", "by_design")
"""The kinds of label, in the order in which they are shown."""


def write(database: Path, to: Path, settings: Settings) -> None:
    """Write the index of a build, whole or not at all. Raises duckdb.Error if the database lacks one of the tables."""
    with files.replacing(to) as partial, builds.open_build(database, settings) as con:
        index = sqlite3.connect(partial, isolation_level=None)
        try:
            for pragma in ("page_size = 8192", "journal_mode = off", "synchronous = off"):
                index.execute(f"pragma {pragma}")
            fill(index, con)
        finally:
            index.close()


def fill(index: sqlite3.Connection, con: duckdb.DuckDBPyConnection) -> None:
    """Write the tables of the index into an empty SQLite database, from an open build."""
    index.execute("begin")
    index.execute(
        "create table dialogues (number integer primary key, dialogue_key text, turn_count int, defect_count int,"
        " began text)"
    )
    index.execute("create table labels (kind text, label text, dialogues blob)")
    index.execute(f"create virtual table said using fts5(utterance, content = '', {WORDS})")
    dialogues = con.execute(DIALOGUES).fetchall()
    index.executemany("insert into dialogues values (?, ?, ?, ?, ?)", dialogues)
    if dialogues:
        labels = con.execute(LABELS.format(last=len(dialogues) - 1))
        index.executemany(
            "insert into labels values (?, ?, ?)",
            ((kind, label, _bytes(bits)) for kind, label, bits in labels.fetchall()),
        )
    turns = con.execute(TURNS)
    while rows := turns.fetchmany(50_000):
        index.executemany("insert into said (rowid, utterance) values (?, ?)", rows)
    index.execute(f"pragma user_version = {VERSION}")
    index.execute("commit")


def _bytes(bits: str) -> bytes:
    """Return bits, the first one first, as a number whose lowest bit is the first one."""
    return int(bits[::-1], 2).to_bytes(-(-len(bits) // 8), "little")
