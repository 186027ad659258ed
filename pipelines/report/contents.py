"""What the pages of the report say: rows of the published tables, and what the declarations add to them.

Every number is read from the database. Two things are not in it and come from the clone: how many files a release
lists, and the arguments of an expectation, as this version of the project declares them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.charts.pictures import Picture, read_pictures
from pipelines.charts.relations import Relations
from pipelines.corpora import registry
from pipelines.paths import WarehousePaths
from pipelines.reading import findings
from pipelines.reading.connection import Connection
from pipelines.reading.keyed_rows import Row, read_rows
from pipelines.report.changes import describe_changes
from pipelines.report.conversations import Conversations, read_conversations
from pipelines.report.dictionary import draw_relations, read_lineage, read_tables
from pipelines.report.differences import Differences, read_differences
from pipelines.report.histories import join_suites

CASES_SHOWN = 50
"""Cases of a rule that its page lists."""
BUILDS_SHOWN = 10
"""Builds whose results are shown beside each other, the newest."""

_CORPORA = """
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
            count(*) filter (where verdict = 'reproduced' and is_as_recorded) as reproduced,
            count(*) filter (where verdict = 'refuted' and is_as_recorded) as refuted_as_recorded,
            count(*) filter (where not is_as_recorded) as unexpected,
            count(*) filter (where verdict = 'vacuous') as vacuous,
            count(*) filter (where verdict = 'source_absent') as source_absent,
            count(*) filter (where verdict = 'not_checkable') as not_checkable
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
"""A line a corpus: how much of it is there, and what was found out about it in one build."""

_VOICES = """
    select
        claims.quotes_whom,
        checks.judged_on,
        count(*) as claim_count,
        count(*) filter (where checks.verdict = 'reproduced' and checks.is_as_recorded) as reproduced,
        count(*) filter (where checks.verdict = 'refuted' and checks.is_as_recorded) as refuted_as_recorded,
        count(*) filter (where not checks.is_as_recorded) as unexpected,
        count(*) filter (where checks.verdict = 'vacuous') as vacuous,
        count(*) filter (where checks.verdict = 'source_absent') as source_absent,
        count(*) filter (where checks.verdict = 'not_checkable') as not_checkable
    from quality.claims as claims
    inner join quality.claim_checks as checks
        on claims.claim_id = checks.claim_id
    group by claims.quotes_whom, checks.judged_on
    order by
        list_position(['publisher', 'paper', 'other_project', 'own_measurement'], claims.quotes_whom),
        checks.judged_on desc
"""
"""A line for whoever is quoted and whoever's files were there: what became of the claims."""


_PROFILES = """
    select *
    from analytics.corpus_profile
    order by corpus_id, is_whole_corpus desc, list_position(['train', 'validation', 'test'], split)
"""


@dataclass(frozen=True)
class Contents:
    """Everything that the pages show."""

    build: Row
    """The row of this build in `quality.builds`."""
    builds: list[Row]
    """The builds shown, newest first, this one among them."""
    older_builds: int
    """Builds of which the database knows and that are not shown."""
    corpora: list[Row]
    changes: list[str]
    """What is different from the build before, a sentence each."""
    voices: list[Row]
    """Whose words the claims quote, and on whose files they were judged, with the number of each verdict."""
    claims: list[Row]
    rules: list[Row]
    differences: Differences
    suites: dict[str, list[Row]]
    tables: list[Row]
    relations: Relations
    """How the tables of core are joined."""
    profiles: list[Row] = field(default_factory=list)
    """The profile of each corpus, and of its splits."""
    pictures: list[Picture] = field(default_factory=list)
    conversations: Conversations = field(default_factory=Conversations)
    lineage: dict[str, Row] = field(default_factory=dict)
    """By model: what it is built from and what is built from it; empty where dbt's manifest is not there."""


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
    return Contents(
        build=builds[0],
        builds=shown,
        older_builds=len(builds) - len(shown),
        corpora=_corpora(con, builds[0]["build_id"]),
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
    """A line a corpus: how much of it is there, and what was found out about it."""
    rows = read_rows(con, _CORPORA, [build_id])
    known = set(registry.corpus_ids())
    for row in rows:
        files = registry.load_corpus(row["corpus_id"]).files if row["corpus_id"] in known else ()
        row["files_listed"] = sum(not file.is_documentation for file in files)
    return rows


def _rules(con: Connection) -> list[Row]:
    """The rules, broken ones first, each with its first cases: of its corpus, or of all corpora."""
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
