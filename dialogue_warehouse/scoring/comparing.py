"""Two sets of predictions, compared dialogue by dialogue on the units that both predict.

A metric's difference is a sum over dialogues. If both were equally good, each dialogue's part could as well have the
other sign: the share of all choices of signs with a sum as far from zero is the p-value.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence

from dialogue_warehouse.scoring.measuring import Measuring

MOST_EXACT = 12
"""Largest number of differing dialogues for which every choice of signs is tried; beyond, the sum counts as normal."""

BOTH = """
    create or replace temp table units as
    select own.*
    from {own} as own
    semi join {other} as other
        on own.unit_key = other.unit_key
        and own.metric = other.metric
        and own.variant is not distinct from other.variant
        and other.is_scored
    where own.is_scored
"""
DIFFERENCES = """
    with

    middles as (
        select
            own.metric, own.variant, own.group_name,
            own.value, other.value as against_value,
            own.denominator, other.denominator as against_denominator,
            (own.value + other.value) / 2 as middle
        from own_totals as own
        inner join totals as other
            on own.metric = other.metric
            and own.variant is not distinct from other.variant
            and own.group_name = other.group_name
        where own.denominator > 0 and other.denominator > 0
    ),

    parts as (
        select
            middles.*,
            own.dialogue_key,
            (own.numerator - middles.middle * own.denominator) / middles.denominator
            - (other.numerator - middles.middle * other.denominator) / middles.against_denominator as difference
        from middles
        inner join own_sums as own
            on middles.metric = own.metric
            and middles.variant is not distinct from own.variant
            and middles.group_name = own.group_name
        inner join sums as other
            on own.dialogue_key = other.dialogue_key
            and own.metric = other.metric
            and own.variant is not distinct from other.variant
            and own.group_name = other.group_name
    )

    select
        metric, variant, group_name,
        any_value(value) as value,
        any_value(against_value) as against_value,
        count(*) as dialogues,
        list(difference order by difference) as differences
    from parts
    group by metric, variant, group_name
    order by metric, variant nulls first, group_name
"""


def compare(measuring: Measuring, own: str, other: str) -> list[tuple]:
    """Compare the units of two tables.

    A row per metric, variant and group: both values, difference, p-value, dialogues, dialogues that differ.
    """
    con = measuring.con
    con.execute(BOTH.format(own=own, other=other))
    measuring.summarize()
    for table in ("totals", "sums"):
        con.execute(f"create or replace temp table own_{table} as select * from {table}")
    con.execute(BOTH.format(own=other, other=own))
    measuring.summarize()
    return [
        (
            *(metric, variant, group_name, value, against_value, value - against_value),
            *(p_value(differences), dialogues, sum(one != 0 for one in differences)),
        )
        for metric, variant, group_name, value, against_value, dialogues, differences in measuring.rows(DIFFERENCES)
    ]


def p_value(differences: Sequence[float]) -> float:
    """Return the chance of a sum at least as far from 0 if each difference could as well have the other sign."""
    differing = [one for one in differences if one]
    total = abs(math.fsum(differing))
    if not differing:
        return 1.0
    if len(differing) <= MOST_EXACT:
        reached = total - 1e-9 * math.fsum(map(abs, differing))  # sums that are equal may differ by their rounding
        choices = itertools.product((1, -1), repeat=len(differing))
        return sum(abs(sum(map(operator.mul, differing, signs))) >= reached for signs in choices) / 2 ** len(differing)
    spread = math.sqrt(math.fsum(one * one for one in differing))
    return math.erfc(total / spread / math.sqrt(2))
