"""A selection of dialogues, with the same options for every command that selects.

The options become keys of dialogues inside the sandbox of `connection`, because `--where` is SQL of the user. A command
that writes then reads the dialogues with these keys through a second connection, which runs none of the user's SQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb
import msgspec

from dialogue_warehouse.common.database import QueryError, one_line
from dialogue_warehouse.common.text import is_unicode
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import Connection, closed_when_idle, open_published
from dialogue_warehouse.reading.findings import TraceError, find_row
from dialogue_warehouse.reading.query import run_query
from dialogue_warehouse.settings import Settings

NO_SPLIT = "none"
"""The word for dialogues to which the publisher gives no split."""
SPLITS = ("train", "validation", "test", NO_SPLIT)
DEFECTS = {"here": "defects_here", "from-then-on": "defects_from_then_on"}
"""The column of quality.annotation_risk by the word of the option."""


@dataclass(frozen=True)
class Selection:
    """The words of a selection. An empty selection is every dialogue."""

    corpora: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    where: str | None = None
    """An expression over core.dim_dialogues."""
    without_defects: str | None = None
    """`here` or `from-then-on`: leaves out a dialogue with a known defect of itself or of a turn."""
    without_leaks: bool = False
    """Leaves out a training dialogue if a dialogue of another split has the same texts."""
    licenses: tuple[str, ...] = ()
    sample: int | None = None
    """Number of dialogues that are kept at most, chosen by a hash of the key and the seed."""
    seed: int = 0
    keys: tuple[str, ...] = ()
    """Keys of dialogues. The others are left out, and the order is that of the keys."""


class Dialogue(NamedTuple):
    """A selected dialogue."""

    key: str
    corpus_id: str
    split: str | None
    turn_count: int

    @property
    def place(self) -> tuple[str, bool, str, str]:
        """Its place in the order of corpus, split and key."""
        return self.corpus_id, self.split is None, self.split or "", self.key


def select_published(paths: WarehousePaths, settings: Settings, selection: Selection) -> list[Dialogue]:
    """Return the selected dialogues of the published build. Raises InputError if there are none."""
    con = open_published(paths, settings=settings.for_queries())
    with closed_when_idle(con):
        return select(con, selection, settings.query_timeout)


def select(con: Connection, selection: Selection, timeout: float | None = None) -> list[Dialogue]:
    """Return the selected dialogues in the order of corpus, split and key, or of the given keys.

    Raises InputError for a word or a key that the warehouse does not know, an expression that cannot be run, and if no
    dialogue is left.
    """
    _refuse_unknown_keys(con, selection.keys)
    refuse_absent_corpora(con, selection.corpora)
    _refuse_unknown(con, "--licenses", "license", selection.licenses, "license")
    if lacking := [split for split in selection.splits if split not in SPLITS]:
        raise InputError(f"--split: there is no split {lacking[0]!r}; there are {', '.join(SPLITS)}")
    dialogues = _matching(con, selection)
    if selection.where is not None:
        keys = _keys_where(con, selection.where, timeout)
        dialogues = [dialogue for dialogue in dialogues if dialogue.key in keys]
    if selection.keys:
        by_key = {dialogue.key: dialogue for dialogue in dialogues}
        dialogues = [by_key[key] for key in dict.fromkeys(selection.keys) if key in by_key]
    if selection.sample is not None:
        dialogues = _sampled(dialogues, selection.sample, selection.seed)
    if not dialogues:
        raise InputError("no dialogue of the published warehouse matches the selection")
    return dialogues


def refuse_absent_corpora(con: Connection, corpora: Sequence[str]) -> None:
    """Raise InputError for a corpus that the published build lacks; an empty result would look like no violations."""
    if corpora:
        _refuse_unknown(con, "--corpora", "corpus", corpora, "corpus_id")


def _refuse_unknown(con: Connection, option: str, noun: str, given: Sequence[str], column: str) -> None:
    known = [name for (name,) in con.execute(f"select distinct {column} from core.dim_corpora order by 1").fetchall()]
    if lacking := [name for name in given if name not in known]:
        raise InputError(f"{option}: the published warehouse has no {noun} '{lacking[0]}'; it has {', '.join(known)}")


def _refuse_unknown_keys(con: Connection, keys: Sequence[str]) -> None:
    if not keys:
        return
    if undecoded := [key for key in keys if not is_unicode(key)]:
        raise InputError(f"--keys: no dialogue has the key '{undecoded[0]}', which is not valid UTF-8")
    unknown = con.execute(
        "select key from (select unnest(?) as key) where key not in (select dialogue_key from core.dim_dialogues)"
        " order by key limit 1",
        [list(keys)],
    ).fetchone()
    if unknown is None:
        return
    try:
        table, row = find_row(con, unknown[0])
    except TraceError as error:
        raise InputError(f"--keys: {error}") from error
    of_dialogue = f"; its dialogue is '{row['dialogue_key']}'" if row.get("dialogue_key") else ""
    raise InputError(f"--keys: '{unknown[0]}' is the key of a row of core.{table}, not of a dialogue{of_dialogue}")


def _matching(con: Connection, selection: Selection) -> list[Dialogue]:
    """Return the dialogues that match every word that is not SQL of the user."""
    conditions, parameters = ["true"], []
    for column, values in (
        ("dialogues.corpus_id", selection.corpora),
        (f"coalesce(dialogues.split, '{NO_SPLIT}')", selection.splits),
        ("corpora.license", selection.licenses),
    ):
        if values:
            conditions.append(f"list_contains(?, {column})")
            parameters.append(list(values))
    if selection.keys:
        conditions.append("dialogues.dialogue_key in (select unnest(?))")
        parameters.append(list(selection.keys))
    if selection.without_defects is not None:
        conditions += [
            "dialogues.dialogue_key not in (select dialogue_key from quality.annotation_risk"
            f" where {DEFECTS[selection.without_defects]} > 0)",
            f"dialogues.dialogue_key not in ({DEFECTIVE})",
        ]
    if selection.without_leaks:
        conditions.append(f"dialogues.dialogue_key not in ({LEAKED})")
    rows = con.execute(
        "select dialogues.dialogue_key, dialogues.corpus_id, dialogues.split, dialogues.turn_count"
        " from core.dim_dialogues as dialogues"
        " inner join core.dim_corpora as corpora on dialogues.corpus_id = corpora.corpus_id"
        f" where {' and '.join(conditions)} order by 2, 3 nulls last, 1",
        parameters,
    ).fetchall()
    return [Dialogue(*row) for row in rows]


DEFECTIVE = "select dialogue_key from quality.violations where kind = 'defect' and dialogue_key is not null"
"""The dialogues with a known defect. One without turns has no row in quality.annotation_risk."""
LEAKED = """
    with texts as (
        select
            dialogues.dialogue_key,
            dialogues.corpus_id,
            dialogues.split,
            string_agg(core.same_text(turns.utterance), chr(10) order by turns.turn_index) as text
        from core.dim_dialogues as dialogues
        inner join core.fct_turns as turns on dialogues.dialogue_key = turns.dialogue_key
        where turns.event_type = 'utterance'
        group by dialogues.dialogue_key, dialogues.corpus_id, dialogues.split
        having replace(text, chr(10), '') <> ''
    )

    select training.dialogue_key
    from texts as training
    inner join texts as others
        on training.corpus_id = others.corpus_id and training.text = others.text
    where training.split = 'train' and others.split is distinct from 'train'
