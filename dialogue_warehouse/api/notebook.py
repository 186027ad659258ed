"""A warehouse in a notebook."""

from __future__ import annotations

from dialogue_warehouse.reading import findings
from dialogue_warehouse.reading.connection import Connection
from dialogue_warehouse.site import rendering

_CORPORA = """
    select
        corpora.corpus_id,
        corpora.title,
        corpora.is_generated,
        count(dialogues.dialogue_key) as dialogues,
        coalesce(cast(sum(dialogues.turn_count) as bigint), 0) as turns,
        (
            select count(*)
            from quality.violations as violations
            where violations.corpus_id = corpora.corpus_id and violations.kind = 'defect'
        ) as defects
    from core.dim_corpora as corpora
    left join core.dim_dialogues as dialogues
        on corpora.corpus_id = dialogues.corpus_id
    group by all
    order by corpora.corpus_id
"""
_VERDICTS = """
    select
        verdict,
        count(*) as number
    from quality.claim_checks
    group by verdict
    order by number desc, verdict
"""


def summary_of(con: Connection, place: str, build_id: str) -> str:
    """Return the summary of a warehouse as HTML: the corpora with their numbers, and the claims by verdict."""
    corpora, verdicts = findings.read_rows(con, _CORPORA), con.execute(_VERDICTS).fetchall()
    return rendering.render_summary(place, build_id, corpora, dict(verdicts))
