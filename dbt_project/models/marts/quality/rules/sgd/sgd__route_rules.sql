{#- The rule of SGD about the places of a route. -#}
{%- set from_words = ['from', 'out of', 'leaving', 'leaves', 'leave', 'departing', 'departs', 'depart'] %}
{%- set to_words = ['to', 'arriving in', 'arriving at', 'arrives in', 'arrives at', 'arrive in', 'arrive at'] %}
{%- set return_words = ['return', 'returning', 'returns', 'back', 'inbound'] %}
{%- set spoken = "' ' || translate({}, ',.?!', '    ') || ' '" -%}
with

places as (
    select
        slots.dialogue_key,
        slots.turn_index,
        slots.slot_key,
        slots.service,
        slots.slot_name,
        slots.value,
        split_part(slots.slot_name, '_', 1) in ('origin', 'from') as is_origin,
        contains(slots.slot_name, 'station') or contains(slots.slot_name, 'airport') as is_stop,
        {{ spoken.format(lower_case('slots.value')) }} as place,
        {{ spoken.format(lower_case('turns.utterance')) }} as text
    from {{ ref('fct_slots') }} as slots
    inner join {{ ref('fct_turns') }} as turns
        on slots.turn_key = turns.turn_key
    where
        slots.corpus_id = 'sgd'
        and slots.annotation_type = 'action_value'
        and split_part(slots.slot_name, '_', 1) in ('origin', 'from', 'destination', 'to')
),

-- "Change it to A" is not a route, in "Go to A Station" A is the place of departure, and a return leg that is said
-- before A goes the other way.
places_said as (
    select
        dialogue_key,
        turn_index,
        slot_key,
        service,
        slot_name,
        value,
        is_origin,
        (
            {%- for word in from_words %}
            {{ 'or ' if not loop.first }}contains(text, ' {{ word }}' || place)
            {%- endfor %}
        ) as is_after_from,
        (
            {%- for word in to_words %}
            {{ 'or ' if not loop.first }}contains(text, ' {{ word }}' || place)
            {%- endfor %}
        ) and not contains(text, ' change ') and not (is_stop and contains(text, ' go to' || place)) as is_after_to
    from places
    where
        {%- for word in return_words %}
        {{ 'and ' if not loop.first }}not contains(split_part(text, place, 1) || ' ', ' {{ word }} ')
        {%- endfor %}
),

-- A speaker says "from A to B", and A is annotated as the destination or B as the origin.
swapped_route as (
    select
        dialogue_key,
        turn_index,
        slot_key as row_key,
        service,
        slot_name,
        slot_name || ' = ' || value || ', said after ' || case when is_origin then '"to"' else '"from"' end as detail
    from places_said
    where is_after_from <> is_after_to and is_origin = is_after_to
)

{{ stack_rules('sgd', turns=['swapped_route'], slots=['swapped_route']) }}
