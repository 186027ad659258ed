"""Dialogues found by the words of their utterances and by their labels.

The index beside the build answers (`dialogue_warehouse.storage.search_index`). A build without one is searched through
the same index, made in memory: the results are the same, but the first one takes longer. A set of dialogues is a number
in Python: bit `n` is the dialogue `n`, in the order of publication.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dialogue_warehouse.common.text import is_unicode
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading.connection import Connection, build_of
from dialogue_warehouse.reading.selection import Selection, select
from dialogue_warehouse.reading.values import json_of
from dialogue_warehouse.storage import search_index
from dialogue_warehouse.storage.search_index import KINDS, TURN_BITS

WORD = re.compile(r'"([^"]*)"?(\*)?|([^\s"]+)')
"""A phrase in quotes, or a word; a star behind either of them finds words that begin so."""
MOST_WORDS = 50
MOST_CHARACTERS = 2_000
"""Characters of all words. A page repeats them in each of its links."""
MOST_RANKED = 50_000
"""Hits that are ranked. More of them are in the order of publication, because a rank for each takes too long."""


@dataclass(frozen=True)
class Entry:
    """A dialogue as the index knows it."""

    key: str
    turn_count: int
    defect_count: int
    began: str | None
    """The time of its first turn, if the corpus has times."""


@dataclass(frozen=True)
class Hits:
    """The utterances that match, the best first."""

    places: Sequence[int]
    """The dialogue and the turn of each, as `place_of` reads them."""
    first: dict[int, int]
    """The first of these places in each dialogue, by its number."""
    dialogues: int
    """The set of their dialogues."""
    is_ranked: bool


def place_of(place: int) -> tuple[int, int]:
    """Return the number of the dialogue, and the turn."""
    return place >> TURN_BITS, place & (1 << TURN_BITS) - 1


class Index:
    """The search index of one build. Several threads may use it."""

    def __init__(self, tables: sqlite3.Connection) -> None:
        self._tables, self._lock = tables, threading.Lock()
        read = "select dialogue_key, turn_count, defect_count, began from dialogues order by number"
        self.dialogues = [Entry(*row) for row in tables.execute(read)]
        self.numbers = {dialogue.key: number for number, dialogue in enumerate(self.dialogues)}
        self.labels: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        """The set of dialogues by kind and label."""
        for kind, label, dialogues in tables.execute("select kind, label, dialogues from labels"):
            self.labels.setdefault(kind, {})[label] = int.from_bytes(dialogues, "little")

    @property
    def all(self) -> int:
        """The set of all dialogues."""
        return (1 << len(self.dialogues)) - 1

    def close(self) -> None:
        """Close the tables."""
        self._tables.close()

    def find(self, words: str) -> Hits:
        """Find the utterances that have all these words. Raises InputError if there is none, and for damage."""
        match = expression(words)
        try:
            with self._lock:
                all_of_them = "select json_group_array(rowid) from said where said match ?"  # rows take longer
                ((listed,),) = self._tables.execute(all_of_them, [match]).fetchall()
                places = sorted(msgspec.json.decode(listed, type=list[int]))
                is_ranked = len(places) <= MOST_RANKED
                if is_ranked:
                    ranked = "select rowid from said where said match ? order by rank, rowid"
                    places = [place for (place,) in self._tables.execute(ranked, [match]).fetchall()]
        except sqlite3.DatabaseError as error:
            raise InputError(f"the search index of this build cannot be read ({error}): build again") from error
        first = {place >> TURN_BITS: place for place in reversed(places)}  # the last one that is written stays
        return Hits(places, first, set_of(first), is_ranked)

    def labelled(self, chosen: Mapping[str, Iterable[str]]) -> int:
        """Return the dialogues that have, of each kind, one of the labels."""
        found = self.all
        for kind, labels in chosen.items():
            some = 0
            for label in labels:
                some |= self.labels.get(kind, {}).get(label, 0)
            found &= some
        return found

    def counts(self, kind: str, among: int) -> dict[str, int]:
        """Count the dialogues of a set by their labels of one kind; labels without any are left out."""
        counts = {label: (dialogues & among).bit_count() for label, dialogues in self.labels.get(kind, {}).items()}
        return {label: count for label, count in counts.items() if count}

    def label_of_each(self, kind: str, numbers: Iterable[int]) -> dict[int, str]:
        """Return the label of each of these dialogues, of a kind of which a dialogue has at most one."""
        among, found = set_of(numbers), {}
        for label, dialogues in self.labels.get(kind, {}).items():
            rest = dialogues & among
            while rest:
                found[rest.bit_length() - 1] = label
                rest ^= 1 << (rest.bit_length() - 1)
        return found


def set_of(numbers: Iterable[int]) -> int:
    """Return the set of these dialogues."""
    ordered = sorted(numbers)
    if not ordered:
        return 0
    bits = bytearray((ordered[-1] >> 3) + 1)
    for number in ordered:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


def numbers_of(dialogues: int) -> Sequence[int]:
    """Return the numbers of a set of dialogues in their order."""
    if dialogues & (dialogues + 1) == 0:  # all from the first one on
        return range(dialogues.bit_length())
    bits = bin(dialogues)[:1:-1]
    return [number for number, bit in enumerate(bits) if bit == "1"]


def expression(words: str) -> str:
    """Return the words in the notation of FTS5, in which every word must match.

    Raises InputError if there is none, if there are too many, and for words that are not Unicode.
    """
    if len(words) > MOST_CHARACTERS:
        raise InputError(
            f"the search has {len(words):,} characters; up to {MOST_CHARACTERS:,} can be searched at a time"
        )
    if not is_unicode(words):
        raise InputError(f"the search '{words}' is not valid UTF-8")
    found = []
    for phrase, star, word in WORD.findall(words):
        text, begins = (phrase, bool(star)) if not word else (word.rstrip("*"), word.endswith("*"))
        if any(character.isalnum() for character in text):
            found.append(f'"{text}"{" *" if begins else ""}'.replace("\x00", " "))
    if not found:
        raise InputError(f"the search has no word: '{words.strip()}'")
    if len(found) > MOST_WORDS:
        raise InputError(f"the search has {len(found)} words; up to {MOST_WORDS} can be searched at a time")
    return " ".join(found)


def open_index(con: Connection, paths: WarehousePaths) -> Index:
    """Open the index of the build that `con` reads; if it has none that can be read, make one in memory."""
    with contextlib.suppress(sqlite3.Error):
        return _read(paths.build_search(build_of(con)))
    return _opened(":memory:", lambda tables: search_index.fill(tables, con))


def _read(file: Path) -> Index:
    """Open an index on disk. Raises sqlite3.Error if it is damaged, or of another version."""
    return _opened(f"file:{urllib.parse.quote(str(file))}?mode=ro&immutable=1", _check)


def _check(tables: sqlite3.Connection) -> None:
    if tables.execute("pragma user_version").fetchone() != (search_index.VERSION,):
        raise sqlite3.DatabaseError("another version wrote it")
    if tables.execute("pragma quick_check").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("it is damaged")


def _opened(address: str, prepare: Callable[[sqlite3.Connection], None]) -> Index:
    """Open tables of SQLite, prepare them, and return their index. If that fails, close them."""
    tables = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
    try:
        prepare(tables)
        return Index(tables)
    except BaseException:
        tables.close()
        raise


Pieces = list[tuple[str, bool]]
"""A text in pieces, each with True if it is a hit."""


def mark(texts: Sequence[str], words: str) -> list[Pieces]:
    """Divide texts into their hits and the rest, as the index finds them."""
    used = set().union(*texts)
    sign = next(chr(number) for number in range(1, sys.maxunicode) if chr(number) not in used)
    with contextlib.closing(sqlite3.connect(":memory:")) as tables:
        tables.execute(f"create virtual table said using fts5(utterance, {search_index.WORDS})")
        tables.executemany("insert into said (rowid, utterance) values (?, ?)", enumerate(texts))
        found = tables.execute(
            "select rowid, highlight(said, 0, ?, ?) from said where said match ?", [sign, sign, expression(words)]
        )
        marked = dict(found.fetchall())
    return [
        [(piece, place % 2 == 1) for place, piece in enumerate(marked.get(number, text).split(sign)) if piece]
        for number, text in enumerate(texts)
    ]


@dataclass(frozen=True)
class Found:
    """An utterance that matches."""

    turn_key: str
    marked: str
    """The utterance with each hit in square brackets."""


SAID = """
    select
        wanted.place,
        turns.turn_key,
        turns.utterance
    from (
        select
            unnest($places) as place,
            unnest($keys) as turn_key
    ) as wanted
    inner join core.fct_turns as turns
        on wanted.turn_key = turns.turn_key
    where turns.dialogue_key in (select unnest($dialogues))
