"""The page about one corpus: its profile, and charts of its content."""

from __future__ import annotations

import streamlit as st

from dialogue_warehouse.dashboard import published, showing

CORPORA = "select corpus_id, title, homepage, license, citation from core.dim_corpora order by corpus_id"
PROFILE = """
    select * exclude (corpus_id, is_whole_corpus)
        replace (case when is_whole_corpus then 'all' else coalesce(split, 'none') end as split)
    from analytics.corpus_profile
    where corpus_id = $corpus
    order by is_whole_corpus desc, list_position(['train', 'validation', 'test'], split)
"""


def show() -> None:
    """Show the page of the corpus in the address, or of the selected one."""
    st.title("Corpora")
    corpora = {row["corpus_id"]: row for row in published.rows(CORPORA)}
    names = list(corpora)
    asked = st.query_params.get("corpus")
    chosen = st.selectbox("Corpus", names, index=names.index(asked) if asked in names else 0, key="corpus")
    st.query_params["corpus"] = chosen
    corpus = corpora[chosen]
    showing.heading(corpus["title"])
    showing.note(f"License: {corpus['license']}. {corpus['citation']} {corpus['homepage']}")
    showing.table(published.rows(PROFILE, corpus=chosen))
    own = [picture for picture in published.pictures() if picture.corpus_id == chosen]
    if own:
        showing.pictures(own)
    else:
        st.info("No mart has rows of this corpus.")
