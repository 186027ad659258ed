"""Queries on the results of one run, for people."""

from __future__ import annotations

from dialogue_warehouse.common.database import literal
from dialogue_warehouse.scoring.running import Scores


def metrics_query(scores: Scores, is_short: bool) -> str:
    """Return the query of the metrics, in the order in which they are declared: the main groups, or all of them."""
    declared = scores.scoring.declaration
    digits = 6 if is_short else 12
    rounded = {"value", "low", "high", "strict_value", "gold_value", "coverage"}
    columns = ["metric", "variant", "group_name", "value", "low", "high", "strict_value", "gold_value", "coverage"]
    shown = [f"round(metrics.{name}, {digits}) as {name}" if name in rounded else f"metrics.{name}" for name in columns]
    if not is_short:
        shown += ["metrics.units", "metrics.scored_units", "metrics.dialogues"]
    run = literal(scores.run_id)
    join = ""
    if scores.against_sha256 is not None:
        shown += [f"round(comparisons.{name}, {digits}) as {name}" for name in ("against_value", "difference")]
        shown.append("round(comparisons.p_value, 6) as p_value" if is_short else "comparisons.p_value")
        join = (
            "left join scores.comparisons as comparisons on metrics.run_id = comparisons.run_id"
            " and metrics.metric = comparisons.metric and metrics.variant is not distinct from comparisons.variant"
            " and metrics.group_name = comparisons.group_name"
            f" and comparisons.against_sha256 = {literal(scores.against_sha256)}"
        )
    groups = "[" + ", ".join(map(literal, declared.main_groups)) + "]"
    kept = f"list_contains({groups}, metrics.group_name)" if is_short else "true"
    order = "[" + ", ".join(map(literal, declared.metrics)) + "]"
    variants = "[" + ", ".join(map(literal, declared.variants)) + "]::varchar[]"
    return f"""
        select {", ".join(shown)}
        from scores.metrics as metrics
        {join}
        where metrics.run_id = {run} and {kept}
        order by
            coalesce(list_position({groups}, metrics.group_name), {len(declared.main_groups) + 1}), metrics.group_name,
            list_position({order}, metrics.metric), list_position({variants}, metrics.variant)
    """


def slots_query(scores: Scores, most: int | None = None) -> str | None:
    """Return the query of the slots with errors, the most first; None if the metrics are not about slots."""
    if "slots" not in scores.scoring.queries:
        return None
    return f"""
        select
            service, slot,
            coalesce(sum(times) filter (where outcome = 'right'), 0) as right_values,
            coalesce(sum(times) filter (where outcome = 'wrong'), 0) as wrong_values,
            coalesce(sum(times) filter (where outcome = 'missed'), 0) as missed,
            coalesce(sum(times) filter (where outcome = 'invented'), 0) as invented,
            arg_min(example_key, (-times, example_key)) filter (where outcome <> 'right') as example_key
        from scores.slots
        where run_id = {literal(scores.run_id)}
        group by service, slot
        having coalesce(sum(times) filter (where outcome <> 'right'), 0) > 0
        order by sum(times) filter (where outcome <> 'right') desc, service, slot
        {"" if most is None else f"limit {most}"}
    """
