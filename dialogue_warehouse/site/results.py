"""The results about the published data that the pages list: corpora, claims by author, rules with their first cases."""

from __future__ import annotations

from dialogue_warehouse.corpora import registry
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.reading.findings import Row, read_rows

CASES_SHOWN = 50
"""Cases of a rule that its page lists."""

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

VOICES = f"""
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

DEFECTS = """
    with

    cases as (
        select
            rule_id,
            corpus_id,
            count(*) as case_count
        from quality.violations
        where kind = 'defect'
        group by rule_id, corpus_id
    )

    select
        cases.rule_id,
        cases.corpus_id,
        cases.case_count,
        own.corpus_id as listed_for,
        coalesce(own.title, shared.title, cases.rule_id) as title
    from cases
    left join quality.violation_rules as own
        on cases.rule_id = own.rule_id and cases.corpus_id = own.corpus_id
    left join quality.violation_rules as shared
        on cases.rule_id = shared.rule_id and shared.corpus_id is null
    order by cases.case_count desc, cases.corpus_id, cases.rule_id
"""
"""One row per corpus and kind of defect, the most frequent first; `listed_for` is null for a rule of all corpora."""

_RULES = """
    select
        rules.rule_id,
        rules.corpus_id,
        rules.kind,
        rules.title,
        rules.description,
        rules.upstream_reference,
        rules.files,
        rules.expected,
        rules.observed_in_files,
        rules.observed,
        rules.is_guarded,
        rules.cases_read,
        rules.cases_right,
        rules.cases_right_again,
        rules.cases_agreed,
        rules.why,
        (
            select count(violations.dialogue_key)
            from quality.violations as violations
            where
                violations.rule_id = rules.rule_id
                and (rules.corpus_id is null or violations.corpus_id = rules.corpus_id)
        ) as in_dialogues
    from quality.violation_rules as rules
"""
"""Each column that the page shows is named, so that DuckDB names one that an older build lacks."""
_ORDER = ("source_file_id", "record_index", "turn_index", "detail", "row_key", "other_key", "occurrence")
_CASES = f"""
    select unnest(violation)
    from (
        select unnest(arg_min(violations, ({", ".join(_ORDER)}), {CASES_SHOWN})) as violation
        from quality.violations
        group by rule_id, corpus_id
    )
    order by {", ".join(f"violation.{column}" for column in ("rule_id", "corpus_id", *_ORDER))}
"""
"""The first cases of each rule in each corpus. Unlike a window, `arg_min` holds only what it returns in memory."""
_COUNTS = """
    select
        rule_id,
        corpus_id,
        count(*) as observed,
        count(dialogue_key) as in_dialogues
    from quality.violations
    group by rule_id, corpus_id
"""

PROFILES = """
    select *
    from analytics.corpus_profile
    order by corpus_id, is_whole_corpus desc, list_position(['train', 'validation', 'test'], split)
"""


def read_corpora(con: Connection, build_id: str) -> list[Row]:
    """Return one row per corpus: how complete it is, and the results about it."""
    rows = read_rows(con, _CORPORA, [build_id])
    known = set(registry.corpus_ids())
    for row in rows:
        files = registry.load_corpus(row["corpus_id"]).files if row["corpus_id"] in known else ()
        row["files_listed"] = sum(not file.is_documentation for file in files)
    return rows


def read_rules(con: Connection) -> list[Row]:
    """Return the rules, broken ones first, each with its first cases, in its corpus or in all corpora.

    `corpora` are those of the rule, or those with a case of a rule of all corpora. `of_corpora` has the number of cases
    and the first cases of a rule of all corpora in each of them, and nothing apart. A corpus with its own entry for
    such a rule is in neither, but in `apart`: a list of these entries. `in_dialogues` counts the cases with a dialogue.
    """
    rules, cases, counts = read_rows(con, _RULES), read_rows(con, _CASES), read_rows(con, _COUNTS)
    listed = {rule["rule_id"] for rule in rules}
    unknown = ("corpus_id", "kind", "title", "description", "upstream_reference", "expected", "cases_read", "why")
    nothing = dict.fromkeys(unknown)
    for rule_id in sorted({row["rule_id"] for row in counts} - listed):
        of_rule = [row for row in counts if row["rule_id"] == rule_id]
        sums = {name: sum(row[name] for row in of_rule) for name in ("observed", "in_dialogues")}
        rules.append(nothing | sums | {"rule_id": rule_id, "is_guarded": False})
    shared = ("rule_id", "corpus_id", "kind", "observed", "in_dialogues")
    entries = [{name: rule[name] for name in shared} for rule in rules]
    for rule in rules:
        own = [
            case
            for case in cases
            if case["rule_id"] == rule["rule_id"] and rule["corpus_id"] in (None, case["corpus_id"])
        ]
        for case in own:
            case["key"] = case.get("row_key") or turn_key(case)
            rule["upstream_reference"] = rule["upstream_reference"] or case["upstream_reference"]
        rule["apart"] = [
            other
            for other in entries
            if other["rule_id"] == rule["rule_id"]
            and other["corpus_id"]
            and not rule["corpus_id"]
            and other["observed"]
        ]
        apart = {other["corpus_id"] for other in rule["apart"]}
        there = {case["corpus_id"] for case in own} - apart
        rule["corpora"] = [rule["corpus_id"]] if rule["corpus_id"] else sorted(there)
        rule["cases"] = own[:CASES_SHOWN]
        rule["of_corpora"] = {
            row["corpus_id"]: {
                "observed": row["observed"],
                "in_dialogues": row["in_dialogues"],
                "cases": [case for case in own if case["corpus_id"] == row["corpus_id"]],
                "apart": [],
            }
            for row in counts
            if row["rule_id"] == rule["rule_id"] and rule["corpus_id"] is None and row["corpus_id"] not in apart
        }
    return sorted(rules, key=lambda rule: (not rule["observed"], rule["corpus_id"] or "", rule["rule_id"]))


def turn_key(case: Row) -> str | None:
    """Return the key of the turn of a case, or of its dialogue."""
    if case["dialogue_key"] is None or case["turn_index"] is None:
        return case["dialogue_key"]
    return f"{case['dialogue_key']}/{case['turn_index']}"
