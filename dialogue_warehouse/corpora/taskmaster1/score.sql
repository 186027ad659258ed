-- The metrics of Taskmaster-1. `selected` has the dialogues of the split; `predicted_utterances` has the predictions.

-- One row per utterance, and one per dialogue. A prediction names an utterance by its own number in the release.
-- part: cases
select
    turns.turn_key as unit_key,
    turns.dialogue_key,
    turns.turn_key,
    selected.dialogue_id,
    turns.source_turn_number as turn_index,
    list_filter(['#ALL', dialogues.task], lambda name : name is not null) as groups
from fct_turns as turns
inner join selected on turns.dialogue_key = selected.dialogue_key
inner join dim_dialogues as dialogues on turns.dialogue_key = dialogues.dialogue_key

union all
select
    selected.dialogue_key as unit_key,
    selected.dialogue_key,
    null as turn_key,
    selected.dialogue_id,
    null as turn_index,
    list_filter(['#ALL', dialogues.task], lambda name : name is not null) as groups
from selected
inner join dim_dialogues as dialogues on selected.dialogue_key = dialogues.dialogue_key

-- The arguments that a worker marked. Both did if one span has the label twice: the release does not name the workers,
-- and one of them may mark a text at two places.
-- part: gold_arguments
with

spans as (
    select
        slots.dialogue_key,
        slots.turn_key,
        regexp_replace(slots.source_label, '\.(accept|reject)$', '') as name,
        lower(slots.value) as text,
        count(*) as times
    from fct_slots as slots
    inner join selected on slots.dialogue_key = selected.dialogue_key
    where slots.annotation_type = 'span' and slots.source_label is not null
    group by slots.dialogue_key, slots.turn_key, name, lower(slots.value), slots.start_char, slots.end_char
)

select dialogue_key, turn_key, name, text, max(times) as times
from spans
group by dialogue_key, turn_key, name, text

-- part: predicted
with

latest as (
    select *
    from predicted_utterances
    qualify row_number() over (partition by dialogue_id, turn_index order by position desc) = 1
),

arguments as (
    select
        cases.dialogue_key,
        cases.turn_key,
        unnest(latest.arguments) as argument
    from latest
    inner join cases on latest.dialogue_id = cases.dialogue_id and latest.turn_index = cases.turn_index
)

select distinct
    arguments.dialogue_key,
    arguments.turn_key,
    regexp_replace(arguments.argument.name, '\.(accept|reject)$', '') as name,
    lower(arguments.argument.text) as text
from arguments

-- Each argument of gold or prediction, in an utterance.
-- part: matched
select
    coalesce(gold_arguments.dialogue_key, predicted.dialogue_key) as dialogue_key,
    coalesce(gold_arguments.turn_key, predicted.turn_key) as turn_key,
    coalesce(gold_arguments.name, predicted.name) as name,
    coalesce(gold_arguments.text, predicted.text) as text,
    gold_arguments.turn_key is not null as in_gold,
    coalesce(gold_arguments.times > 1, false) as is_agreed,
    predicted.turn_key is not null as in_predicted
from gold_arguments
full join predicted
    on gold_arguments.turn_key = predicted.turn_key
    and gold_arguments.name = predicted.name
    and gold_arguments.text = predicted.text

-- Precision and F1 have a unit in each utterance, even if it has no argument: other predictions that are compared may
-- have one there.
-- part: units
with

counts as (
    select
        turn_key,
        count(*) filter (where in_gold) as marked,
        count(*) filter (where in_predicted) as predicted,
        count(*) filter (where in_gold and in_predicted) as found,
        count(*) filter (where is_agreed) as agreed,
        count(*) filter (where is_agreed and in_predicted) as agreed_found
    from matched
    group by turn_key
),

utterances as (
    select
        cases.unit_key,
        cases.dialogue_id in (select predicted_utterances.dialogue_id from predicted_utterances) as is_scored,
        unnest([
            {'metric': 'argument_precision', 'numerator': found, 'denominator': predicted},
            {'metric': 'argument_recall', 'numerator': found, 'denominator': marked},
            {'metric': 'argument_f1', 'numerator': 2 * found, 'denominator': predicted + marked},
            {'metric': 'agreed_argument_recall', 'numerator': agreed_found, 'denominator': agreed},
            {'metric': 'annotator_agreement_f1', 'numerator': 2 * agreed, 'denominator': agreed + marked},
            {
                'metric': 'utterance_exact_match',
                'numerator': if(coalesce(found, 0) = coalesce(greatest(predicted, marked), 0), 1, 0),
                'denominator': 1
            }
        ]) as measure
    from cases
    left join counts on cases.turn_key = counts.turn_key
    where cases.turn_key is not null
),

-- An argument counts once in a dialogue, of the turns that count.
together as (
    select
        dialogue_key, name, text,
        bool_or(in_gold) as in_gold,
        bool_or(in_predicted) as in_predicted
    from matched
    anti join left_out on matched.turn_key = left_out.turn_key
    group by dialogue_key, name, text
),

dialogues as (
    select
        dialogue_key,
        bool_and(in_gold = in_predicted) as is_equal
    from together
    group by dialogue_key
),

-- The dialogues of which no turn counts.
without_turns as (
    select cases.dialogue_key
    from cases
    left join left_out on cases.turn_key = left_out.turn_key
    where cases.turn_key is not null
    group by cases.dialogue_key
    having count(left_out.turn_key) = count(*)
)

select
    utterances.unit_key,
    utterances.measure.metric as metric,
    null as variant,
    utterances.is_scored,
    coalesce(cast(utterances.measure.numerator as double), 0) as numerator,
    coalesce(cast(utterances.measure.denominator as double), 0) as denominator
from utterances
where utterances.measure.denominator > 0 or utterances.measure.metric in ('argument_precision', 'argument_f1')

union all
select
    cases.unit_key,
    'dialogue_exact_match' as metric,
    null as variant,
    cases.dialogue_id in (select predicted_utterances.dialogue_id from predicted_utterances) as is_scored,
    if(coalesce(dialogues.is_equal, true), 1.0, 0.0) as numerator,
    1.0 as denominator
from cases
left join dialogues on cases.dialogue_key = dialogues.dialogue_key
anti join without_turns on cases.dialogue_key = without_turns.dialogue_key
where cases.turn_key is null

-- part: slots
select
    matched.dialogue_key,
    matched.turn_key,
    split_part(matched.name, '.', 1) as service,
    matched.name as slot,
    case
        when not matched.in_gold then 'invented'
        when not matched.in_predicted then 'missed'
        else 'right'
    end as outcome,
    if(matched.in_gold, matched.text, null) as gold,
    if(matched.in_predicted, matched.text, null) as predicted,
    matched.turn_key as example_key
from matched
inner join cases on matched.turn_key = cases.unit_key
where cases.dialogue_id in (select predicted_utterances.dialogue_id from predicted_utterances)
