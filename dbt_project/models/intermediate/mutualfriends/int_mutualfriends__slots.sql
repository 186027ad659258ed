{{ config(meta={'lacks': [
    'frame_index', 'service', 'source_label', 'span_index', 'annotation_index', 'integer_value', 'canonical_value',
    'start_char', 'end_char', 'status',
]}) }}

select
    dialogues.dialogue_key || '/' || cast(selected.turn_index as string) || '/selection/'
        || {{ key_segment('selected.attribute') }} as slot_key,
    dialogues.dialogue_key || '/' || cast(selected.turn_index as string) as turn_key,
    dialogues.dialogue_key,
    dialogues.corpus_id,
    dialogues.split,
    selected.turn_index,

    {{ role_of('selected.agent', {'0': 'peer', '1': 'peer'}) }} as role,
    'selection' as annotation_type,
    selected.attribute as slot_name,
    0 as action_index,
    selected.attribute_index as value_index,
    selected.value
from {{ ref('stg_mutualfriends__selected_values') }} as selected
inner join {{ ref('int_mutualfriends__dialogues') }} as dialogues
    on
        selected.source_file_id = dialogues.source_file_id
        and selected.record_index = dialogues.record_index
