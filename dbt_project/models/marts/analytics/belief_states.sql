{#- A state belongs to its service: it is compared with the previous state of the same service, however many turns
    back. In the order of the dialogues the table is two thirds as large, and the rows of one dialogue are read from
    one place. -#}
with

-- The states of a service in a dialogue have consecutive numbers.
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
        row_number() over (order by dialogue_key, service, turn_index, frame_index) as number,
        lag(turn_index) over in_service as previous_turn_index,
        lead(turn_index) over in_service is not null as has_next
    from {{ ref('fct_frames') }}
    where active_intent is not null
    window in_service as (partition by dialogue_key, service order by turn_index, frame_index)
),

slot_values as (
    select
        states.number,
        states.has_next,
        slots.slot_name,
        slots.value,
        slots.value_index
    from {{ ref('fct_slots') }} as slots
    inner join states
        on
            slots.turn_key = states.turn_key
            and slots.frame_index = states.frame_index
    where slots.annotation_type = 'state'
),

-- One slot in seven has more than one value; sorting all of them would take three times as long.
longer_lists as (
    select
        slot_values.number,
        slot_values.slot_name,
        {{ list_agg_ordered('slot_values.value', 'slot_values.value_index') }} as variants
    from slot_values
    inner join slot_values as second_values
        on
            slot_values.number = second_values.number
            and slot_values.slot_name = second_values.slot_name
            and second_values.value_index = 1
    group by slot_values.number, slot_values.slot_name
),

-- A slot whose list is empty has one row, without an index.
numbered_slots as (
    select
        slot_values.number,
        slot_values.has_next,
        slot_values.slot_name,
        case
            when longer_lists.number is not null then longer_lists.variants
            when slot_values.value_index is not null then {{ list_of('slot_values.value') }}
        end as variants
    from slot_values
    left join longer_lists
        on
            slot_values.number = longer_lists.number
            and slot_values.slot_name = longer_lists.slot_name
    where coalesce(slot_values.value_index, 0) = 0
),

previous_slots as (
    select
        number + 1 as number,
        slot_name,
        variants
    from numbered_slots
    where has_next
),

changes as (
    select
        coalesce(slots.number, previous_slots.number) as number,
        coalesce(slots.slot_name, previous_slots.slot_name) as slot_name,
        case
            when slots.number is null then 'dropped'
            when previous_slots.number is null then 'added'
            when
                slots.variants = previous_slots.variants
                or (slots.variants is null and previous_slots.variants is null)
                then 'carried'
            when {{ count_where('slots.variants', 'said', 'array_contains(previous_slots.variants, said)') }} > 0
                then 'carried'
            else 'changed'
        end as change,
        slots.variants,
        previous_slots.variants as previous_variants
    from numbered_slots as slots
    full join previous_slots
        on
            slots.number = previous_slots.number
            and slots.slot_name = previous_slots.slot_name
)

select
    states.frame_key,
    states.turn_key,
    states.dialogue_key,
    states.corpus_id,
    states.split,
    states.turn_index,
    states.frame_index,
    states.service,
    changes.slot_name,

    changes.change,
    {{ list_at('changes.variants', 0) }} as value,
    changes.variants,
    {{ list_at('changes.previous_variants', 0) }} as previous_value,
    states.previous_turn_index
from changes
inner join states
    on changes.number = states.number
order by states.dialogue_key, states.turn_index, states.frame_index, changes.slot_name
