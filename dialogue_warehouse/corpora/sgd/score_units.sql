-- The metrics of each frame, from the tables that score.sql makes.

-- How alike texts are that are not equal.
-- part: alike
select
    texts.unit_key,
    texts.slot,
    max(similarities.difflib) as difflib,
    max(similarities.levenshtein) as levenshtein
from (
    select
        compared_values.unit_key,
        compared_values.slot,
        compared_values.value,
        unnest(compared_values.gold_values) as gold
    from compared_values
    where not compared_values.is_equal and not compared_values.is_categorical
) as texts
inner join similarities on texts.gold = similarities.gold and texts.value = similarities.predicted
group by texts.unit_key, texts.slot

-- The goal metrics of each frame that has a slot in its state.
-- part: goals
with

scored as (
    select
        compared_values.unit_key,
        compared_values.in_gold,
        compared_values.is_categorical,
        if(compared_values.is_equal, 1.0, 0.0) as exact,
        if(compared_values.is_equal, 1.0, coalesce(alike.difflib, 0.0)) as difflib,
        if(compared_values.is_equal, 1.0, coalesce(alike.levenshtein, 0.0)) as levenshtein
    from compared_values
    left join alike on compared_values.unit_key = alike.unit_key and compared_values.slot = alike.slot
)

select
    unit_key,
    avg(exact) filter (where in_gold and is_categorical) as average_cat,
    avg(exact) filter (where in_gold) as average_exact,
    avg(difflib) filter (where in_gold) as average_difflib,
    avg(levenshtein) filter (where in_gold) as average_levenshtein,
    avg(exact) filter (where in_gold and not is_categorical) as average_noncat_exact,
    avg(difflib) filter (where in_gold and not is_categorical) as average_noncat_difflib,
    avg(levenshtein) filter (where in_gold and not is_categorical) as average_noncat_levenshtein,
    product(exact) filter (where is_categorical) as joint_cat,
    product(exact) as joint_exact,
    product(difflib) as joint_difflib,
    product(levenshtein) as joint_levenshtein,
    product(exact) filter (where not is_categorical) as joint_noncat_exact,
    product(difflib) filter (where not is_categorical) as joint_noncat_difflib,
    product(levenshtein) filter (where not is_categorical) as joint_noncat_levenshtein
from scored
group by unit_key

-- The requested slots that gold and prediction have: twice in both counts twice.
-- part: asked
with

asked_by_gold as (
    select unit_key, slot, count(*) as times
    from (
        select
            cases.unit_key,
            unnest(cases.requested_slots) as slot
        from cases
    )
    group by unit_key, slot
),

asked_predicted as (
    select unit_key, slot, count(*) as times
    from (
        select
            latest.unit_key,
            unnest(latest.requested_slots) as slot
        from latest
    )
    group by unit_key, slot
)

select asked_by_gold.unit_key, sum(least(asked_by_gold.times, asked_predicted.times)) as times
from asked_by_gold
inner join asked_predicted
    on asked_by_gold.unit_key = asked_predicted.unit_key and asked_by_gold.slot = asked_predicted.slot
group by asked_by_gold.unit_key

-- The predicted spans, cut as Python cuts slices: from the end if negative, never beyond it.
-- part: spans
with

given as (
    select
        latest.unit_key,
        latest.service,
        turns.utterance,
        length(turns.utterance) as size,
        unnest(latest.spans) as span
    from latest
    inner join fct_turns as turns on latest.turn_key = turns.turn_key
),

placed as (
    select
        given.unit_key,
        given.span.slot as slot,
        given.utterance,
        case
            when given.span.start < 0 then greatest(given.span.start + given.size, 0)
            else least(coalesce(given.span.start, 0), given.size)
        end as start_char,
        case
            when given.span.exclusive_end < 0 then greatest(given.span.exclusive_end + given.size, 0)
            else least(coalesce(given.span.exclusive_end, given.size), given.size)
        end as end_char
    from given
    inner join schema_slots
        on given.service = schema_slots.service
        and given.span.slot = schema_slots.slot
        and not schema_slots.is_categorical
)

select
    placed.unit_key,
    placed.slot,
    substring(placed.utterance, placed.start_char + 1, greatest(placed.end_char - placed.start_char, 0)) as text,
    count(*) as times
from placed
group by all

-- part: units
with

spans_right as (
    select gold_spans.unit_key, sum(least(gold_spans.times, spans.times)) as times
    from gold_spans
    inner join spans
        on gold_spans.unit_key = spans.unit_key and gold_spans.slot = spans.slot and gold_spans.text = spans.text
    group by gold_spans.unit_key
),

