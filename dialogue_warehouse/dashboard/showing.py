"""Output of the pages; all text of a corpus is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import markupsafe
import streamlit as st

from dialogue_warehouse.common.text import address
from dialogue_warehouse.dashboard.published import Row
from dialogue_warehouse.site import drawing, rendering
from dialogue_warehouse.site.pictures import Picture

OWN = """
.passage { overflow-wrap: anywhere; }
.passage.soft { opacity: .75; font-size: .9rem; }
.passage pre { white-space: pre-wrap; margin: 0; }
.picture b { display: block; }
.picture small { opacity: .75; }
.chart { --card: transparent; }
"""


def style() -> None:
    """Add the style sheets of charts and dialogues to the page."""
    st.html(f"<style>{drawing.style()}{rendering.style()}{OWN}</style>")


def paragraph(text: str, kind: str = "") -> None:
    """Show a text without interpreting any markup."""
    st.html(markupsafe.Markup('<p class="passage {}">{}</p>').format(kind, rendering.harmless(text)))


def note(text: str) -> None:
    """Show a text in smaller letters."""
    paragraph(text, "soft")


def heading(text: str) -> None:
    """Show a heading with text of a corpus."""
    st.html(markupsafe.Markup("<h3>{}</h3>").format(rendering.harmless(text)))


def refused(text: str) -> None:
    """Show the reason why there is nothing to see."""
    st.error("This page cannot be shown.")
    paragraph(text)


def pictures(some: Iterable[Picture]) -> None:
    """Show charts, two side by side if there is space."""
    columns = st.columns(2)
    for index, picture in enumerate(some):
        with columns[index % 2].container(border=True):
            caption = markupsafe.Markup('<div class="picture"><b>{}</b><small>{} {}</small></div>').format(
                picture.title, picture.note, picture.table
            )
            st.html(caption + picture.chart.draw())


def table(rows: list[Row], *, keys: Iterable[str] = (), **options: Any) -> Any:
    """Show rows as a table; columns with keys link to the dialogue."""
    links = {name: st.column_config.LinkColumn(name, display_text=r"[?&]key=([^&]*)") for name in keys}
    shown = [row | {name: address(row[name]) for name in links if row.get(name) is not None} for row in rows]
    return st.dataframe(shown, hide_index=True, width="stretch", column_config=links, **options)
