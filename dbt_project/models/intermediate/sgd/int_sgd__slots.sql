{#- The four kinds of slot annotation, stacked with their part of the key, then joined with the dialogues once. -#}
{{ config(meta={'lacks': ['source_label', 'integer_value', 'status']}) }}

with

spans as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        '/span/' || cast(span_index as string) || '/0' as key_tail,
        speaker,
        'span' as annotation_type,
        service,
        slot as slot_name,
        cast(null as integer) as action_index,
        span_index,
        0 as annotation_index,
        cast(null as integer) as value_index,
        span_text as value,
        cast(null as string) as canonical_value,
        start_char,
        end_char
    from {{ ref('stg_sgd__spans') }}
),

state_values as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        '/state/' || {{ key_segment('slot') }} || '/' || coalesce(cast(variant_index as string), '-') as key_tail,
        speaker,
        'state' as annotation_type,
        service,
        slot as slot_name,
        cast(null as integer) as action_index,
        cast(null as integer) as span_index,
        cast(null as integer) as annotation_index,
        variant_index as value_index,
        value,
        cast(null as string) as canonical_value,
        cast(null as integer) as start_char,
        cast(null as integer) as end_char
    from {{ ref('stg_sgd__state_values') }}
),

action_values as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        '/action_value/' || cast(action_index as string) || '/' || cast(value_index as string) as key_tail,
        speaker,
        'action_value' as annotation_type,
        service,
        nullif(slot, '') as slot_name,
        action_index,
        cast(null as integer) as span_index,
        cast(null as integer) as annotation_index,
        value_index,
        value,
        canonical_value,
        cast(null as integer) as start_char,
        cast(null as integer) as end_char
    from {{ ref('stg_sgd__action_values') }}
),

call_parameters as (
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        '/call_parameter/' || {{ key_segment('slot') }} as key_tail,
        speaker,
        'call_parameter' as annotation_type,
        service,
        slot as slot_name,
        cast(null as integer) as action_index,
        cast(null as integer) as span_index,
        cast(null as integer) as annotation_index,
        cast(null as integer) as value_index,
        value,
        cast(null as string) as canonical_value,
        cast(null as integer) as start_char,
        cast(null as integer) as end_char
    from {{ ref('stg_sgd__call_parameters') }}
),

slots as (
    {% for kind in ['spans', 'state_values', 'action_values', 'call_parameters'] -%}
    select
        source_file_id,
        record_index,
        turn_index,
        frame_index,
        key_tail,
        speaker,
        annotation_type,
        service,
        slot_name,
        action_index,
        span_index,
        annotation_index,
        value_index,
        value,
        canonical_value,
        start_char,
        end_char
    from {{ kind }}
    {% if not loop.last %}
    union all
    {% endif %}
    {%- endfor %}
)

select
    dialogues.dialogue_key || '/' || cast(slots.turn_index as string) || '/frame/'
        || cast(slots.frame_index as string) || slots.key_tail as slot_key,
    dialogues.dialogue_key || '/' || cast(slots.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    slots.turn_index,
    slots.frame_index,

    {{ role_of('slots.speaker', {'USER': 'user', 'SYSTEM': 'system'}) }} as role,
    slots.annotation_type,
    slots.service,
    slots.slot_name,
    slots.action_index,
    slots.span_index,
    slots.annotation_index,
    slots.value_index,
    slots.value,
    slots.canonical_value,
    slots.start_char,
    slots.end_char
from slots
inner join {{ ref('int_sgd__dialogues') }} as dialogues
    on
        slots.source_file_id = dialogues.source_file_id
        and slots.record_index = dialogues.record_index
