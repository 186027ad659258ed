"""The queries of the commands `claims` and `violations`, over the published tables of the schema `quality`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipelines.commands import command
from pipelines.corpora import registry
from pipelines.errors import InputError
from pipelines.intake.sql_text import literal
from pipelines.reading.connection import Connection

SHORT = (
    "claims.claim_id, claims.corpus_id, claims.quotes_whom, checks.verdict, checks.judged_on, checks.is_as_recorded, "
    "checks.rows_tested, claims.expected, checks.observed, claims.description"
)
WHOLE = "claims.*, checks.* exclude (claim_id, corpus_id)"


def claims_query(corpora: Iterable[str], verdict: str | None, only_unexpected: bool, is_short: bool) -> str:
    """Claims with their verdicts; of these corpora, with this verdict, only those that are not as recorded."""
    conditions = _of_corpora("claims.corpus_id", corpora)
    if verdict:
        conditions.append(f"checks.verdict = {literal(verdict)}")
    if only_unexpected:
        conditions.append("not checks.is_as_recorded")
    return f"""
        select {SHORT if is_short else WHOLE}
        from quality.claims as claims
        inner join quality.claim_checks as checks
            on claims.claim_id = checks.claim_id
        {_where(conditions)}
        order by claims.corpus_id, claims.claim_id
    """


def violations_query(corpora: Iterable[str], rule: str | None, is_summary: bool) -> str:
    """Each case, or each rule with its number of cases; of these corpora, of this rule."""
    conditions = _of_corpora("corpus_id", corpora)
    if rule:
        conditions.append(f"rule_id = {literal(rule)}")
    if is_summary:
        return f"""
            select rule_id, corpus_id, kind, observed, observed_in_files, expected, is_guarded, title,
                upstream_reference
            from quality.violation_rules
            {_where(conditions)}
            order by kind, corpus_id nulls first, rule_id
        """
    return f"""
        select *
        from quality.violations
        {_where(conditions)}
        order by corpus_id, rule_id, source_file_id, record_index, turn_index, detail, row_key, other_key, occurrence
    """


def refuse_unknown_rule(con: Connection, rule: str | None, warehouse: Path | None = None) -> None:
    """Raise InputError for a rule that the published build does not have: no case of it would prove nothing."""
    if rule and not con.execute("select 1 from quality.violation_rules where rule_id = ?", [rule]).fetchone():
        listing = command("violations", "--rules", warehouse=warehouse)
        raise InputError(f"there is no rule '{rule}'; `{listing}` lists what there is")


def _of_corpora(column: str, corpora: Iterable[str]) -> list[str]:
    """The condition, if any. Raises RoomError for a name that is no corpus."""
    names = ", ".join(literal(registry.load_corpus(name).corpus_id) for name in corpora)
    return [f"{column} in ({names})"] if names else []


def _where(conditions: list[str]) -> str:
    return f"where {' and '.join(conditions)}" if conditions else ""
