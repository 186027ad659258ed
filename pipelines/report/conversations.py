"""The dialogues that the report has a page of: those of each rule's first cases, and of the first keys that changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from pipelines.reading.connection import Connection
from pipelines.reading.dialogues import parts
from pipelines.reading.dialogues.reading import read_dialogues
from pipelines.reading.keyed_rows import Row

CASES_READ = 2
"""Cases of a rule whose dialogues have a page."""
MOST = 120
"""Pages of dialogues that a report has at most."""
SEGMENTS = 3
"""Parts of a dialogue's key; the keys of what is below it begin with them."""


class Conversations(dict[str, parts.Dialogue]):
    """By key, the dialogues that have a page."""

    def address(self, key: str | None, turn_index: int | None = None) -> str | None:
        """The address of the page with a dialogue's turn, or with the row of a key; None where there is no page."""
        segments = (key or "").split("/")
        dialogue = self.get("/".join(segments[:SEGMENTS]))
        if dialogue is None:
            return None
        if turn_index is None and len(segments) > SEGMENTS and segments[SEGMENTS].isdecimal():
            turn_index = int(segments[SEGMENTS])
        there = any(turn.index == turn_index for turn in dialogue.turns)
        return page_name(dialogue.key) + (f"#turn-{turn_index}" if there else "")


def read_conversations(con: Connection, rules: Iterable[Row], changes: Iterable[Row]) -> Conversations:
    """Read them: every rule's first case before any rule's second one, and then what changed."""
    keys = dict.fromkeys(islice(_wanted(list(rules), changes), MOST))
    return Conversations({dialogue.key: dialogue for dialogue in read_dialogues(con, list(keys))})


def _wanted(rules: list[Row], changes: Iterable[Row]) -> Iterator[str]:
    firsts = [
        list(dict.fromkeys(case["dialogue_key"] for case in rule["cases"] if case["dialogue_key"])) for rule in rules
    ]
    for number in range(CASES_READ):
        yield from (keys[number] for keys in firsts if number < len(keys))
    for change in changes:
        for case in change["cases"] if change["kind"] == "row" else ():
            yield "/".join(case["name"].split("/")[:SEGMENTS])


def page_name(key: str) -> str:
    """The file of a dialogue's page: a name that every file system takes, whatever the key says."""
    return f"dialogue-{hashlib.sha256(key.encode()).hexdigest()[:16]}.html"


def is_page_name(name: str) -> bool:
    """Tell if a file has the name of a dialogue's page."""
    return re.fullmatch(r"dialogue-[0-9a-f]{16}\.html", name) is not None
