"""The content of the report's pages, read from the published build before anything is written."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import counted
from dialogue_warehouse.paths import WarehousePaths
from dialogue_warehouse.reading import dialogue_parts, findings
from dialogue_warehouse.reading.changes import verdict_of
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.dialogues import read_dialogues
from dialogue_warehouse.reading.findings import Row, read_rows
from dialogue_warehouse.site.dictionary import draw_relations, read_lineage, read_tables
from dialogue_warehouse.site.histories import join_suites
from dialogue_warehouse.site.pictures import Picture, Relations, read_pictures


def describe_changes(build: Row, before: Row, suites: Mapping[str, list[Row]]) -> list[str]:
    """Describe the differences from the build before, one sentence each."""
    told = []
    for name in ("source", "corpora", "code_version"):
        if build[name] != before[name]:
            told.append(f"{name.replace('_', ' ')}: {build[name]}, before {before[name]}")
    for name in ("dialogue_count", "turn_count", "action_count", "slot_count", "violation_count"):
        difference = (build[name] or 0) - (before[name] or 0)
        if difference:
            noun = name.removesuffix("_count").replace("_", " ")
            told.append(f"{noun}s: {build[name] or 0:,}, {difference:+,}")
    kinds: dict[str, list[str]] = defaultdict(list)
    for suite, expectations in suites.items():
        for entry in expectations:
            earlier, now = entry["history"][-2:]
            kind = _outcome_change(earlier, now)
            if kind:
                kinds[kind].append(f"{suite}: {entry['expectation']}")
    for kind, names in sorted(kinds.items()):
        first = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        told.append(f"{counted(len(names), 'expectation')} {kind}: {first}")
    return told


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
MOST = 120
"""Maximum number of pages of dialogues in a report."""
SEGMENTS = 3
"""Parts of a dialogue's key. The keys of its rows begin with them."""


class Conversations(dict[str, dialogue_parts.Dialogue]):
    """The dialogues that have a page, by key."""

    def address(self, key: str | None, turn_index: int | None = None) -> str | None:
        """Return the address of a dialogue's page with a turn, or with the row of a key; None if there is no page."""
        segments = (key or "").split("/")
        dialogue = self.get("/".join(segments[:SEGMENTS]))
        if dialogue is None:
            return None
        if turn_index is None and len(segments) > SEGMENTS and segments[SEGMENTS].isdecimal():
            turn_index = int(segments[SEGMENTS])
        there = any(turn.index == turn_index for turn in dialogue.turns)
        return page_name(dialogue.key) + (f"#turn-{turn_index}" if there else "")


def read_conversations(con: Connection, rules: Iterable[Row], changes: Iterable[Row]) -> Conversations:
    """Read the dialogues: the first case of every rule, then the second ones, then changed rows."""
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
    """Return the file name of a dialogue's page; the name is valid on every file system."""
    return f"dialogue-{hashlib.sha256(key.encode()).hexdigest()[:16]}.html"


def is_page_name(name: str) -> bool:
    """Tell if a file has the name of a dialogue's page."""
    return re.fullmatch(r"dialogue-[0-9a-f]{16}\.html", name) is not None


CASES_SHOWN = 50
"""Cases of a rule that its page lists."""
BUILDS_SHOWN = 10
"""Number of newest builds whose results are shown side by side."""

_OUTCOMES = """
            count(*) filter (where verdict = 'reproduced' and is_as_recorded) as reproduced,
            count(*) filter (where verdict = 'refuted' and is_as_recorded) as refuted_as_recorded,
            count(*) filter (where not is_as_recorded) as unexpected,
            count(*) filter (where verdict = 'vacuous') as vacuous,
            count(*) filter (where verdict = 'source_absent') as source_absent,
            count(*) filter (where verdict = 'not_checkable') as not_checkable
"""
"""Columns that count claims by outcome."""

_CORPORA = f"""
    with

    files as (
        select
            corpus_id,
            count(*) as files_present,
            count(*) filter (where verification = 'verified') as files_verified,
            count(*) filter (where verification = 'simulated') as files_generated
        from core.dim_source_files
        group by corpus_id
    ),

    verdicts as (
        select
            corpus_id,
            {_OUTCOMES}
        from quality.claim_checks
        group by corpus_id
    ),

    outcomes as (
        select
            suite,
            count(*) filter (where success) as passed,
            count(*) filter (where not success) as not_passed
        from quality.expectation_results
        where build_id = ?
        group by suite
    )

    select
        overview.*,
        corpora.homepage,
        corpora.carried_from,
        corpora.carried_because,
        coalesce(files.files_present, 0) as files_present,
        coalesce(files.files_verified, 0) as files_verified,
        coalesce(files.files_generated, 0) as files_generated,
        coalesce(verdicts.reproduced, 0) as reproduced,
        coalesce(verdicts.refuted_as_recorded, 0) as refuted_as_recorded,
        coalesce(verdicts.unexpected, 0) as unexpected,
        coalesce(verdicts.vacuous, 0) as vacuous,
        coalesce(verdicts.source_absent, 0) as source_absent,
        coalesce(verdicts.not_checkable, 0) as not_checkable,
        coalesce(outcomes.passed, 0) as passed,
        coalesce(outcomes.not_passed, 0) as not_passed
    from analytics.corpus_overview as overview
    inner join core.dim_corpora as corpora
        on overview.corpus_id = corpora.corpus_id
    left join files
        on overview.corpus_id = files.corpus_id
    left join verdicts
        on overview.corpus_id = verdicts.corpus_id
    left join outcomes
        on overview.corpus_id = outcomes.suite
    order by overview.corpus_id
"""
"""One row per corpus: how complete it is, and the results about it in one build."""

