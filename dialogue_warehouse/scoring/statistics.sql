-- From units to scores, for any corpus. `units` has a row per unit and metric, `cases` the dialogue, turn and groups of
-- each unit, `metrics_declared` what score.toml says, `left_out` the turns that do not count.
-- A score is the sum of the numerators of its units, divided by the sum of their denominators.

-- The sums of each dialogue. `strict` counts what was not predicted as wrong.
-- part: sums
with

-- The units that count. Those of a dialogue with the same groups are a bundle: grouping by numbers is faster. Where
-- only totals are wanted, all units with the same groups are one bundle.
counting as (
    select
        cases.unit_key,
        cases.dialogue_key,
        cases.turn_key,
        cases.groups,
        dense_rank() over (
            order by if(getvariable('by_dialogue'), cases.dialogue_key, null), cases.groups
        ) as bundle
    from cases
    anti join left_out on cases.turn_key = left_out.turn_key
),

bundles as (
    select
        bundle,
        any_value(dialogue_key) as dialogue_key,
        any_value(groups) as groups
    from counting
    group by bundle
),

counted as (
    select
        counting.bundle,
        counting.turn_key,
        units.metric,
        units.variant,
        units.is_scored,
        units.denominator,
        units.numerator,
        metrics_declared.across_turn
    from units
    inner join counting on units.unit_key = counting.unit_key
    inner join metrics_declared on units.metric = metrics_declared.metric
),

of_units as (
    select
        bundle, metric, variant,
        count(*) as units,
        count(*) filter (where is_scored) as scored_units,
        fsum(numerator) filter (where is_scored) as numerator,
        fsum(denominator) filter (where is_scored) as denominator,
        fsum(if(is_scored, numerator, 0)) as strict_numerator,
        fsum(denominator) as strict_denominator
    from counted
    where not across_turn
    group by bundle, metric, variant
),

of_groups as (
    select
        bundles.dialogue_key, counted.turn_key, unnest(bundles.groups) as group_name,
        counted.metric, counted.variant, counted.is_scored, counted.numerator
    from counted
    inner join bundles on counted.bundle = bundles.bundle
    where counted.across_turn
),

of_turns as (
    select
        dialogue_key, group_name, metric, variant, turn_key,
        bool_or(is_scored) as is_scored,
        product(numerator) filter (where is_scored) as numerator,
        product(if(is_scored, numerator, 0)) as strict_numerator
    from of_groups
    group by dialogue_key, group_name, metric, variant, turn_key
),

of_dialogues as (
    select
        bundles.dialogue_key, unnest(bundles.groups) as group_name, of_units.metric, of_units.variant,
        of_units.units, of_units.scored_units, of_units.numerator, of_units.denominator,
        of_units.strict_numerator, of_units.strict_denominator
    from of_units
    inner join bundles on of_units.bundle = bundles.bundle

    union all
    select
        dialogue_key, group_name, metric, variant,
        1 as units,
        if(is_scored, 1, 0) as scored_units,
        numerator,
        if(is_scored, 1, null) as denominator,
        strict_numerator,
        1 as strict_denominator
    from of_turns
)

select
    dialogue_key, group_name, metric, variant,
    sum(units) as units,
    sum(scored_units) as scored_units,
    fsum(numerator) as numerator,
    fsum(denominator) as denominator,
    fsum(strict_numerator) as strict_numerator,
    fsum(strict_denominator) as strict_denominator
from of_dialogues
group by dialogue_key, group_name, metric, variant

-- part: totals
with

summed as (
    select
        metric, variant, group_name,
        fsum(numerator) / nullif(fsum(denominator), 0) as value,
        fsum(strict_numerator) / nullif(fsum(strict_denominator), 0) as strict_value,
        fsum(denominator) as denominator,
        sum(units) as units,
        sum(scored_units) as scored_units,
        count(*) filter (where scored_units > 0) as dialogues
    from sums
    group by metric, variant, group_name
),

quotients as (
    select
        metrics_declared.metric, dividends.variant, dividends.group_name,
        dividends.value / nullif(divisors.value, 0) as value,
        dividends.strict_value / nullif(divisors.strict_value, 0) as strict_value,
        cast(null as double) as denominator,
        dividends.units,
        dividends.scored_units,
        dividends.dialogues
    from metrics_declared
    inner join summed as dividends on metrics_declared.dividend = dividends.metric
    inner join summed as divisors
        on metrics_declared.divisor = divisors.metric
        and dividends.variant is not distinct from divisors.variant
        and dividends.group_name = divisors.group_name
)

select * from summed
union all
select * from quotients

-- How much each dialogue moves each score: the linear part of the difference that it makes.
-- part: influences
with

of_sums as (
    select
        sums.dialogue_key, sums.metric, sums.variant, sums.group_name,
        (sums.numerator - totals.value * sums.denominator) / totals.denominator as influence
    from sums
    inner join totals
        on sums.metric = totals.metric
        and sums.variant is not distinct from totals.variant
        and sums.group_name = totals.group_name
    where sums.scored_units > 0 and totals.denominator > 0
),

parts as (
    select metric, dividend as part, true as is_dividend
    from metrics_declared
    where dividend is not null
    union all
    select metric, divisor as part, false as is_dividend
    from metrics_declared
    where dividend is not null
),

of_quotients as (
    select
        of_sums.dialogue_key, parts.metric, of_sums.variant, of_sums.group_name,
        sum(totals.value * of_sums.influence / nullif(of_parts.value, 0) * if(parts.is_dividend, 1, -1)) as influence
    from parts
    inner join of_sums on parts.part = of_sums.metric
    inner join totals as of_parts
        on parts.part = of_parts.metric
        and of_sums.variant is not distinct from of_parts.variant
        and of_sums.group_name = of_parts.group_name
    inner join totals
        on parts.metric = totals.metric
        and of_sums.variant is not distinct from totals.variant
        and of_sums.group_name = totals.group_name
    group by all
)

select * from of_sums
union all
select * from of_quotients

-- The scores with an interval that contains the true one in 95 of 100 samples of as many dialogues.
-- part: scores
with

spread as (
    select
        metric, variant, group_name,
        1.959963984540054 * sqrt(fsum(influence * influence) * count(*) / nullif(count(*) - 1, 0)) as half
    from influences
    group by metric, variant, group_name
),

intervals as (
    select
        totals.*,
        totals.value - spread.half as low,
        totals.value + spread.half as high
    from totals
    left join spread
        on totals.metric = spread.metric
        and totals.variant is not distinct from spread.variant
        and totals.group_name = spread.group_name
)

select
    intervals.metric, intervals.variant, intervals.group_name,
    round(intervals.value, 12) as value,
    round(intervals.strict_value, 12) as strict_value,
    round(if(metrics_declared.is_share and intervals.low < 0, 0, intervals.low), 12) as low,
    round(if(metrics_declared.is_share and intervals.high > 1, 1, intervals.high), 12) as high,
    intervals.units,
    intervals.scored_units,
    intervals.dialogues
from intervals
inner join metrics_declared on intervals.metric = metrics_declared.metric
