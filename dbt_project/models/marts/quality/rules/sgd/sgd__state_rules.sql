{#- Defects in the belief states of SGD, one CTE per rule; sgd__rules has the other rules.
    Longer than 240 lines: nearly all of these rules read the same rows of states. -#}
with

informable as (
    select distinct
        intents.split,
        intents.service,
        intent_slots.slot
    from {{ ref('dim_intents') }} as intents
    inner join {{ ref('dim_intent_slots') }} as intent_slots
        on intents.intent_key = intent_slots.intent_key
    where intents.corpus_id = 'sgd' and intent_slots.requirement in ('required', 'optional')
),

-- The state holds a slot that no intent of the service takes. Splits without a schema.json are left out.
uninformable_slot as (
    select
        slots.dialogue_key,
        slots.turn_index,
        slots.slot_key as row_key,
        slots.service,
        slots.slot_name,
        'no intent of ' || slots.service || ' takes the slot ' || slots.slot_name as detail
    from {{ ref('fct_slots') }} as slots
    left join informable
        on
            slots.split = informable.split
            and slots.service = informable.service
            and slots.slot_name = informable.slot
    where
        slots.corpus_id = 'sgd'
        and slots.annotation_type = 'state'
        and coalesce(slots.value_index, 0) = 0
        and informable.slot is null
        and slots.split in (select split from {{ ref('dim_intents') }} where corpus_id = 'sgd')
),

-- Nearly all values are marked as a span somewhere in their dialogue; these are not searched for in its text.
unmarked_values as (
    select
        slots.dialogue_key,
        slots.service,
        slots.slot_name,
        slots.value,
        min(slots.turn_index) as turn_index,
        {{ list_at(list_agg_ordered('slots.slot_key', 'slots.turn_index, slots.slot_key'), 0) }} as slot_key
    from {{ ref('fct_slots') }} as slots
    inner join {{ ref('dim_slots') }} as definitions
        on
            slots.corpus_id = definitions.corpus_id
            and slots.split = definitions.split
            and slots.service = definitions.service
            and slots.slot_name = definitions.slot
    left join {{ ref('fct_slots') }} as spans
        on
            spans.corpus_id = 'sgd'
            and spans.annotation_type = 'span'
            and slots.dialogue_key = spans.dialogue_key
            and slots.value = spans.value
    where
        slots.corpus_id = 'sgd'
        and slots.annotation_type = 'state'
        and slots.value <> 'dontcare'
        and not definitions.is_categorical
        and spans.slot_key is null
    group by slots.dialogue_key, slots.service, slots.slot_name, slots.value
),

-- A value of the state that neither side has said in the dialogue. Categorical slots are left out: speakers rarely use
-- the exact value of the schema.
unsaid_value as (
    select
        unmarked_values.dialogue_key,
        unmarked_values.turn_index,
        unmarked_values.slot_key as row_key,
        unmarked_values.service,
        unmarked_values.slot_name,
        unmarked_values.slot_name || ' = ' || unmarked_values.value || ' is never said' as detail
    from unmarked_values
    where not exists (
        select 1
        from {{ ref('fct_turns') }} as turns
        where
            turns.corpus_id = 'sgd'
            and unmarked_values.dialogue_key = turns.dialogue_key
            and contains(turns.utterance, unmarked_values.value)
    )
),

-- The user gives a value, and the state after it lacks the slot.
forgotten_value as (
    select
        informed.dialogue_key,
        informed.turn_index,
        informed.action_key as row_key,
        informed.service,
        informed.slot_name,
        informed.slot_name || ' is given by the user, but is not in the state' as detail
    from {{ ref('fct_actions') }} as informed
    left join {{ ref('fct_slots') }} as states
        on
            states.corpus_id = 'sgd'
            and states.annotation_type = 'state'
            and coalesce(states.value_index, 0) = 0
            and informed.turn_key = states.turn_key
            and informed.frame_index = states.frame_index
            and informed.slot_name = states.slot_name
    where
        informed.corpus_id = 'sgd'
        and informed.role = 'user'
        and informed.act = 'INFORM'
        and informed.slot_name is not null
        and states.slot_key is null
),

frames as (
    select
        dialogue_key,
        turn_index,
        frame_index,
        frame_key,
        service,
        active_intent,
        requested_slots
    from {{ ref('fct_frames') }}
    where corpus_id = 'sgd' and active_intent is not null
),

state_turns as (
    select
        dialogue_key,
        service,
        {{ list_agg_ordered('turn_index', 'turn_index') }} as turns
    from frames
    group by dialogue_key, service
),

state_slots as (
    select
        dialogue_key,
        service,
        slot_name,
        min(turn_index) as first_turn,
        count(*) as state_count
    from {{ ref('fct_slots') }}
    where corpus_id = 'sgd' and annotation_type = 'state' and coalesce(value_index, 0) = 0
    group by dialogue_key, service, slot_name
),

-- Slots that are in fewer states than their service has from the first state with the slot on, state by state.
gaps as (
    select
        frames.dialogue_key,
        frames.turn_index,
        frames.frame_key,
        frames.service,
        frames.active_intent,
        state_slots.slot_name,
        slots.slot_key,
        lag(slots.slot_key) over (
            partition by frames.dialogue_key, frames.service, state_slots.slot_name
            order by frames.turn_index, frames.frame_index
        ) as last_slot_key,
        lag(frames.turn_index) over (
            partition by frames.dialogue_key, frames.service, state_slots.slot_name
            order by frames.turn_index, frames.frame_index
        ) as last_turn,
        lag(frames.active_intent) over (
            partition by frames.dialogue_key, frames.service, state_slots.slot_name
            order by frames.turn_index, frames.frame_index
        ) as last_intent
    from state_slots
    inner join state_turns
        on
            state_slots.dialogue_key = state_turns.dialogue_key
            and state_slots.service = state_turns.service
    inner join frames
        on
            state_slots.dialogue_key = frames.dialogue_key
            and state_slots.service = frames.service
    left join {{ ref('fct_slots') }} as slots
        on
            slots.corpus_id = 'sgd'
            and slots.annotation_type = 'state'
            and coalesce(slots.value_index, 0) = 0
            and frames.turn_index = slots.turn_index
            and frames.dialogue_key = slots.dialogue_key
            and frames.frame_index = slots.frame_index
            and state_slots.slot_name = slots.slot_name
    where
        cardinality(state_turns.turns) - array_position(state_turns.turns, state_slots.first_turn) + 1
        > state_slots.state_count
),

-- A slot that the user has filled is not in the next state of its service.
vanished_slot as (
    select
        dialogue_key,
        turn_index,
        frame_key as row_key,
        last_slot_key as other_key,
        service,
        slot_name,
        slot_name || ' from turn ' || cast(last_turn as string) || ' is gone; the intent '
            || case
                when last_intent = active_intent then 'is still ' || active_intent
                else 'changed from ' || last_intent || ' to ' || active_intent
            end as detail
    from gaps
    where slot_key is null and last_slot_key is not null
),

requests as (
    select
        dialogue_key,
        turn_index,
        frame_index,
        action_key,
        service,
        slot_name
    from {{ ref('fct_actions') }}
    where corpus_id = 'sgd' and role = 'user' and act = 'REQUEST' and slot_name is not null
),

-- Early versions have no acts of the user.
acting as (
    select distinct dialogue_key
    from {{ ref('fct_actions') }}
    where corpus_id = 'sgd' and role = 'user'
),

requested as (
    select
        dialogue_key,
        turn_index,
        frame_index,
        frame_key,
        service,
        {{ explode_indexed('requested_slots', 'slot_name', 'position') }}
    from frames
    where dialogue_key in (select dialogue_key from acting)
),

-- The slots that the user's acts request differ from the requested slots of the state.
unequal_requests as (
    select
        coalesce(requests.dialogue_key, requested.dialogue_key) as dialogue_key,
        coalesce(requests.turn_index, requested.turn_index) as turn_index,
        coalesce(requests.action_key, requested.frame_key) as row_key,
        coalesce(requests.service, requested.service) as service,
        coalesce(requests.slot_name, requested.slot_name) as slot_name,
        case
            when requested.slot_name is null then requests.slot_name || ' is requested, but is not in requested_slots'
            else requested.slot_name || ' is in requested_slots, but is not requested'
        end as detail
    from requests
    full outer join requested
        on
            requests.dialogue_key = requested.dialogue_key
            and requests.turn_index = requested.turn_index
            and requests.frame_index = requested.frame_index
            and requests.slot_name = requested.slot_name
    where requested.slot_name is null or requests.slot_name is null
)

{{ stack_rules(
    'sgd',
    turns=[
        'uninformable_slot',
        'unsaid_value',
        'forgotten_value',
        'vanished_slot',
        'unequal_requests'
    ],
    others=[
        'vanished_slot'
    ],
    slots=[
        'uninformable_slot',
        'unsaid_value',
        'forgotten_value',
        'vanished_slot',
        'unequal_requests'
    ]
) }}
