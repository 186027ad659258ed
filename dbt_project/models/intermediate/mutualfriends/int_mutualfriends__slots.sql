select
    dialogues.dialogue_key || '/' || cast(selected.turn_index as string) || '/selection/'
        || {{ key_segment('selected.attribute') }} as slot_key,
    dialogues.dialogue_key || '/' || cast(selected.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    selected.turn_index,
    cast(null as integer) as frame_index,

    {{ role_of('selected.agent', {'0': 'peer', '1': 'peer'}) }} as role,
    'selection' as annotation_type,
    cast(null as string) as service,
    selected.attribute as slot_name,
    cast(null as string) as source_label,
    0 as action_index,
    cast(null as integer) as span_index,
    cast(null as integer) as annotation_index,
    selected.attribute_index as value_index,
    selected.value,
    cast(null as string) as canonical_value,
    cast(null as integer) as start_char,
    cast(null as integer) as end_char,
    cast(null as string) as status
from {{ ref('stg_mutualfriends__selected_values') }} as selected
inner join {{ ref('int_mutualfriends__dialogues') }} as dialogues
    on
        selected.source_file_id = dialogues.source_file_id
        and selected.record_index = dialogues.record_index