"""
"""The training dialogues with the same texts as a dialogue of another split, as analytics.split_leakage counts them."""


def _keys_where(con: Connection, expression: str, timeout: float | None) -> set[str]:
    """Return the keys of the dialogues for which an expression is true. Raises QueryError if it is not one."""
    try:
        expression.encode()
        statements = con.extract_statements(f"select {expression}\n") if expression.strip() else []
    except UnicodeEncodeError as error:
        raise QueryError("--where: is not valid UTF-8") from error
    except duckdb.Error as error:
        raise QueryError(f"--where: {one_line(error)}") from error
    if len(statements) != 1:
        raise QueryError("--where: is not one expression, such as turn_count > 10")
    if changing := _changing(con, expression):
        raise QueryError(
            f"--where: {changing} can select other dialogues on the next run;"
            " write the value itself; an export has --sample N --seed S"
        )
    try:
        result = run_query(con, f"select dialogue_key from core.dim_dialogues where ({expression}\n)", timeout=timeout)
        return {key for (key,) in result.rows()}
    except QueryError as error:
        raise QueryError(f"--where: {error}") from error


UNSTABLE = """
    select function_name
    from duckdb_functions()
    where function_name <> 'error'
    group by function_name
    having bool_and(stability in ('VOLATILE', 'CONSISTENT_WITHIN_QUERY'))
"""
"""The functions that can return another value on the next run, such as `random` and `now`. `error` returns nothing.
A function such as `year` is listed with another stability for a time with a zone: it depends on the session's zone."""
UNLISTED = {"current_time", "current_timestamp", "localtime", "localtimestamp", "query"}
"""Words of SQL that DuckDB does not list as functions, and the function that runs a text, which is not read here."""
MACROS = {"ago", "pg_conf_load_time", "pg_postmaster_start_time"}
"""DuckDB's macros that call such a function; it lists no stability of a macro."""


def _changing(con: Connection, expression: str) -> str | None:
    """Return a part of an expression whose value can be another one on the next run, or None."""
    ((text,),) = con.execute("select json_serialize_sql(?)", [f"select 1 where ({expression}\n)"]).fetchall()
    unstable = UNLISTED | MACROS | {name for (name,) in con.execute(UNSTABLE).fetchall()}
    waiting: list[Any] = [msgspec.json.decode(text)]
    while waiting:
        match node := waiting.pop():
            case {"function_name": str(name)} if name.lower() in unstable:
                return f"{name}()"
            case {"function_name": str(name), "arguments": [_]} if name.lower() == "age":
                return f"{name}() of one date"  # up to today
            case {"class": "COLUMN_REF", "column_names": [str(name)]} if name.lower() in unstable:
                return name  # such as current_date
            case {"sample": {}}:
                return "a sample"
        waiting += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return None


def _sampled(dialogues: list[Dialogue], number: int, seed: int) -> list[Dialogue]:
    """Return this number of dialogues, in their order. A larger sample of the same seed contains the smaller one."""

    def place(dialogue: Dialogue) -> bytes:
        return hashlib.sha256(f"{seed}/{dialogue.key}".encode()).digest()

    kept = {dialogue.key for dialogue in sorted(dialogues, key=place)[:number]}
    return [dialogue for dialogue in dialogues if dialogue.key in kept]
