-- What is wrong with the predictions, gold as predictions, and predictions as records.

-- part: problems
with

-- The labels of the ontology and those of the turns.
known as (
    select
        'intent' as kind,
        intent as label
    from dim_intents
    where corpus_id = 'abcd'
    union
    select
        'action' as kind,
        act as label
    from dim_acts
    where corpus_id = 'abcd'
    union
    select
        'value' as kind,
        unnest(if(is_categorical, list_transform(possible_values, lambda one : lower(one)), ['<' || slot || '>']))
            as label
    from dim_slots
    where corpus_id = 'abcd'
    union
    select
        unnest(['intent', 'next_step', 'action', 'value']) as kind,
        unnest([intent, next_step, act, label]) as label
    from cases
),

labels as (
    select
        unnest(['intent', 'next_step', 'action', 'value']) as kind,
        unnest([intent, next_step, action, value]) as label,
        predicted_examples.*
    from predicted_examples
),

unknown as (
    select labels.*
    from labels
    anti join known on labels.kind = known.kind and labels.label = known.label
    where labels.label is not null
),

found as (
    select
        true as is_refused,
        'the split has no such dialogue' as problem,
        null as detail,
        examples.*
    from predicted_examples as examples
    anti join selected on examples.dialogue_id = selected.dialogue_id

    union all
    select
        false as is_refused,
        'the processor makes no such example: it does not count' as problem,
        null as detail,
        examples.*
    from predicted_examples as examples
    semi join selected on examples.dialogue_id = selected.dialogue_id
    anti join cases
        on examples.dialogue_id = cases.dialogue_id
        and examples.turn_number = cases.turn_number
        and examples.step = cases.step
        and examples.value_index = cases.value_index

    union all
    select
        false as is_refused,
        'an example is predicted twice: the last prediction counts' as problem,
        null as detail,
        examples.*
    from predicted_examples as examples
    qualify
        row_number() over (
            partition by examples.dialogue_id, examples.turn_number, examples.step, examples.value_index
            order by examples.position
        ) = 2

    union all
    select
        false as is_refused,
        'a ranking has fewer than ten places: recall at 10 counts no more than those' as problem,
        null as detail,
        examples.*
    from predicted_examples as examples
    inner join cases
        on examples.dialogue_id = cases.dialogue_id
        and examples.turn_number = cases.turn_number
        and examples.step = cases.step
        and examples.value_index = cases.value_index
    where len(examples.ranking) < 10 and cases.target_position is not null and cases.task = 'cds'

    union all
    select
        false as is_refused,
        'a ranking has a place twice: it counts where it is first' as problem,
        null as detail,
        examples.*
    from predicted_examples as examples
    where len(list_distinct(examples.ranking)) < len(examples.ranking)

    union all
    select
        false as is_refused,
        unknown.kind || ' is a label that the corpus does not have: it counts as wrong' as problem,
        unknown.label as detail,
        unknown.* exclude (kind, label)
    from unknown
)

select
    found.is_refused,
    found.problem,
    found.file,
    concat(
        'dialogue ', found.dialogue_id, ', turn_count ', found.turn_number, ', step ', found.step,
        ', position ', found.value_index, ', ' || found.detail
    ) as place,
    found.record,
    found.position
from found

-- Gold as predictions: the target alone is ranked.
-- part: gold_predicted_examples
select distinct
    '' as file,
    0 as record,
    0 as position,
    cases.dialogue_id,
    cases.turn_number,
    cases.step,
    cases.value_index,
    cases.intent,
    cases.next_step,
    cases.act as action,
    cases.label as value,
    list_filter([cases.target_position], lambda one : one is not null) as ranking
from cases
where cases.task = 'cds'

-- part: example_lines
select
    json_object(
        'convo_id', cast(examples.dialogue_id as integer),
        'turn_count', examples.turn_number,
        'step', examples.step,
        'position', examples.value_index,
        'intent', examples.intent,
        'next_step', examples.next_step,
        'action', examples.action,
        'value', examples.value,
        'ranking', examples.ranking
    ) as record
from predicted_examples as examples
order by examples.dialogue_id, examples.turn_number, examples.step desc, examples.value_index
