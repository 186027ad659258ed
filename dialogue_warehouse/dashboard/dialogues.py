"""The viewer: dialogues found by text and annotations, and one of them to read. Every key has an address here."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dialogue_warehouse.dashboard import published, showing
from dialogue_warehouse.errors import InputError, counted

SHOWN = 100
KEY_FIELD, KEY_ASKED = "key field", "key of the address"
FILTERS = {
    "corpus": ("Corpus", "dialogues.corpus_id = ${0}"),
    "split": ("Split", "coalesce(dialogues.split, 'none') = ${0}"),
    "domain": (
        "Domain",
        "exists (from core.dim_dialogue_services as used"
        " where used.dialogue_key = dialogues.dialogue_key and used.domain = ${0})",
    ),
    "act": (
        "Act",
        "exists (from core.fct_actions as acts where acts.dialogue_key = dialogues.dialogue_key and acts.act = ${0})",
    ),
    "slot": (
        "Slot",
        "exists (from core.fct_slots as slots"
        " where slots.dialogue_key = dialogues.dialogue_key and slots.slot_name = ${0})",
    ),
    "defect": (
        "Defect",
        "exists (from quality.violations as cases"
        " where cases.dialogue_key = dialogues.dialogue_key and cases.rule_id = ${0})",
    ),
}
"""By name in the address: the label of a filter, and its condition."""
CHOICES = {
    "corpus": "select corpus_id from core.dim_corpora order by all",
    "split": """
        select distinct coalesce(split, 'none')
        from core.dim_dialogues
        where $corpus in ('', corpus_id)
        order by all
    """,
    "domain": """
        select distinct label
        from analytics.label_distribution
        where label_kind = 'domain' and $corpus in ('', corpus_id)
        order by all
    """,
    "act": """
        select distinct label
        from analytics.label_distribution
        where label_kind in ('dialogue_act', 'button', 'selection') and $corpus in ('', corpus_id)
        order by all
    """,
    "slot": """
        select distinct slot_name
        from analytics.slot_profile
        where annotation_count > 0 and slot_name is not null and $corpus in ('', corpus_id)
        order by all
    """,
    "defect": "select distinct rule_id from quality.violations where $corpus in ('', corpus_id) order by all",
}
SAID = (
    "exists (from core.fct_turns as turns"
    " where turns.dialogue_key = dialogues.dialogue_key and contains(lower(turns.utterance), $said))"
)


def show() -> None:
    """Show the dialogue in the address, or those that match the filters."""
    st.title("Dialogues")
    key = _key()
    if key:
        _read(key)
        if st.button("Find others"):
            st.query_params.clear()
            st.rerun()
        return
    chosen = _filters()
    found = _found(chosen)
    if not found:
        st.info("No dialogue matches.")
        return
    count = f"The first {SHOWN} dialogues" if len(found) > SHOWN else counted(len(found), "dialogue")
    st.write(f"{count}; a key opens one.")
    showing.table(found[:SHOWN], keys=("dialogue_key",))


def _key() -> str:
    """Return the key in the text field; a newly opened address replaces it."""
    asked = st.query_params.get("key", "")
    if KEY_FIELD not in st.session_state or asked != st.session_state.get(KEY_ASKED):
        st.session_state[KEY_FIELD] = st.session_state[KEY_ASKED] = asked
    return st.text_input("Key", placeholder="of a dialogue, or of a row that belongs to one", key=KEY_FIELD).strip()


def _read(key: str) -> None:
    try:
        dialogue_key, html, json = published.dialogue(key)
    except InputError as error:
        showing.refused(str(error))
        return
    if st.query_params.get("key") != key:
        st.query_params["key"] = st.session_state[KEY_ASKED] = key
    st.html(html)
    if st.toggle("JSON"):  # the browser needs longer to lay it out than the dialogue
        st.code(json, language="json")
    st.download_button("Download JSON", json, file_name=f"{dialogue_key.replace('/', '_')}.json")


def _filters() -> dict[str, str]:
    """Return the selected filters; those in the address are selected from the start."""
    chosen: dict[str, str] = {}
    columns = st.columns(3)
    for index, (name, (label, _)) in enumerate(FILTERS.items()):
        known = [next(iter(row.values())) for row in published.rows(CHOICES[name], **_corpus(name, chosen))]
        options = ["", *known]
        asked = st.query_params.get(name, "")
        with columns[index % 3]:
            value = st.selectbox(
                label,
                options,
                index=options.index(asked) if asked in options else 0,
                format_func=lambda option: option or "all",
                key=f"filter {name}",
            )
        if value:
            chosen[name] = value
    said = st.text_input(
        "Said", st.query_params.get("said", ""), placeholder="words of an utterance", key="filter said"
    )
    if said.strip():
        chosen["said"] = said.strip().lower()
    return chosen


def _corpus(name: str, chosen: dict[str, str]) -> dict[str, str]:
    return {} if name == "corpus" else {"corpus": chosen.get("corpus", "")}


def _found(chosen: dict[str, str]) -> list[dict[str, Any]]:
    conditions = [FILTERS[name][1].format(name) for name in chosen if name in FILTERS]
    if "said" in chosen:
        conditions.append(SAID)
    where = f"where {' and '.join(conditions)}" if conditions else ""
    return published.rows(
        f"""
        select
            dialogues.dialogue_key,
            dialogues.split,
            dialogues.task,
            dialogues.turn_count,
            first.utterance as begins_with
        from core.dim_dialogues as dialogues
        left join core.fct_turns as first
            on
                dialogues.dialogue_key = first.dialogue_key
                and first.turn_index = 0
        {where}
        order by dialogues.corpus_id, dialogues.source_file_id, dialogues.record_index
        limit {SHOWN + 1}
        """,
        **chosen,
    )
