{#- The rule of SGD about the value True or False of a slot. -#}
{%- set negation = [
    'no', 'not', 'non', 'none', 'nor', 'neither', 'never', 'without', 'minus', 'unfortunately', 'cannot', 'lacks?',
    '(do|does|did|is|are|was|wo|ca|could|would)n.?t'
] | join('|') %}
{%- set verbs = "(have|has|having|offer|offers|serve|serves|allow|allows|provide|provides|play|any|a|an|the)" %}
with

-- The words of a slot: has_live_music is "live music".
stated as (
    select
        slots.dialogue_key,
        slots.turn_index,
        slots.slot_key,
        slots.service,
        slots.slot_name,
        slots.value,
        ' ' || {{ lower_case("replace(turns.utterance, ' but ', ', ')") }} || ' ' as text,
        {{ regexp_replace_all(
            "replace(slots.slot_name, '_', ' ')", "'^(has|have|is|are|serves|serve|offers|offer|good for) '", "''"
        ) }} as topic
    from {{ ref('fct_slots') }} as slots
    inner join {{ ref('fct_turns') }} as turns
        on slots.turn_key = turns.turn_key
    where
        slots.corpus_id = 'sgd'
        and slots.annotation_type = 'action_value'
        and slots.value in ('True', 'False')
),

-- The part of the sentence before the words, and the part after them.
surrounded as (
    select
        *,
        regexp_extract(split_part(text, topic, 1), '[^.,;:!?]*$', 0) as before,
        regexp_extract(split_part(text, topic, 2), '^[^.,;:!?]*', 0) as after
    from stated
    where topic <> '' and contains(text, ' ' || topic)
),

-- A speaker says that a place has live music, and the annotation says that it has none, or the other way round. A
-- question states nothing.
opposite_boolean as (
    select
        dialogue_key,
        turn_index,
        slot_key as row_key,
        service,
        slot_name,
        slot_name || ' = ' || value || ', said as ' || trim(both ' ' from before || topic || after) as detail
    from surrounded
    where
        case value
            when 'False' then
                regexp_extract(before || ' ' || after, '(^|[^a-z])({{ negation }})([^a-z]|$)', 0) = ''
            else regexp_extract(before, '(^|[^a-z])({{ negation }})( {{ verbs }})* $', 0) <> ''
        end
)

{{ stack_rules('sgd', turns=['opposite_boolean'], slots=['opposite_boolean']) }}
