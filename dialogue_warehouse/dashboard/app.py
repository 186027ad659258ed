"""The script that Streamlit runs: the menu and its pages."""

from __future__ import annotations

import streamlit as st

from dialogue_warehouse.dashboard import corpora, dialogues, overview, published, quality, showing, sql
from dialogue_warehouse.errors import InputError
from dialogue_warehouse.reading.dialogue_parts import GENERATED

PAGES = {
    "overview": ("Overview", overview.show),
    "corpora": ("Corpora", corpora.show),
    "dialogues": ("Dialogues", dialogues.show),
    "quality": ("Quality", quality.show),
    "sql": ("SQL", sql.show),
}
"""By address: the name of a page in the menu, and the function that shows it."""


GENERATED_CORPORA = """
    select string_agg(distinct title, ', ' order by title) as titles
    from core.dim_source_files
    inner join core.dim_corpora using (corpus_id)
    where verification = 'simulated'
    having count(*) > 0
"""


def main() -> None:
    """Show a page; an error is shown in one line."""
    st.set_page_config(page_title="dialogue-warehouse", layout="wide")
    pages = {
        name: st.Page(show, title=title, url_path=name, default=name == "overview")
        for name, (title, show) in PAGES.items()
    }
    chosen = st.navigation(list(pages.values()), position="top")
    if chosen == pages["overview"] and "key" in st.query_params:
        st.switch_page(pages["dialogues"], query_params={"key": st.query_params["key"]})
    showing.style()
    try:
        build = published.build_id()
        generated = published.rows(GENERATED_CORPORA)
        if generated:
            st.warning(f"Generated data: {generated[0]['titles']}: {GENERATED}.")
        chosen.run()
    except InputError as error:
        showing.refused(str(error))
    else:
        showing.note(f"Build {build}. Read-only; nothing on these pages is loaded from a network.")


main()
