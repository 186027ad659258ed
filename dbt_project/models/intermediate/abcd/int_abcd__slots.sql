{#- The release does not say which of an action's slots a value fills: slot_name stays NULL. -#}
{{ config(meta={'lacks': [
    'frame_index', 'service', 'slot_name', 'source_label', 'span_index', 'annotation_index', 'integer_value',
    'canonical_value', 'start_char', 'end_char', 'status',
]}) }}

select
    dialogues.dialogue_key || '/' || cast(action_values.turn_index as string) || '/action_value/0/'
        || cast(action_values.value_index as string) as slot_key,
    dialogues.dialogue_key || '/' || cast(action_values.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    action_values.turn_index,

    {{ role_of('action_values.speaker', {'customer': 'user', 'agent': 'system', 'action': 'system'}) }} as role,
    'action_value' as annotation_type,
    0 as action_index,
    action_values.value_index,
    action_values.value
from {{ ref('stg_abcd__action_values') }} as action_values
inner join {{ ref('int_abcd__dialogues') }} as dialogues
    on
        action_values.source_file_id = dialogues.source_file_id
        and action_values.source_part = dialogues.source_part
        and action_values.record_index = dialogues.record_index