spans_true as (
    select unit_key, sum(times) as times
    from gold_spans
    group by unit_key
),

spans_predicted as (
    select unit_key, sum(times) as times
    from spans
    group by unit_key
),

-- A share of nothing is 1, as in the official script.
shares as (
    select
        cases.unit_key,
        cases.has_categorical,
        cases.has_other,
        latest.unit_key is not null as is_predicted,
        latest.spans is not null as has_spans,
        if(latest.active_intent = cases.active_intent, 1.0, 0.0) as active_intent,
        if(coalesce(len(latest.requested_slots), 0) = 0, 1, coalesce(asked.times, 0) / len(latest.requested_slots))
            as asked_precision,
        if(len(cases.requested_slots) = 0, 1, coalesce(asked.times, 0) / len(cases.requested_slots)) as asked_recall,
        if(spans_predicted.times is null, 1, coalesce(spans_right.times, 0) / spans_predicted.times) as span_precision,
        if(spans_true.times is null, 1, coalesce(spans_right.times, 0) / spans_true.times) as span_recall
    from cases
    left join latest on cases.unit_key = latest.unit_key
    left join asked on cases.unit_key = asked.unit_key
    left join spans_right on cases.unit_key = spans_right.unit_key
    left join spans_true on cases.unit_key = spans_true.unit_key
    left join spans_predicted on cases.unit_key = spans_predicted.unit_key
),

measured as (
    select
        shares.unit_key,
        shares.is_predicted,
        shares.has_spans,
        unnest([  -- noqa: AL03
            {'metric': 'active_intent_accuracy', 'variant': null, 'value': shares.active_intent},
            {'metric': 'requested_slots_precision', 'variant': null, 'value': shares.asked_precision},
            {'metric': 'requested_slots_recall', 'variant': null, 'value': shares.asked_recall},
            {
                'metric': 'requested_slots_f1', 'variant': null,
                'value': coalesce(2 * asked_precision * asked_recall / nullif(asked_precision + asked_recall, 0), 0)
            },
            {'metric': 'slot_tagging_precision', 'variant': null, 'value': shares.span_precision},
            {'metric': 'slot_tagging_recall', 'variant': null, 'value': shares.span_recall},
            {
                'metric': 'slot_tagging_f1', 'variant': null,
                'value': coalesce(2 * span_precision * span_recall / nullif(span_precision + span_recall, 0), 0)
            },
            {'metric': 'average_cat_accuracy', 'variant': null, 'value': goals.average_cat},
            {
                'metric': 'joint_cat_accuracy', 'variant': null,
                'value': if(shares.has_categorical, coalesce(goals.joint_cat, 1), null)
            },
            {'metric': 'average_goal_accuracy', 'variant': 'difflib', 'value': goals.average_difflib},
            {'metric': 'average_goal_accuracy', 'variant': 'levenshtein', 'value': goals.average_levenshtein},
            {'metric': 'average_goal_accuracy', 'variant': 'exact', 'value': goals.average_exact},
            {'metric': 'average_noncat_accuracy', 'variant': 'difflib', 'value': goals.average_noncat_difflib},
            {'metric': 'average_noncat_accuracy', 'variant': 'levenshtein', 'value': goals.average_noncat_levenshtein},
            {'metric': 'average_noncat_accuracy', 'variant': 'exact', 'value': goals.average_noncat_exact},
            {'metric': 'joint_goal_accuracy', 'variant': 'difflib', 'value': coalesce(goals.joint_difflib, 1)},
            {'metric': 'joint_goal_accuracy', 'variant': 'levenshtein', 'value': coalesce(goals.joint_levenshtein, 1)},
            {'metric': 'joint_goal_accuracy', 'variant': 'exact', 'value': coalesce(goals.joint_exact, 1)},
            {
                'metric': 'joint_noncat_accuracy', 'variant': 'difflib',
                'value': if(has_other, coalesce(joint_noncat_difflib, 1), null)
            },
            {
                'metric': 'joint_noncat_accuracy', 'variant': 'levenshtein',
                'value': if(has_other, coalesce(joint_noncat_levenshtein, 1), null)
            },
            {
                'metric': 'joint_noncat_accuracy', 'variant': 'exact',
                'value': if(has_other, coalesce(joint_noncat_exact, 1), null)
            }
        ], recursive := true)
    from shares
    left join goals on shares.unit_key = goals.unit_key
)

select
    measured.unit_key,
    measured.metric,
    measured.variant,
    is_predicted and (has_spans or not starts_with(measured.metric, 'slot_tagging')) as is_scored,
    measured.value as numerator,
    1.0 as denominator
from measured
where measured.value is not null
