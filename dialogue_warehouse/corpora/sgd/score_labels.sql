-- The labels of the predicted frames beside the schema.

-- Intents and requested slots that their service does not have, which count as wrong.
-- part: unknown_labels
with

requested as (
    select
        latest.*,
        unnest(latest.requested_slots) as label
    from latest
    semi join predicted_frames as frames on latest.position = frames.position and frames.requested_form = 'list'
)

select
    'a requested slot is unknown to its service: it counts as wrong' as problem,
    requested.*
from requested
anti join schema_slots on requested.service = schema_slots.service and requested.label = schema_slots.slot

union all
select
    if(
        latest.active_intent is null,
        'active_intent is null: it counts as wrong',
        'an intent is unknown to its service: it counts as wrong'
    ) as problem,
    latest.*,
    latest.active_intent as label
from latest
anti join (
    select intents.*
    from dim_intents as intents
    where intents.corpus_id = 'sgd' and intents.split in (select selected.split from selected)
) as known on latest.service = known.service and latest.active_intent = known.intent
where latest.active_intent is distinct from 'NONE'

-- The values of the predicted frames, with whether the service and gold have their slot, whether the compared value is
-- right, and whether it is a text that its categorical slot does not list. A value that gold has is right, listed or
-- not.
-- part: values_placed
with

values_given as (
    select
        latest.* exclude (slot_values),
        unnest(latest.slot_values) as given
    from latest
)

select
    values_given.*,
    schema_slots.slot is not null as is_known,
    gold_values.unit_key is not null as in_gold,
    coalesce(
        if(
            schema_slots.is_categorical,
            gold_values.gold_values[1] = values_given.given.value,
            list_contains(gold_values.gold_values, values_given.given.value)
        ),
        false
    ) as is_right,
    coalesce(
        schema_slots.is_categorical
        and values_given.given.is_text
        and values_given.given.form = 'list'
        and len(schema_slots.possible_values) > 0
        and values_given.given.value <> 'dontcare'
        and not list_contains(schema_slots.possible_values, values_given.given.value)
        and not is_right,
        false
    ) as is_unlisted
from values_given
left join schema_slots
    on values_given.service = schema_slots.service and values_given.given.slot = schema_slots.slot
left join gold_values
    on values_given.unit_key = gold_values.unit_key and values_given.given.slot = gold_values.slot