"""


def read_utterances(con: Connection, index: Index, places: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Read the key and the text of the utterances at these places."""
    turns = [(index.dialogues[number].key, turn) for number, turn in map(place_of, places)]
    keys = [f"{dialogue_key}/{turn}" for dialogue_key, turn in turns]
    dialogues = sorted({dialogue_key for dialogue_key, _ in turns})
    rows = con.execute(SAID, {"places": list(places), "keys": keys, "dialogues": dialogues}).fetchall()
    return {place: (turn_key, utterance) for place, turn_key, utterance in rows}


def find_utterances(con: Connection, index: Index, words: str, among: int, most: int) -> list[Found]:
    """Find the best utterances of these dialogues that have all these words."""
    places = [place for place in index.find(words).places if among >> (place >> TURN_BITS) & 1][:most]
    said = read_utterances(con, index, places)
    there = [said[place] for place in places if place in said]
    marked = mark([text for _, text in there], words)
    return [
        Found(key, "".join(f"[{piece}]" if is_hit else piece for piece, is_hit in pieces))
        for (key, _), pieces in zip(there, marked, strict=True)
    ]


def search(
    con: Connection,
    paths: WarehousePaths,
    words: str,
    selection: Selection | None = None,
    most: int = 50,
    timeout: float | None = None,
) -> list[Found]:
    """Find the best utterances that have all these words, in the selected dialogues.

    Raises InputError if there is no word, or if the selection has no dialogue.
    """
    with contextlib.closing(open_index(con, paths)) as index:
        among = index.all
        if selection is not None and selection != Selection():
            among = set_of(index.numbers[dialogue.key] for dialogue in select(con, selection, timeout))
        return find_utterances(con, index, words, among, most)


FOUND = """
    select
        turns.turn_key,
        turns.role,
        found.marked as utterance
    from (
        select
            unnest(from_json($keys, '["text"]')) as turn_key,
            unnest(from_json($marked, '["text"]')) as marked,
            generate_subscripts(from_json($keys, '["text"]'), 1) as position
    ) as found
    inner join core.fct_turns as turns
        on found.turn_key = turns.turn_key
    order by found.position
"""
"""A search as a query; its parameters are those of `parameters`."""


def parameters(found: Sequence[Found]) -> dict[str, str]:
    """Return the parameters of FOUND. Those of a query are texts, so both lists are JSON."""
    return {"keys": json_of([one.turn_key for one in found]), "marked": json_of([one.marked for one in found])}
