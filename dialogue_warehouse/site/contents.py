"""The content of the report's pages, read from the published build before anything is written."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import islice, zip_longest
from typing import Any, Generic, TypeVar

from dialogue_warehouse.errors import counted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import catalogue, dialogue_parts, findings
from dialogue_warehouse.reading.catalogue import TableDescription, TableSummary
from dialogue_warehouse.reading.changes import verdict_of
from dialogue_warehouse.reading.connection import Connection, another
from dialogue_warehouse.reading.dialogues import read_dialogues
from dialogue_warehouse.reading.findings import SEGMENTS, Row, key_of_dialogue, read_rows
from dialogue_warehouse.site import scores as score_pages
from dialogue_warehouse.site.dictionary import draw_relations, read_lineage, tables_of
from dialogue_warehouse.site.histories import join_suites
from dialogue_warehouse.site.kept import Kept
from dialogue_warehouse.site.pictures import Picture, Relations, read_pictures
from dialogue_warehouse.site.results import DEFECTS, PROFILES, VOICES, read_corpora, read_rules

Read = TypeVar("Read")


def describe_changes(build: Row, before: Row, suites: Mapping[str, list[Row]]) -> list[str]:
    """Describe the differences from the build before, one sentence each."""
    sentences = []
    for name in ("source", "corpora", "code_version"):
        if build[name] != before[name]:
            sentences.append(f"{name.replace('_', ' ')}: {build[name]}, before {before[name]}")
    for name in ("dialogue_count", "turn_count", "action_count", "slot_count", "violation_count"):
        difference = (build[name] or 0) - (before[name] or 0)
        if difference:
            noun = {"violation_count": "defect"}.get(name, name.removesuffix("_count"))
            change = f"{abs(difference):,} {'more' if difference > 0 else 'fewer'} than before"
            sentences.append(f"{noun}s: {build[name] or 0:,}, {change}")
    kinds: dict[str, list[str]] = defaultdict(list)
    for suite, expectations in suites.items():
        for entry in expectations:
            earlier, now = entry["history"][-2:]
            kind = _outcome_change(earlier, now)
            if kind:
                kinds[kind].append(f"{suite}: {entry['expectation']}")
    for kind, names in sorted(kinds.items()):
        first = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        sentences.append(f"{counted(len(names), 'expectation')} {kind}: {first}")
    return sentences


def _outcome_change(earlier: Row | None, now: Row | None) -> str | None:
    if earlier is None or now is None:
        return None if earlier is now else "new" if now else "no longer judged"
    if earlier["success"] != now["success"]:
        return "now pass" if now["success"] else "no longer pass"
    return "with a different observed value" if earlier["observed"] != now["observed"] else None


KINDS = {
    "row": "Rows",
    "claim": "Claims with another result",
    "rule": "Rules with another number of cases",
    "column": "Tables and columns",
}
"""The kinds of change in the order of the page, and their headings."""


@dataclass(frozen=True)
class Differences:
    """The differences from the build that this one was compared with."""

    base: Row | None
    """The row of that build in `quality.builds`; None for the first build."""
    groups: dict[str, list[Row]]
    """The changes by kind, ordered by corpus, empty if there are none; claims with another verdict come first."""

    def count(self, kind: str, change: str | None = None) -> int:
        """Count the rows, claims, rules or columns with this change, or with any change by default."""
        return sum(row["row_count"] for row in self.groups[kind] if change in (None, row["change"]))

    @property
    def rows(self) -> list[Row]:
        """All changes."""
        return [row for group in self.groups.values() for row in group]


def read_differences(con: Connection, builds: list[Row], claims: Iterable[Row], rules: Iterable[Row]) -> Differences:
    """Read the changes of the newest of these builds; `claims` and `rules` are those that the pages list."""
    now = builds[0]["build_id"]
    rows = read_rows(
        con,
        """
        select *
        from quality.build_changes
        where build_id = ?
        order by
            corpus_id nulls first, table_name nulls first, list_position(['added', 'changed', 'removed'], change)
        """,
        [now],
    )
    against = rows[0]["base_build_id"] if rows else None
    before = [build for build in builds[1:] if against in (None, build["build_id"])]
    there = {claim["claim_id"] for claim in claims} | {(rule["rule_id"], rule["corpus_id"]) for rule in rules}
    for row in rows:
        values = zip_longest(row["first_keys"], row["first_before"] or (), row["first_after"] or ())
        cases = [
            {"name": name, "before": was, "after": after, "anchor": _anchor(row, name, there)}
            | {"is_verdict": row["kind"] == "claim" and verdict_of(was) != verdict_of(after)}
            for name, was, after in values
        ]
        row["cases"] = sorted(cases, key=lambda case: not case["is_verdict"])
        row["more"] = row["row_count"] - len(row["cases"])
    groups = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    return Differences(before[0] if before else None, groups)


def _anchor(row: Row, name: str, there: set[object]) -> str | None:
    """Return the anchor of a claim or a rule on its page; None if this build does not have it."""
    if row["kind"] == "claim":
        return name if name in there else None
    if row["kind"] == "rule":
        return next((f"{name}-{of or 'all'}" for of in (row["corpus_id"], None) if (name, of) in there), None)
    return None


CASES_READ = 2
"""Cases of a rule whose dialogues have a page."""
ERRORS_READ = 60
"""Errors of scores whose dialogues have a page."""
MOST = 120
"""Maximum number of pages of dialogues in a report."""


class Conversations(dict[str, dialogue_parts.Dialogue]):
    """The dialogues that have a page, by key."""

    def address(self, key: str | None, turn_index: int | None = None) -> str | None:
        """Return the URL of a dialogue's page with a turn, or with the row of a key; None if there is no page."""
        segments = (key or "").split("/")
        dialogue = self.get("/".join(segments[:SEGMENTS]))
        if dialogue is None:
            return None
        if turn_index is None and len(segments) > SEGMENTS and segments[SEGMENTS].isdecimal():
            turn_index = int(segments[SEGMENTS])
        there = any(turn.index == turn_index for turn in dialogue.turns)
        return page_name(dialogue.key) + (f"#turn-{turn_index}" if there else "")


