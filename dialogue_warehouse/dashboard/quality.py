"""The results about the data: claims, defects, builds over time, changes."""

from __future__ import annotations

import streamlit as st

from dialogue_warehouse.dashboard import published, showing
from dialogue_warehouse.dashboard.published import Row
from dialogue_warehouse.site import drawing

CLAIMS = """
    select
        claims.claim_id,
        claims.corpus_id,
        case when not coalesce(checks.is_as_recorded, true) then 'unexpected' else checks.verdict end as outcome,
        claims.description,
        claims.expected as documented,
        checks.observed,
        checks.judged_on,
        claims.quote,
        claims.document_title,
        claims.locator,
        checks.explanation,
        claims.query
    from quality.claims as claims
    inner join quality.claim_checks as checks
        on claims.claim_id = checks.claim_id
    order by claims.corpus_id, claims.claim_id
"""
RULES = """
    select
        rule_id,
        coalesce(corpus_id, 'all') as corpus_id,
        kind,
        observed as cases,
        expected as known,
        title
    from quality.violation_rules
    order by observed desc, rule_id, corpus_id
"""
CASES = """
    select
        coalesce(row_key, concat_ws('/', dialogue_key, turn_index)) as key,
        other_key,
        service,
        slot_name,
        detail,
        source_file_id,
        record_index,
        turn_index
    from quality.violations
    where rule_id = $rule and $corpus in ('all', corpus_id)
    order by source_file_id, record_index, turn_index, detail, row_key, other_key, occurrence
    limit 500
"""
BUILDS = "select * from quality.builds order by started_at desc, build_id desc limit 50"
CHANGES = """
    select
        corpus_id,
        kind,
        table_name,
        change,
        row_count as rows,
        first_keys
    from quality.build_changes
    where build_id = $build
    order by kind, corpus_id, table_name, change
"""
FIGURES = ("dialogue_count", "turn_count", "action_count", "slot_count", "violation_count")


def show() -> None:
    """Show the page."""
    st.title("Quality")
    claims, defects, builds, changes = st.tabs(["Claims", "Defects", "Builds", "Changes"])
    with claims:
        _claims(published.rows(CLAIMS))
    with defects:
        _defects(published.rows(RULES))
    known = published.rows(BUILDS)
    with builds:
        _builds(known)
    with changes:
        _changes(known)


def _chosen(of: str, label: str, rows: list[Row], name: str) -> list[Row]:
    """Return the rows that match a filter."""
    value = st.selectbox(label, ["all", *sorted({row[name] for row in rows})], key=f"{of} {name}")
    return [row for row in rows if value in ("all", row[name])]


def _claims(rows: list[Row]) -> None:
    left, middle, right = st.columns(3)
    with left:
        rows = _chosen("claims", "Corpus", rows, "corpus_id")
    with middle:
        rows = _chosen("claims", "Outcome", rows, "outcome")
    words = right.text_input("Search", key="search claims").lower().split()
    rows = [row for row in rows if all(word in " ".join(map(str, row.values())).lower() for word in words)]
    if not rows:
        st.info("No claim matches.")
        return
    st.write(f"{len(rows):,} claims; select one to see its quote and SQL.")
    short = ("claim_id", "corpus_id", "outcome", "description", "documented", "observed", "judged_on")
    event = showing.table(
        [{name: row[name] for name in short} for row in rows],
        on_select="rerun",
        selection_mode="single-row",
        key="claims",
    )
    for index in event.selection.rows:
        claim = rows[index]
        showing.heading(f"{claim['claim_id']}: {claim['description']}")
        showing.paragraph(f"“{claim['quote']}”")
        showing.note(f"{claim['document_title']}, {claim['locator']}")
        showing.paragraph(f"Documented: {claim['documented']}. Observed: {claim['observed']}. {claim['explanation']}")
        if claim["query"]:
            st.code(claim["query"], language="sql")


def _defects(rows: list[Row]) -> None:
    left, right = st.columns(2)
    with left:
        rows = _chosen("rules", "Corpus", rows, "corpus_id")
    with right:
        rows = _chosen("rules", "Kind", rows, "kind")
    if not rows:
        st.info("No rule matches.")
        return
    st.write("Select a rule to see its cases; a key links to its dialogue.")
    event = showing.table(rows, on_select="rerun", selection_mode="single-row", key="rules")
    for index in event.selection.rows:
        rule = rows[index]
        showing.heading(f"{rule['rule_id']}: {rule['title'] or ''}")
        cases = published.rows(CASES, rule=rule["rule_id"], corpus=rule["corpus_id"])
        if cases:
            showing.table(cases, keys=("key",))
        else:
            st.info("This build has no cases.")


def _builds(rows: list[Row]) -> None:
    shown = st.selectbox("Figure", FIGURES, format_func=lambda name: name.replace("_count", "s"), key="figure")
    history = [(row["build_id"], [row[shown]]) for row in reversed(rows)]
    st.html(drawing.bars("Build", [shown.replace("_count", "s")], history).draw())
    showing.table(rows)


def _changes(rows: list[Row]) -> None:
    build = st.selectbox("Build", [row["build_id"] for row in rows], key="build")
    changes = published.rows(CHANGES, build=build)
    if changes:
        showing.table(changes)
    else:
        st.info("This build changed nothing, or it was the first one.")
