{#- The release does not say which of an action's slots a value fills: slot_name stays NULL. -#}
select
    dialogues.dialogue_key || '/' || cast(action_values.turn_index as string) || '/action_value/0/'
        || cast(action_values.value_index as string) as slot_key,
    dialogues.dialogue_key || '/' || cast(action_values.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    action_values.turn_index,
    cast(null as integer) as frame_index,

    {{ role_of('action_values.speaker', {'customer': 'user', 'agent': 'system', 'action': 'system'}) }} as role,
    'action_value' as annotation_type,
    cast(null as string) as service,
    cast(null as string) as slot_name,
    cast(null as string) as source_label,
    0 as action_index,
    cast(null as integer) as span_index,
    cast(null as integer) as annotation_index,
    action_values.value_index,
    action_values.value,
    cast(null as string) as canonical_value,
    cast(null as integer) as start_char,
    cast(null as integer) as end_char,
    cast(null as string) as status
from {{ ref('stg_abcd__action_values') }} as action_values
inner join {{ ref('int_abcd__dialogues') }} as dialogues
    on
        action_values.source_file_id = dialogues.source_file_id
        and action_values.source_part = dialogues.source_part
        and action_values.record_index = dialogues.record_index
