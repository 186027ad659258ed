"""The pages of quality: what their search finds, and where their keys lead."""

from __future__ import annotations

import duckdb
import pytest

from dialogue_warehouse.site import quality, results

RULE = {
    "rule_id": "abcd_slot_is_unknown",
    "is_guarded": True,
    "why": None,
    "observed": 12,
    "cases": [{"occurrence": 1, "row_key": None, "detail": "the slot 'city'"}],
}

OTHER_COLUMNS = (
    *("title", "description", "files", "expected", "observed_in_files", "is_guarded"),
    *("cases_read", "cases_right", "cases_right_again", "cases_agreed", "why"),
)
"""The columns of a rule without a meaning for these tests."""


@pytest.mark.parametrize("words", ["occurrence", "none", "true", "why", "'detail':", "slot none"])
def test_search_finds_only_what_a_page_can_show(words: str) -> None:
    """Regression: it found the names of columns, and the names that Python has for an absent value and a yes."""
    assert not quality._has_words(RULE, words)


@pytest.mark.parametrize("words", ["", "slot 12", "CITY unknown", "'city'"])
def test_search_finds_the_words_in_all_values(words: str) -> None:
    assert quality._has_words(RULE, words)


@pytest.mark.parametrize(
    ("key", "url"),
    [
        ("a/b/c", "dialogues?key=a/b/c"),
        ("a/b/c/0", "dialogues?key=a/b/c/0#turn-0"),
        ("a/b/c/12/slot", "dialogues?key=a/b/c/12/slot#turn-12"),
        (f"a/b/c/{'9' * 5000}", f"dialogues?key=a/b/c/{'9' * 5000}#turn-{'9' * 5000}"),
        ("a/b", None),
    ],
)
def test_key_leads_to_its_turn(key: str, url: str | None) -> None:
    """Regression: the page of a key with thousands of digits failed."""
    assert quality.Links().address(key) == url


def test_rule_limited_to_a_corpus_names_no_case_of_another() -> None:
    """Regression: of the one case in a corpus, the page said that two are in another one with its own entry."""
    columns = ("source_file_id", "record_index", "turn_index", "detail", "row_key", "other_key", "occurrence")
    with duckdb.connect() as con:
        con.execute(f"""
            create schema quality;
            create table quality.violation_rules as
            select *, {", ".join(f"null as {name}" for name in OTHER_COLUMNS)}
            from (values ('lost', null, 'defect', 3, null), ('lost', 'b', 'property', 2, null))
            as rules (rule_id, corpus_id, kind, observed, upstream_reference);
            create table quality.violations as
            select
                'lost' as rule_id, corpus_id, kind, null as upstream_reference, 'f/a/0' as dialogue_key,
                {", ".join(f"{number} as {name}" for number, name in enumerate(columns))}
            from (values ('a', 'defect'), ('b', 'property'), ('b', 'property')) as cases (corpus_id, kind);
        """)
        shared = next(rule for rule in results.read_rules(con) if rule["corpus_id"] is None)
    assert [other["corpus_id"] for other in shared["apart"]] == ["b"]
    limited = quality._of_corpus(shared, "a")
    assert (limited["observed"], limited["apart"]) == (1, [])


def test_column_that_a_build_of_an_older_version_lacks_is_named() -> None:
    """Regression: all columns that were there were read, and the page failed with a fault of the program."""
    columns = ("rule_id", "corpus_id", "kind", "observed", "upstream_reference", *OTHER_COLUMNS)
    older = (f"null as {name}" for name in columns if name != "cases_right_again")
    with duckdb.connect() as con:
        con.execute(f"""
            create schema quality;
            create table quality.violation_rules as select {", ".join(older)};
            create table quality.violations as select 'lost' as rule_id, 'a' as corpus_id, 'a/b/c' as dialogue_key;
        """)
        with pytest.raises(duckdb.BinderException, match="cases_right_again"):
            results.read_rules(con)
