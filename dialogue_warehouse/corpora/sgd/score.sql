-- The metrics of SGD: gold and predictions, side by side. `selected` has the dialogues of the split; the tables
-- `predicted_...` have the predictions.

-- The slots of each service of the split, each by its first definition. The metrics never look at others.
-- part: schema_slots
select
    slots.service,
    slots.slot,
    slots.is_categorical,
    slots.possible_values
from dim_slots as slots
where
    slots.corpus_id = 'sgd'
    and slots.split in (select selected.split from selected)
    and slots.slot_definition_key not like '%~%'

-- One row per frame of a user turn.
-- part: cases
with

trained as (
    select services.service
    from dim_services as services
    where services.corpus_id = 'sgd' and services.split = 'train'
),

services as (
    select
        schema_slots.service,
        bool_or(schema_slots.is_categorical) as has_categorical,
        bool_or(not schema_slots.is_categorical) as has_other
    from schema_slots
    group by schema_slots.service
)

select
    frames.frame_key as unit_key,
    frames.dialogue_key,
    frames.turn_key,
    selected.dialogue_id,
    frames.turn_index,
    frames.frame_index,
    frames.service,
    frames.active_intent,
    frames.requested_slots,
    coalesce(services.has_categorical, false) as has_categorical,
    coalesce(services.has_other, false) as has_other,
    list_distinct([
        '#ALL_SERVICES',
        if(frames.service in (select trained.service from trained), '#SEEN_SERVICES', '#UNSEEN_SERVICES'),
        frames.service,
        split_part(frames.service, '_', 1)
    ]) as groups
from fct_frames as frames
inner join selected on frames.dialogue_key = selected.dialogue_key
inner join fct_turns as turns on frames.turn_key = turns.turn_key
left join services on frames.service = services.service
where turns.role = 'user'

-- The state of gold: the variants of each value, the first of which counts for categorical slots.
-- part: gold_values
select
    cases.unit_key,
    slots.slot_name as slot,
    schema_slots.is_categorical,
    list(slots.value order by slots.value_index) as gold_values
from fct_slots as slots
inner join cases on slots.turn_key = cases.turn_key and slots.frame_index = cases.frame_index
inner join schema_slots on cases.service = schema_slots.service and slots.slot_name = schema_slots.slot
where slots.annotation_type = 'state'
group by cases.unit_key, slots.slot_name, schema_slots.is_categorical

-- The spans of gold in non-categorical slots.
-- part: gold_spans
select
    cases.unit_key,
    slots.slot_name as slot,
    slots.value as text,
    count(*) as times
from fct_slots as slots
inner join cases on slots.turn_key = cases.turn_key and slots.frame_index = cases.frame_index
inner join schema_slots on cases.service = schema_slots.service and slots.slot_name = schema_slots.slot
where slots.annotation_type = 'span' and not schema_slots.is_categorical
group by cases.unit_key, slots.slot_name, slots.value

-- The predicted frame of each case. Of two predictions of a dialogue the last counts, of two frames of a service too.
-- part: latest
with

versions as (
    select
        dialogue_id,
        max(record) as record
    from (
        select dialogue_id, record
        from predicted_dialogues
        union all
        select dialogue_id, record
        from predicted_frames
    )
    group by dialogue_id
),

frames as (
    select predicted_frames.*
    from predicted_frames
    semi join versions
        on predicted_frames.dialogue_id = versions.dialogue_id and predicted_frames.record = versions.record
    qualify
        row_number() over (partition by dialogue_id, turn_index, service order by position desc) = 1
)

select
    cases.unit_key,
    cases.turn_key,
    cases.service,
    frames.file,
    frames.record,
    frames.position,
    frames.dialogue_id,
    frames.turn_index,
    frames.error,
    frames.active_intent,
    frames.requested_slots,
    frames.slot_values,
    frames.spans
from frames
inner join cases
    on frames.dialogue_id = cases.dialogue_id
    and frames.turn_index = cases.turn_index
    and frames.service = cases.service

-- Each slot that gold or the prediction has in its state.
-- part: compared_values
with

unnested as (
    select
        latest.unit_key,
        latest.service,
        unnest(latest.slot_values) as given
    from latest
),

predicted as (
    select
        unnested.unit_key,
        unnested.given.slot as slot,
        schema_slots.is_categorical,
        unnested.given.value as value,
        unnested.given.is_text as is_text,
        unnested.given.form as form
    from unnested
    inner join schema_slots on unnested.service = schema_slots.service and unnested.given.slot = schema_slots.slot
),

matched as (
    select
        coalesce(gold_values.unit_key, predicted.unit_key) as unit_key,
        coalesce(gold_values.slot, predicted.slot) as slot,
        coalesce(gold_values.is_categorical, predicted.is_categorical) as is_categorical,
        gold_values.unit_key is not null as in_gold,
        predicted.unit_key is not null as in_predicted,
        gold_values.gold_values,
        predicted.value,
        predicted.is_text,
        predicted.form
    from gold_values
    full join predicted on gold_values.unit_key = predicted.unit_key and gold_values.slot = predicted.slot
)

select
    *,
    in_gold and in_predicted and is_text and coalesce(
        if(is_categorical, gold_values[1] = value, list_contains(gold_values, value)), false
    ) as is_equal
from matched

-- The texts that are not equal, to be compared otherwise.
-- part: pairs
select
    unnest(compared_values.gold_values) as gold,
    compared_values.value as predicted
from compared_values
where
    compared_values.in_gold
    and compared_values.in_predicted
    and compared_values.value is not null
    and not compared_values.is_categorical
    and not compared_values.is_equal

-- What happened to each slot of a state.
-- part: slots
select
    cases.dialogue_key,
    cases.turn_key,
    cases.service,
    compared_values.slot,
    case
        when not compared_values.in_gold then 'invented'
        when not compared_values.in_predicted then 'missed'
        when compared_values.is_equal then 'right'
        when getvariable('variant') = 'difflib' and alike.difflib = 1 then 'right'
        when getvariable('variant') = 'levenshtein' and alike.levenshtein = 1 then 'right'
        else 'wrong'
    end as outcome,
    compared_values.gold_values[1] as gold,
    compared_values.value as predicted,
    compared_values.unit_key as example_key
from compared_values
inner join cases on compared_values.unit_key = cases.unit_key
inner join latest on compared_values.unit_key = latest.unit_key
left join alike on compared_values.unit_key = alike.unit_key and compared_values.slot = alike.slot
