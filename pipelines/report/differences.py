"""What changed against the build before: what `quality.build_changes` says of this build, as its page shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from pipelines.reading.connection import Connection
from pipelines.reading.keyed_rows import Row, read_rows

KINDS = {
    "row": "Rows",
    "claim": "Claims that came to something else",
    "rule": "Rules with another number of cases",
    "column": "Tables and columns",
}
"""The kinds of change in the order of the page, and how it calls them."""


@dataclass(frozen=True)
class Differences:
    """What differs from the build that this one was compared with."""

    base: Row | None
    """The row of that build in `quality.builds`; None for the first one."""
    groups: dict[str, list[Row]]
    """By kind: its changes by corpus, none where there are none; of claims those with another verdict first."""

    def count(self, kind: str, change: str | None = None) -> int:
        """How many rows, claims, rules or columns are so changed; in whatever way, where none is said."""
        return sum(row["row_count"] for row in self.groups[kind] if change in (None, row["change"]))

    @property
    def rows(self) -> list[Row]:
        """All changes."""
        return [row for group in self.groups.values() for row in group]


def read_differences(con: Connection, builds: list[Row], claims: Iterable[Row], rules: Iterable[Row]) -> Differences:
    """What the newest of these builds changed; `claims` and `rules` are those that the pages list."""
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
            | {"is_verdict": row["kind"] == "claim" and _verdict(was) != _verdict(after)}
            for name, was, after in values
        ]
        row["cases"] = sorted(cases, key=lambda case: not case["is_verdict"])
        row["more"] = row["row_count"] - len(row["cases"])
    groups = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    return Differences(before[0] if before else None, groups)


def _verdict(told: str | None) -> str | None:
    """The verdict in what a claim came to, which goes on with what was observed."""
    return told and told.partition(":")[0]


def _anchor(row: Row, name: str, there: set[object]) -> str | None:
    """The place of a claim or of a rule on its page, which only has what this build knows."""
    if row["kind"] == "claim":
        return name if name in there else None
    if row["kind"] == "rule":
        return next((f"{name}-{of or 'all'}" for of in (row["corpus_id"], None) if (name, of) in there), None)
    return None