def read_conversations(
    con: Connection, rules: Iterable[Row], changes: Iterable[Row], errors: Iterable[str] = ()
) -> Conversations:
    """Read the dialogues: the first case of every rule, the errors of scores, the second cases, then changed rows."""
    keys = dict.fromkeys(islice(_wanted(list(rules), changes, errors), MOST))
    return Conversations({dialogue.key: dialogue for dialogue in read_dialogues(con, list(keys))})


def _wanted(rules: list[Row], changes: Iterable[Row], errors: Iterable[str]) -> Iterator[str]:
    firsts = [
        list(dict.fromkeys(case["dialogue_key"] for case in rule["cases"] if case["dialogue_key"])) for rule in rules
    ]
    for number in range(CASES_READ):
        yield from (keys[number] for keys in firsts if number < len(keys))
        if number == 0:
            yield from dict.fromkeys(key_of_dialogue(key) for key in islice(errors, ERRORS_READ))
    for change in changes:
        for case in change["cases"] if change["kind"] == "row" else ():
            yield key_of_dialogue(case["name"])


def page_name(key: str) -> str:
    """Return the file name of a dialogue's page; the name is valid on every file system."""
    return f"dialogue-{hashlib.sha256(key.encode()).hexdigest()[:16]}.html"


def is_page_name(name: str) -> bool:
    """Return whether a file has the name of a dialogue's page."""
    return re.fullmatch(r"dialogue-[0-9a-f]{16}\.html", name) is not None


BUILDS_SHOWN = 10
"""Number of newest builds whose results are shown side by side."""


@dataclass(frozen=True)
class Contents:
    """All data that the pages show."""

    build: Row
    """The row of this build in `quality.builds`."""
    builds: list[Row]
    """The builds that are shown, newest first, including this one."""
    older_builds: int
    """Number of builds in the database that are not shown."""
    corpora: list[Row]
    generated: list[str]
    """Titles of the corpora with generated files."""
    changes: list[str]
    """The differences from the build before, one sentence each."""
    voices: list[Row]
    """Number of claims per verdict, by quoted party and by origin of the files that they were judged on."""
    claims: list[Row]
    rules: list[Row]
    differences: Differences
    suites: dict[str, list[Row]]
    tables: list[Row]
    relations: Relations
    """The joins between the tables of core."""
    profiles: list[Row] = field(default_factory=list)
    """The profile of each corpus, and of its splits."""
    pictures: list[Picture] = field(default_factory=list)
    conversations: Conversations = field(default_factory=Conversations)
    defects: list[Row] = field(default_factory=list)
    """The kinds of defects of each corpus, the most frequent first."""
    lineage: dict[str, Row] = field(default_factory=dict)
    """Inputs and dependents of each model, by model; empty if dbt's manifest cannot be read."""
    boards: list[score_pages.Board] = field(default_factory=list)
    """The leaderboards of the file of scores; empty without one."""
    runs: list[score_pages.Run] = field(default_factory=list)
    """The runs of this file."""


