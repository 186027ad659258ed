"""Rows by key in any table of core, and the queries of `claims` and `violations`.

For a key without a row, the nearest existing keys are suggested.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import duckdb

from dialogue_warehouse.common.database import literal
from dialogue_warehouse.common.json_values import array_index
from dialogue_warehouse.common.text import command, is_unicode
from dialogue_warehouse.corpora import registry
from dialogue_warehouse.errors import InputError, counted
from dialogue_warehouse.reading.connection import Connection

Row = dict[str, Any]
"""A row, by column name."""
KEYED_TABLES = {
    "dim_dialogues": "dialogue_key",
    "fct_turns": "turn_key",
    "fct_frames": "frame_key",
    "fct_actions": "action_key",
    "fct_slots": "slot_key",
    "fct_votes": "vote_key",
    "fct_responses": "response_key",
    "fct_classifier_examples": "example_key",
    "fct_service_calls": "call_key",
    "fct_service_results": "result_key",
    "fct_candidates": "candidates_key",
    "fct_knowledge_items": "knowledge_key",
    "dim_services": "service_definition_key",
    "dim_intents": "intent_key",
    "dim_slots": "slot_definition_key",
    "dim_guidelines": "guideline_key",
    "dim_split_members": "source_file_id || '/' || record_index",
}
"""The tables of core with their own key, and its column. The key of a line is its file and its number."""
SEGMENTS = 3
"""Parts of a dialogue's key. The keys of its rows begin with them."""
MOST_SEGMENTS = 32
"""Parts of a key that are looked up one after the other, more than the longest key has."""
NAMED_KEYS = 3
"""Number of keys that a message names as examples."""


class TraceError(InputError):
    """A key without a row. The message names the nearest existing keys."""

    def __init__(self, message: str, near: str | None = None) -> None:
        """Create the error; `near` is the first of the nearest keys, if a dialogue has it."""
        super().__init__(message)
        self.near = near


def key_of_dialogue(key: str) -> str:
    """Return the beginning of a row's key that is the key of its dialogue, or the whole key if it is shorter."""
    return "/".join(key.split("/")[:SEGMENTS])


def find_row(con: Connection, key: str) -> tuple[str, dict[str, Any]]:
    """Return the table and the row of a key. Raises TraceError with the nearest keys if there is none."""
    if not is_unicode(key):
        raise TraceError(f"no row has the key '{key}', which is not valid UTF-8")
    dialogue_key = key_of_dialogue(key)
    if dialogue_key != key:  # the key of the dialogue lets DuckDB skip most of a table
        for table, column in KEYED_TABLES.items():
            if table.startswith("fct_"):
                where = f"dialogue_key = ? and {column} = ?"
                if rows := _rows_of(con, table, where, [dialogue_key, key]):
                    return table, rows[0]
    for table, column in KEYED_TABLES.items():
        if rows := _rows_of(con, table, f"{column} = ?", [key]):
            return table, rows[0]
    hint, near = _nearest(con, key)
    raise TraceError(f"no row has the key '{key}'{hint}", near)


def read_rows(
    con: Connection, query: str | duckdb.Statement, parameters: Sequence[Any] | Mapping[str, Any] = ()
) -> list[dict[str, Any]]:
    """Return the rows of a query, each by column name."""
    found = con.execute(query, parameters)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _rows_of(con: Connection, table: str, where: str, parameters: Sequence[Any]) -> list[Row]:
    """Return the rows of a table of core for which a condition holds; none if the build lacks the table."""
    try:
        return read_rows(con, f"select * from core.{table} where {where}", parameters)
    except duckdb.CatalogException:
        return []


