"""The first page: the published corpora, their size, and the results about them."""

from __future__ import annotations

import streamlit as st

from dialogue_warehouse.dashboard import published, showing
from dialogue_warehouse.site import drawing

CORPORA = """
    select
        overview.corpus_id,
        corpora.title,
        corpora.license,
        overview.dialogue_count as dialogues,
        overview.turn_count as turns,
        overview.violation_count as defects,
        overview.property_count as by_design,
        corpora.carried_from
    from analytics.corpus_overview as overview
    inner join core.dim_corpora as corpora
        on overview.corpus_id = corpora.corpus_id
    order by overview.corpus_id
"""
CLAIM_OUTCOMES = """
    select
        corpus_id as label,
        case when not coalesce(is_as_recorded, true) then 'unexpected' else replace(verdict, '_', ' ') end as series,
        count(*) as value
    from quality.claim_checks
    group by all
    order by all
"""


def show() -> None:
    """Show the page."""
    st.title("Overview")
    corpora = published.rows(CORPORA)
    verdicts = published.rows(CLAIM_OUTCOMES)
    figures = {
        "Corpora": len(corpora),
        "Dialogues": sum(row["dialogues"] for row in corpora),
        "Turns": sum(row["turns"] for row in corpora),
        "Claims": sum(row["value"] for row in verdicts),
        "Unexpected": sum(row["value"] for row in verdicts if row["series"] == "unexpected"),
        "Defective rows": sum(row["defects"] for row in corpora),
    }
    for column, (title, value) in zip(st.columns(len(figures)), figures.items(), strict=True):
        column.metric(title, f"{value:,}")
    showing.table(corpora)
    series = sorted({row["series"] for row in verdicts})
    counts = {(row["label"], row["series"]): row["value"] for row in verdicts}
    chart = drawing.stacked_bars(
        "Corpus",
        series,
        [(row["corpus_id"], [counts.get((row["corpus_id"], name), 0) for name in series]) for row in corpora],
    )
    st.subheader("Results of the documents' claims")
    st.html(chart.draw())
    st.subheader("Comparison")
    showing.pictures(picture for picture in published.pictures() if picture.corpus_id is None)