class Part(Generic[Read]):
    """A part of the contents: a property that is read once, on a separate cursor, when a page first needs it."""

    def __init__(self, read: Callable[[Any, Connection], Read]) -> None:
        self._read = read
        self.__doc__ = read.__doc__

    def __get__(self, reading: Reading, _: type[Reading]) -> Read:
        """Return what was read."""
        return reading.kept.get(self, lambda: self._once(reading))

    def _once(self, reading: Reading) -> Read:
        with contextlib.closing(another(reading.con)) as con:
            return self._read(reading, con)


class Reading:
    """The contents of an open published build, each part read when a page first needs it."""

    def __init__(self, con: Connection, paths: WarehousePaths, has_scores: bool = False) -> None:
        self.con, self.kept = con, Kept()
        self._paths, self._has_scores = paths, has_scores

    def on(self, con: Connection) -> Reading:
        """Return the same contents; the parts that are still missing are read with another connection."""
        other = copy.copy(self)
        other.con = con
        return other

    @Part
    def _all_builds(self, con: Connection) -> list[Row]:
        """The builds, newest first; the published one has no larger id beside it, even if the clock was set back."""
        return read_rows(con, "select * from quality.builds order by build_id desc")

    @property
    def build(self) -> Row:
        """The row of this build in `quality.builds`: the newest one."""
        return self._all_builds[0]

    @property
    def builds(self) -> list[Row]:
        """The builds that are shown."""
        return self._all_builds[:BUILDS_SHOWN]

    @property
    def older_builds(self) -> int:
        """Number of builds that are not shown."""
        return len(self._all_builds) - len(self.builds)

    @Part
    def corpora(self, con: Connection) -> list[Row]:
        """The corpora."""
        return read_corpora(con, self.build["build_id"])

    @property
    def generated(self) -> list[str]:
        """Titles of the corpora with generated files."""
        return [corpus["title"] for corpus in self.corpora if corpus["files_generated"]]

    @Part
    def changes(self, _: Connection) -> list[str]:
        """The differences from the build before."""
        return describe_changes(self.builds[0], self.builds[1], self.suites) if len(self.builds) > 1 else []

    @Part
    def voices(self, con: Connection) -> list[Row]:
        """Number of claims per verdict."""
        return read_rows(con, VOICES)

    @Part
    def claims(self, con: Connection) -> list[Row]:
        """The claims."""
        query = findings.claims_query((), verdict=None, only_unexpected=False, detail="whole")
        return read_rows(con, query)

    @Part
    def rules(self, con: Connection) -> list[Row]:
        """The rules."""
        return read_rules(con)

    @Part
    def differences(self, con: Connection) -> Differences:
        """The changes by kind."""
        return read_differences(con, self._all_builds, self.claims, self.rules)

    @Part
    def suites(self, con: Connection) -> dict[str, list[Row]]:
        """The expectations by suite."""
        shown = [build["build_id"] for build in self.builds]
        results = read_rows(
            con,
            "select * from quality.expectation_results where list_contains(?, build_id) order by suite, expectation",
            [shown],
        )
        return join_suites(results, shown)

    @Part
    def described(self, con: Connection) -> list[tuple[TableSummary, TableDescription]]:
        """The tables, with what is known about their columns."""
        return catalogue.describe_tables(con)

    @property
    def tables(self) -> list[Row]:
        """The tables as the dictionary shows them."""
        return tables_of(self.described)

    @Part
    def relations(self, _: Connection) -> Relations:
        """The joins between the tables of core."""
        return draw_relations(self.tables)

    @Part
    def profiles(self, con: Connection) -> list[Row]:
        """The profile of each corpus, and of its splits."""
        return read_rows(con, PROFILES)

    @Part
    def defects(self, con: Connection) -> list[Row]:
        """The kinds of defects."""
        return read_rows(con, DEFECTS)

    @Part
    def pictures(self, con: Connection) -> list[Picture]:
        """The charts."""
        return list(read_pictures(con))

    @Part
    def conversations(self, con: Connection) -> Conversations:
        """The dialogues that have a page."""
        errors = score_pages.example_keys(self.runs)
        return read_conversations(con, self.rules, self.differences.rows, errors)

    @Part
    def boards(self, con: Connection) -> list[score_pages.Board]:
        """The leaderboards of the file of scores."""
        return score_pages.boards(con) if self._has_scores else []

    @Part
    def runs(self, con: Connection) -> list[score_pages.Run]:
        """The runs of this file."""
        return score_pages.read_each(con) if self._has_scores else []

    @Part
    def lineage(self, _: Connection) -> dict[str, Row]:
        """Inputs and dependents of each model."""
        return read_lineage(self._paths)


def read(con: Connection, paths: WarehousePaths, has_scores: bool = False) -> Contents:
    """Read the contents from an open published build; its own row is the newest of `quality.builds`."""
    reading = Reading(con, paths, has_scores)
    return Contents(**{one.name: getattr(reading, one.name) for one in fields(Contents)})
