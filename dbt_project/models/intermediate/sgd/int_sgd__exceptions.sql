{#- Optional keys that a record leaves out and that its restoration writes; each has a row here. -#}
with

frames as (
    select
        source_file_id,
        '/' || cast(record_index as string) || '/turns/' || cast(turn_index as string) || '/frames/'
            || cast(frame_index as string) || '/actions' as json_pointer
    from {{ ref('stg_sgd__nested_frames') }}
    where actions is null
),

actions as (
    select
        source_file_id,
        '/' || cast(record_index as string) || '/turns/' || cast(turn_index as string) || '/frames/'
            || cast(frame_index as string) || '/actions/' || cast(action_index as string) as json_pointer,
        slot,
        action_values,
        canonical_values
    from {{ ref('stg_sgd__actions') }}
),

intents as (
    select
        source_file_id,
        '/' || cast(record_index as string) || '/intents/' || cast(position as string) || '/result_slots'
            as json_pointer
    from {{ ref('stg_sgd__nested_intents') }}
    where intent.result_slots is null
)

select
    source_file_id,
    'sgd' as corpus_id,
    json_pointer,
    'absent' as form
from frames

union all

select
    source_file_id,
    'sgd' as corpus_id,
    json_pointer,
    'absent' as form
from intents
{% for column, key in {
    'slot': 'slot', 'action_values': 'values', 'canonical_values': 'canonical_values'
}.items() %}
union all

select
    source_file_id,
    'sgd' as corpus_id,
    json_pointer || '/{{ key }}' as json_pointer,
    'absent' as form
from actions
where {{ column }} is null
{% endfor %}