def _nearest(con: Connection, key: str) -> tuple[str, str | None]:
    """Name the longest beginning of the key that is a key, and the keys below it; else a similar dialogue.

    The second text is the first of the named keys, if a dialogue has it.
    """
    names = con.execute("select table_name from information_schema.tables where table_schema = 'core'").fetchall()
    tables = {table: column for table, column in KEYED_TABLES.items() if (table,) in names}
    every_key = " union all ".join(
        f"select '{table}' as name, {column} as found from core.{table}" for table, column in tables.items()
    )
    beginning = "/".join(key.rstrip("/").split("/")[:MOST_SEGMENTS])
    with_id = con.execute(
        "select dialogue_key from core.dim_dialogues where dialogue_id = ? order by dialogue_key", [key]
    ).fetchall()
    if with_id:
        named = ", ".join(f"'{found}'" for (found,) in with_id[:NAMED_KEYS])
        return f"; it is the publisher's id of {named}{' …' if len(with_id) > NAMED_KEYS else ''}", with_id[0][0]
    while "/" in beginning:
        known = con.execute(f"select name from ({every_key}) where found = ? limit 1", [beginning]).fetchone()
        if known:
            break
        beginning = beginning.rpartition("/")[0]
    else:
        similar = con.execute(
            "select dialogue_key from core.dim_dialogues where corpus_id = split_part($1, '/', 1) "
            "order by jaro_winkler_similarity(dialogue_key, $1) desc, dialogue_key limit 1",
            [key],
        ).fetchone()
        if similar is None:
            read = con.execute("select distinct corpus_id from core.dim_source_files order by corpus_id").fetchall()
            return f"; a key of this build begins with one of {', '.join(f'{name}/' for (name,) in read)}", None
        return f"; the most similar dialogue is '{similar[0]}'", similar[0]
    near = beginning if _is_of_dialogue(con, beginning) else None
    if beginning == key.rstrip("/"):
        return f"; core.{known[0]} has '{beginning}'", near
    wanted = key[len(beginning) + 1 :].split("/")[0]
    below = con.execute(
        f"""
        select substr(found, length($1) + 2) as tail
        from ({every_key})
        where starts_with(found, $1 || '/')
        order by not starts_with(tail, $2 || '/'), length(tail), tail
        """,
        [beginning, wanted],
    ).fetchall()
    there = f"; core.{known[0]} has '{beginning}'"
    if known[0] == "dim_dialogues":
        turns = sum(array_index(tail) is not None for (tail,) in below)
        there += f", with {counted(turns, 'turn')}" + (f", 0 to {turns - 1}" if turns > 1 else "")
        below = [] if array_index(wanted) is not None else below
    if below:
        named = ", ".join(tail for (tail,) in below[:NAMED_KEYS])
        there += f", and keys below it are {named}{' …' if len(below) > NAMED_KEYS else ''}"
    return there, near


def _is_of_dialogue(con: Connection, key: str) -> bool:
    """Return whether a key is that of a dialogue, or begins with one."""
    found = con.execute("select 1 from core.dim_dialogues where dialogue_key = ?", [key_of_dialogue(key)]).fetchone()
    return found is not None


LONGEST_NUMBER = 15
"""Characters of a claim's expected and observed value in the shortest form: so the columns fit 80 characters."""
UNEXPECTED = "(checks.observed ->> '$.unexpected') || coalesce(' of ' || (checks.observed ->> '$.of'), '')"
Detail = Literal["short", "verbose", "whole"]
"""The columns that a query returns: those that fit a terminal of 80 characters, the main ones, or all."""


def _elided(value: str) -> str:
    """Return the SQL of a text without what a terminal has no place for."""
    return f"if(length({value}) > {LONGEST_NUMBER}, left({value}, {LONGEST_NUMBER - 1}) || '…', {value})"


_OBSERVED = f"if(starts_with(checks.observed, '{{'), {UNEXPECTED}, checks.observed)"
CLAIMS: dict[Detail, str] = {
    "short": (
        f"claims.claim_id, claims.corpus_id, checks.verdict, {_elided('claims.expected')} as expected, "
        f"{_elided(_OBSERVED)} as observed"
    ),
    "verbose": (
        "claims.claim_id, claims.corpus_id, claims.quotes_whom, checks.verdict, checks.judged_on, "
        "checks.is_as_recorded, checks.rows_tested, claims.expected, checks.observed, claims.description"
    ),
    "whole": "claims.*, checks.* exclude (claim_id, corpus_id)",
}
"""The columns of claims."""
RULES: dict[Detail, str] = {
    "short": "rule_id, corpus_id, kind, observed, if(is_guarded, observed_in_files = expected, null) as as_known",
    "verbose": (
        "rule_id, corpus_id, kind, observed, observed_in_files, expected, is_guarded, title, upstream_reference"
    ),
}
"""The columns of rules with their numbers of cases."""


def claims_query(
    corpora: Iterable[str], verdict: str | None, only_unexpected: bool, detail: Detail, claim: str | None = None
) -> str:
    """Return the query of claims with their verdicts, limited to corpora, a verdict, unexpected ones, or one claim."""
    conditions = _of_corpora("claims.corpus_id", corpora)
    if verdict:
        conditions.append(f"checks.verdict = {literal(verdict)}")
    if only_unexpected:
        conditions.append("not checks.is_as_recorded")
    if claim is not None:
        conditions.append(f"claims.claim_id = {literal(claim)}")
    return f"""
        select {CLAIMS[detail]}
        from quality.claims as claims
        inner join quality.claim_checks as checks
            on claims.claim_id = checks.claim_id
        {_where(conditions)}
        order by claims.corpus_id, claims.claim_id
    """


