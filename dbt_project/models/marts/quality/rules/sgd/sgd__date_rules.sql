{#- The rule of SGD about the two dates of a stay, a rental or a round trip. -#}
{%- set first_dates = "'check_in_date', 'departure_date', 'pickup_date'" %}
{%- set last_dates = "'check_out_date', 'return_date', 'dropoff_date'" %}
{%- set first_words = [
    'from', 'pick up', 'pick it up', 'pick them up', 'picking up', 'picking it up', 'check in', 'checking in', 'checking-in'
] %}
{%- set leave_words = ['leave', 'leaves', 'leaving', 'depart', 'departs', 'departing'] %}
{%- set last_words = [
    'until', 'till', 'through', 'return', 'returning', 'come back', 'coming back', 'be back', 'check out', 'checking out',
    'drop off', 'drop it off', 'drop them off', 'dropping off', 'dropping it off'
] %}
with

-- The text before the date, without "on the" and similar words.
dates as (
    select
        slots.dialogue_key,
        slots.turn_index,
        slots.slot_key,
        slots.service,
        slots.slot_name,
        slots.value,
        slots.turn_key || '/' || cast(slots.frame_index as string) as frame,
        slots.slot_name in ({{ first_dates }}) as is_first,
        {{ regexp_replace_all(
            "' ' || split_part(" ~ lower_case('turns.utterance') ~ ", " ~ lower_case('slots.value') ~ ", 1)", "'( (on|by|in|at))?( the)? $'", "''"
        ) }} as lead
    from {{ ref('fct_slots') }} as slots
    inner join {{ ref('fct_turns') }} as turns
        on slots.turn_key = turns.turn_key
    where
        slots.corpus_id = 'sgd'
        and slots.annotation_type = 'action_value'
        and slots.slot_name in ({{ first_dates }}, {{ last_dates }})
        and slots.value <> ''
        and contains({{ lower_case('turns.utterance') }}, {{ lower_case('slots.value') }})
),

-- "Leave on" is the first date of a trip and the last date of a stay. "I won't need it until" is the first date.
dates_said as (
    select
        *,
        (
            {%- for word in first_words %}
            {{ 'or ' if not loop.first }}lead like '% {{ word }}'
            {%- endfor %}
        ) or slot_name not like 'check_%' and (
            {%- for word in leave_words %}
            {{ 'or ' if not loop.first }}lead like '% {{ word }}'
            {%- endfor %}
        ) as is_said_as_first,
        (
            {%- for word in last_words %}
            {{ 'or ' if not loop.first }}lead like '% {{ word }}'
            {%- endfor %}
        ) and lead not like '%n''t %' and lead not like '% not %' as is_said_as_last
    from dates
),

-- A frame in which one of the dates is said as it is annotated has a slip of the tongue rather than two swapped dates.
agreeing as (
    select distinct frame
    from dates_said
    where case when is_first then is_said_as_first else is_said_as_last end
),

-- A date that is said as the first of the two is annotated as the last, or the other way round.
swapped_date as (
    select
        dates_said.dialogue_key,
        dates_said.turn_index,
        dates_said.slot_key as row_key,
        dates_said.service,
        dates_said.slot_name,
        dates_said.slot_name || ' = ' || dates_said.value || ', said as the '
            || case when dates_said.is_first then 'last' else 'first' end || ' date' as detail
    from dates_said
    left join agreeing
        on dates_said.frame = agreeing.frame
    where
        dates_said.is_said_as_first <> dates_said.is_said_as_last
        and dates_said.is_first = dates_said.is_said_as_last
        and agreeing.frame is null
)

{{ stack_rules('sgd', turns=['swapped_date'], slots=['swapped_date']) }}