_VOICES = f"""
    select
        claims.quotes_whom,
        checks.judged_on,
        count(*) as claim_count,
        {_OUTCOMES}
    from quality.claims as claims
    inner join quality.claim_checks as checks
        on claims.claim_id = checks.claim_id
    group by claims.quotes_whom, checks.judged_on
    order by
        list_position(['publisher', 'paper', 'other_project', 'own_measurement'], claims.quotes_whom),
        checks.judged_on desc
"""
"""One row per quoted party and origin of the files: the outcomes of the claims."""


_PROFILES = """
    select *
    from analytics.corpus_profile
    order by corpus_id, is_whole_corpus desc, list_position(['train', 'validation', 'test'], split)
"""


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
    lineage: dict[str, Row] = field(default_factory=dict)
    """Inputs and dependents of each model, by model; empty without dbt's manifest."""


def read(con: Connection, paths: WarehousePaths) -> Contents:
    """Read the contents from an open published build; its own row is the newest of `quality.builds`."""
    builds = read_rows(con, "select * from quality.builds order by started_at desc, build_id desc")
    shown = builds[:BUILDS_SHOWN]
    results = read_rows(
        con,
        "select * from quality.expectation_results where list_contains(?, build_id) order by suite, expectation",
        [[build["build_id"] for build in shown]],
    )
    suites = join_suites(results, [build["build_id"] for build in shown])
    claims = read_rows(con, findings.claims_query((), verdict=None, only_unexpected=False, is_short=False))
    rules = _rules(con)
    differences = read_differences(con, builds, claims, rules)
    tables = read_tables(con)
    corpora = _corpora(con, builds[0]["build_id"])
    return Contents(
        build=builds[0],
        builds=shown,
        older_builds=len(builds) - len(shown),
        corpora=corpora,
        generated=[corpus["title"] for corpus in corpora if corpus["files_generated"]],
        changes=describe_changes(builds[0], builds[1], suites) if len(builds) > 1 else [],
        voices=read_rows(con, _VOICES),
        claims=claims,
        rules=rules,
        differences=differences,
        suites=suites,
        tables=tables,
        relations=draw_relations(tables),
        profiles=read_rows(con, _PROFILES),
        pictures=list(read_pictures(con)),
        conversations=read_conversations(con, rules, differences.rows),
        lineage=read_lineage(paths),
    )


def _corpora(con: Connection, build_id: str) -> list[Row]:
    """Return one row per corpus: how complete it is, and the results about it."""
    rows = read_rows(con, _CORPORA, [build_id])
    known = set(registry.corpus_ids())
    for row in rows:
        files = registry.load_corpus(row["corpus_id"]).files if row["corpus_id"] in known else ()
        row["files_listed"] = sum(not file.is_documentation for file in files)
    return rows


def _rules(con: Connection) -> list[Row]:
    """Return the rules, broken ones first, each with its first cases, in its corpus or in all corpora."""
    rules = read_rows(con, "select * from quality.violation_rules")
    cases = read_rows(
        con,
        f"""
        select *
        from quality.violations
        qualify
            row_number() over (
                partition by rule_id, corpus_id
                order by source_file_id, record_index, turn_index, detail, row_key, other_key, occurrence
            ) <= {CASES_SHOWN}
        order by
            rule_id, corpus_id, source_file_id, record_index, turn_index, detail, row_key, other_key, occurrence
        """,
    )
    counts = read_rows(con, "select rule_id, corpus_id, count(*) as observed from quality.violations group by all")
    listed = {rule["rule_id"] for rule in rules}
    unknown = ("corpus_id", "kind", "title", "description", "upstream_reference", "expected", "cases_read", "why")
    nothing = dict.fromkeys(unknown)
    for rule_id in sorted({row["rule_id"] for row in counts} - listed):
        observed = sum(row["observed"] for row in counts if row["rule_id"] == rule_id)
        rules.append(nothing | {"rule_id": rule_id, "observed": observed, "is_guarded": False})
    for rule in rules:
        own = [
            case
            for case in cases
            if case["rule_id"] == rule["rule_id"] and rule["corpus_id"] in (None, case["corpus_id"])
        ]
        for case in own:
            case["key"] = case.get("row_key") or _turn_key(case)
            rule["upstream_reference"] = rule["upstream_reference"] or case["upstream_reference"]
        rule["cases"] = own[:CASES_SHOWN]
    return sorted(rules, key=lambda rule: (not rule["observed"], rule["corpus_id"] or "", rule["rule_id"]))


def _turn_key(case: Row) -> str | None:
    if case["dialogue_key"] is None or case["turn_index"] is None:
        return case["dialogue_key"]
    return f"{case['dialogue_key']}/{case['turn_index']}"