def refuse_unknown_claim(con: Connection, claim: str | None, warehouse: Path | None = None) -> None:
    """Raise InputError for a claim that the published build lacks."""
    if claim is not None and not _is_there(con, "quality.claims", "claim_id", claim):
        raise InputError(f"there is no claim '{claim}'; `{command('claims', warehouse=warehouse)}` lists all claims")


def verdicts(con: Connection, corpora: Iterable[str]) -> str:
    """Say how many claims have which verdict, and why a number of generated files proves nothing."""
    found = con.execute(
        f"""
        select verdict, count(*) as claims, bool_and(judged_on = 'generated') as is_generated
        from quality.claim_checks
        {_where(_of_corpora("corpus_id", corpora))}
        group by verdict
        order by claims desc, verdict
        """
    ).fetchall()
    text = ", ".join(f"{claims:,} {verdict}" for verdict, claims, _ in found) or "none"
    if found and all(is_generated for *_, is_generated in found):
        text += "; the data are generated: only a real release can refute its documents"
    return text


def violations_query(corpora: Iterable[str], rule: str | None, is_summary: bool, detail: Detail) -> str:
    """Return the query of all cases, or of rules with their numbers of cases, limited to corpora and a rule.

    A rule of all corpora is listed with its cases in the corpora of the query; a corpus with its own entry for the rule
    has a line for itself, so its cases are not counted again. Without corpora, the numbers are those of the table.

    If it is whole, each case says whether its corpus was generated.
    """
    of_corpora = _of_corpora("corpus_id", corpora)
    of_rule = [] if rule is None else [f"rule_id = {literal(rule)}"]
    if is_summary:
        return f"""
            select {RULES.get(detail, RULES["verbose"])}
            from {_rules_of(of_corpora[0]) if of_corpora else "quality.violation_rules"}
            {_where(of_rule)}
            order by kind, corpus_id nulls first, rule_id
        """
    generated = (
        "(select is_generated from core.dim_corpora as corpora where corpora.corpus_id = violations.corpus_id) "
        "as is_generated"
    )
    return f"""
        select {f"*, {generated}" if detail == "whole" else "*"}
        from quality.violations as violations
        {_where(of_corpora + of_rule)}
        order by corpus_id, rule_id, source_file_id, record_index, turn_index, detail, row_key, other_key, occurrence
    """


def _rules_of(of_corpora: str) -> str:
    """Return the rules of corpora, and those of all with their cases in corpora without a separate entry."""
    return f"""(
        with

        entries as (
            select rule_id, corpus_id
            from quality.violation_rules
            where corpus_id is not null
        ),

        shared as (
            select
                rules.rule_id,
                corpora.corpus_id
            from quality.violation_rules as rules
            cross join core.dim_corpora as corpora
            anti join entries on rules.rule_id = entries.rule_id and corpora.corpus_id = entries.corpus_id
            where rules.corpus_id is null and corpora.{of_corpora}
        )

        select * replace (
            if(
                corpus_id is null,
                (
                    select cast(count(*) as integer)
                    from quality.violations as cases
                    semi join shared on cases.rule_id = shared.rule_id and cases.corpus_id = shared.corpus_id
                    where cases.rule_id = rules.rule_id
                ),
                observed
            ) as observed
        )
        from quality.violation_rules as rules
        where {of_corpora} or (corpus_id is null and rule_id in (select rule_id from shared))
    )"""


def refuse_unknown_rule(con: Connection, rule: str | None, warehouse: Path | None = None) -> None:
    """Raise InputError for a rule that the published build lacks; an empty result would look like no violations."""
    if rule is not None and not _is_there(con, "quality.violation_rules", "rule_id", rule):
        listing = command("violations", "--rules", warehouse=warehouse)
        raise InputError(f"there is no rule '{rule}'; `{listing}` lists all rules")


def _is_there(con: Connection, table: str, column: str, value: str) -> bool:
    """Return whether a table has a row with this value."""
    found = is_unicode(value) and con.execute(f"select 1 from {table} where {column} = ?", [value]).fetchone()
    return bool(found)


def _of_corpora(column: str, corpora: Iterable[str]) -> list[str]:
    """Return the condition, if there is one. Raises CorpusError for an unknown corpus."""
    names = ", ".join(literal(registry.load_corpus(name).corpus_id) for name in corpora)
    return [f"{column} in ({names})"] if names else []


def _where(conditions: list[str]) -> str:
    return f"where {' and '.join(conditions)}" if conditions else ""
