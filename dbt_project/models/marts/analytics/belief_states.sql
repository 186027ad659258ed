{#- A state is that of its service: it is compared with the same service's state before, however many turns back.
    In order of the dialogues the table is two thirds as large, and one dialogue is read from one place. -#}
with

states as (
    select
        frame_key,
        turn_key,
        dialogue_key,
        corpus_id,
        split,
        turn_index,
        frame_index,
        service,
        row_number() over in_service as place,
        lag(turn_index) over in_service as previous_turn_index
    from {{ ref('fct_frames') }}
    where active_intent is not null
    window in_service as (partition by dialogue_key, service order by turn_index, frame_index)
),

-- A slot whose list is empty has one row, without an index.
slot_variants as (
    select
        turn_key,
        frame_index,
        slot_name,
        case when count(value_index) > 0 then {{ list_agg_ordered('value', 'value_index') }} end as variants
    from {{ ref('fct_slots') }}
    where annotation_type = 'state'
    group by turn_key, frame_index, slot_name
),

placed_slots as (
    select
        states.*,
        slot_variants.slot_name,
        slot_variants.variants,
        coalesce(lag(states.place) over of_slot = states.place - 1, false) as is_kept,
        lag(slot_variants.variants) over of_slot as previous_variants,
        lead(states.place) over of_slot as next_place
    from slot_variants
    inner join states
        on
            slot_variants.turn_key = states.turn_key
            and slot_variants.frame_index = states.frame_index
    window of_slot as (partition by states.dialogue_key, states.service, slot_variants.slot_name order by states.place)
),

changes as (
    select
        frame_key,
        turn_key,
        dialogue_key,
        corpus_id,
        split,
        turn_index,
        frame_index,
        service,
        slot_name,
        case
            when not is_kept then 'added'
            when variants = previous_variants or (variants is null and previous_variants is null) then 'carried'
            when {{ count_where('variants', 'said', 'array_contains(previous_variants, said)') }} > 0 then 'carried'
            else 'changed'
        end as change,
        variants,
        case when is_kept then previous_variants end as previous_variants,
        previous_turn_index
    from placed_slots
    union all
    select
        states.frame_key,
        states.turn_key,
        states.dialogue_key,
        states.corpus_id,
        states.split,
        states.turn_index,
        states.frame_index,
        states.service,
        placed_slots.slot_name,
        'dropped' as change,
        null as variants,
        placed_slots.variants as previous_variants,
        states.previous_turn_index
    from placed_slots
    inner join states
        on
            placed_slots.dialogue_key = states.dialogue_key
            and placed_slots.service is not distinct from states.service
            and placed_slots.place + 1 = states.place
    where coalesce(placed_slots.next_place <> states.place, true)
)

select
    frame_key,
    turn_key,
    dialogue_key,
    corpus_id,
    split,
    turn_index,
    frame_index,
    service,
    slot_name,

    change,
    {{ list_at('variants', 0) }} as value,
    variants,
    {{ list_at('previous_variants', 0) }} as previous_value,
    previous_turn_index
from changes
order by dialogue_key, turn_index, frame_index, slot_name
