{#- The rule of SGD about the values that a system offers and a user accepts. -#}
with

selections as (
    select distinct
        selected.dialogue_key,
        selected.turn_key,
        selected.turn_index,
        selected.frame_index,
        selected.split,
        selected.service,
        frames.frame_key
    from {{ ref('fct_actions') }} as selected
    inner join {{ ref('fct_frames') }} as frames
        on
            selected.turn_key = frames.turn_key
            and selected.frame_index = frames.frame_index
    where
        selected.corpus_id = 'sgd'
        and selected.role = 'user'
        and selected.act = 'SELECT'
        and frames.active_intent is not null
),

informable as (
    select distinct
        intents.split,
        intents.service,
        slots.slot
    from {{ ref('dim_intents') }} as intents
    inner join {{ ref('dim_intent_slots') }} as slots
        on intents.intent_key = slots.intent_key
    where intents.corpus_id = 'sgd' and slots.requirement in ('required', 'optional')
),

-- The user selects what the system has just offered, and the state after it lacks a slot of the offer that an intent of
-- the service takes.
unstored_offer as (
    select
        selections.dialogue_key,
        selections.turn_index,
        selections.frame_key as row_key,
        offers.action_key as other_key,
        selections.service,
        offers.slot_name,
        offers.slot_name || ' = ' || {{ list_join('offers.action_values', "', '") }}
            || ' is offered and accepted, but is not in the state' as detail
    from selections
    inner join {{ ref('fct_actions') }} as offers
        on
            selections.dialogue_key = offers.dialogue_key
            and selections.turn_index = offers.turn_index + 1
            and selections.service = offers.service
    inner join informable
        on
            selections.split = informable.split
            and selections.service = informable.service
            and offers.slot_name = informable.slot
    left join {{ ref('fct_slots') }} as states
        on
            states.corpus_id = 'sgd'
            and states.annotation_type = 'state'
            and coalesce(states.value_index, 0) = 0
            and selections.turn_key = states.turn_key
            and selections.frame_index = states.frame_index
            and offers.slot_name = states.slot_name
    where
        offers.corpus_id = 'sgd'
        and offers.role = 'system'
        and offers.act = 'OFFER'
        and states.slot_key is null
)

{{ stack_rules('sgd', turns=['unstored_offer'], others=['unstored_offer'], slots=['unstored_offer']) }}
